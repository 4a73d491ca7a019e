"""Plays episodes on an engine. Each episode is a coroutine that requests turns from the model.

`base.py` defines the engine interface. `hf.py` answers requests in rounds, `stepping.py` answers them between
vLLM's steps, and `fleet.py` requests them from servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from torch import Tensor

from rewardkit.agents.types import Reply, TokenModel
from rewardkit.pictures import Picture
from rewardkit.trainer.rollout.base import OnEnded, Play, Rollout, Sampling, TurnFailedError, as_rollout

E = TypeVar("E")
R = TypeVar("R")


NO_CONSTRAINT: Mapping[str, Any] = MappingProxyType({})


@dataclass(eq=False)
class Ask:
    """Request from an episode for one turn of the model."""

    place: int
    """Index of the episode."""
    token_ids: list[int]
    seed: int
    max_tokens: int
    stop_token_ids: tuple[int, ...]
    constraint: Mapping[str, Any]
    """Restrictions on the tokens. See `TokenModel`."""
    answer: asyncio.Future[Reply] = field(repr=False)
    pictures: Sequence[Picture] = ()
    """Pictures in the prompt. Their placeholder tokens are among the token ids."""

    def settle(self, reply: Reply) -> None:
        """Deliver the reply, unless the episode has been cancelled."""
        if not self.answer.done():
            self.answer.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Deliver an error, unless the episode has been cancelled."""
        if not self.answer.done():
            self.answer.set_exception(error)

    def too_long(self, limit: int) -> ValueError:
        """Return the error for a prompt that leaves no room for a response within `limit` tokens."""
        return ValueError(
            f"the prompt has {len(self.token_ids)} tokens, which leaves no room for a response: the model's "
            f"limit is {limit} tokens"
        )


class Answers(Protocol):
    """Receiver of turn requests from an engine's episodes."""

    constrains: bool
    """True if the engine can restrict the tokens of a turn."""

    def ask(self, ask: Ask) -> None:
        """Accept a request. Later, call its `settle` or `fail` method in the event loop."""
        ...

    def withdraw(self, ask: Ask) -> None:
        """Cancel a request that its episode no longer needs."""
        ...

    def idle(self) -> AbstractContextManager[None]:
        """Return a context manager.

        Inside its block, one of the episodes makes no request. See `TokenModel`.
        """
        ...


class Seat:
    """`TokenModel` for one episode."""

    def __init__(self, place: int, answers: Answers, vocabulary: int) -> None:
        self._place = place
        self._answers = answers
        self._vocabulary = vocabulary

    @property
    def constrains(self) -> bool:
        """See `TokenModel`."""
        return self._answers.constrains

    async def generate(
        self,
        token_ids: Sequence[int],
        *,
        seed: int,
        max_tokens: int,
        stop_token_ids: Sequence[int] = (),
        constraint: Mapping[str, Any] = NO_CONSTRAINT,
        pictures: Sequence[Picture] = (),
    ) -> Reply:
        """Return one turn. See `TokenModel.generate`, and `Ask.pictures`.

        Raises:
            ValueError: The prompt is empty, max_tokens is below 1, or a token id is not in the vocabulary. In
                vLLM, an unknown token id would make a step fail for the whole batch.
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
        stops = tuple(stop_token_ids)
        ask = Ask(self._place, list(token_ids), seed, max_tokens, stops, constraint, answer, pictures)
        self._answers.ask(ask)
        try:
            return await answer
        except asyncio.CancelledError:
            self._answers.withdraw(ask)
            raise

    def idle(self) -> AbstractContextManager[None]:
        """See `TokenModel`."""
        return self._answers.idle()


async def play_all(
    play: Play[E, R],
    episodes: Sequence[E],
    seat: Callable[[int], Seat],
    left: Callable[[int, R], None],
) -> list[R]:
    """Play all episodes concurrently and return their results. `left` receives each result as it arrives.

    If one episode fails, all others are cancelled. No episode is still running when this function returns.
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
    """Engine that plays episodes. See `RolloutEngine.converse`."""

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]: ...


def single_turn(max_tokens: int) -> Play[tuple[list[int], int, Sequence[Picture]], Reply]:
    """Return a function that generates one turn, given a prompt's token ids, a seed and the pictures.

    If the engine cannot generate the turn, the reply is aborted, and its text is the reason.
    """

    async def play(model: TokenModel, given: tuple[list[int], int, Sequence[Picture]]) -> Reply:
        prompt, seed, pictures = given
        more: dict[str, Any] = {"pictures": pictures} if pictures else {}
        try:
            return await model.generate(prompt, seed=seed, max_tokens=max_tokens, **more)
        except TurnFailedError as error:
            return Reply(str(error), finish_reason="aborted")

    return play


