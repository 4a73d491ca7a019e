"""Episodes on an engine: many coroutines, each of which requests turns from the model.

Engines are defined in `base.py`. `hf.py` answers the requests in rounds, `stepping.py` between vLLM's steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from torch import Tensor

from rewardkit.agents.types import Reply, TokenModel
from rewardkit.trainer.rollout.base import OnEnded, Play, Rollout, Sampling, as_rollout

E = TypeVar("E")
R = TypeVar("R")


@dataclass(eq=False)
class Ask:
    """One turn that an episode wants from the model."""

    place: int
    """Place of the episode."""
    token_ids: list[int]
    seed: int
    max_tokens: int
    stop_token_ids: tuple[int, ...]
    answer: asyncio.Future[Reply] = field(repr=False)

    def settle(self, reply: Reply) -> None:
        """Deliver the turn, unless the episode has been cancelled meanwhile."""
        if not self.answer.done():
            self.answer.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Tell the episode that no turn will come."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def too_long(self, limit: int) -> ValueError:
        """Return the error for a prompt that fills the `limit` tokens of the model."""
        return ValueError(
            f"the prompt has {len(self.token_ids)} tokens, which leaves no room for a response: the model's "
            f"limit is {limit} tokens"
        )


class Answers(Protocol):
    """Receiver of the requests of an engine's episodes."""

    def ask(self, ask: Ask) -> None:
        """Take an ask, and settle or fail it in the event loop some time."""
        ...

    def withdraw(self, ask: Ask) -> None:
        """Nobody waits for it any more."""
        ...


class Seat:
    """One episode's way to the model; a `TokenModel`."""

    def __init__(self, place: int, answers: Answers, vocabulary: int) -> None:
        self._place = place
        self._answers = answers
        self._vocabulary = vocabulary

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        """See `TokenModel.generate`.

        Raises:
            ValueError: an id that the model has not: vLLM's step would fail, and with it the whole batch.
        """
        strange = next((i for i in token_ids if not 0 <= i < self._vocabulary), None)
        if strange is not None:
            raise ValueError(f"token id {strange} is not in the vocabulary of {self._vocabulary} tokens")
        if not token_ids or max_tokens < 1:
            raise ValueError(
                f"a turn needs a prompt and max_tokens above 0; found {len(token_ids)} prompt tokens and "
                f"max_tokens={max_tokens}"
            )
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        ask = Ask(self._place, list(token_ids), seed, max_tokens, tuple(stop_token_ids), answer)
        self._answers.ask(ask)
        try:
            return await answer
        except asyncio.CancelledError:
            self._answers.withdraw(ask)
            raise


async def play_all(
    play: Play[E, R],
    episodes: Sequence[E],
    seat: Callable[[int], Seat],
    left: Callable[[int, R], None],
) -> list[R]:
    """Play all episodes at once and return what they came to; `left` is told of each as it ends.

    The error of one ends all; cancelled or not, every episode has come to its end when this returns.
    """

    async def one(place: int, episode: E) -> R:
        result = await play(seat(place), episode)
        left(place, result)
        return result

    tasks = [asyncio.ensure_future(one(place, episode)) for place, episode in enumerate(episodes)]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Converses(Protocol):
    """An engine that plays episodes; see `RolloutEngine.converse`."""

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]: ...


def respond_by_turns(
    engine: Converses,
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    sampling: Sampling,
    seeds: Sequence[int],
    ended: OnEnded | None,
    response_length: int,
    pad_id: int,
) -> Rollout:
    """Do what `RolloutEngine.generate` does: a response is an episode of one turn."""
    prompts = [i[m.bool()].tolist() for i, m in zip(prompt_ids, prompt_mask, strict=True)]
    repeated = [prompt for prompt in prompts for _ in range(sampling.n)]
    if len(seeds) != len(repeated):
        raise ValueError(f"expected {len(repeated)} seeds (prompts x n), found {len(seeds)}")

    async def play(model: TokenModel, given: tuple[list[int], int]) -> Reply:
        prompt, seed = given
        return await model.generate(prompt, seed=seed, max_tokens=response_length)

    def told(place: int, reply: Reply) -> None:
        if ended is not None:
            ended({place: list(reply.token_ids)})

    found = engine.converse(play, list(zip(repeated, seeds, strict=True)), sampling, told)
    return as_rollout(found, response_length, pad_id, prompt_ids.device, log_probs=sampling.log_probs)


def cut_at(ids: Sequence[int], stop: Sequence[int], most: int) -> tuple[int, bool]:
    """Return how many of `ids` a turn keeps, the stop token included, and whether one has ended it."""
    ends = set(stop)
    for i, token in enumerate(ids[:most]):
        if token in ends:
            return i + 1, True
    return min(len(ids), most), False


class Rounds:
    """Answers whenever every episode that goes on waits for the model: what is asked together is one batch.

    So which turns share a batch depends on the episodes alone, and on no clock: the same run draws the same.
    """

    def __init__(self, episodes: int, draw: Callable[[list[Ask]], list[Reply]]) -> None:
        self._playing = episodes
        self._draw = draw
        self._waiting: list[Ask] = []
        self.error: Exception | None = None
        """Error that has ended the engine, if one has; the episodes cannot tell it from a tool's error."""

    def ask(self, ask: Ask) -> None:
        """See `Answers.ask`."""
        if self.error is not None:
            ask.fail(self.error)
            return
        self._waiting.append(ask)
        self._go_on()

    def withdraw(self, ask: Ask) -> None:
        """See `Answers.withdraw`; a round may still begin."""
        if ask in self._waiting:
            self._waiting.remove(ask)

    def left(self, *_: Any) -> None:
        """Know that an episode has ended."""
        self._playing -= 1
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and len(self._waiting) == self._playing:
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        if not self._waiting or len(self._waiting) < self._playing:
            return  # one has been cancelled meanwhile, and will ask again, or end
        asks = sorted(self._waiting, key=lambda ask: ask.place)
        self._waiting = []
        try:
            for ask, reply in zip(asks, self._draw(asks), strict=True):
                ask.settle(reply)
        except Exception as error:
            self.error = error
            for ask in asks:
                ask.fail(error)
