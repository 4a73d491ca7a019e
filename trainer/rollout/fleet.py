"""Fleet of rollout servers, from which each process requests turns.

A request contains token ids, and a response contains token ids and log-probabilities. `served.py` keeps the
fleet up to date. If a server is lost, its turns are requested again from another server, with the same tokens
and seed. The same weights then generate the same tokens.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Literal, TypeVar

import aiohttp
import msgspec
import numpy

from rewardkit.agents.types import Reply
from rewardkit.errors import RewardkitError
from rewardkit.trainer.config.workers import RolloutConfig
from rewardkit.trainer.models.vision import PicturePrompt
from rewardkit.trainer.rollout.base import Play, TurnCosts, TurnFailedError
from rewardkit.trainer.rollout.conversing import Ask, Seat, play_all
from rewardkit.trainer.rollout.serving import CONNECT_S, ServerError, fetch
from rewardkit.trainer.rollout.vllm_arguments import check_expanded

E = TypeVar("E")
R = TypeVar("R")

FAILURES = 5
"""Number of failures after which a turn is given up."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
"""Upper bound for the pause before a server is asked for a turn again, in seconds."""
MASKED_SHARE = 0.1
"""Maximum share of a call's episodes that may fail because no server can generate one of their turns.

All episodes of a single prompt may fail in any case.
"""
POLL_S = 1.0
"""Seconds between two checks of the servers while a turn is pending or no server is available."""
LOWEST = -9000.0
"""Lower bound for valid log-probabilities. vLLM reports NaN and minus infinity as -9999."""


@dataclass(eq=False)
class RolloutServer:
    """State of one vLLM server as seen by this process."""

    url: str
    lives: bool = True
    """True if the server answers and has the most recently published weights."""

    def lose(self, why: object) -> None:
        """Record that the server is not usable until weights are published to it again."""
        if self.lives:
            self.lives = False
            say(f"lost a rollout server ({why}); the other servers take over the turns")


