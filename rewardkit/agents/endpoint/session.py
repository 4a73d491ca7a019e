"""Manages an episode that an external program plays, including the order of turns, the limits and the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rewardkit.agents.endpoint.branches import TOO_LONG, EpisodeBranch, EpisodeBranches
from rewardkit.agents.endpoint.program_requests import ApiError, AskedTurn, SaidTurn
from rewardkit.agents.episode import Episode, EpisodeEnded
from rewardkit.agents.executing import describe
from rewardkit.agents.transcript import TemplateError
from rewardkit.row_reports import FAILED_ENDS
from rewardkit.types import Message

REFUSALS = 16
"""Number of consecutive rejected requests after which the episode ends, even if the program continues."""
KEPT_ANSWERS = 8
"""Number of responses kept for retried requests."""
OF_A_BRANCH = ("response_tokens", "context_tokens", "user_turns")
"""Limits that apply to one history. The program can continue the episode by rewriting its history."""


class ProgramSession:
    """State of the endpoint for one episode."""

    def __init__(self, episode: Episode, most_branches: int) -> None:
        """Create a session without turns that allows at most `most_branches` branches."""
        self.episode = episode
        self.branches = EpisodeBranches(episode, most_branches)
        self.over = asyncio.Event()
        """Event that is set when no further turn will be generated."""
        self.refused: str | None = None
        """Limit that the last request exceeded, one of `ENDED`, or None."""
        self.failed: BaseException | None = None
        """Failure of the engine or of the endpoint itself, if any."""
        self.earlier: dict[str, list[Message]] = {}
        """Conversations by response id."""
        self.answers: dict[str, asyncio.Task[Any]] = {}
        """Tasks that compute responses, by request key. A retried request gets the same response."""
        self._one_at_a_time = asyncio.Lock()
        self._refusals = 0

    async def once(self, key: str, again: bool, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run `work` and return its result. For a retried request, return the result of the first attempt.

        `work` continues to run if the program closes the connection.
        """
        if not again or key not in self.answers:
            old = [one for one, task in self.answers.items() if task.done()][:-KEPT_ANSWERS]
            for one in old:
                del self.answers[one]
            self.answers[key] = asyncio.ensure_future(work())
        return await asyncio.shield(self.answers[key])

    async def turn(self, asked: AskedTurn) -> SaidTurn:
        """Return the model's next turn.

        Raises:
            ApiError: A limit is reached, the messages cannot be used, or the episode has failed.
        """
        async with self._one_at_a_time:
            try:
                self._check_open()
                branch, said = await self._speak(asked)
            except ApiError:
                raise
            # The error is in the engine or in rewardkit, and the loop raises it again.
            except Exception as error:
                self.failed = error
                self.over.set()
                raise ApiError(f"the episode has failed: {describe(error)}") from error
            self.refused, self._refusals = None, 0
            self.branches.last = branch
            return said

    async def _speak(self, asked: AskedTurn) -> tuple[EpisodeBranch, SaidTurn]:
        branch, new = self._branch(asked)
        try:
            if new:
                await branch.episode.append(new)
                branch.appended(new)
        except TemplateError:  # the template may still accept the messages as part of a prompt
            branch = self._begin(asked)
        except EpisodeEnded:
            raise self._limit(str(branch.episode.ended)) from None
        one = branch.episode
        before = len(one.prompt_ids) + len(one.response_ids)
        try:
            reply = await one.generate(stop=asked.stop, max_tokens=asked.max_tokens)
        except EpisodeEnded:
            raise self._limit(str(one.ended), one.detail) from None
        number = self.branches.made + 1
        text, calls = branch.says(reply, asked, number)
        tokens = len(reply.token_ids) or reply.tokens or 0
        return branch, SaidTurn(str(number), text, calls, reply.finish_reason == "length", before, tokens)

    def _branch(self, asked: AskedTurn) -> tuple[EpisodeBranch, list[Message]]:
        found = self.branches.find(asked)
        return found or (self._begin(asked), [])

    def _begin(self, asked: AskedTurn) -> EpisodeBranch:
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
        """Cancel pending requests and copy the recorded turns into the episode."""
        for task in self.answers.values():
            task.cancel()
        await asyncio.gather(*self.answers.values(), return_exceptions=True)
        self.branches.settle()


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
