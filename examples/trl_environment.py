"""A TRL environment (`environment_factory`) whose tools run on a rewardkit server.

    rewardkit prep gsm8k --agent tool_agent --out data/gsm8k
    rewardkit serve --tools calculator,calc_gsm8k_reward
    accelerate launch your_script.py    # GRPOTrainer(..., environment_factory=Gsm8k)

TRL shows the model every public method but `reset` and `get_reward` as a tool, makes a few instances, and
resets them from row to row: the episode of the row before is released then.
"""

from __future__ import annotations

import contextlib
import json
import os
import urllib.error
import urllib.request
from typing import Any

URL = os.environ.get("REWARDKIT_URL", "http://127.0.0.1:8000")


class Gsm8k:
    """Word problems, with a calculator and a check of the answer."""

    def __init__(self) -> None:
        self._episode: str | None = None

    def reset(self, ground_truth: str, extra_info: dict[str, Any] | None = None, **row: Any) -> None:
        """Begin an episode for a row of the dataset."""
        self._release()
        row_info = extra_info or {}
        asked = {
            "tools": ["calculator", "calc_gsm8k_reward"],
            "ground_truth": ground_truth,
            "extra_info": row_info,
        }
        self._episode = _ask("POST", "/episodes", asked)["session"]

    def calculator(self, expression: str) -> str:
        """Calculate an arithmetic expression.

        Args:
            expression: Such as (12 + 3) * 4.
        """
        return self._call("calculator", expression=expression)

    def calc_gsm8k_reward(self, answer: str) -> str:
        """Check an answer to the problem.

        Args:
            answer: The final number.
        """
        return self._call("calc_gsm8k_reward", answer=answer)

    def get_reward(self) -> float:
        """What the best answer of the episode was worth."""
        return float(_ask("POST", f"/episodes/{self._episode}/reward")["tools"]["calc_gsm8k_reward"] or 0.0)

    def _call(self, name: str, **arguments: Any) -> str:
        asked = {"name": name, "arguments": arguments}
        return str(_ask("POST", f"/episodes/{self._episode}/call", asked)["text"])

    def _release(self) -> None:
        if self._episode is not None:
            _ask("DELETE", f"/episodes/{self._episode}")
            self._episode = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the server releases what is idle by itself
            self._release()


def _ask(method: str, path: str, body: Any = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("REWARDKIT_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {path}: {error.code}: {error.read().decode()[:300]}") from None
