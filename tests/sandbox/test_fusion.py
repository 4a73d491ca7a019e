"""SandboxFusion's `/run_code`: our route answers as theirs does, our client reads it, failures stay failures."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rewardkit.sandbox import Limits, Pool, SandboxUnavailable, fusion_client
from rewardkit.sandbox.fusion import run_code
from rewardkit.sandbox.fusion_client import FusionClient
from rewardkit.sandbox.languages import RUNNERS, LanguageUnavailable, find_runner, toolchain
from rewardkit.sandbox.levels import why_not
from tests.sandbox.toolchains import needs


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    with Pool(1) as pool:
        yield lambda body: asyncio.run(run_code(pool, body))


@pytest.fixture(scope="module")
def service(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(ask(body)).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/run_code"
    server.shutdown()
    thread.join()
    server.server_close()


def test_java_asserts_where_tests_stand_in_the_program(
    ask: Callable[[dict[str, Any]], dict[str, Any]], service: str
) -> None:
    try:
        toolchain(RUNNERS["java"])
    except LanguageUnavailable as error:
        pytest.skip(str(error))
    code = "public class Main { public static void main(String[] a) { assert a.length > 0 : 42; } }"
    assert "AssertionError: 42" in ask({"code": code, "language": "java"})["run_result"]["stderr"]
    assert FusionClient(service).run(code, language="java").ok  # as on this host, for a reward


def test_the_route_answers_as_sandbox_fusion_does(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    answer = ask(
        {
            "code": "print(int(input()) + 1)",
            "stdin": "41",
            "language": "python",
            "run_timeout": 5,
            "memory_limit_MB": None,
        }
    )
    assert answer["status"] == "Success"
    assert answer["compile_result"] is None
    assert (
        answer["run_result"].items()
        >= {"status": "Finished", "return_code": 0, "stdout": "42\n", "stderr": ""}.items()
    )
    failed = ask({"code": "1 / 0"})
    assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 1)
    for late in ("while True: pass", "import time\ntime.sleep(1.5)"):  # elapsed time, there
        answer = ask({"code": late, "run_timeout": 0.3})
        assert (answer["status"], answer["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")


BAD_PATHS = (
    "",
    ".",
    "..",
    "../a",
    "a/../../b",
    "/a",
    "/etc/passwd",
    "/tmp/../etc/x",
    "a\0b",
    "a" * 300,
    "a/" * 99 + "b",
)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": "x", "language": "haskell"},
        {"code": "x", "rewardkit": {"cpu_s": 1e9}},
        {"code": "x", "run_timeout": -1},
        {"code": "x", "files": ["a"]},
        {"code": "x", "files": {"a": "A"}},
        {"code": "x", "files": {f"{i}": "" for i in range(999)}},
        {"code": "x", "files": {"a": "A" * (64 << 20)}},
        {"code": "x", "fetch_files": ["a"] * 999},
        {"code": "x", "fetch_files": "a"},
        *({"code": "x", "files": {name: ""}} for name in BAD_PATHS),
        *({"code": "x", "fetch_files": [name]} for name in BAD_PATHS),
    ],
)
def test_what_cannot_be_run_is_an_error_of_the_service(
    body: dict[str, Any], ask: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    answer = ask(body)
    assert (answer["status"], answer["run_result"]) == ("SandboxError", None)
    assert answer["message"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"../a": "QQ=="}, "'../a' is not"),
        ({"a": "A"}, "'a' is not base64"),
        ({"a": 1}, "'a' must be base64"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(
    files: dict[str, Any], why: str, ask: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    assert why in ask({"code": "x", "files": files})["message"]


TREE = """
import os
open('out.bin', 'wb').write(open('data/in.bin', 'rb').read()[::-1])
os.makedirs('made'); open('made/b', 'w').write('b'); open('data/in.bin', 'a').write('changed')
os.symlink('/usr/lib/os-release', 'link'); open('large', 'w').truncate(4 << 20)
raise SystemExit(3)
"""


@pytest.mark.parametrize("level", ["warm", "guard"])
def test_a_run_finds_the_files_of_its_request_and_leaves_others(level: Any) -> None:
    if why := why_not(level):
        pytest.skip(why)
    with Pool(1, level) as pool:
        check_files(lambda body: asyncio.run(run_code(pool, body)))


def check_files(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    content = bytes(range(256))
    asked = ["out.bin", "/tmp/made/b", "./made//b", "data/in.bin", "link", "made", "nothing", "large"]
    files = {"/mnt/data/in.bin": base64.b64encode(content).decode(), "left_out": None}
    answer = ask({"code": TREE, "files": files, "fetch_files": asked})
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", 3), answer
    found = {name: base64.b64decode(text) for name, text in answer["files"].items()}
    assert found == {
        "out.bin": content[::-1],
        "/tmp/made/b": b"b",
        "./made//b": b"b",
        "data/in.bin": content + b"changed",
    }
    assert "too large" in answer["message"] and answer["message"].endswith(": large")
    late = ask(
        {"code": "open('a', 'w').write('1')\nwhile True: pass", "fetch_files": ["a"], "run_timeout": 0.2}
    )
    assert late["run_result"]["status"] == "TimeLimitExceeded" and late["files"] == {"a": "MQ=="}
    again = ask({"code": "import os; print(os.listdir('.'))", "fetch_files": ["a"]})
    assert (again["run_result"]["stdout"], again["files"]) == (
        "[]\n",
        {},
    )  # nothing is left of the runs before


@pytest.mark.slow
def test_what_is_compiled_finds_the_files_too(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    needs("c")
    for value in (b"41", b"42"):  # another header is another program
        header = base64.b64encode(b"#define VALUE " + value).decode()
        source = '#include <stdio.h>\n#include "lib/value.h"\nint main(void) { fopen("lib/value.h", "r") ? printf("%d", VALUE) : 0; }'
        answer = ask({"code": source, "language": "c", "files": {"lib/value.h": header}})
        assert answer["run_result"]["stdout"] == value.decode(), answer


JEST = "import { expect, test } from '@jest/globals';\nfunction f(x: number): number { return X; }\ntest('f', () => { expect(f(20)).toBe(41); });"
JUNIT = """import org.junit.jupiter.api.Test;
import static org.junit.jupiter.api.Assertions.*;
public class Twice { static int f(int x) { return X; } }
class TwiceTest { @Test void twice() { assertEquals(41, Twice.f(20)); } }
"""
GO_TEST = """package twice
import "testing"
func f(x int) int { return X }
func main() { panic("no test") }
func TestF(t *testing.T) { if f(20) != 41 { t.Errorf("f(20) is %d", f(20)) } }
"""
TESTED: dict[str, tuple[str, str]] = {
    "pytest": ("def f(x): return X\nclass TestF:\n    def test_f(self, capfd, tmp_path):\n        print(f(20))\n        assert capfd.readouterr().out == '41\\n'", "41"),
    "ts": ("import fs from 'fs';\nconst x: number = 20;\nfs.writeFileSync(1, `${X}`);\nif (X != 41) process.exit(1);", "41"),
    "jest": (JEST, "Received: 40"),
    "junit": (JUNIT, "expected: <41> but was: <40>"),
    "go_test": (GO_TEST, "f(20) is 40"),
}  # fmt: skip
"""Programs with their tests, of which X is the right answer, or a wrong one; and what is said of that."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in TESTED])
def test_the_route_runs_programs_with_their_tests(
    name: str, ask: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    needs(find_runner(name) or "")
    code, said = TESTED[name]
    for expression, status in (("2 * x + 1", "Success"), ("2 * x", "Failed")):
        answer = ask({"code": code.replace("X", expression), "language": name, "run_timeout": 120})
        assert (answer["status"], answer["run_result"]["status"]) == (status, "Finished"), answer
        assert status == "Success" or answer["run_result"]["return_code"] == 1
    assert name == "ts" or said in answer["run_result"]["stdout"] + answer["run_result"]["stderr"]


def test_a_runner_of_tests_that_is_not_here_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSPATH", "/nowhere/*:/nowhere.jar")
    with pytest.raises(LanguageUnavailable, match="CLASSPATH"):
        RUNNERS["junit"].discover()
    monkeypatch.setattr("rewardkit_extras.languages.typescript.package_folders", lambda node: ())
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("node") or ""))
    for name in ("jest", "typescript", *(["go_test"] if shutil.which("go") is None else [])):
        with pytest.raises(LanguageUnavailable, match="install"):
            RUNNERS[name].discover()


@pytest.mark.slow
def test_the_route_speaks_their_names_of_languages(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    needs("cpp")
    source = '#include <cstdio>\nint main() { int x; scanf("%d", &x); printf("%d\\n", x + 1); }'
    answer = ask({"code": source, "stdin": "41", "language": "cpp"})
    assert (answer["status"], answer["run_result"]["stdout"]) == ("Success", "42\n")
    assert (answer["compile_result"]["status"], answer["compile_result"]["return_code"]) == ("Finished", 0)
    failed = ask({"code": "int main() { nothing; }", "language": "cpp"})
    assert (failed["status"], failed["run_result"]) == ("Failed", None)
    assert failed["compile_result"]["return_code"] != 0 and "nothing" in failed["compile_result"]["stderr"]
    needs("javascript")
    answer = ask({"code": "console.log(42)", "language": "nodejs"})
    assert (answer["status"], answer["compile_result"]) == ("Success", None)
    assert answer["run_result"]["stdout"] == "42\n"


def test_the_client_reads_what_the_route_says(service: str) -> None:
    client = FusionClient(service)
    good = client.run("print(int(input()) + 1)", "41")
    assert (good.status, good.stdout, good.exit_code) == ("ok", b"42\n", 0)
    assert client.run("1 / 0").status == "runtime_error"
    assert client.run("while True: pass", limits=Limits(cpu_s=0.1, wall_s=60)).status == "cpu_timeout"
    assert client.run("import time; time.sleep(9)", limits=Limits(0.1, idle_s=0.1)).status == "idle_timeout"
    assert client.run("x = bytearray(1 << 30)", limits=Limits(memory_mb=64)).status == "memory_limit"
    assert client.run("print('x' * 9999)", limits=Limits(output_bytes=99)).status == "output_limit"
    assert client.run("print(math.pi)", prelude=True).ok
    assert FusionClient(service.removesuffix("/run_code")).run("print(1)").ok


def test_the_client_runs_other_languages_there(service: str) -> None:
    needs("c")
    client = FusionClient(service)
    assert client.run('#include <stdio.h>\nint main(void) { puts("42"); }', language="c").stdout == b"42\n"
    failed = client.run("int main(void) { return nothing; }", language="c")
    assert failed.status == "compile_error" and "undeclared" in (failed.detail or "")


THEIRS = {
    "status": "Success", "message": "", "compile_result": None, "executor_pod_name": None, "files": {},
    "run_result": {"status": "Finished", "execution_time": 0.1, "return_code": 0, "stdout": "42\n", "stderr": ""},
}  # fmt: skip
LATE = {"status": "TimeLimitExceeded", "execution_time": 9.0, "return_code": None, "stdout": "", "stderr": ""}
FAILED = {
    "status": "Finished",
    "execution_time": 1.0,
    "return_code": 1,
    "stdout": "",
    "stderr": "a.cpp: error: x",
}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (THEIRS, "ok"),
        (THEIRS | {"status": "Failed", "run_result": FAILED}, "runtime_error"),
        (THEIRS | {"status": "Failed", "run_result": LATE}, "cpu_timeout"),
        (THEIRS | {"status": "Failed", "run_result": None, "compile_result": FAILED}, "compile_error"),
        (THEIRS | {"status": "SandboxError", "run_result": None, "message": "no"}, "sandbox_error"),
        (
            THEIRS | {"status": "Failed", "run_result": FAILED | {"rewardkit": {"status": "sudo"}}},
            "runtime_error",
        ),
        ({}, "sandbox_error"),
    ],
)
def test_the_client_reads_what_theirs_says(answer: dict[str, Any], status: str) -> None:
    assert fusion_client._outcome(answer).status == status


class Elsewhere:
    """A SandboxFusion: keeps what it was asked, and answers with what a program of so many seconds did."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.seconds = 0.5

    def __call__(self, body: bytes, timeout_s: float) -> tuple[int, bytes]:
        asked = json.loads(body)
        self.asked.append(asked)
        late = self.seconds > asked["run_timeout"]
        result = LATE if late else THEIRS["run_result"] | {"execution_time": self.seconds}
        answer = THEIRS | {"status": "Failed" if late else "Success", "run_result": result}
        return 200, json.dumps(answer).encode()


def test_a_service_that_measures_elapsed_time_is_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of github.com/bytedance/SandboxFusion (469de084): `run_timeout` is elapsed time, in seconds."""
    elsewhere, client = Elsewhere(), FusionClient("http://host/run_code")
    monkeypatch.setattr(client, "_exchange", elsewhere)
    limits = Limits(cpu_s=2.0, wall_s=300.0, memory_mb=256)
    done = client.run("print(42)", "in", limits, language="cpp")
    asked = elsewhere.asked[0]
    assert (asked["code"], asked["stdin"], asked["language"]) == ("print(42)", "in", "cpp")
    assert (asked["run_timeout"], asked["compile_timeout"], asked["memory_limit_MB"]) == (11.0, 60.0, 256)
    assert (done.status, done.cpu_s, done.wall_s) == ("ok", 0.5, 0.5)
    elsewhere.seconds = 10.9  # busy with others, and within what it was given
    assert client.run("print(42)", "", limits).status == "ok"
    elsewhere.seconds = 12.0
    late = client.run("print(42)", "", limits)
    assert (late.status, late.cpu_s) == ("cpu_timeout", 9.0)


def test_only_a_program_that_is_itself_too_large_has_failed_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FusionClient("http://host/run_code")
    monkeypatch.setattr(client, "_exchange", lambda body, timeout_s: (413, b""))
    assert client.run("#" * 9_999).status == "memory_limit"
    assert client.run("pass", "x" * 9_999).status == "sandbox_error"


def test_a_call_that_the_service_fails_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FusionClient("http://host/run_code")
    monkeypatch.setattr(client, "_exchange", lambda body, timeout_s: (500, b""))
    monkeypatch.setattr(fusion_client, "_PAUSE_S", 0.0)
    with pytest.raises(SandboxUnavailable, match="HTTP 500"):
        client.call("def f(): pass", "f", [[], []])
    monkeypatch.setattr(client, "_exchange", Elsewhere())
    old = client.call("def f(): pass", "f", [[]])[0]
    assert old.status == "sandbox_error" and "Python 3.9" in str(old.error)
    client._makes_calls = True
    silent = client.call("def f(): pass", "f", [[]])[0]
    assert silent.status == "runtime_error" and "ended" in str(silent.error)


@pytest.fixture
def busy() -> Iterator[tuple[str, list[str | None]]]:
    """A service that is busy twice, or for ever if the program is `break`; and what it was sent as a password."""
    asked: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(self.headers["Authorization"])
            ready = len(asked) >= 3 and body["code"] != "break"
            self.send_response(200 if ready else 503)
            self.end_headers()
            self.wfile.write(json.dumps(THEIRS).encode() if ready else b"busy")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://:secret@127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_client_tries_again_where_the_service_is_busy(
    busy: tuple[str, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion_client, "_PAUSE_S", 0.0)
    url, asked = busy
    client = FusionClient(url)
    assert client.run("print(42)").stdout == b"42\n"
    assert asked == ["Basic OnNlY3JldA=="] * 3
    assert "secret" not in client.url + client.level
    broken = client.run("break")
    assert (broken.status, len(asked)) == ("sandbox_error", 3 + fusion_client._ATTEMPTS)
    assert "HTTP 503" in (broken.detail or "")


@pytest.mark.parametrize(
    ("said", "status"),
    [(b"HTTP/1.0 200 OK\r\n\r\n[1]", "JSON list"), (b"HTTP/1.0 307 Elsewhere\r\n\r\n", "HTTP 307")],
)
def test_an_answer_that_is_none_is_a_sandbox_error(said: bytes, status: str) -> None:
    with answering(said) as url:
        outcome = FusionClient(url).run("print(1)")
    assert outcome.status == "sandbox_error" and status in (outcome.detail or "")


def test_a_service_that_speaks_no_http_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_client, "_PAUSE_S", 0.0)
    with answering(b"SSH-2.0-OpenSSH\r\n") as url, pytest.raises(SandboxUnavailable, match="--run-code"):
        FusionClient(url).run("print(1)")


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """A service that says the same to everything."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.rfile.read(length)
            self.wfile.write(said)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/run_code"
        server.shutdown()
        thread.join()


def test_a_service_that_is_not_there_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_client, "_PAUSE_S", 0.0)
    with pytest.raises(SandboxUnavailable, match="server address"):
        FusionClient("localhost:8000")
    with pytest.raises(SandboxUnavailable, match="--run-code"):
        FusionClient("http://127.0.0.1:9/run_code").run("print(1)")
