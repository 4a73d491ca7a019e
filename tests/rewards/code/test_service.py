"""`sandbox.url`: what a service of ours decides is what is decided here, and what theirs cannot do is an error."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rewardkit.registry import REGISTRY
from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.sandbox import Pool
from rewardkit.sandbox.fusion import EXTENSION, run_code
from rewardkit.sandbox.languages import LANGUAGES, LanguageUnavailable, toolchain
from rewardkit.types import Sample
from tests.rewards.code.apart_problems import CASES as CASES_APART
from tests.rewards.code.conftest import ScoredBy
from tests.rewards.code.test_checkers import DIVISOR
from tests.server.serving import serve

STDIN = [{"input": "1 2\n", "output": "3"}, {"input": "40 2\n", "output": "42"}]
CASES = [{"input": "12\n", "output": "2\n"}, {"input": "30\n", "output": "2\n"}]
PYTEST = (
    "import pytest\nfrom solution import root\n"
    "def test_root(): assert root(4) == pytest.approx(2.0)\n"
    "def test_refused():\n    with pytest.raises(ValueError, match='negative'): root(-1)\n"
)
ROOT = "def root(x):\n    if x < 0: raise ValueError('negative')\n    return x ** 0.5"
SLEEPING = "import time; time.sleep(99)"
COUNTER = "made = []\ndef f(x):\n    made.append(x)\n    return len(made)"

FORMS: dict[str, tuple[Any, list[str]]] = {
    "standard input": (
        {"tests": STDIN},
        ["print(sum(map(int, input().split())))", "print(3)", "print(chr(0xd800))", SLEEPING],
    ),
    "a checker program": (
        {"official_tests": CASES, "generated_checker": DIVISOR, "input_mode": "stdio"},
        ["print(3)", "print(5)", "print('x')"],
    ),
    "a checker that does not work": (
        {"official_tests": CASES, "generated_checker": "1 / 0", "input_mode": "stdio"},
        ["print(3)"],
    ),
    "a user's checker": ({"tests": STDIN, "checker": "CHECKER"}, ["print(int(input()[0]) + 2)", "print(0)"]),
    "calls": (
        {"tests": [f"assert f({x}) == {x}" for x in (1, 2, 3)]},
        [COUNTER, "def f(x): return x if x < 3 else 1 / 0", "def f(x): return {x: [None]}"],
    ),
    "LeetCode's assertions": (
        {
            "test": "def check(candidate):\n    assert sorted(candidate(n=3)) == [0, 1, 2]\n    assert candidate(n=0) in ([], ())\n",
            "entry_point": "Solution().count",
        },
        ["class Solution:\n    def count(self, n): return list(range(n))", "class Solution:\n    def count(self, n): return [n]"],
    ),
    "assertions of another form": (
        {"tests": ["assert f(1) in (1, 2)", "x = f(2)\nassert x > 1 and f(x)"]},
        ["def f(x): return x", "def f(x): return 1", "def g(x): return x"],
    ),
    "assertions that cannot be carried": ({"tests": ["import nowhere_at_all\nassert f(1) < 2"]}, ["def f(x): return x"]),
    "pytest": ({"test": PYTEST}, [ROOT, ROOT.replace("negative", "no"), f"def root(x):\n    {SLEEPING}"]),
}  # fmt: skip

ENDINGS = ["while True: pass", "import os\nos.abort()", "raise SystemExit(0)", "def f("]
"""Programs that come to no answer, whatever the tests."""

HANGING = ["def f(x):\n    while True: pass", "import os\ndef f(x): os._exit(0)"]
"""Such that end where they are called."""


@pytest.fixture(scope="module")
def service(scored: ScoredBy) -> Iterator[str]:
    """A server of ours."""
    with serve("--run-code") as server:
        yield f"{server.url}/run_code"


SENT: list[bytes] = []


@pytest.fixture(scope="module")
def theirs(scored: ScoredBy) -> Iterator[str]:
    """A service that knows nothing of our fields, as SandboxFusion; keeps what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            SENT.append(sent)
            body = json.loads(sent)
            del body[EXTENSION]
            answer = asyncio.run(run_code(pool, body))
            answer["run_result"].pop(EXTENSION, None)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with Pool(1) as pool:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_form_is_scored_on_our_service_as_it_is_here(
    service: str, scored: ScoredBy, tmp_path: Path
) -> None:
    checker = tmp_path / "checker.py"
    checker.write_text("def check(given, got, expected): return got == expected\n")
    for name, (truth, programs) in FORMS.items():
        if truth.get("checker"):
            truth = {**truth, "checker": f"{checker}:check"}
        for program in programs + (ENDINGS if name in ("standard input", "pytest") else HANGING):
            there, here = (
                scored(program, truth, sandbox_url=url, cpu_s=0.1, continuous=True) for url in (service, None)
            )
            assert there.status in ("ok", "invalid"), (name, program, there.detail)
            sleeps = SLEEPING in program
            assert _judged(there, sleeps=sleeps) == _judged(here, sleeps=sleeps), (name, program)


