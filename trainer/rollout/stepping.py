"""Episodes on a vLLM engine: they run in an event loop, vLLM steps in a thread, turns join between its
steps.

A slow tool delays only its own episode. Processes that share an engine must give it the same commands in the
same order, though tools answer at different times: the first process plays the episodes of all, and tells
the others before each step what to add and what to abort. The others know of no tools.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

import torch

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Reply
from rewardkit.trainer.rollout.base import Play, TurnCosts
from rewardkit.trainer.rollout.conversing import Ask, Seat, play_all

E = TypeVar("E")
R = TypeVar("R")

HEARTBEAT_S = 10.0
"""An engine without work hears from the leading process this often: a collective waits only so long."""


@dataclass(frozen=True, slots=True)
class AddTurn:
    """A turn to begin."""

    name: str
    token_ids: list[int]
    seed: int
    max_tokens: int
    stop_token_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Abort:
    """A turn that nobody waits for any more."""

    name: str


@dataclass(frozen=True, slots=True)
class EpisodeOver:
    """An episode has ended."""

    place: int
    result: Any


@dataclass(frozen=True, slots=True)
class End:
    """No episode is left; or what has gone wrong."""

    error: Exception | None = None


TurnCommand = AddTurn | Abort | EpisodeOver | End


class Stepper:
    """One `converse` of a vLLM engine."""

    def __init__(
        self,
        engine: Any,
        group: Any,
        parameters: Callable[[int, int, Sequence[int]], Any],
        told: Callable[[int, Any], None],
        *,
        at_work: Callable[[], AbstractContextManager[Any]],
        max_len: int,
        vocabulary: int,
    ) -> None:
        """Take an engine at rest.

        Args:
            engine: vLLM's `LLMEngine`, in this process.
            group: of the processes that share it: `rank_in_group`, `world_size`, `broadcast_object`.
            parameters: (seed, max_tokens, stop token ids) -> vLLM's parameters of a turn.
            told: gets each episode's place and result as it ends, in all processes.
            at_work: surrounds the engine's steps, in their thread.
        """
        self._engine = engine
        self._group = group
        self._parameters = parameters
        self._told = told
        self._at_work = at_work
        self._max_len = max_len
        self._vocabulary = vocabulary
        self._commands: SimpleQueue[TurnCommand] = SimpleQueue()
        self._asks: dict[str, Ask] = {}
        """Requests that are waited for, by name; for the event loop's thread alone."""
        self._names = count()
        self._error: Exception | None = None
        """Error that has ended the engine."""
        self._where: TracebackType | None = None
        """Place of that error: each episode that it is raised in adds to the error's own."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self.costs = TurnCosts()

    def run(self, play: Play[E, R], episodes: Sequence[E]) -> list[R]:
        """Play the episodes, those of all processes of the group; return their results in all of them.

        Raises:
            Exception: what an episode, or the engine, has raised; in all processes.
        """
        if self._group.rank_in_group == 0:
            return self._lead(play, episodes)
        return self._follow(len(episodes))

    def ask(self, ask: Ask) -> None:
        """See `Answers.ask`."""
        room = self._max_len - len(ask.token_ids)
        if self._error is not None or room < 1:
            ask.fail(self._error or ask.too_long(self._max_len))
            return
        name = str(next(self._names))
        self._asks[name] = ask
        tokens = min(ask.max_tokens, room)
        self._commands.put(AddTurn(name, ask.token_ids, ask.seed, tokens, ask.stop_token_ids))

    def withdraw(self, ask: Ask) -> None:
        """See `Answers.withdraw`."""
        name = next((name for name, waiting in self._asks.items() if waiting is ask), None)
        if name is not None:
            del self._asks[name]
            self._commands.put(Abort(name))

    def _lead(self, play: Play[E, R], episodes: Sequence[E]) -> list[R]:
        thread = threading.Thread(target=self._serve, name="engine")
        thread.start()
        error: Exception | None = None
        try:
            return drive(self._play(play, episodes))
        except Exception as raised:
            error = raised
            raise
        finally:
            self._commands.put(End(error))
            thread.join()
            if self._error is not None:  # the episodes took it for a failure of their own
                raise self._error.with_traceback(self._where)

    async def _play(self, play: Play[E, R], episodes: Sequence[E]) -> list[R]:
        self._loop = asyncio.get_running_loop()

        def left(place: int, result: R) -> None:
            self._told(place, result)
            if self._group.world_size > 1:
                self._commands.put(EpisodeOver(place, result))

        return await play_all(play, episodes, lambda place: Seat(place, self, self._vocabulary), left)

    def _serve(self) -> None:
        """Step while there is work, and wait for commands while there is none; in a thread."""
        # Asking is what gives torch's number of threads to OpenMP in this thread: it would begin a step with
        # its own default and end it with torch's, which vLLM's attention on a CPU refuses.
        torch.get_num_threads()
        try:
            with self._at_work():
                going_on = True
                while going_on:
                    commands = self._take()
                    if self._group.world_size > 1:
                        self._group.broadcast_object(commands, src=0)
                    going_on = self._apply(commands) is None
                    self._settle(self._step())
        except Exception as error:
            self._error = error
            self._where = error.__traceback__
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._fail_all, error)

    def _take(self) -> list[TurnCommand]:
        commands: list[TurnCommand] = []
        try:
            if self._engine.has_unfinished_requests():
                commands.append(self._commands.get_nowait())
            else:
                commands.append(self._commands.get(timeout=HEARTBEAT_S))
            while True:
                commands.append(self._commands.get_nowait())
        except Empty:
            return commands

    def _follow(self, number: int) -> list[Any]:
        results: list[Any] = [None] * number
        end: End | None = None
        with self._at_work():
            while end is None:
                commands: list[TurnCommand] = self._group.broadcast_object(None, src=0)
                for command in commands:
                    if isinstance(command, EpisodeOver):
                        results[command.place] = command.result
                        self._told(command.place, command.result)
                end = self._apply(commands)
                self._step()
        if end.error is not None:
            raise end.error
        return results

    def _apply(self, commands: Sequence[TurnCommand]) -> End | None:
        """Add and abort; the same in all processes. Return the end, if it has come."""
        for command in commands:
            if isinstance(command, AddTurn):
                given = self._parameters(command.seed, command.max_tokens, command.stop_token_ids)
                self._engine.add_request(command.name, {"prompt_token_ids": command.token_ids}, given)
            elif isinstance(command, Abort):
                self._engine.abort_request([command.name])
            elif isinstance(command, End):
                return command
        return None

    def _step(self) -> list[Any]:
        """Take one step, if there is work, and return what has finished in it."""
        if not self._engine.has_unfinished_requests():
            return []
        return [output for output in self._engine.step() if output.finished]

    def _settle(self, outputs: Sequence[Any]) -> None:
        settled = []
        for output in outputs:
            costs = self.costs
            cached = output.num_cached_tokens or 0
            read = len(output.prompt_token_ids)
            self.costs = TurnCosts(costs.turns + 1, costs.prompt_tokens + read, costs.cached_tokens + cached)
            name = output.request_id.partition("-")[0]  # less vLLM's own suffix
            settled.append((name, _reply(output.outputs[0])))
        if settled and self._loop is not None:
            self._loop.call_soon_threadsafe(self._settle_all, settled)

    def _settle_all(self, settled: Sequence[tuple[str, Reply]]) -> None:
        for name, reply in settled:
            ask = self._asks.pop(name, None)  # None: nobody waits for it any more
            if ask is not None:
                ask.settle(reply)

    def _fail_all(self, error: Exception) -> None:
        for ask in self._asks.values():
            ask.fail(error)
        self._asks.clear()


def _reply(output: Any) -> Reply:
    log_probs = None if output.logprobs is None else list(output.logprobs.logprobs)
    return Reply(
        "", list(output.token_ids), log_probs, "stop" if output.finish_reason == "stop" else "length"
    )
