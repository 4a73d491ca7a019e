"""Right programs come out in the jail as on a plain host; where they do not, docs/isolation.md has a row for it.

`agreement/` has one program for each language with all that it plays: each part below a comment `feature: NAME`,
with `, alone` where it needs a process to itself, and `, differs at LEVEL: ROW` where that row says why. The first
line of a program's input names the features that it is to play.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewardkit.sandbox import Limits, Sandbox
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.languages import LanguageUnavailable
from rewardkit.sandbox.levels import why_not
from rewardkit.sandbox.outcome import IsolationLevel

HERE = Path(__file__).parent / "agreement"
DOCS = Path(__file__).parents[2] / "docs" / "isolation.md"
INPUT = "3 4\nhello wörld\n10 20 30\n-1.5\n\nlast line without end"
LIMITS = Limits(cpu_s=20.0, wall_s=300.0)
ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "TZ": "UTC"}
EVERY = "every level"
BELOW_TMP = Path(sys.prefix).resolve().is_relative_to("/tmp")
"""What programs may read lies there, so that it is a folder of the jail that cannot be written to."""

SOURCES = {
    "python": "main.py", "c": "main.c", "cpp17": "main17.cpp", "cpp20": "main20.cpp", "java": "Main.java",
    "javascript": "main.js", "rust": "main.rs", "go": "main.go", "bash": "main.sh", "sql": "main.sql",
}  # fmt: skip
BUILDS = {
    "c": "gcc -O2 -std=gnu17 -pthread {} -o program -lm",
    "cpp17": "g++ -O2 -std=gnu++17 -pthread {} -o program",
    "cpp20": "g++ -O2 -std=gnu++20 -pthread {} -o program",
    "java": "javac -encoding UTF-8 {}",
    "rust": "rustc --edition 2021 -C opt-level=3 {} -o program",
    "go": "go build -o program {}",
}
RUNS = {
    "python": f"{sys.executable} {{}}", "java": "java Main", "javascript": "node {}",
    "bash": "bash {}", "sql": "sqlite3 -batch -bail :memory:",
}  # fmt: skip

_FEATURE = re.compile(
    r"feature: (?P<name>\w+)(?P<alone>, alone)?(?:, differs at (?P<level>guard|every level): (?P<row>[^\n*]+?))?"
    r"\s*(?:\*/)?$",
    re.M,
)
Play = Callable[[str, str], tuple[int | None, bytes]]
"""Runs a program on an input; returns its exit code and what it printed."""


@dataclass(frozen=True)
class Feature:
    """One part of a language's program, and where and why it comes out otherwise in the jail."""

    name: str
    alone: bool
    level: str
    row: str

    def differs_at(self, level: IsolationLevel) -> bool:
        if BELOW_TMP and "/tmp" in self.row:
            return True
        return self.level == EVERY or (bool(self.level) and level == self.level)


def features(language: str) -> list[Feature]:
    found = _FEATURE.finditer((HERE / SOURCES[language]).read_text())
    return [Feature(m["name"], bool(m["alone"]), m["level"] or "", (m["row"] or "").strip()) for m in found]


def outcomes(language: str, play: Play) -> dict[str, tuple[int | None, bytes]]:
    """What comes of every feature: the exit code and the output of those alone, the output of the others."""
    known = features(language)
    together = [feature.name for feature in known if not feature.alone]
    found = {}
    for feature in known:
        if feature.alone:
            found[feature.name] = play(*program(language, [feature.name]))
    code, printed = play(*program(language, together))
    for part in printed.split(b"== ")[1:]:
        name, _, rest = part.partition(b"\n")
        found[name.decode()] = (None, rest)
    return {**found, "their end": (code, b"")}