def test_tests_in_another_language_are_scored_on_our_service_as_they_are_here(
    service: str, scored: ScoredBy
) -> None:
    try:
        toolchain(LANGUAGES["javascript"])
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    case = CASES_APART["javascript"]
    for program in (case.right, case.body, case.hostile["exit"], "const spread ="):
        there, here = (scored(program, case.truth, mark="js", sandbox_url=url) for url in (service, None))
        assert there.status == "ok" and _judged(there) == _judged(here), there.detail


def _judged(score: Any, *, sleeps: bool = False) -> Any:
    """All of a score but where it was made and how long that took. If the program sleeps on a busy machine, the time of
    a row may be used up before its second test begins, so that one test is timed out instead of two."""
    detail = str(score.detail).rpartition("; level")[0].partition(" after ")[0]
    if sleeps:
        detail = detail.replace(", 1 not run", "")
    parts = {
        name: bool(value) if sleeps and name == "timed_out" else value for name, value in score.parts.items()
    }
    return score.score, score.status, score.correct, score.extracted, parts, detail


def test_a_service_of_theirs_is_not_sent_what_is_expected(theirs: str, scored: ScoredBy) -> None:
    padded = {"tests": [{"input": "1 2\n", "output": "00003"}, {"input": "40 2\n", "output": "00042"}]}
    right = scored("print(f'{sum(map(int, input().split())):05}')", padded, sandbox_url=theirs)
    assert (right.status, right.score) == ("ok", 1.0), right.detail
    assert f"level of {theirs}/run_code" in str(right.detail)
    asserted = {"tests": [f"assert f({x}, y=0) == ({x}, {{{x}: [70007]}})" for x in (1, 2)]}
    right = scored(
        "def f(x, y=0):\n    print('noise')\n    return (x + y, {x: [70000 + 7]})",
        asserted,
        sandbox_url=theirs,
    )
    assert (right.status, right.score) == ("ok", 1.0), right.detail
    wrong = scored("def f(x, y=0): return input()", asserted, sandbox_url=theirs)
    assert (wrong.status, wrong.score) == ("ok", 0.0), wrong.detail
    for name in ("a checker program", "LeetCode's assertions", "pytest"):
        truth, programs = FORMS[name]
        refused = scored(programs[0], truth, sandbox_url=theirs)
        assert refused.status == "error" and "rewardkit serve --run-code" in str(refused.detail), name
    secrets = (b"00003", b"00042", b"70007", b"[0, 1, 2]", b"negative", b"official")
    assert SENT and not any(secret in body for body in SENT for secret in secrets)


def test_other_languages_run_elsewhere_too(service: str, scored: ScoredBy) -> None:
    try:
        toolchain(LANGUAGES["c"])
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    for source, status in (
        ('#include <stdio.h>\nint main(void) { puts("3"); }', "passed"),
        ("int main(void) {", "compile_error"),
    ):
        truth = json.dumps({"tests": [{"input": "", "output": "3"}]})
        found = score(Sample("code", f"```c\n{source}\n```", truth), CodeOptions(sandbox_url=service))
        assert found.status == "ok" and status in str(found.detail), found.detail


def test_a_service_that_is_not_there_is_an_error(scored: ScoredBy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardkit.sandbox.fusion_client._PAUSE_S", 0.0)
    for truth in ({"tests": STDIN}, {"tests": ["assert f(1) in (1, 2)"]}):
        gone = scored("def f(x): return x", truth, sandbox_url="http://127.0.0.1:9/run_code")
        assert gone.status == "error" and "--run-code" in str(gone.detail)


def test_the_option_may_be_written_with_a_dot() -> None:
    options = REGISTRY.resolve("apps").make_options({"sandbox.url": "http://host:8000"})
    assert options.sandbox_url == "http://host:8000"
