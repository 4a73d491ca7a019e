"""JavaScript, run by Node.js with the packages in npm's global folder and in NODE_PATH."""

from __future__ import annotations

import os

from rewardkit.sandbox.apart import javascript
from rewardkit.sandbox.languages.base import Language, LanguageCommand, Toolchain, ask, program
from rewardkit.sandbox.outcome import Limits

_STACK_MB = 64
_HELLO = "console.log(parseInt(require('fs').readFileSync(0, 'utf8')) + 1)\n"


def find_node() -> str:
    """Return the path of Node.js.

    Raises:
        LanguageUnavailable: Node.js is not on PATH.
    """
    return program("node", "install Node.js (Debian: apt-get install nodejs)")


def package_folders(node: str) -> tuple[str, ...]:
    """Return the folders from which every program may load packages."""
    own = os.path.join(os.path.dirname(os.path.dirname(node)), "lib", "node_modules")
    named = (*os.environ.get("NODE_PATH", "").split(os.pathsep), own)
    return tuple(dict.fromkeys(os.path.realpath(folder) for folder in named if os.path.isdir(folder)))


def node_command(
    node: str,
    file: str,
    start: str,
    limits: Limits,
    *words: str,
    files: tuple[tuple[str, bytes], ...] = (),
    flags: tuple[str, ...] = (),
) -> LanguageCommand:
    """Return the command that runs the script `start`, with the program in `file` next to it."""
    # V8's stack size is in KiB. Some of the stack must remain for the native functions that V8 calls.
    limited = (f"--max-old-space-size={limits.memory_mb}", f"--stack-size={(_STACK_MB - 8) << 10}")
    return LanguageCommand(
        (node, *limited, *flags, start, *words),
        file,
        files=files,
        env=(
            ("OPENSSL_CONF", "/dev/null"),  # the default file is not readable in the jail
            ("NODE_PATH", os.pathsep.join(package_folders(node))),
        ),
        profile="managed",
    )


def _discover() -> Toolchain:
    node = find_node()
    version = ask(node, "--version").strip()

    def run(source: str, limits: Limits) -> LanguageCommand:
        return node_command(node, "main.js", "main.js", limits)

    return Toolchain(f"Node.js {version}", (os.path.dirname(node), *package_folders(node)), run)


JAVASCRIPT = Language(
    "javascript",
    "JavaScript",
    ("js", "node", "nodejs", "node.js", "mjs"),
    _discover,
    _HELLO,
    cpu_factor=2.0,
    startup_s=0.2,
    apart=javascript.apart,
)
