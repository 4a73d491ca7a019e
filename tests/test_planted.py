"""A secret that stands where an address, a header or a body may hold one is found in nothing that is written or
printed, whatever the server answers; the rest of the address is."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from fastapi.testclient import TestClient

from rewardkit import cli
from rewardkit.client import AsyncClient, Client
from rewardkit.errors import RewardkitError
from rewardkit.rewards.judge.file import register_judge
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.app import create_app
from rewardkit.trainer.config.load import as_dict, as_yaml, load_config
from rewardkit.types import Sample

SECRET = "s3cretQ7wK"
Capture = pytest.CaptureFixture[str]


class _Echo(BaseHTTPRequestHandler):
    """Answers what its server is told to, or repeats all that it was sent."""

    server: EchoServer

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
        said = f"refused: {self.path} {body} {dict(self.headers)}"
        status, answer = self.server.answer or (200, said)
        content = (answer or said) if isinstance(answer, str) else json.dumps(answer)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    do_GET = do_POST = do_HEAD = _do

    def log_message(self, *_: object) -> None: ...


class EchoServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Echo)
        self.answer: tuple[int, Any] | None = None

    def address(self, path: str = "") -> str:
        port = self.server_address[1]
        return f"http://{SECRET}u:{SECRET}@127.0.0.1:{port}{path}?key={SECRET}&v={SECRET}#{SECRET}"


COMPLETION = {
    "choices": [{"message": {"role": "assistant", "content": "Score: 7"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}
ANSWERS: dict[str, tuple[int, Any] | None] = {
    "answers": (200, COMPLETION),
    "no answer of its kind": None,
    "401": (401, ""),
    "404": (404, ""),
    "500": (500, ""),
    "an error": (200, {"error": {"message": f"bad key {SECRET}"}}),
    "refused": (0, ""),
}


@pytest.fixture(params=ANSWERS)
def server(request: pytest.FixtureRequest) -> Iterator[EchoServer]:
    with EchoServer() as made:
        made.answer = ANSWERS[request.param]
        if request.param == "refused":
            made.socket.close()
            yield made
            return
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


ROW: dict[str, Any] = {"data_source": "secret/x", "prompt": "What?", "response": "It is 7."}
ROW |= {"ground_truth": "7", "extra_info": {"split": "train", "index": 0}}
THEIRS = 'def graded(response, ground_truth, limit=1, api_key="", mode="strict"):\n    return 1.0\n'
OWN = """
from dataclasses import dataclass
from rewardkit import reward

@dataclass(frozen=True)
class Options:
    token: str = ""
    mode: str = "strict"

@reward("secret/own", options=Options, replace_existing=True)
def secret_own(sample, options: Options):
    return 1.0
