"""TypeScript and Jest tests in TypeScript, on Node.js. Babel removes the types when a file is loaded.

As with tsx, types are not checked. Babel and Jest are npm packages that must be installed for all users.
"""

from __future__ import annotations

import json
import os

from rewardkit.sandbox.languages.base import Language, LanguageCommand, LanguageUnavailable, Toolchain, ask
from rewardkit.sandbox.languages.javascript import find_node, node_command, package_folders
from rewardkit.sandbox.outcome import Limits

_REMEDY = "npm install --global {}, or set NODE_PATH to a folder that has them"
_BABEL = ("@babel/core", "@babel/preset-env", "@babel/preset-typescript")
_VERSIONS = {"jest": "29", **dict.fromkeys(_BABEL, "7")}
"""Major versions that work. Jest 30 fails in the sandbox, and Babel 8 has other options."""
_PRESETS = """
const presets = [
  [require.resolve('@babel/preset-env'), {targets: {node: 'current'}}],
  [require.resolve('@babel/preset-typescript'), {allowDeclareFields: true}],
]
const options = {presets, babelrc: false, configFile: false, compact: false}
"""
_START = (
    _PRESETS
    + """
const babel = require('@babel/core')
const load = (module, file) => module._compile(babel.transformFileSync(file, options).code, file)
for (const extension of ['.ts', '.mts', '.cts']) require.extensions[extension] = load
require('./main.ts')
"""
)
_TRANSFORM = (
    _PRESETS
    + """
const jest = require(BABEL_JEST)
module.exports = (jest.default || jest).createTransformer(options)
"""
)
_JEST = {
    "rootDir": ".",
    "testEnvironment": "node",
    "haste": {"forceNodeFilesystemAPI": True},  # otherwise Jest starts a process that searches for files
    "watchman": False,
    "cacheDirectory": ".jest",
    "transform": {r"\.[jt]sx?$": "./.jest.transform.js"},
}


def _resolve(node: str, names: tuple[str, ...], expression: str) -> str:
    """Evaluate an expression in Node.js that requires packages, and return the output.

    Raises:
        LanguageUnavailable: A package is missing.
    """
    env = {"NODE_PATH": os.pathsep.join(package_folders(node))}
    try:
        return ask(node, "-p", expression, env=env).strip()
    except LanguageUnavailable:
        raise LanguageUnavailable(f"Node.js cannot find all of {', '.join(names)}; {remedy(names)}") from None


def remedy(names: tuple[str, ...]) -> str:
    """Return the way to install npm packages in versions that work."""
    return _REMEDY.format(" ".join(f"{name}@{_VERSIONS[name]}" for name in names))


def _discover() -> Toolchain:
    node = find_node()
    _resolve(node, _BABEL, " + ".join(f"require.resolve('{name}')" for name in _BABEL))
    version = _resolve(node, _BABEL, "require('@babel/core').version")

    def run(source: str, limits: Limits) -> LanguageCommand:
        return node_command(node, "main.ts", ".start.js", limits, files=((".start.js", _START.encode()),))

    return Toolchain(f"Babel {version}", (os.path.dirname(node), *package_folders(node)), run)


def _discover_jest() -> Toolchain:
    node = find_node()
    names = ("jest", *_BABEL)
    home = _resolve(node, names, "path.dirname(require.resolve('jest/package.json'))")
    version = _resolve(node, names, "require('jest/package.json').version")
    transformer = _resolve(node, names, f"require.resolve('babel-jest', {{paths: [{json.dumps(home)}]}})")
    transform = _TRANSFORM.replace("BABEL_JEST", json.dumps(transformer))
    config = json.dumps({**_JEST, "modulePaths": package_folders(node)})
    files = ((".jest.transform.js", transform.encode()), (".jest.config.json", config.encode()))
    start = os.path.join(home, "bin", "jest.js")

    def run(source: str, limits: Limits) -> LanguageCommand:
        words = ("--config", ".jest.config.json", "--runInBand", "--ci", "--colors=false")
        return node_command(node, "main.test.ts", start, limits, *words, files=files)

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
