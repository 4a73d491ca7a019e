"""verifiers' env server, as `EnvClient` of verifiers 0.4 calls it: a run is played, scored and can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from fastapi import FastAPI

from rewardkit import Scorer
from rewardkit.errors import ConfigError
from rewardkit.server.protocols.base import ProtocolContext
from rewardkit.server.request_scoring import RequestScorer
from rewardkit_extras.protocols import verifiers

zmq = pytest.importorskip("zmq", reason="the extra `verifiers` (pyzmq) is not installed")

TASK = {"idx": 3, "prompt": "6 * 12 = ?", "system_prompt": "Think.", "answer": "72", "data_source": "gsm8k"}
SAID = {"role": "assistant", "content": "#### 72", "reasoning_content": "6 * 12"}


class Model:
    """A model's server, whose answer can be replaced. `asked` has the bodies of the requests."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: dict[str, Any] = {
            "id": "1",
            "choices": [
                {
                    "index": 0,
                    "message": SAID,
                    "finish_reason": "stop",
                    "token_ids": [7, 8],
                    "logprobs": {
                        "content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.0}]
                    },
                }
            ],
            "prompt_token_ids": [1, 2, 3],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }
        self.status = 200
        self.waits = asyncio.Event()
        self.waits.set()

    async def complete(self, request: web.Request) -> web.Response:
        self.asked.append(await request.json())
        self.keys.append(request.headers["authorization"])
        await self.waits.wait()
        return web.json_response(self.answer, status=self.status)


class EnvClient:
    """The part of verifiers' client that goes over the wire: a DEALER, msgpack and ids of requests."""

    def __init__(self, address: str, model_url: str) -> None:
        self.context = zmq.asyncio.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(address)
        self.model_url = model_url

    async def send(self, id_: str, method: str, payload: bytes) -> None:
        await self.socket.send_multipart([id_.encode(), method.encode(), payload])

    async def receive(self) -> tuple[str, dict[str, Any]]:
        """Receive the reply to a request, with the episode if it was a run."""
        traces: dict[str, dict[str, Any]] = {}
        while True:
            async with asyncio.timeout(30):
                id_, kind, payload = await self.socket.recv_multipart()
            data = msgspec.msgpack.decode(payload)
            if kind == b"delta":
                lists = {name: data[name] for name in ("nodes", "calls", "errors")}
                traces[data["trace"]] = data["open"] | lists | data["set"]
                continue
            assert kind == b"reply"
            if "head" in data:
                sizes = [
                    {"id": t["id"], "nodes": len(t["nodes"]), "calls": len(t["calls"])}
                    for t in traces.values()
                ]
                assert data["traces"] == sizes
                data["episode"] = data["head"] | {"traces": [*traces.values()]}
            return id_.decode(), data

    async def ask(self, method: str, body: dict[str, Any]) -> dict[str, Any]:
        await self.send("1", method, msgspec.msgpack.encode(body))
        id_, answer = await self.receive()
        assert id_ == "1"
        return answer

    def run(self, task: dict[str, Any] = TASK, kind: str = "train") -> dict[str, Any]:
        client = {"type": kind, "base_url": self.model_url, "api_key_var": "HOME", "headers": {"x-a": "b"}}
        sampling = {"temperature": 0.5, "top_p": None, "extra_body": {"cache_salt": "s"}}
        return {"task_data": task, "client": client, "model": "policy", "sampling": sampling}


Use = Callable[[EnvClient, Model], Awaitable[None]]


@asynccontextmanager
async def serving(model: Model) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", model.complete)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def used(tmp_path: Path, use: Use, data_source: str | None = None) -> None:
    """Call `use` with a client of an env server, and with its model."""
    import zmq.asyncio  # noqa: F401

    async def main(scorer: Scorer) -> None:
        model = Model()
        address = f"ipc://{tmp_path}/env"
        context = ProtocolContext(RequestScorer(scorer))
        async with serving(model) as url, verifiers.EnvServer(context, address, data_source):
            client = EnvClient(address, url)
            try:
                await use(client, model)
            finally:
                client.socket.close()
                client.context.term()

    with Scorer(workers=1) as scorer:
        asyncio.run(main(scorer))