"""


def _files(server: EchoServer) -> dict[str, str]:
    """The files that a project has, by name; all may hold the secret."""
    url = server.address("/v1")
    body = {"seed": 5, "api_key": SECRET, "headers": {"x": SECRET}, "chat_template_kwargs": {"a": True}}
    judge = {"url": url, "model": "m", "extra_body": body, "api_key_env": "A_KEY", "retries": 0}
    judge |= {"name": "secret_judge", "data_sources": ["secret/x"], "timeout_s": 20}
    judge |= {"marker": "Score:"}
    user = {"url": url, "model": "m", "extra_body": body, "api_key_env": "A_KEY", "retries": 0}
    tools = [{"class_name": "search", "config": {"url": url, "timeout_s": 1}}]
    tools += [{"class_name": "code_interpreter", "config": {"url": url}}]
    mcp = {"s": {"url": url, "auth_token": SECRET, "headers": {"X-Key": SECRET}}}
    command = {"s": {"command": "false", "args": [SECRET], "env": {"K": SECRET}}}
    grader = {"type": "score_model", "name": "g", "model": "m", "range": [0, 10]}
    grader["input"] = [{"role": "user", "content": f"{SECRET} {{{{sample.output_text}}}}"}]
    plain = {
        "judge.yaml": judge,
        "options.yaml": {"essays": {"url": url}, "codecontests": {"sandbox_url": url}},
        "tools.yaml": {"tools": tools},
        "mcp.yaml": {"tools": [{"class_name": "mcp", "config": {"servers": mcp}}]},
        "command.yaml": {"tools": [{"class_name": "mcp", "config": {"servers": command}}]},
        "users.yaml": {
            "interaction": [{"name": "simulated_user", "class_name": "simulated_user", "config": user}]
        },
        "imports.yaml": {
            "imported": {
                "import": "theirs.py:graded",
                "options": {"api_key": SECRET, "limit": 3},
                "data_sources": ["secret/x"],
            }
        },
    }
    written = {name: yaml.safe_dump(content) for name, content in plain.items()}
    code = ROW | {"data_source": "codecontests", "response": "```python\nprint(1)\n```"}
    code["ground_truth"] = json.dumps({"inputs": [""], "outputs": ["1"]})
    return {
        **written,
        "rows.jsonl": json.dumps(ROW) + "\n",
        "own.jsonl": json.dumps(ROW | {"data_source": "secret/own"}) + "\n",
        "code.jsonl": json.dumps(code) + "\n",
        "prompts.jsonl": json.dumps({k: v for k, v in ROW.items() if k != "response"}) + "\n",
        "theirs.py": THEIRS,
        "own.py": OWN,
        "grader.json": json.dumps(grader),
    }


Command = Callable[[EchoServer], list[str]]
LIMITS = ["--retries", "0", "--max-tokens", "8"]


def _generate(*more: str) -> Command:
    words = ["generate", "prompts.jsonl", "--out", "made.parquet", "--model", "m", *LIMITS, *more]
    return lambda server: [*words, "--url", server.address("/v1"), "--api-key-env", "A_KEY"]


def _reward(kind: str, query: str = "", *, path: str = "") -> Command:
    spec = f"secret/x={kind}:"
    return lambda s: [
        "score",
        "rows.jsonl",
        "--reward",
        f"{spec}{s.address(path).partition('?')[0]}{query}",
        *OUT,
    ]


OUT = ["--out", "scored.parquet"]
COMMANDS: dict[str, Command] = {
    "a judge": lambda s: ["score", "rows.jsonl", "--judge", "judge.yaml", *OUT],
    "a judge, as lines": lambda s: [
        "score",
        "rows.jsonl",
        "--judge",
        "judge.yaml",
        "--out",
        "a.jsonl",
        "--json",
    ],
    "a judge's lock": lambda s: ["lock", "rows.jsonl", "--judge", "judge.yaml"],
    "a judge explained": lambda s: [
        *("explain", "--data-source", "secret/x", "--response", "It is 7.", "--ground-truth", "7"),
        *("--prompt", "What?", "--judge", "judge.yaml", "--json"),
    ],
    "a judge's eval": lambda s: ["eval", "rows.jsonl", "--judge", "judge.yaml", "--report", "page.html"],
    "an option of a judge": lambda s: [
        *("lock", "rows.jsonl", "--judge", "judge.yaml", "--option", f"secret/x:url={s.address('/v1')}")
    ],
    "a body of a judge": lambda s: [
        *("lock", "rows.jsonl", "--judge", "judge.yaml", "--option"),
        f'secret/x:extra_body={{"api_key": "{SECRET}"}}',
    ],
    "no body": lambda s: [
        *("score", "rows.jsonl", "--judge", "judge.yaml", *OUT, "--option", f'secret/x:extra_body="{SECRET}"')
    ],
    "an ORS server": _reward("ors"),
    "an ORS server and an unknown option": _reward("ors", f"?key={SECRET}"),
    "NeMo-Gym": _reward("nemo-gym"),
    "a grader": lambda s: [
        *("score", "rows.jsonl", *OUT, "--reward"),
        f"secret/x=openai-grader:grader.json?url={s.address('/v1').replace('&', '%26').replace('#', '%23')}&retries=0",
    ],
    "their function": lambda s: [
        *("score", "rows.jsonl", *OUT, "--reward", f"secret/x=theirs.py:graded?api_key={SECRET}&mode=strict")
    ],
    "their function's lock": lambda s: [
        *("lock", "rows.jsonl", "--reward", f"secret/x=theirs.py:graded?api_key={SECRET}")
    ],
    "their function's trial": lambda s: ["import", f"theirs.py:graded?api_key={SECRET}", "--json"],
    "no such kind": lambda s: ["score", "rows.jsonl", "--reward", f"nothing:{s.address()}", *OUT],
    "a file of imports": lambda s: [*("lock", "rows.jsonl", "--rewards", "imports.yaml")],
    "an own option": lambda s: [
        *("score", "own.jsonl", "--reward", "own.py", "--option", f"secret/own:token={SECRET}", *OUT)
    ],
    "an own option's lock": lambda s: [
        *("lock", "own.jsonl", "--reward", "own.py", "--option", f"secret/own:token={SECRET}")
    ],
    "a sandbox": lambda s: [
        *("score", "code.jsonl", *OUT, "--option", f"codecontests:sandbox.url={s.address('/run_code')}")
    ],
    "a server of a model": _generate(),
    "an environment": _generate("--env", f"ors:http://u:{SECRET}@127.0.0.1:9?reward=sum"),
    "no environment": _generate("--env", f"ors:http://u:{SECRET}@127.0.0.1:9?key={SECRET}"),
    "tools": _generate("--tools", "tools.yaml"),
    "an MCP server": _generate("--tools", "mcp.yaml"),
    "an MCP command": _generate("--tools", "command.yaml"),
    "a user": _generate("--interactions", "users.yaml", "--agent", "tool_agent"),
    "a signed file": lambda s: [
        *(
            "score",
            s.address("/rows.jsonl").replace(f"{SECRET}u:{SECRET}@", ""),
            "--data-source",
            "gsm8k",
            *OUT,
        )
    ],
    "a signed folder": lambda s: ["score", s.address("/rows/*.jsonl"), "--data-source", "gsm8k", *OUT],
    "a bucket": lambda s: ["score", f"s3://key:{SECRET}@bucket/rows.parquet", "--data-source", "gsm8k", *OUT],
    "training's settings": lambda s: [
        *("train", "--explain", "--json", "data.train_files=x.parquet", f"reward.url={s.address()}"),
        *(f"reward_model.url={s.address()}", "custom_reward_function.path=theirs.py"),
        *(f"custom_reward_function.reward_kwargs.api_key={SECRET}", "reward.options.gsm8k.method=flexible"),
        f"reward.options.secret/x.extra_body.api_key={SECRET}",
    ],
}
SELDOM = ("their", "no such", "own", "signed", "bucket", "training", "lock", "body", "file", "MCP")
"""In the names of commands whose output does not depend on the answer, or hardly: tried with one."""


CASES = [
    (name, answer)
    for name in COMMANDS
    for answer in (["401"] if any(word in name for word in SELDOM) else ANSWERS)
]


@pytest.mark.parametrize(("name", "server"), CASES, indirect=["server"])
def test_no_command_writes_or_prints_a_secret(
    name: str, server: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("COLUMNS", "1000")
    given = _files(server)
    for file, text in given.items():
        (tmp_path / file).write_text(text)
    cli.run(COMMANDS[name](server))
    said = "".join(capfd.readouterr())
    assert "--help" not in said, "the command line does not fit"
    assert SECRET not in said
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name not in given:
            assert SECRET.encode() not in path.read_bytes(), path
            if path.suffix == ".parquet":  # its pages are packed
                assert SECRET not in repr(pq.read_table(path).to_pylist()) + str(
                    pq.read_schema(path).metadata
                )


async def _asked_by_a_loop(url: str, token: str | None) -> None:
    async with AsyncClient(url, token=token, timeout_s=1.0) as client:
        await client.ascore(Sample("gsm8k", "#### 72", "72"))


def _asked(url: str, token: str | None) -> None:
    with Client(url, token=token, timeout_s=1.0) as client:
        client.score(Sample("gsm8k", "#### 72", "72"))


@pytest.mark.parametrize("ask", [_asked, lambda url, token: asyncio.run(_asked_by_a_loop(url, token))])
@pytest.mark.parametrize("token", [None, SECRET])
def test_no_client_says_a_secret(ask: Callable[..., None], token: str | None, server: EchoServer) -> None:
    url = server.address() if token is None else server.address().replace(f"{SECRET}u:{SECRET}@", "")
    with pytest.raises(RewardkitError) as caught:
        ask(url, token)
    assert SECRET not in str(caught.value)


def test_a_reward_server_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", SECRET)
    with EchoServer() as server:
        (tmp_path / "judge.yaml").write_text(_files(server)["judge.yaml"])
    register_judge(tmp_path / "judge.yaml")
    with Scorer() as scorer, TestClient(create_app(scorer)) as client:
        said = [client.get(path).text for path in ("/rewards", "/metrics", "/", "/openapi.json", "/readyz")]
        said.append(client.post("/score", json=ROW).text)
        said.append(client.get("/metrics").text)
    assert "secret_judge" in said[0] and "127.0.0.1" in said[0]
    assert SECRET not in "".join(said)


def test_a_training_run_stores_no_secret(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(THEIRS)
    with EchoServer() as server:
        words = [f"reward.url={server.address()}", f"reward_model.url={server.address()}"]
    words += [f"custom_reward_function.path={tmp_path}/theirs.py", "data.train_files=[x.parquet]"]
    words += [f"custom_reward_function.reward_kwargs.api_key={SECRET}", "actor_rollout_ref.model.path=m"]
    words += ["custom_reward_function.reward_kwargs.mode=strict", "reward.options.gsm8k.method=flexible"]
    words += [f"reward.options.my/judge.extra_body.api_key={SECRET}", f"reward.options.my/own.token={SECRET}"]
    config = load_config(None, words)
    stored = as_yaml(config) + json.dumps(as_dict(config))
    assert SECRET not in stored
    assert as_dict(config)["custom_reward_function"]["reward_kwargs"]["mode"] == "strict"
    assert as_dict(config)["reward"]["options"]["gsm8k"] == {"method": "flexible"}
    assert as_dict(config)["reward"]["url"].startswith("http://127.0.0.1:")