@dataclass(eq=False)
class Fleet:
    """Servers and the weights published to them. A sync may change both while turns are being requested."""

    servers: list[RolloutServer]
    published: dict[str, int] = field(default_factory=dict)
    """Trainer's version for each name of weights on the servers, oldest first. Weights that are still being
    sent are included."""
    current: str = ""
    """Name of the latest weights whose publication is complete."""
    adapters: bool = False
    """If True, each version is an adapter. Servers keep several adapters loaded, so a turn ends with the
    adapter that it began with. If False, each version replaces the weights, and running turns continue with
    the new weights."""
    starving: threading.Event = field(default_factory=threading.Event)
    """Set while turns wait because no server is available. The main thread then has to recover a server."""
    closed: bool = False
    """True if lost servers are no longer recovered."""
    begun: Counter[str] = field(default_factory=Counter)
    """Number of running turns by the name of the weights with which they began."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def turn(self) -> Iterator[str]:
        """Mark the current weights as in use for the block, which generates a turn.

        Yield the name of the weights.
        """
        with self.lock:
            name = self.current
            self.begun[name] += 1
        try:
            yield name
        finally:
            with self.lock:
                self.begun[name] -= 1

    def in_use(self) -> set[str]:
        """Return the names of the current weights and of all weights with which running turns started."""
        with self.lock:
            return {self.current, *(+self.begun)}

    def since(self, name: str) -> set[str]:
        """Return the name of these weights and the names of all later weights."""
        found = set()
        # The search starts with the newest weights, because `name` is nearly always recent.
        for one in reversed(self.published):
            found.add(one)
            if one == name:
                break
        return found

    def complete(self, name: str, urls: Sequence[str], failed: Collection[str]) -> None:
        """Record that the servers `urls`, except `failed`, have the weights `name`. Remove all other servers.

        The objects of known servers are kept, because running turns may reference them.
        """
        with self.lock:
            self.current = name
        known = {server.url: server for server in self.servers}
        self.servers = [known.pop(url) if url in known else RolloutServer(url) for url in urls]
        for server in (*self.servers, *known.values()):
            server.lives = server.url not in failed and server.url not in known

    async def living(self, session: aiohttp.ClientSession) -> list[RolloutServer]:
        """Wait until at least one server is available, and return all available servers.

        The main thread recovers servers, or ends the run if it cannot (`ServedRollout.attend`).

        Raises:
            RewardkitError: The engine was closed.
        """
        while not (living := [server for server in self.servers if server.lives]):
            for server in self.servers:
                server.lives = await self.has_current(session, server)
            if not any(server.lives for server in self.servers):
                self.starving.set()
                await asyncio.sleep(POLL_S)
            if self.closed:
                raise RewardkitError("no rollout server is left")
        self.starving.clear()
        return living

    async def has_current(self, session: aiohttp.ClientSession, server: RolloutServer) -> bool:
        """Return True if a server answers and has the current weights, or is too busy to say so."""
        wanted = self.since(self.current)  # During a sync, a server may already have the next weights.
        path = "v1/models" if self.adapters else "weight_info"
        try:
            said = json.loads(await fetch(session, f"{server.url}/{path}", limit_s=CONNECT_S))
            names = [one["id"] for one in said["data"]] if self.adapters else [said["weight_version"]]
            return not wanted.isdisjoint(names)
        except ServerError as error:
            return error.busy and error.status < 500
        except (ValueError, KeyError, TypeError):
            return False


class Chosen(msgspec.Struct):
    token_id: int
    logprob: float


class TurnLogProbs(msgspec.Struct):
    content: list[Chosen]


class VersionSpan(msgspec.Struct):
    version: str
    start: int
    end: int


class TurnChoice(msgspec.Struct):
    token_ids: list[int]
    finish_reason: str | None
    weight_versions: list[VersionSpan] | None = None
    logprobs: TurnLogProbs | None = None
    routed_experts: str | None = None


class PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class TurnUsage(msgspec.Struct):
    prompt_tokens_details: PromptDetails | None = None


class TurnAnswer(msgspec.Struct):
    """Response body of `/inference/v1/generate`."""

    choices: list[TurnChoice]
    usage: TurnUsage | None = None
    prompt_token_ids: list[int] | None = None


class Turns:
    """Implementation of `Answers` that requests the turns in one `converse` call from a fleet."""

    constrains = False  # Constraints need a tokenizer in the server.

    def __init__(
        self,
        fleet: Fleet,
        body: Callable[[Ask], dict[str, Any]],
        config: RolloutConfig,
        *,
        vocabulary: int,
        max_len: int,
        log_probs: bool,
        group: int,
        experts: bool = False,
    ) -> None:
        """Create an object that requests turns from the servers in `fleet`.

        Args:
            body: Function that returns the request body for a turn.
            max_len: Maximum number of tokens in a prompt and its turn together.
            log_probs: True if a response must contain log-probabilities.
            group: Number of adjacent episodes that start with the same prompt. They use the same server,
                which caches the prompt.
            experts: True if a response must contain the experts chosen for each token.
        """
        self._fleet = fleet
        self._body = body
        self._config = config
        self._vocabulary = vocabulary
        self._max_len = max_len
        self._log_probs = log_probs
        self._experts = experts
        self._group = group
        self._tasks: dict[Ask, asyncio.Task[None]] = {}
        self._homes: dict[int, RolloutServer] = {}
        """Server that each group of episodes uses."""
        self._busy: Counter[RolloutServer] = Counter()
        """Number of turns per server that are running or waiting for a slot."""
        self.error: Exception | None = None
        """Error that stopped all turns, if any. Episodes cannot distinguish this error from an error in a
        tool."""
        self._failing_since: float | None = None
        """Time of the first failure after the last finished turn."""
        self._given_up: set[int] = set()
        """Episodes with a turn that no server can generate."""
        self._most_given_up = group
        self.costs = TurnCosts()

    async def run(self, play: Play[E, R], episodes: Sequence[E], told: Callable[[int, R], None]) -> list[R]:
        """Play the episodes and return their results. See `play_all`."""
        self._waiting = asyncio.Lock()
        self._most_given_up = max(self._group, int(MASKED_SHARE * len(episodes)))
        self._slots: dict[RolloutServer, asyncio.Semaphore] = {}
        connector = aiohttp.TCPConnector(limit=0)  # `_slots` limits the connections
        async with aiohttp.ClientSession(connector=connector) as self._session:
            return await play_all(play, episodes, lambda i: Seat(i, self, self._vocabulary), told)

    def ask(self, ask: Ask) -> None:
        """See `Answers.ask`."""
        room = self._max_len - len(ask.token_ids)
        if self.error is not None or room < 1:
            ask.fail(self.error or ask.too_long(self._max_len))
            return
        ask.max_tokens = min(ask.max_tokens, room)
        self._tasks[ask] = asyncio.create_task(self._serve(ask))

    def withdraw(self, ask: Ask) -> None:
        """See `Answers.withdraw`.

        The request's connection is closed, so that the server aborts the request.
        """
        task = self._tasks.pop(ask, None)
        if task is not None:
            task.cancel()

    def idle(self) -> AbstractContextManager[None]:
        """See `Answers.idle`. Requests are answered one by one, so no request waits for an idle episode."""
        return nullcontext()

    async def _serve(self, ask: Ask) -> None:
        try:
            ask.settle(await self._turn(ask))
        except TurnFailedError as error:
            self._give_up(ask, error)
        except Exception as error:
            self._end(error)
        finally:
            self._tasks.pop(ask, None)

    def _give_up(self, ask: Ask, error: TurnFailedError) -> None:
        self._given_up.add(ask.place)
        if len(self._given_up) > self._most_given_up:
            self._end(RewardkitError(f"more than {self._most_given_up} episodes have failed: {error}"))
        ask.fail(error)

    def _end(self, error: Exception) -> None:
        self.error = self.error or error
        for ask, task in list(self._tasks.items()):
            ask.fail(self.error)
            if task is not asyncio.current_task():
                task.cancel()

    async def _turn(self, ask: Ask) -> Reply:
        """Request a turn from one server after another, until a server returns it.

        Raises:
            TurnFailedError: No server can generate this turn.
            RewardkitError: No turn has succeeded for some time.
        """
        failures: list[ServerError] = []
        without: RolloutServer | None = None
        while True:
            server = await self._home(ask, without)
            self._busy[server] += 1
            try:
                async with self._slots.setdefault(server, asyncio.Semaphore(self._config.max_num_seqs)):
                    if not server.lives:
                        continue
                    reply = await self._reply(server, ask)
                    self._failing_since = None
                    return reply
            except ServerError as error:
                failures.append(error)
            finally:
                self._busy[server] -= 1
            await self._examine(server, failures[-1])
            self._check(failures)
            without = server
            if server.lives:
                await self._pause(server, failures)

    async def _examine(self, server: RolloutServer, error: ServerError) -> None:
        """Check whether a server that lost a turn is still usable."""
        if error.refused or not server.lives:
            return
        if error.closed or not await self._fleet.has_current(self._session, server):
            server.lose(error)

    def _check(self, failures: Sequence[ServerError]) -> None:
        """Raise an error if the turn or the run cannot continue after these failures."""
        refusals = [one for one in failures if one.refused]
        mine = [one for one in failures if not one.busy]
        if len(refusals) > 1:
            raise TurnFailedError(f"the rollout servers refuse a turn: {refusals[-1]}")
        if len(mine) >= FAILURES:
            raise TurnFailedError(
                f"the rollout servers failed {len(mine)} times to generate a turn; last error: {mine[-1]}"
            )
        now = asyncio.get_running_loop().time()
        self._failing_since = now if self._failing_since is None else self._failing_since
        if now - self._failing_since > self._config.servers_wait_s:
            raise RewardkitError(
                f"no rollout server has generated a turn for {self._config.servers_wait_s:g} s; last error: "
                f"{failures[-1]}"
            )

    async def _pause(self, server: RolloutServer, failures: Sequence[ServerError]) -> None:
        """Wait before the next attempt. The second attempt does not wait, unless the only server is busy."""
        others = any(one.lives for one in self._fleet.servers if one is not server)
        last = failures[-1]
        if len(failures) == 1 and (others or not last.busy):
            return
        await asyncio.sleep(min(LONGEST_PAUSE_S, max(last.retry_after_s, FIRST_PAUSE_S * 2 ** len(failures))))

    async def _home(self, ask: Ask, without: RolloutServer | None) -> RolloutServer:
        """Return the server for the turn's group. Assign the least busy server if the group has none.

        Args:
            without: Server to avoid if another server is available.
        """
        group = ask.place // self._group
        home = self._homes.get(group)
        if home is None or home is without or not home.lives:
            async with self._waiting:  # Only one turn at a time polls the servers.
                living = await self._fleet.living(self._session)
            others = [server for server in living if server is not without]
            home = self._homes[group] = min(others or living, key=lambda server: self._busy[server])
        return home

    async def _reply(self, server: RolloutServer, ask: Ask) -> Reply:
        """Request a turn from a server.

        Raises:
            ServerError: The request failed, the response is invalid, or the server did not accept new weights
                while the request was pending.
        """
        with self._fleet.turn() as begun:
            body = self._body(ask) | ({"model": begun} if self._fleet.adapters else {})
            url = f"{server.url}/inference/v1/generate"
            waiting = asyncio.ensure_future(fetch(self._session, url, body, self._config.response_timeout_s))
            try:
                while not waiting.done():
                    await asyncio.wait([waiting], timeout=POLL_S)
                    if not (waiting.done() or server.lives):
                        raise ServerError(f"{server.url} did not accept the latest weights")
                found = msgspec.json.decode(waiting.result(), type=TurnAnswer)
                reply = self._read(found, ask, begun)
            except (msgspec.MsgspecError, ValueError) as error:
                raise ServerError(f"{server.url} sent an invalid response: {error}") from None
            finally:
                waiting.cancel()  # closing the connection makes the server abort the request
        check_expanded(PicturePrompt([], ask.token_ids, ask.pictures), found.prompt_token_ids or ())
        self._count(found, ask)
        return reply

    def _read(self, answer: TurnAnswer, ask: Ask, begun: str) -> Reply:
        """Return the only choice in a response as a reply.

        Args:
            begun: Name of the weights that were current when the turn began.

        Raises:
            ValueError: The response is incomplete or invalid, or was generated by weights older than `begun`.
        """
        if len(answer.choices) != 1:
            raise ValueError(f"expected 1 choice, found {len(answer.choices)}")
        choice = answer.choices[0]
        ids = choice.token_ids
        if choice.finish_reason not in ("stop", "length"):
            raise ValueError(f"finish_reason is {choice.finish_reason}; expected stop or length")
        if not 1 <= len(ids) <= ask.max_tokens or not all(0 <= i < self._vocabulary for i in ids):
            raise ValueError(
                f"expected 1 to {ask.max_tokens} valid token ids, found {len(ids)} ids, some of which "
                "may not be in the vocabulary"
            )
        spans = choice.weight_versions or []
        if self._fleet.adapters:  # The server reports the version of the base model instead.
            spans = [VersionSpan(begun, 0, len(ids))]
        if not {span.version for span in spans} <= self._fleet.since(begun):
            raise ValueError(
                f"expected weights of version {begun} or later, found {[span.version for span in spans]}"
            )
        drawn_with = [self._fleet.published[one.version] for one in spans for _ in range(one.start, one.end)]
        if len(drawn_with) != len(ids):
            raise ValueError(
                f"the response has {len(ids)} tokens, but the server sent weight versions for "
                f"{len(drawn_with)} tokens"
            )
        log_probs = _log_probs(choice) if self._log_probs else None
        finish: Literal["stop", "length"] = "stop" if choice.finish_reason == "stop" else "length"
        experts = _experts(choice, len(ask.token_ids)) if self._experts else None
        return Reply("", ids, log_probs, finish, weight_versions=drawn_with, routed_experts=experts)

    def _count(self, answer: TurnAnswer, ask: Ask) -> None:
        details = answer.usage.prompt_tokens_details if answer.usage else None
        cached = (details.cached_tokens if details else None) or 0
        costs = self.costs
        read = costs.prompt_tokens + len(ask.token_ids)
        self.costs = TurnCosts(costs.turns + 1, read, costs.cached_tokens + cached)


def _experts(choice: TurnChoice, prompt: int) -> Any:
    """Return the experts for a prompt of `prompt` tokens and its turn, (tokens - 1, layers, experts)."""
    if choice.routed_experts is None:
        raise RewardkitError(
            "rollout.router_replay needs the experts chosen for each token, but a rollout server does not "
            "return them; start the server with --enable-return-routed-experts"
        )
    found = numpy.load(BytesIO(base64.b64decode(choice.routed_experts)), allow_pickle=False)
    tokens = prompt + len(choice.token_ids) - 1
    if found.ndim != 3 or len(found) != tokens or found.dtype.kind not in "iu":
        raise ValueError(
            f"the expert indices have the shape {found.shape}, which does not match {tokens} tokens"
        )
    return found


def _log_probs(choice: TurnChoice) -> list[float]:
    content = choice.logprobs.content if choice.logprobs else []
    found = [one.logprob for one in content]
    if [one.token_id for one in content] != choice.token_ids:
        raise ValueError(
            f"the token ids of the {len(content)} log-probabilities differ from the {len(choice.token_ids)} "
            "token ids of the response"
        )
    if not all(math.isfinite(value) and value > LOWEST for value in found):
        raise ValueError("some log-probabilities are not finite")
    return found


def say(line: str) -> None:
    """Print a line about the servers."""
    print(line, file=sys.stderr, flush=True)
