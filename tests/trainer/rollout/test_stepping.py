"""Episodes beside an engine that is a stand-in: what the real one does is in test_rollout.py."""

from __future__ import annotations

import asyncio
import traceback
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from rewardkit.trainer.rollout.base import TurnFailedError
from rewardkit.trainer.rollout.stepping import Stepper


class Dying:
    """An engine that fails at its first step."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.died = False

    def add_request(self, name: str, *_: Any) -> None:
        self.added.append(name)

    def has_unfinished_requests(self) -> bool:
        return bool(self.added)

    def step(self) -> list[Any]:
        self.died = True
        raise RuntimeError("out of memory")


def test_an_engine_that_dies_is_said_once_however_many_episodes_waited() -> None:
    engine = Dying()
    stepper = Stepper(
        engine,
        SimpleNamespace(rank_in_group=0, world_size=1),
        lambda *_: None,
        lambda *_: None,
        at_work=nullcontext,
        max_len=100,
        vocabulary=10,
    )

    async def play(model: Any, place: int) -> str:
        while place and not engine.died:
            await asyncio.sleep(0.001)
        for _ in range(place):  # one after another
            await asyncio.sleep(0.001)
        with pytest.raises(RuntimeError):
            await model.generate([1], seed=0, max_tokens=2)
        return "ended"

    with pytest.raises(RuntimeError, match="out of memory") as caught:
        stepper.run(play, list(range(64)))
    assert len(traceback.extract_tb(caught.value.__traceback__)) < 12


class Refusing(Dying):
    """What a program of one episode asks for is refused, as a schema that cannot be compiled is."""

    def add_request(self, name: str, prompt: Any, given: Any) -> None:
        if given:
            raise ValueError("no such grammar")
        super().add_request(name)

    def step(self) -> list[Any]:
        output = SimpleNamespace(token_ids=[3], logprobs=None, finish_reason="stop")
        done = SimpleNamespace(
            finished=True, num_cached_tokens=0, prompt_token_ids=[1], request_id="", outputs=[output]
        )
        found = [SimpleNamespace(**{**vars(done), "request_id": name}) for name in self.added]
        self.added = []
        return found


def test_a_constraint_that_the_engine_refuses_fails_only_its_own_turn() -> None:
    stepper = Stepper(
        Refusing(),
        SimpleNamespace(rank_in_group=0, world_size=1),
        lambda seed, most, stop, constraint: constraint,
        lambda *_: None,
        at_work=nullcontext,
        max_len=100,
        vocabulary=10,
        constrains=True,
    )

    async def play(model: Any, place: int) -> Any:
        if place == 0:
            with pytest.raises(TurnFailedError, match="no such grammar"):
                await model.generate([1], seed=0, max_tokens=2, constraint={"structured_outputs": {}})
            return "refused"
        return list((await model.generate([1], seed=0, max_tokens=2)).token_ids)

    assert stepper.run(play, list(range(3))) == ["refused", [3], [3]]
