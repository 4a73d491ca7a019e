"""Plays episodes on a vLLM engine. Episodes run in an event loop, and vLLM's steps run in another thread.

Turns are added between vLLM's steps, so a slow tool delays only its own episode. Processes that share an
engine must send the same commands in the same order, although tools finish at different times. The first
process therefore plays the episodes of all processes. Before each step, it broadcasts which turns to add or
abort.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

import torch

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Reply
from rewardkit.trainer.rollout.base import Play, TurnCosts, TurnFailedError
from rewardkit.trainer.rollout.conversing import Ask, Seat, play_all

E = TypeVar("E")
R = TypeVar("R")

HEARTBEAT_S = 10.0
"""Maximum time between two broadcasts from the leading process, in seconds. Without regular broadcasts, the
collective in the other processes would time out."""


@dataclass(frozen=True, slots=True)
class AddTurn:
    """Command to start a turn."""

    name: str
    token_ids: list[int]
    seed: int
    max_tokens: int
    stop_token_ids: tuple[int, ...]
    constraint: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Abort:
    """Command to abort a turn that its episode no longer needs."""

    name: str


@dataclass(frozen=True, slots=True)
class EpisodeOver:
    """Message that an episode has ended."""

    place: int
    result: Any


@dataclass(frozen=True, slots=True)
class End:
    """Message that all episodes have ended, with the error that ended them, if any."""

    error: Exception | None = None


TurnCommand = AddTurn | Abort | EpisodeOver | End


class Stepper:
    """Runner for the episodes in one `converse` call on a vLLM engine."""

    def __init__(
        self,
        engine: Any,
        group: Any,
        parameters: Callable[[int, int, Sequence[int], Mapping[str, Any]], Any],
        told: Callable[[int, Any], None],
        *,
        at_work: Callable[[], AbstractContextManager[Any]],
        max_len: int,
        vocabulary: int,
        constrains: bool = False,
    ) -> None:
        """Create a stepper for an idle engine.

        Args:
            engine: vLLM's `LLMEngine` in this process.
            group: Group of the processes that share the engine. It has the attributes `rank_in_group` and
                `world_size`, and the method `broadcast_object`.
            parameters: Function that takes a seed, a maximum number of tokens and stop token ids. It returns
                vLLM's sampling parameters for a turn.
            told: Callback that receives the index and the result of each episode that ends, in all processes.
            at_work: Function that returns a context manager. The engine's steps run inside this context.
        """
        self._engine = engine
        self._group = group
        self._parameters = parameters
        self._told = told
        self._at_work = at_work
        self.constrains = constrains
        self._max_len = max_len
        self._vocabulary = vocabulary
        self._commands: SimpleQueue[TurnCommand] = SimpleQueue()
        self._asks: dict[str, Ask] = {}
        """Pending requests by name. Only the event loop's thread accesses them."""
        self._names = count()
        self._error: Exception | None = None
        """Error that stopped the engine, if any."""
        self._where: TracebackType | None = None
        """Original traceback of `_error`.

        Each time an episode raises the error, the traceback on the error object grows.
        """
        self._loop: asyncio.AbstractEventLoop | None = None
        self.costs = TurnCosts()

    def run(self, play: Play[E, R], episodes: Sequence[E]) -> list[R]:
        """Play the episodes of all processes in the group, and return the results in every process.

        Raises:
            Exception: An episode or the engine failed. The error is raised in all processes.
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
        constraint = dict(ask.constraint)
        self._commands.put(AddTurn(name, ask.token_ids, ask.seed, tokens, ask.stop_token_ids, constraint))

    def withdraw(self, ask: Ask) -> None:
        """See `Answers.withdraw`."""
        name = next((name for name, waiting in self._asks.items() if waiting is ask), None)
        if name is not None:
            del self._asks[name]
            self._commands.put(Abort(name))

    def idle(self) -> AbstractContextManager[None]:
        """See `Answers.idle`. Requests are answered one by one, so no request waits for an idle episode."""
        return nullcontext()

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
            if self._error is not None:  # Episodes may have handled the engine's error as their own.
                raise self._error.with_traceback(self._where)

    async def _play(self, play: Play[E, R], episodes: Sequence[E]) -> list[R]:
        self._loop = asyncio.get_running_loop()

        def left(place: int, result: R) -> None:
            self._told(place, result)
            if self._group.world_size > 1:
                self._commands.put(EpisodeOver(place, result))

        return await play_all(play, episodes, lambda place: Seat(place, self, self._vocabulary), left)

    def _serve(self) -> None:
        """Run the engine's steps in the current thread, and wait for commands while there are no turns."""
        # This query makes torch set the number of OpenMP threads in the current thread.
        # vLLM's CPU attention rejects a number of threads that changes during a step.
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
        """Add and abort turns. Return the `End` command, or None if the commands do not include one."""
        for command in commands:
            if isinstance(command, AddTurn):
                self._add(command)
            elif isinstance(command, Abort):
                self._engine.abort_request([command.name])
            elif isinstance(command, End):
                return command
        return None

    def _add(self, turn: AddTurn) -> None:
        try:
            given = self._parameters(turn.seed, turn.max_tokens, turn.stop_token_ids, turn.constraint)
            self._engine.add_request(turn.name, {"prompt_token_ids": turn.token_ids}, given)
        except Exception as error:
            if not turn.constraint:
                raise
            # The constraint is from an episode's program, and all processes reject it.
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._refuse, turn.name, str(error))

    def _refuse(self, name: str, why: str) -> None:
        ask = self._asks.pop(name, None)
        if ask is not None:
            ask.fail(TurnFailedError(f"vLLM refuses the constraint of a turn: {why}"))

    def _step(self) -> list[Any]:
        """Run one step if any turn is unfinished, and return the turns that finished in this step."""
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
            name = output.request_id.partition("-")[0]  # vLLM appends a suffix to the name
            settled.append((name, _reply(output.outputs[0])))
        if settled and self._loop is not None:
            self._loop.call_soon_threadsafe(self._settle_all, settled)

    def _settle_all(self, settled: Sequence[tuple[str, Reply]]) -> None:
        for name, reply in settled:
            ask = self._asks.pop(name, None)  # The request is None if it was withdrawn.
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
