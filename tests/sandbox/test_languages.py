"""Programs in every language run as Python's do: each end with its status, at each level, built once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

from rewardkit.sandbox import Job, Limits, Outcome, Pool, Sandbox
from rewardkit.sandbox.building import BUILD_LIMITS, Build, Builds, build
from rewardkit.sandbox.languages import LANGUAGES, PYTHON, LanguageUnavailable, find, toolchain
from rewardkit.sandbox.languages.base import LanguageCommand, Toolchain, private_folder
from rewardkit.sandbox.languages.java import names
from rewardkit.sandbox.levels import why_not
from rewardkit.sandbox.outcome import IsolationLevel, OutcomeStatus
from tests.sandbox.programs import PROGRAMS

LIMITS = Limits(cpu_s=2.0, wall_s=60.0, memory_mb=256, output_bytes=8 << 20)
COMPILED = [name for name in PROGRAMS if name not in ("javascript", "bash", "sql")]


@pytest.fixture(scope="module")
def builds() -> Builds:
    """What has been built at `warm`: the ends of a program at `guard` need no compiler of their own."""
    return Builds()


@pytest.fixture(scope="module")
def warm(builds: Builds) -> Iterator[Sandbox]:
    if reason := why_not("warm"):
        pytest.skip(reason)
    with Sandbox("warm", builds=builds) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def sandbox(level: IsolationLevel, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """One that builds at its own level."""
    if level == "warm":
        yield request.getfixturevalue("warm")
        return
    with Sandbox(level) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def running(level: IsolationLevel, sandbox: Sandbox, builds: Builds) -> Iterator[Sandbox]:
    """One that runs at its own level what was built at any."""
    if level == "warm":
        yield sandbox
        return
    with Sandbox(level, builds=builds) as sharing:
        yield sharing


def run(sandbox: Sandbox, language: str, source: str, stdin: str = "", limits: Limits = LIMITS) -> Outcome:
    try:
        return sandbox.run(source, stdin, limits, language=language)
    except LanguageUnavailable as error:
        pytest.skip(str(error))


def given(language: str, numbers: list[int]) -> str:
    """The numbers as a program in that language is given them."""
    if language == "sql":
        rows = "".join(f"INSERT INTO given VALUES ({n});\n" for n in numbers)
        return f"CREATE TABLE given (x);\nBEGIN;\n{rows}COMMIT;\n"
    return "".join(f"{n}\n" for n in numbers)


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
def test_a_program_reads_its_input_to_the_end_and_answers(sandbox: Sandbox, language: str) -> None:
    outcome = run(sandbox, language, PROGRAMS[language]["right"], given(language, [40, 1, 1]))
    assert (outcome.status, outcome.stdout, outcome.exit_code) == ("ok", b"42\n", 0), outcome


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize(("what", "status"), [("loop", "cpu_timeout"), ("memory", "memory_limit")])
def test_every_limit_has_its_status(running: Sandbox, language: str, what: str, status: str) -> None:
    ends_with(running, language, what, status)


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
def test_a_crash_and_a_flood_have_theirs(warm: Sandbox, language: str) -> None:
    ends_with(warm, language, "crash", "runtime_error")
    ends_with(warm, language, "flood", "output_limit")


def ends_with(sandbox: Sandbox, language: str, what: str, status: str) -> None:
    # Only a loop is to end by its CPU time: on a slow or busy machine the others need more of it.
    cpu_s = 0.1 if what == "loop" else 5.0
    limits = Limits(cpu_s, wall_s=60.0, memory_mb=128, output_bytes=1 << 18)
    stdin = f"{what}\n" if language == "java" else given(language, [])
    outcome = run(sandbox, language, PROGRAMS[language][what], stdin, limits)
    assert outcome.status == status, outcome


_THREADS_C = """
#include <pthread.h>
#include <stdio.h>
static int deep(int n) { volatile char frame[1000]; frame[0] = n; return n ? deep(n - 1) + frame[0] * 0 : 1; }
static void *shallow(void *of) { return deep(1500) ? of : 0; }
int main(void) {
    pthread_t threads[8];
    int all = 0;
    for (int i = 0; i < 8; i++) if (pthread_create(threads + i, 0, shallow, &all)) return 3;
    for (int i = 0; i < 8; i++) { void *got; pthread_join(threads[i], &got); all += got == &all; }
    printf("%d %d\\n", all, deep(40000));
}
"""
_THREADS_CPP = """
#include <future>
#include <iostream>
#include <thread>
#include <vector>
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([] { std::vector<int> held(100000, 1); });
    for (auto &thread : threads) thread.join();
    auto one = std::async(std::launch::async, [] { return 7; });
    auto other = std::async(std::launch::async, [] { return 1; });
    std::cout << one.get() + other.get() << " 1\\n";
}
"""


@pytest.mark.parametrize("memory_mb", [64, 1024])
@pytest.mark.parametrize(("language", "source"), [("c", _THREADS_C), ("cpp", _THREADS_CPP)])
def test_threads_run_beside_a_stack_as_large_as_the_memory(
    running: Sandbox, language: str, source: str, memory_mb: int
) -> None:
    outcome = run(running, language, source, limits=replace(LIMITS, memory_mb=memory_mb))
    assert (outcome.status, outcome.stdout) == ("ok", b"8 1\n"), outcome


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_status_that_is_not_zero_is_a_runtime_error(warm: Sandbox, language: str) -> None:
    outcome = run(warm, language, PROGRAMS[language]["exits"])
    wanted = 1 if language == "sql" else 3
    assert (outcome.status, outcome.stdout, outcome.exit_code) == ("runtime_error", b"said\n", wanted), (
        outcome
    )


@pytest.mark.slow
@pytest.mark.parametrize("language", PROGRAMS)
def test_big_inputs_and_outputs_pass_whole(warm: Sandbox, language: str) -> None:
    numbers = list(range(100_000, 130_000 if language == "sql" else 200_000))
    outcome = run(
        warm, language, PROGRAMS[language]["big"], given(language, numbers), Limits(cpu_s=10.0, wall_s=60.0)
    )
    assert outcome.status == "ok", outcome.stderr
    assert outcome.stdout.decode() == "".join(f"{n}\n" for n in numbers)


@pytest.mark.parametrize("language", COMPILED)
def test_what_does_not_compile_says_where(warm: Sandbox, language: str) -> None:
    outcome = run(warm, language, PROGRAMS[language]["wrong"])
    assert outcome.status == "compile_error"
    assert outcome.detail and len(outcome.detail) <= 300
    if language not in ("go",):  # whose compiler does not say the word
        assert "error" in outcome.detail


@pytest.mark.parametrize("language", sorted(set(PROGRAMS) - set(COMPILED)))
def test_what_is_not_compiled_fails_as_it_runs(warm: Sandbox, language: str) -> None:
    assert run(warm, language, PROGRAMS[language]["wrong"]).status == "runtime_error"


def test_a_pool_builds_a_program_once(warm: Sandbox) -> None:
    source = PROGRAMS["c"]["right"].encode()
    jobs = [Job(source, b"%d 1" % n, LIMITS, language="c") for n in range(8)]
    try:
        toolchain(LANGUAGES["c"])
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    with Pool(2, "warm") as pool:
        outcomes = [ticket.result() for ticket in [pool.submit(job) for job in jobs]]
        builds = [f.result() for key, f in pool._builds._found.items() if key[0] == "c"]
    assert [int(o.stdout) for o in outcomes] == [n + 1 for n in range(8)]
    assert [type(b) for b in builds] == [Build]


@pytest.mark.slow
def test_what_is_not_valid_in_the_older_standard_is_tried_in_the_newer(warm: Sandbox) -> None:
    printf = 'extern "C" int printf(const char*, ...);\n'  # a header would take the compiler most of its time
    newer = printf + "template <typename T> concept Small = sizeof(T) < 9;\n"
    newer += 'template <Small T> T twice(T x) { return x + x; }\nint main() { printf("%d\\n", twice(21)); }'
    assert run(warm, "cpp", newer).stdout == b"42\n"
    assert warm.run(newer, language="cpp", standard="20").stdout == b"42\n"
    assert warm.run(newer, language="cpp", standard="17").status == "compile_error"
    for language, standard in (("cpp", "99"), ("c", "20"), ("javascript", "17")):
        with pytest.raises(LanguageUnavailable):
            warm.run(newer, language=language, standard=standard)
    older = printf + 'int main() { int concept = 42; printf("%d\\n", concept); }'
    assert run(warm, "cpp", older).stdout == b"42\n"


BOMBS = {
    "rust": "macro_rules! bomb { ($($t:tt)*) => { bomb!{$($t)* $($t)* $($t)* $($t)*} } }\n"
    "bomb!{a b c d e f g h}\nfn main() {}",
    "cpp": "".join(  # every token is in memory before the first is parsed
        f"#define {name} {' '.join([part] * 8)}\n" for part, name in pairwise(";ABCDEFGHI")
    )
    + "I\nint main() {}",
}


@pytest.mark.slow
@pytest.mark.parametrize("language", BOMBS)
def test_a_build_stays_within_its_memory_whatever_the_compiler(warm: Sandbox, language: str) -> None:
    outcome = run(warm, language, BOMBS[language])
    assert outcome.status == "compile_error"
    assert outcome.peak_memory >> 20 < 1.15 * BUILD_LIMITS.memory_mb


@pytest.mark.parametrize(("status", "tried"), [("runtime_error", 2), ("cpu_timeout", 1), ("memory_limit", 1)])
def test_a_compiler_that_is_stopped_is_stopped_once(status: OutcomeStatus, tried: int) -> None:
    """Whoever writes a bomb for it has no second one set off by the next standard."""
    steps = [
        [LanguageCommand(("cc1plus", standard), file="main.cpp", output="program")]
        for standard in ("17", "20")
    ]
    asked: list[Job] = []

    def run(job: Job) -> Outcome:
        asked.append(job)
        return Outcome(status)

    tools = Toolchain("1", (), lambda source, limits: steps[0][0], lambda source: steps)
    found = build(LANGUAGES["cpp"], tools, Job(b"bomb", b"", LIMITS, language="cpp"), run)
    assert isinstance(found, Outcome) and found.status == "compile_error"
    assert len(asked) == tried


@pytest.mark.parametrize("profile", ["native", "managed"])
def test_the_steps_of_a_build_share_its_limits(profile: Literal["native", "managed"]) -> None:
    step = LanguageCommand(("compiler",), file="main", output="program", profile=profile)
    asked: list[Job] = []

    def run(job: Job) -> Outcome:
        asked.append(job)
        return Outcome("ok", cpu_s=20.0, results=b"made")

    tools = Toolchain("1", (), lambda source, limits: step, lambda source: [[step, step, step]])
    assert isinstance(build(LANGUAGES["c"], tools, Job(b"", language="c"), run), Build)
    assert [job.limits.cpu_s for job in asked] == [30.0, 10.0, 0.01]
    assert {(job.profile, job.limits.memory_mb) for job in asked} == {("build", 2048)}


def test_a_language_whose_tools_are_absent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for name, remedy in (("cpp", "apt-get install g"), ("rust", "rustup"), ("java", "JDK"), ("go", "golang")):
        with pytest.raises(LanguageUnavailable, match=remedy):
            LANGUAGES[name].discover()


def test_a_language_in_another_users_home_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "home").mkdir(0)
    monkeypatch.setenv("PATH", str(folder))
    child = os.fork()
    if child == 0:
        said = ""
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            LANGUAGES["rust"].discover()
        except LanguageUnavailable as error:
            said = str(error)
        finally:
            os._exit(0 if str(folder) in said else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_folder_that_others_can_write_to_holds_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    planted = tmp_path / f"rewardkit-go-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    found = private_folder("go")
    assert found != str(planted) and os.stat(found).st_mode & 0o022 == 0
    planted.rmdir()
    planted.symlink_to(tmp_path)
    assert private_folder("go") != str(planted)
    planted.unlink()
    assert private_folder("go") == private_folder("go") == str(planted)


def test_a_callers_umask_hides_no_toolchain_from_the_jail() -> None:
    if reason := why_not("warm"):
        pytest.skip(reason)
    before = os.umask(0o077)
    try:
        with Sandbox("warm") as sandbox:
            assert sandbox.run(LANGUAGES["bash"].hello, "41\n", language="bash").stdout == b"42\n"
    finally:
        os.umask(before)


def test_a_shell_needs_a_level_with_namespaces() -> None:
    if reason := why_not("guard"):
        pytest.skip(reason)
    with Sandbox("guard") as sandbox, pytest.raises(LanguageUnavailable, match="level 'warm'"):
        sandbox.run("echo", language="bash")


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("C++", "cpp"), ("c++17", "cpp"), ("cpp17", None), ("js", "javascript"), ("sh", "bash"), ("Python3", PYTHON), ("brainfuck", None), ("", None),
        ("C++ 20 (GCC 13-64)", "cpp"), ("GNU C++17 7.3.0", "cpp"), ("C++14 (GCC 6-32)", "cpp"), ("GNU C11", "c"),
        ("PyPy 3-64", PYTHON), ("Node.js 15.8.0 (64bit)", "javascript"), ("C++23", None), ("C# 10", None),
    ],
)  # fmt: skip
def test_a_language_is_known_by_its_names(called: str, name: str | None) -> None:
    assert find(called) == name


@pytest.mark.parametrize(
    ("source", "file", "started"),
    [
        ("public class Main { public static void main(String[] a) {} }", "Main", "Main"),
        ("class A {} public class B { } class C { static public void main(String... a) {} }", "B", "C"),
        ("// public class X {}\n/* class Y { */ class Z { void main() {} }", "Z", "Z"),
        ('class A { String s = "class B { void main("; char c = \'{\'; }\nclass D { void main(String[] a) {} }', "D", "D"),
        ("package a.b; public final class Main { public static void main(String[] a) {} }", "Main", "a.b.Main"),
        ('class A { String s = """\n class B { "quoted" }\n"""; public static void main(String[] a) {} }', "A", "A"),
        ("", "Main", "Main"),
    ],
)  # fmt: skip
def test_the_class_to_start_is_found_in_the_source(source: str, file: str, started: str) -> None:
    assert names(source) == (file, started)


@pytest.mark.parametrize("text", ["/*" * 50_000, "public class " * 20_000])
def test_the_search_for_it_is_linear(text: str) -> None:
    import time

    started = time.process_time()
    names(text)
    assert time.process_time() - started < 2


def test_a_language_goes_by_any_of_its_names(warm: Sandbox) -> None:
    assert warm.run("print(6 * 7)", language="pypy3").stdout.strip() == b"42"
    assert warm.run("SELECT 6 * 7;", language="sqlite3").stdout.strip() == b"42"
    with pytest.raises(LanguageUnavailable, match=r"'klingon'; .* python, c, "):
        warm.run("", language="klingon")
