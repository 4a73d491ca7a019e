"""JavaScript by Node.js."""

from __future__ import annotations

import os

from rewardkit.sandbox.languages.base import Language, LanguageCommand, Toolchain, ask, program
from rewardkit.sandbox.outcome import Limits

_STACK_MB = 64
_HELLO = "console.log(parseInt(require('fs').readFileSync(0, 'utf8')) + 1)\n"


def _discover() -> Toolchain:
    node = program("node", "install Node.js (Debian: apt-get install nodejs)")
    version = ask(node, "--version").strip()

    def run(source: str, limits: Limits) -> LanguageCommand:
        # V8 counts the stack in KiB, and has to leave some of it to what it calls.
        flags = (f"--max-old-space-size={limits.memory_mb}", f"--stack-size={(_STACK_MB - 8) << 10}")
        return LanguageCommand(
            (node, *flags, "main.js"),
            "main.js",
            env=(("OPENSSL_CONF", "/dev/null"),),  # its own lies where a program has no business
            profile="managed",
            extra_mb=256,
            stack_mb=_STACK_MB,
        )

    return Toolchain(f"Node.js {version}", (os.path.dirname(node),), run)


JAVASCRIPT = Language(
    "javascript",
    "JavaScript",
    ("js", "node", "nodejs", "node.js", "mjs"),
    _discover,
    _HELLO,
    cpu_factor=2.0,
    startup_s=0.2,
)