def test_a_run_is_played_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verifiers.KEY, "secret")

    async def use(client: EnvClient, model: Model) -> None:
        assert await client.ask("health", {}) == {"success": True, "error": None}
        answer = await client.ask("run", client.run())
        assert answer["success"]
        episode = answer["episode"]
        assert (episode["ok"], episode["errors"], episode["task"]["data"]) == (True, [], TASK)
        (trace,) = episode["traces"]
        assert trace["rewards"] == {"rewardkit": {"score": 1.0, "weight": 1.0}}
        assert trace["metrics"] == {"format": 1.0}
        assert trace["info"]["rewardkit"]["extracted"] == "72"
        assert [node["parent"] for node in trace["nodes"]] == [None, 0, 1]
        assert [node["message"]["role"] for node in trace["nodes"]] == ["system", "user", "assistant"]
        last = trace["nodes"][-1]
        assert last["sampled"] and last["message"] == SAID
        assert (last["token_ids"], last["mask"]) == ([1, 2, 3, 7, 8], [False] * 3 + [True] * 2)
        assert last["logprobs"] == [-0.5, -1.0]
        (call,) = trace["calls"]
        assert (call["node"], call["finish_reason"]) == (2, "stop")
        assert call["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}
        (asked,) = model.asked
        assert asked == {
            "model": "policy",
            "messages": [{"role": "system", "content": "Think."}, {"role": "user", "content": "6 * 12 = ?"}],
            "temperature": 0.5,
            "cache_salt": "s",
            "logprobs": True,
            "return_token_ids": True,
        }
        assert model.keys == ["Bearer secret"]  # the variable that the request names is not read

    used(tmp_path, use)


@pytest.mark.parametrize(
    ("task", "data_source"),
    [
        ({"prompt": "p", "row": {"data_source": "gsm8k", "ground_truth": 72, "prompt": "p"}}, None),
        ({"prompt": [{"role": "user", "content": "p"}], "info": {"answer": "72"}}, "gsm8k"),
        ({"prompt": "p", "ground_truth": "72"}, "gsm8k"),
    ],
)
def test_the_ground_truth_is_found_in_the_task(
    tmp_path: Path, task: dict[str, Any], data_source: str | None
) -> None:
    async def use(client: EnvClient, model: Model) -> None:
        episode = (await client.ask("run", client.run(task, "eval")))["episode"]
        assert episode["traces"][0]["rewards"]["rewardkit"]["score"] == 1.0
        assert "token_ids" not in episode["traces"][0]["nodes"][-1]
        assert "return_token_ids" not in model.asked[0]

    used(tmp_path, use, data_source)


def test_a_failed_run_has_no_reward(tmp_path: Path) -> None:
    async def use(client: EnvClient, model: Model) -> None:
        async def failed(task: dict[str, Any] = TASK) -> str:
            answer = await client.ask("run", client.run(task))
            assert answer["success"]
            (trace,) = answer["episode"]["traces"]
            assert not answer["episode"]["ok"] and not trace["ok"]
            assert trace["rewards"] == {"rewardkit": None}
            return str(trace["errors"][0]["message"])

        assert "nowhere" in await failed({**TASK, "data_source": "nowhere"})
        del model.answer["prompt_token_ids"]
        assert "vLLM" in await failed()
        model.answer = {"choices": []}
        await failed()
        model.status = 500
        assert "500" in await failed()

    used(tmp_path, use)


def test_bad_messages_are_refused_and_the_next_one_is_answered(tmp_path: Path) -> None:
    async def use(client: EnvClient, model: Model) -> None:
        for method, payload in (("run", b"\xc1"), ("run", b"\x80"), ("dance", b"\x80"), ("cancel", b"\x80")):
            await client.send("1", method, payload)
            assert not (await client.receive())[1]["success"]
        await client.socket.send_multipart([b"1", b"run"])
        assert (await client.ask("health", {}))["success"]

    used(tmp_path, use)


def test_a_run_can_be_cancelled(tmp_path: Path) -> None:
    async def use(client: EnvClient, model: Model) -> None:
        model.waits.clear()
        await client.send("run", "run", msgspec.msgpack.encode(client.run()))
        while not model.asked:
            await asyncio.sleep(0.01)
        await client.send("cancel", "cancel", msgspec.msgpack.encode({"request_id": "run"}))
        answers = dict([await client.receive(), await client.receive()])
        assert answers["cancel"] == {"success": True, "error": None, "cancelled": True}
        assert not answers["run"]["success"]
        again = await client.ask("cancel", {"request_id": "run"})
        assert again == {"success": True, "error": None, "cancelled": False}

    used(tmp_path, use)


def test_the_application_serves_the_addresses_of_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zmq.asyncio  # noqa: F401

    monkeypatch.setenv(verifiers.ADDRESSES, f"ipc://{tmp_path}/a gsm8k=ipc://{tmp_path}/b")

    async def main(context: ProtocolContext) -> None:
        app = FastAPI()
        app.include_router(verifiers.router(context))
        async with app.router.lifespan_context(app):
            for name in "ab":
                client = EnvClient(f"ipc://{tmp_path}/{name}", "")
                assert (await client.ask("health", {}))["success"]
                client.socket.close()
                client.context.term()

    with Scorer(workers=1) as scorer:
        requests = RequestScorer(scorer)
        with pytest.raises(ConfigError, match="--workers 1"):
            verifiers.router(ProtocolContext(requests, processes=2))
        asyncio.run(main(ProtocolContext(requests)))
