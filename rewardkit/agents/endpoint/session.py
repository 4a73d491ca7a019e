"""Episode that an external program plays: the order of its turns, its limits and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rewardkit.agents.endpoint.branches import TOO_LONG, EpisodeBranch, EpisodeBranches, changed, key_of
from rewardkit.agents.endpoint.completion import Completion
from rewardkit.agents.endpoint.program_requests import ApiError, AskedTurn, SaidTurn, say_once
from rewardkit.agents.endpoint.use import ProgramUse, RecordedTurn
from rewardkit.agents.episode import Episode, EpisodeEnded
from rewardkit.agents.executing import describe
from rewardkit.agents.transcript import TemplateError
from rewardkit.row_reports import FAILED_ENDS
from rewardkit.tool_calls.formats import opening_of
from rewardkit.types import Message

REFUSALS = 16
"""Number of consecutive rejected requests that ends the episode, even if the program continues."""
KEPT_ANSWERS = 8
"""Number of responses that a session keeps for clients that retry a request."""
OF_A_BRANCH = ("response_tokens", "context_tokens", "user_turns")
"""Limits that apply to one history. The program can rewrite its history to continue the episode."""


@dataclass(eq=False)
class PendingAnswer:
    """Task that computes the response to a request, with the connections that wait for this response."""

    key: str
    task: asyncio.Task[Any]
    connected: list[Callable[[], bool]] = field(default_factory=list)
    """Functions that return True while a connection is open."""
    sent: bool = False
    """True if a connection has received the complete response."""

    @property
    def lost(self) -> bool:
        """Return True if every client closed its connection before it received the response."""
        return not self.sent and not any(connected() for connected in self.connected)


class ProgramSession:
    """State that the endpoint keeps for one episode."""

    def __init__(self, episode: Episode, most_branches: int) -> None:
        """Create a session without turns that allows at most `most_branches` branches."""
        self.episode = episode
        self.branches = EpisodeBranches(episode, most_branches)
        self.over = asyncio.Event()
        """Event that is set when no further turn will be generated."""
        self.refused: str | None = None
        """Limit that the last request exceeded, as one of the names in `ENDED`, or None."""
        self.failed: BaseException | None = None
        """Exception from the engine or the endpoint itself, or None if neither has failed."""
        self.earlier: dict[str, list[Message]] = {}
        """Conversations by the id of the last response in each conversation."""
        self.answers: list[PendingAnswer] = []
        """Most recent responses, which are sent again if a client retries a request."""
        self.use = ProgramUse()
        self.completion: Completion | None = None
        """Result that the program has reported, or None if it has not reported a result."""
        self._changes: list[str] = []
        """Changes that the program made to earlier messages while it kept the turns of the model."""
        self._one_at_a_time = asyncio.Lock()
        self._refusals = 0

    @property
    def drift(self) -> str | None:
        """Return the first change if the program has changed its history more than once, or else None.

        Many programs change the history once, because they ask for the final answer without tools.
        """
        return self._changes[0] if len(self._changes) > 1 else None

    def once(
        self, key: str, again: bool, connected: Callable[[], bool], work: Callable[[], Awaitable[Any]]
    ) -> PendingAnswer:
        """Return the response to a request. `work` computes the response unless the request is a retry.

        A request is a retry of an earlier request with the same key if the client marks it as a retry. It is
        also a retry if the client closed the connection of the earlier request before receiving the response.
        In this case, the earlier `work` continues to run.

        Args:
            key: Key of the request.
            again: True if the client has marked the request as a possible retry.
            connected: Function that returns True while the connection is open.
            work: Function that computes the response.
        """
        same = [one for one in self.answers if one.key == key and (again or one.lost)]
        if same:
            same[-1].connected.append(connected)
            return same[-1]
        done = [one for one in self.answers if one.task.done()][:-KEPT_ANSWERS]
        self.answers = [one for one in self.answers if one not in done]
        self.answers.append(PendingAnswer(key, asyncio.ensure_future(work()), [connected]))
        return self.answers[-1]

    def sent(self, said: SaidTurn) -> None:
        """Record that the program has received a turn."""
        self.use.turns[int(said.number) - 1].received = True

    def complete(self, completion: Completion) -> None:
        """Record the result that the program reports. No further turns are generated."""
        self.completion = completion
        self.over.set()

    async def turn(self, asked: AskedTurn) -> SaidTurn:
        """Return the model's next turn.

        Raises:
            ApiError: A limit is reached, the messages cannot be used, or the episode has failed.
        """
        async with self._one_at_a_time:
            try:
                self._check_open()
                self.use.see(asked)
                said = await self._speak(asked)
            except ApiError:
                raise
            # The engine or rewardkit itself has failed, and the loop raises this exception again later.
            except Exception as error:
                self.failed = error
                self.over.set()
                raise ApiError(f"the episode has failed: {describe(error)}") from error
            self.refused, self._refusals = None, 0
            return said

    async def _speak(self, asked: AskedTurn) -> SaidTurn:
        branch, new = self._branch(asked)
        try:
            if new:
                await branch.episode.append(new)
                branch.appended(new)
        except TemplateError:  # the template may accept the same messages as part of a prompt
            branch = self._begin(asked)
        except EpisodeEnded:
            raise self._limit(str(branch.episode.ended)) from None
        one = branch.episode
        before = len(one.prompt_ids) + len(one.response_ids)
        try:
            reply = await one.generate(
                stop=asked.stop,
                max_tokens=asked.max_tokens,
                opening=_opening(one, asked),
                constraint=_constraint(one, asked),
            )
        except EpisodeEnded:
            raise self._limit(str(one.ended), one.detail) from None
        number = self.branches.made + 1
        text, calls = branch.says(reply, asked, number)
        keys = [key_of(message) for message in asked.messages]
        self.use.turns.append(RecordedTurn(number, branch, one.turns[-1], keys, branch.keys[-1]))
        tokens = len(reply.token_ids) or reply.tokens or 0
        return SaidTurn(str(number), text, calls, reply.finish_reason == "length", before, tokens)

    def _branch(self, asked: AskedTurn) -> tuple[EpisodeBranch, list[Message]]:
        found = self.branches.find(asked)
        return found or (self._begin(asked), [])

    def _begin(self, asked: AskedTurn) -> EpisodeBranch:
        found = (changed(branch, asked) for branch in reversed(self.branches.all))
        self._changes += islice(filter(None, found), 1)
        if self.drift is not None:
            say_once(
                "an external program changes its earlier messages, so that its requests begin new branches: "
                f"{self.drift}",
                "drift",
            )
        if self.branches.full:
            raise self._limit("branches")
        try:
            return self.branches.begin(asked)
        except ApiError as error:
            if error.body["error"]["code"] == TOO_LONG and self.branches.made:
                raise self._limit("context_tokens", str(error)) from None
            raise

    def _check_open(self) -> None:
        """Raise ApiError if the episode has failed or has no turns left."""
        if self.failed is not None:
            raise ApiError(f"the episode has failed: {describe(self.failed)}", code="episode_ended")
        limits, left = self.episode.limits, self.episode.seconds_left()
        if left is not None and left <= 0:
            raise self._limit("seconds")
        if limits.assistant_turns is not None and self.branches.made >= limits.assistant_turns:
            raise self._limit("assistant_turns")
        if self.over.is_set():
            raise self._limit(self.refused or "done")

    def _limit(self, reason: str, detail: str | None = None) -> ApiError:
        """Record that a request exceeds a limit, and return the error. Some limits also end the episode."""
        self.refused = reason
        self._refusals += 1
        if reason in FAILED_ENDS:
            self.episode.end(reason, detail)
        if reason not in OF_A_BRANCH or self._refusals >= REFUSALS:
            self.over.set()
        return ApiError(
            detail or _MESSAGES.get(reason, f"the episode has ended: {reason}"), code=_code(reason)
        )

    async def close(self) -> None:
        """Cancel pending requests, since the program has ended."""
        for one in self.answers:
            one.task.cancel()
        await asyncio.gather(*(one.task for one in self.answers), return_exceptions=True)

    def settle(self, printed: str | None) -> None:
        """Copy the recorded turns and the program's result into the episode.

        Args:
            printed: Answer that the program printed, or None if a turn of the model is the answer.
        """
        result = self.completion or Completion()
        chosen = printed if result.answer is None else result.answer
        answer = self.use.answer(chosen)
        if answer is not None:
            self.episode.unused_turns = self.use.leave_out(answer, result.train)
            self.branches.settle(answer.branch)
            chosen = answer.turn.text if chosen is None else chosen
        self.episode.chosen_answer = chosen
        self.episode.interaction_score = result.reward
        self.episode.metrics.update(result.metrics)


def _opening(episode: Episode, asked: AskedTurn) -> str:
    """Return the beginning of the tool call that a request forces, or an empty string if it forces none.

    Raises:
        ApiError: The engine or the tool-call format does not support forced calls.
    """
    if asked.forced is None:
        return ""
    name = episode.speaking.calls
    opening = opening_of(name, asked.forced) if episode.speaking.transcript is not None else None
    if opening is None:
        raise ApiError(
            f"tool_choice: a call cannot be forced in the format '{name}' with this engine; use auto",
            param="tool_choice",
        )
    return opening


def _constraint(episode: Episode, asked: AskedTurn) -> Mapping[str, Any]:
    """Return the token restrictions that the engine can enforce for a turn, and print the other
    restrictions."""
    wanted = dict(asked.constraint)
    if asked.schemas and wanted.pop("structured_outputs", None):
        say_once("response_format in requests with tools is not enforced, since the model may call a tool")
    if wanted and not getattr(episode.speaking.model, "constrains", False):
        say_once(
            "the engine cannot restrict tokens; response_format and min_tokens in requests of external "
            "programs are not enforced"
        )
        return {}
    return wanted


_MESSAGES: Mapping[str, str] = {
    "response_tokens": "This model's maximum context length is reached: the history has no tokens left.",
    "context_tokens": "This model's maximum context length is reached: the history has no tokens left.",
    "assistant_turns": "the episode has reached its limit of assistant turns",
    "user_turns": "the episode has reached its limit of tool and user turns",
    "branches": "the program has rewritten its message history more often than max_branches allows",
    "seconds": "the episode has reached its time limit",
}


def _code(reason: str) -> str:
    return TOO_LONG if reason in ("response_tokens", "context_tokens") else "episode_ended"
