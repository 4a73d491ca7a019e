"""TypeScript programs, and Jest tests in TypeScript, run by a version of Node.js that strips types.

Types are not checked. Jest is an npm package that must be installed for all users.
"""

from __future__ import annotations

import json
import os
import re

from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain, ask
from rewardkit.sandbox.languages.javascript import find_node, node_command, package_folders
from rewardkit.sandbox.outcome import Limits

REMEDY = "npm install --global jest@29, or set NODE_PATH to a folder that has it"
"""Command that installs a working version of Jest. Jest 30 fails in the sandbox."""
_LOWEST = (22, 13)
"""First version of Node.js with `module.stripTypeScriptTypes`."""
_FLAGS = ("--disable-warning=ExperimentalWarning", "--experimental-transform-types")
_JEST_FLAGS = ("--disable-warning=ExperimentalWarning", "--experimental-vm-modules")

_IMPORTS = re.compile(r"^[ \t]*(?:import\b(?![ \t]*\()|export\b)", re.MULTILINE)
"""Pattern for tests that are an ES module."""
_TRANSFORM = """
const { stripTypeScriptTypes } = require('module')
const OWN = /\\bfrom\\s*['"]@jest\\/globals['"]/
const start = (source) => IS_MODULE && !OWN.test(source) ? 'const jest = import.meta.jest;' : ''
module.exports = {
  process: (source) => ({ code: start(source) + stripTypeScriptTypes(source, { mode: 'transform' }) }),
}
"""
_JEST = {
    "rootDir": ".",
    "testEnvironment": "node",
    # Without this setting, Jest starts a process to search for files.
    "haste": {"forceNodeFilesystemAPI": True},
    "watchman": False,
    "cacheDirectory": ".jest",
    "transform": {r"\.[jt]sx?$": "./.jest.transform.js"},
}


def _find_node() -> str:
    """Return the path of a Node.js that removes types.

    Raises:
        LanguageUnavailable: Node.js is not on PATH or too old.
    """
    node = find_node()
    version = ask(node, "--version").strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _LOWEST:
        lowest = ".".join(map(str, _LOWEST))
        raise LanguageUnavailable(
            f"Node.js {version} cannot run TypeScript; install Node.js {lowest} or newer"
        )
    return node


def _discover() -> Toolchain:
    node = _find_node()

    def run(source: str, limits: Limits) -> LanguageCommand:
        return node_command(node, "main.ts", "main.ts", limits, flags=_FLAGS)

    version = ask(node, "--version").strip()
    return Toolchain(f"Node.js {version}", (os.path.dirname(node), *package_folders(node)), run)


def _discover_jest() -> Toolchain:
    node = _find_node()
    env = {"NODE_PATH": os.pathsep.join(package_folders(node))}
    asked = "[require.resolve('jest/bin/jest'), require('jest/package.json').version].join('\\n')"
    try:
        start, version = ask(node, "-p", asked, env=env).split()
    except LanguageUnavailable:
        raise LanguageUnavailable(f"Node.js cannot find jest; {REMEDY}") from None
    config = {**_JEST, "modulePaths": package_folders(node)}

    def run(source: str, limits: Limits) -> LanguageCommand:
        is_module = _IMPORTS.search(source) is not None
        treated = {**config, "extensionsToTreatAsEsm": [".ts"] if is_module else []}
        transform = _TRANSFORM.replace("IS_MODULE", json.dumps(is_module))
        files = (
            (".jest.transform.js", transform.encode()),
            (".jest.config.json", json.dumps(treated).encode()),
        )
        words = ("--config", ".jest.config.json", "--runInBand", "--ci", "--colors=false")
        return node_command(node, "main.test.ts", start, limits, *words, files=files, flags=_JEST_FLAGS)

    return Toolchain(f"Jest {version}", (os.path.dirname(node), *package_folders(node)), run)


TYPESCRIPT = Language(
    "typescript",
    "TypeScript",
    ("ts",),
    _discover,
    "import fs from 'fs'\nconst x: number = parseInt(fs.readFileSync(0, 'utf8'))\nconsole.log(x + 1)\n",
    answers=False,
)
JEST = Language(
    "jest",
    "Jest",
    (),
    _discover_jest,
    "const x: number = 42\ntest('it', () => { expect(x).toBe(42); process.stdout.write(`${x}\\n`) })\n",
    answers=False,
)
