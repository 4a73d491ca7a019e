"""Sends one sample over each protocol of the server, as its trainers' clients do: for the soak test, and for
clients whose own code cannot be installed.

Written after the clients; `server_clients` records which of them are the trainers' own code.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import requests
from websockets.sync.client import connect

TEMPLATE = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>"
TIMEOUT_S = 180.0
_POLL_S = 0.5


class Row(NamedTuple):
    """A question, a response to it, and the response's score."""

    data_source: str
    split: str
    index: int
    question: str
    ground_truth: str
    response: str
    score: float


class Server(NamedTuple):
    """Address and token of a server. The address may include the token as `http://:TOKEN@host`."""

    url: str
    token: str | None = None
    tasks: str = "tasks"

    @property
    def with_token(self) -> str:
        """Return the base address for clients that take nothing else."""
        return self.url if self.token is None else self.url.replace("://", f"://:{self.token}@")

    @property
    def bearer(self) -> dict[str, str]:
        """Return the header for clients that accept a key."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


Ask = Callable[[Server, Row], float]
"""Scores one row, and returns the reward as the client reads it from the answer."""


class Again(Exception):
    """Raised if the server does not know a submission (any more); the client then starts again."""


def native(server: Server, row: Row) -> float:
    """Score through the server's own route."""
    body = {
        "data_source": row.data_source,
        "prompt": row.question,
        "response": row.response,
        "ground_truth": row.ground_truth,
    }
    return float(_post(server.url + "/v1/score", body, server.bearer)["score"])


def openrlhf(server: Server, row: Row) -> float:
    """Score as OpenRLHF: lists of one, over a separate connection."""
    prompt = TEMPLATE.format(row.question)
    body = {"query": [prompt + row.response + END], "prompts": [prompt], "labels": [row.ground_truth]}
    return float(_post(f"{server.with_token}/openrlhf/{row.data_source}", body)["rewards"][0])


def slime(server: Server, row: Row) -> float:
    """Score as slime and miles: the answer is the number itself."""
    body = {"prompt": row.question, "response": row.response, "label": row.ground_truth}
    return float(_post(f"{server.with_token}/slime/{row.data_source}", body))


def llama_factory(server: Server, row: Row) -> float:
    """Score as LLaMA-Factory: whole texts, whose ground truths the server has."""
    body = {"model": "model", "messages": [TEMPLATE.format(row.question) + row.response + END]}
    return float(_post(f"{server.with_token}/llama_factory", body)["scores"][0])


def nemo_gym(server: Server, row: Row) -> float:
    """Score as NeMo-Gym's resource server, which verifiers and axolotl also use."""
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": row.response}],
    }
    body = {
        "data_source": row.data_source,
        "ground_truth": row.ground_truth,
        "responses_create_params": {"input": row.question},
        "response": {"output": [message]},
    }
    answer = _post(f"{server.with_token}/verify", body)
    assert not answer["mask_sample"], answer
    return float(answer["reward"])


def roll(server: Server, row: Row) -> float:
    """Score as ROLL: submit, then poll by a GET with a body."""
    headers = {} if server.token is None else {"XRL-Authorization": f"Bearer {server.token}"}
    body = {
        "prompt": row.question,
        "response": row.response,
        "reward_info": {"ground_truth": row.ground_truth},
        "timeout": 300,
    }
    asked = _post(f"{server.url}/roll/submit/{row.data_source}", body, headers)
    while True:
        answer = requests.get(
            f"{server.url}/roll/result",
            json={"reward_request_id": asked["reward_request_id"]},
            headers=headers,
            timeout=TIMEOUT_S,
        ).json()
        if answer["errcode"] == 0:
            return float(answer["reward_score"])
        if answer["errcode"] != 1:
            raise Again(answer)
        time.sleep(_POLL_S)


def vllm(server: Server, row: Row) -> float:
    """Score as clients of vLLM's classification, such as verl's router."""
    text = TEMPLATE.format(row.question) + row.response + END
    answer = _post(f"{server.with_token}/classify", {"model": row.data_source, "input": text})
    return float(answer["data"][-1]["probs"][-1])


def sglang(server: Server, row: Row) -> float:
    """Score as clients of SGLang's classification."""
    text = TEMPLATE.format(row.question) + row.response + END
    answer = _post(f"{server.with_token}/sglang/classify", {"model": row.data_source, "text": [text]})
    return float(answer[0]["embedding"][0])


def ors(server: Server, row: Row) -> float:
    """Score by the Open Reward Standard: a session for one task, which ends with an event."""
    base = f"{server.url}/{server.tasks}"
    with requests.Session() as http:
        http.headers.update(server.bearer)
        created = http.post(f"{server.url}/create_session", timeout=TIMEOUT_S).text
        session = {"X-Session-ID": _events(created)["task_id"]}
        task = {"env_name": server.tasks, "split": row.split, "index": row.index}
        opened = http.post(f"{server.url}/create", json=task, headers=session, timeout=TIMEOUT_S)
        call = {"name": "submit", "input": {"response": row.response}}
        said = http.post(f"{base}/call", json=call, headers=session, timeout=TIMEOUT_S)
        if 404 in (opened.status_code, said.status_code):
            raise Again(said.text)
        outcome = json.loads(_events(said.text)["end"])
        http.post(f"{server.url}/delete", headers=session, timeout=TIMEOUT_S)
        return float(outcome["output"]["reward"])


def openenv(server: Server, row: Row) -> float:
    """Score as OpenEnv: one episode over a WebSocket."""
    address = f"{server.url.replace('http', 'ws', 1)}/openenv/{server.tasks}/ws"
    with connect(address, additional_headers=server.bearer, open_timeout=TIMEOUT_S) as socket:
        for kind, data in (
            ("reset", {"split": row.split, "index": row.index}),
            ("step", {"response": row.response}),
        ):
            socket.send(json.dumps({"type": kind, "data": data}))
            answer = json.loads(socket.recv(timeout=TIMEOUT_S))
            assert answer["type"] == "observation", answer
        return float(answer["data"]["reward"])


WIRES: dict[str, Ask] = {
    "native": native,
    "OpenRLHF": openrlhf,
    "slime": slime,
    "LLaMA-Factory": llama_factory,
    "NeMo-Gym": nemo_gym,
    "ROLL": roll,
    "vLLM": vllm,
    "SGLang": sglang,
    "Open Reward Standard": ors,
    "OpenEnv": openenv,
}


def _post(url: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    answer = requests.post(url, json=body, headers=headers, timeout=TIMEOUT_S)
    assert answer.status_code == 200, (answer.status_code, answer.text[:300])
    return answer.json()


def _events(text: str) -> dict[str, str]:
    """Return the content of each kind of event in a stream, with its pieces joined."""
    said: dict[str, str] = {}
    for block in text.split("\n\n"):
        kind, _, data = block.partition("\n")
        if kind.startswith("event: "):
            name = "end" if kind[7:] == "chunk" else kind[7:]
            said[name] = said.get(name, "") + data[6:]
    return said
