"""Programs with many threads, files or libraries, a deep stack or big arrays run in the sandbox as on a plain host.

`loads/` has one program for each language. The first line of its input names the load to play.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewardkit.sandbox import Limits, Sandbox, languages
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.languages import LanguageUnavailable
from rewardkit.sandbox.outcome import IsolationLevel
from tests.sandbox.test_agreement import Play, on_this_host

HERE = Path(__file__).parent / "loads"
DOCS = Path(__file__).parents[2] / "docs" / "sandbox.md"
SOURCES = {
    "python": "main.py", "c": "main.c", "cpp": "main.cpp", "java": "Main.java", "javascript": "main.js",
    "rust": "main.rs", "go": "main.go", "bash": "main.sh",
}  # fmt: skip
LOADS = ("threads", "recursion", "thread_recursion", "files", "libraries", "arrays", "small_files")
MEMORY_MB = (64, 256, 1024) if os.environ.get("REWARDKIT_ALL_LOADS") else (64,)
"""Memory limits, of which the lowest meets each fault. The whole table takes some ten minutes."""
DIFFERS = {("javascript", "threads", 64): "60 workers in JavaScript"}
"""Cases that end with `memory_limit`, each with the words that name it in the docs."""
QUICK = ("python", "c")


def cases() -> Iterator[object]:
    for language, file in SOURCES.items():
        known = re.findall(r"\w+", (HERE / file).read_text())
        for load in filter(known.__contains__, LOADS):
            for memory_mb in MEMORY_MB:
                quick = language in QUICK and memory_mb == 64
                yield pytest.param(language, load, memory_mb, marks=() if quick else pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def installed() -> Iterator[None]:
    """Install 80 jar files and 80 npm packages, where the user who runs programs can read them."""
    folder = Path(tempfile.mkdtemp(prefix="loads-"))
    folder.chmod(0o755)
    for i in range(80):
        with zipfile.ZipFile(folder / f"library{i}.jar", "w") as jar:
            jar.writestr(f"library{i}", "")
        (folder / f"library{i}.js").write_text("module.exports = 1\n")
    before = {name: os.environ.get(name) for name in ("CLASSPATH", "NODE_PATH")}
    os.environ.update(CLASSPATH=f"{folder}/*", NODE_PATH=str(folder))
    languages._discovered.cache_clear()
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    languages._discovered.cache_clear()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def builds() -> Builds:
    return Builds()


@pytest.fixture(scope="module")
def sandbox(level: IsolationLevel, builds: Builds) -> Iterator[Sandbox]:
    with Sandbox(level, builds=builds) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], bytes]:
    """What a program prints without a sandbox, by language and load."""
    plays: dict[str, Play] = {}
    known: dict[tuple[str, str], bytes] = {}

    def of(language: str, load: str) -> bytes:
        if language not in plays:
            folder = tmp_path_factory.mktemp(language)
            known_as = "cpp17" if language == "cpp" else language
            plays[language] = on_this_host(known_as, HERE / SOURCES[language], folder)
        if (language, load) not in known:
            known[language, load] = plays[language]("", f"{load}\n")[1]
        return known[language, load]

    return of


@pytest.mark.parametrize(("language", "load", "memory_mb"), list(cases()))
def test_a_load_comes_out_as_on_a_plain_host(
    sandbox: Sandbox, language: str, load: str, memory_mb: int, plain: Callable[[str, str], bytes]
) -> None:
    source = (HERE / SOURCES[language]).read_text()
    limits = Limits(cpu_s=20.0, wall_s=300.0, memory_mb=memory_mb)
    try:
        outcome = sandbox.run(source, f"{load}\n", limits, language=language)
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    if (language, load, memory_mb) in DIFFERS:
        assert outcome.status == "memory_limit", outcome
        return
    assert (outcome.status, outcome.stdout) == ("ok", plain(language, load)), outcome
    assert outcome.stdout.startswith(load.removeprefix("thread_").encode())


def test_every_difference_is_in_the_docs() -> None:
    docs = DOCS.read_text()
    assert [words for words in DIFFERS.values() if words not in docs] == []