def each_request(
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    sampling: Sampling,
    seeds: Sequence[int],
    pictures: Sequence[Sequence[Picture]],
) -> list[tuple[list[int], int, Sequence[Picture]]]:
    """Return the prompt, the seed and the pictures of each response. See `RolloutEngine.generate`."""
    prompts = [i[m.bool()].tolist() for i, m in zip(prompt_ids, prompt_mask, strict=True)]
    if len(seeds) != len(prompts) * sampling.n:
        raise ValueError(f"expected {len(prompts) * sampling.n} seeds (prompts x n), found {len(seeds)}")
    each = zip(prompts, pictures or [()] * len(prompts), strict=True)
    repeated = [one for one in each for _ in range(sampling.n)]
    return [(prompt, seed, shown) for (prompt, shown), seed in zip(repeated, seeds, strict=True)]


def respond_by_turns(
    engine: Converses,
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    sampling: Sampling,
    seeds: Sequence[int],
    ended: OnEnded | None,
    response_length: int,
    pad_id: int,
    pictures: Sequence[Sequence[Picture]] = (),
) -> Rollout:
    """Implement `RolloutEngine.generate` by playing each response as an episode of one turn."""

    def told(place: int, reply: Reply) -> None:
        if ended is not None and reply.finish_reason != "aborted":
            ended({place: list(reply.token_ids)})

    given = each_request(prompt_ids, prompt_mask, sampling, seeds, pictures)
    found = engine.converse(single_turn(response_length), given, sampling, told)
    return as_rollout(found, response_length, pad_id, prompt_ids.device, log_probs=sampling.log_probs)


class TurnwiseEngine:
    """Base class for a `RolloutEngine` that generates each response as an episode of one turn."""

    response_length: int
    pad_id: int

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """See `RolloutEngine.converse`."""
        raise NotImplementedError

    def generate(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        ended: OnEnded | None = None,
        pictures: Sequence[Sequence[Picture]] = (),
    ) -> Rollout:
        """See `RolloutEngine.generate`."""
        sizes = self.response_length, self.pad_id
        return respond_by_turns(self, prompt_ids, prompt_mask, sampling, seeds, ended, *sizes, pictures)

    def attend(self, work: Future[Any]) -> None:
        """See `RolloutEngine.attend`."""
        wait([work])

    def release(self) -> None:
        """See `RolloutEngine.release`. This method does nothing."""

    def close(self) -> None:
        """See `RolloutEngine.close`. This method does nothing."""


class Rounds:
    """Receiver that answers requests in batches. A batch starts once every running episode is waiting.

    The turns in a batch therefore depend only on the episodes, not on timing, and a repeated run samples the
    same tokens.
    """

    constrains = False

    def __init__(self, episodes: int, draw: Callable[[list[Ask]], list[Reply]]) -> None:
        self._playing = episodes
        self._draw = draw
        self._waiting: list[Ask] = []
        self.error: Exception | None = None
        """Error that stopped the engine, if any. Episodes cannot distinguish this error from an error in a
        tool."""

    def ask(self, ask: Ask) -> None:
        """See `Answers.ask`."""
        if self.error is not None:
            ask.fail(self.error)
            return
        self._waiting.append(ask)
        self._go_on()

    def withdraw(self, ask: Ask) -> None:
        """See `Answers.withdraw`. A round that is already scheduled checks again before it begins."""
        if ask in self._waiting:
            self._waiting.remove(ask)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """See `Answers.idle`."""
        self.left()
        try:
            yield
        finally:
            self._playing += 1

    def left(self, *_: Any) -> None:
        """Record that an episode has ended."""
        self._playing -= 1
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and len(self._waiting) == self._playing:
            asyncio.get_running_loop().call_soon(self._round)

    def _round(self) -> None:
        if not self._waiting or len(self._waiting) < self._playing:
            return  # After a request is withdrawn, its episode repeats the request or ends.
        asks = sorted(self._waiting, key=lambda ask: ask.place)
        self._waiting = []
        try:
            for ask, reply in zip(asks, self._draw(asks), strict=True):
                ask.settle(reply)
        except Exception as error:
            self.error = error
            for ask in asks:
                ask.fail(error)