def program(language: str, names: list[str]) -> tuple[str, str]:
    """The source and the input with which the features of these names are played."""
    source = (HERE / SOURCES[language]).read_text()
    if language != "sql":
        return source, f"{' '.join(names)}\n{INPUT}"
    parts = dict(re.findall(r"^-- feature: (\w+)[^\n]*\n(.*?)(?=^-- feature|\Z)", source, re.M | re.S))
    return "".join(f"SELECT '== {name}';\n{parts[name]}" for name in names), source.partition("-- feature")[0]


def on_this_host(language: str, program: Path, folder: Path) -> Play:
    """Plays programs without a sandbox, in a folder of their own; skips where what that takes is absent."""
    shutil.copy(program, folder)
    command = BUILDS.get(language, "").format(program.name).split()
    if command and shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    if command:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    words = RUNS.get(language, str(folder / "program")).format(program.name).split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not here")
    (folder / "tmp").mkdir()

    def play(source: str, stdin: str) -> tuple[int | None, bytes]:
        given = stdin + source if language == "sql" else stdin
        (folder / "stdin").write_text(given)
        classes = os.pathsep.join([".", *filter(None, [os.environ.get("CLASSPATH")])])
        environment = {
            **ENVIRONMENT,
            "HOME": str(folder),
            "TMPDIR": str(folder / "tmp"),
            "CLASSPATH": classes,
            "NODE_PATH": os.environ.get("NODE_PATH", ""),
        }
        with open(folder / "stdin") as file, open(folder / "stdout", "wb") as out:
            code = subprocess.run(
                words,
                stdin=file,
                stdout=out,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=environment,
                timeout=100,
            ).returncode
        return code, (folder / "stdout").read_bytes()

    return play


@pytest.fixture(scope="module")
def builds() -> Builds:
    """What has been built at one level is run at all."""
    return Builds()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, tuple[int | None, bytes]]]:
    known: dict[str, dict[str, tuple[int | None, bytes]]] = {}

    def of(language: str) -> dict[str, tuple[int | None, bytes]]:
        if language not in known:
            known[language] = outcomes(
                language, on_this_host(language, HERE / SOURCES[language], tmp_path_factory.mktemp(language))
            )
        return known[language]

    return of


@pytest.fixture(scope="module", params=["warm", "guard"])
def sandbox(request: pytest.FixtureRequest, builds: Builds) -> Iterator[Sandbox]:
    if reason := why_not(request.param):
        pytest.skip(reason)
    with Sandbox(request.param, builds=builds) as sandbox:
        yield sandbox


@pytest.mark.slow
@pytest.mark.parametrize("language", SOURCES)
def test_a_program_comes_out_as_on_a_plain_host(
    sandbox: Sandbox, language: str, plain: Callable[[str], dict[str, tuple[int | None, bytes]]]
) -> None:
    def play(source: str, stdin: str) -> tuple[int | None, bytes]:
        standard = language.removeprefix("cpp") if language.startswith("cpp") else ""
        known = language.removesuffix(standard)
        outcome = sandbox.run(source, stdin, LIMITS, language=known, standard=standard)
        assert outcome.status == ("runtime_error" if outcome.exit_code else "ok"), outcome
        return outcome.exit_code, outcome.stdout

    try:
        here = outcomes(language, play)
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    there = plain(language)
    marked = {feature.name for feature in features(language) if feature.differs_at(sandbox.level)}
    differing = {
        name: (there.get(name), here.get(name)) for name in there | here if there.get(name) != here.get(name)
    }
    assert {n: both for n, both in differing.items() if n not in marked} == {}
    assert marked <= differing.keys(), "these agree and are not to be marked"


def test_every_difference_has_its_row_in_the_docs() -> None:
    docs = DOCS.read_text()
    rows = set(re.findall(r"^\| (.+?) \| (guard|every level) \|", docs, re.M))
    marked = {(f.row, f.level) for language in SOURCES for f in features(language) if f.row}
    assert marked == rows


def test_every_language_has_features_enough() -> None:
    counts = {language: len(features(language)) for language in SOURCES}
    assert {language for language, count in counts.items() if count < 48} == {"go"}, counts
