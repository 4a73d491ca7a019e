"""Episode, with its turns as messages and token ids, its limits, and the reason for its end.

A loop drives an episode with four methods: `generate`, `execute`, `respond` and `append`. Each method raises
`EpisodeEnded` when a limit is reached, so loops need not check limits. `runner.py` creates and ends episodes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import execute_call, name_of, within
from rewardkit.agents.model_turns import (
    Speaking,
    TurnRequest,
    continue_ids,
    continue_messages,
    parse,
    turn_seed,
)
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import (
    ENDED,
    EpisodeLimits,
    Interaction,
    Observation,
    Reply,
    Role,
    Tool,
    Turn,
    UserTurn,
)
from rewardkit.messages import message_text
from rewardkit.row_reports import FAILED_ENDS
from rewardkit.tool_calls.call import Call
from rewardkit.types import Message, Status
from rewardkit.users_code import running, told


class EpisodeUnscored(Exception):
    """Raised if an episode cannot be scored. `status` is the resulting status of the episode."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.status = status


class EpisodeEnded(Exception):
    """Raised inside a loop whose episode has ended. `runner.py` catches it."""


class Episode:
    """State of one episode, from its prompt to its end."""

    def __init__(
        self,
        row: EpisodeRow,
        speaking: Speaking,
        limits: EpisodeLimits,
        *,
        seed: int = 0,
        agent_name: str = "",
        messages: Sequence[Message] | None = None,
        schemas: Sequence[Mapping[str, Any]] = (),
        tools: Mapping[str, Tool] | None = None,
        tools_as_text: bool = False,
        interaction: Interaction | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an episode that consists only of a prompt.

        Args:
            row: Row of the episode.
            speaking: Model, with the settings for its turns.
            limits: Limits of the episode.
            seed: Seed of the whole episode.
            agent_name: Name of the agent. If empty, the name in the row is used.
            messages: Messages of the prompt. If None, the messages in the row are used.
            schemas: Schemas of the tools that the chat template or the chat endpoint receives.
            tools: Tools by name.
            tools_as_text: True if the text of the prompt describes the tools. Observations are then written
                into a user message as `Observation: ...`.
            interaction: Interaction that plays the user, if any.
            clock: Function that returns the time in seconds. Tests may pass their own clock.
        """
        self.row = row
        self.limits = limits
        self.seed = seed
        """Seed of the whole episode, from which `turn_seed` derives the seeds for its turns."""
        self.agent_name = agent_name or row.agent_name or ""
        self.messages: list[Message] = [dict(one) for one in (row.messages if messages is None else messages)]
        """Messages of the prompt and of all turns."""
        self.prompt_messages = len(self.messages)
        """Number of messages in the prompt."""
        self.schemas = list(schemas)
        self.tools: dict[str, Tool] = dict(tools or {})
        """Tools by name, in the order in which the model sees them."""
        self.tools_as_text = tools_as_text
        self.interaction = interaction
        self.prompt_ids: list[int] = []
        """Token ids of the prompt. The list is empty until the first turn. With a ChatModel, it is always
        empty."""
        self.response_ids: list[int] = []
        """Token ids of the model's turns and of the tokens appended between them. With a ChatModel, the list
        is empty."""
        self.response_mask: list[int] = []
        """Mask over `response_ids`: 1 for a token that the model generated, and 0 for an appended token."""
        self.log_probs: list[float] = []
        """Log-probabilities in nats from the engine. The value is 0.0 for appended tokens, and for all tokens
        if the engine reports no log-probabilities."""
        self.weight_versions: list[int] = []
        """Version of the weights for each token, as in `Reply.weight_versions`. The value is 0 for appended
        tokens, and for all tokens if the versions are unknown."""
        self.turns: list[Turn] = []
        self.state: dict[str, Any] = {}
        """Data for the loop's own use."""
        self.ended: str | None = None
        """Reason for the end of the episode, as one of the names in `ENDED`. None while the episode is
        running."""
        self.status: Status = "ok"
        """`ok` if the episode can be scored. Any other status is a failure that the model did not cause."""
        self.detail: str | None = None
        """Description of the failure in one line."""
        self.tool_rewards: dict[str, float] = {}
        """Reward for each tool's final state, by the tool's name."""
        self.interaction_score: float | None = None
        self.metrics: Counter[str] = Counter()
        """Sums of the metrics from observations and from the interaction's turns, by name."""
        self.chosen_answer: str | None = None
        """Answer that an external program has chosen, or None if the last turn is the answer."""
        self.unused_turns = 0
        """Number of model turns that an external program has not used. These turns are not trained on."""
        self.branches: list[Episode] = []
        """Other branches of an episode whose external program rewrote its message history. Each branch has
        its own prompt. The branch with the answer is the episode itself and is not in this list."""
        self.speaking = speaking
        self._counted = 0  # number of tokens in a ChatModel's turns
        self._clock = clock
        self.start_clock()

    @property
    def data_source(self) -> str:
        return self.row.data_source

    @property
    def ground_truth(self) -> str:
        return self.row.ground_truth

    @property
    def extra_info(self) -> Mapping[str, Any]:
        return self.row.extra_info

    @property
    def answer(self) -> str:
        """Return the chosen answer, or else the text of the model's last turn, or else an empty string."""
        if self.chosen_answer is not None:
            return self.chosen_answer
        return next((turn.text for turn in reversed(self.turns) if turn.role == "assistant"), "")

    def count(self, *roles: str) -> int:
        """Return the number of turns with one of these roles."""
        return sum(turn.role in roles for turn in self.turns)

    def end(self, reason: str, detail: str | None = None) -> None:
        """Mark the episode as ended. Further calls have no effect.

        If the episode has no model turn, no answer and no score, it fails with the reason `no_turn`.

        Args:
            reason: One of `ENDED`.
            detail: Description of the failure in one line.

        Raises:
            ValueError: The reason is not one of `ENDED`.
        """
        if reason not in ENDED:
            raise ValueError(
                f"unknown reason '{reason}' for the end of an episode; expected one of {', '.join(ENDED)}"
            )
        if self.ended is not None:
            return
        if reason not in FAILED_ENDS and self._is_empty():
            detail = detail or (
                f"the agent {self.agent_name} ended the episode ({reason}) before the model's first turn; it "
                "must await episode.generate()"
            )
            reason = "no_turn"
        self.ended = reason
        self.status = FAILED_ENDS.get(reason, "ok")
        self.detail = detail

    def _is_empty(self) -> bool:
        """Return True if the episode has no model turn, no answer and no score."""
        return not self.count("assistant") and self.chosen_answer is None and self.interaction_score is None

    def reward(self, value: float | None) -> None:
        """Add a value to the reward of the model's last turn. Do nothing if the value is None."""
        turn = next((turn for turn in reversed(self.turns) if turn.role == "assistant"), None)
        if value is not None and turn is not None:
            turn.reward = (turn.reward or 0.0) + float(value)

    async def generate(
        self,
        *,
        stop: Sequence[str] = (),
        max_tokens: int | None = None,
        stop_token_ids: Sequence[int] = (),
        opening: str = "",
        constraint: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Generate the model's next turn and return it with its calls.

        Args:
            stop: Texts that end the turn, in addition to those of the call format. The token that completes a
                stop text is the last token of the turn.
            max_tokens: Token limit for this turn. It has no effect if the remaining budget is lower.
            stop_token_ids: Ids of tokens that end the turn, in addition to those of the call format. They
                have no effect with a ChatModel.
            opening: Text with which the turn begins. Its tokens get mask 0, because the model did not choose
                them. It
                must be empty with a ChatModel.
            constraint: Restrictions on the tokens, for a TokenModel that `constrains`.

        Raises:
            EpisodeEnded: No turns or no tokens are left, or the engine aborted the request.
        """
        self._go_on()
        if self.speaking.transcript is not None and not self.prompt_ids:
            self.prompt_ids = self.speaking.transcript.prompt_ids(self.messages, self.schemas)
            self._check_prompt()
        budget = self._budget()
        if max_tokens is not None:
            budget = min(budget, max_tokens)
        seed = turn_seed(self.seed, self.count("assistant"))
        ends = (*self.speaking.stop_token_ids, *stop_token_ids)
        wanted = TurnRequest(seed, budget, (*self.speaking.stop, *stop), ends, constraint or {})
        if self.speaking.transcript is None:
            reply = await self._chat(wanted)
        else:
            reply = await self._continue(self.speaking.transcript, wanted, opening)
        if reply.finish_reason == "aborted":
            self._stop("cancelled", "the engine cancelled the request")
        return reply

    async def execute(self, calls: Sequence[Call]) -> list[Observation]:
        """Execute the calls in the model's last turn, append their observations, and return the observations.

        The first `limits.parallel_calls` calls run concurrently. If a call is invalid or not executed, its
        observation gives the reason. Rewards from the observations are added to the turn that made the calls.

        Raises:
            EpisodeEnded: A tool failed after all retries, a tool ended the episode, or a limit is reached.
        """
        self._go_on()
        if not calls:
            return []
        self._user_turn_left()
        allowed = self.limits.parallel_calls
        running = [
            asyncio.ensure_future(execute_call(call, self.tools, self.limits, self.seconds_left()))
            for call in calls[:allowed]
        ]
        try:
            found = list(await asyncio.gather(*running))
        finally:
            for one in running:
                one.cancel()
        text = f"Error: not executed; at most {allowed} call{'s' if allowed > 1 else ''} in one turn"
        found += [Observation(text, status="bad_call") for _ in calls[allowed:]]
        self._observe(calls, found)
        return found

    async def respond(self) -> UserTurn:
        """Request a reply to the last turn from the row's interaction, append the reply, and return it.

        Raises:
            EpisodeEnded: The interaction failed, the interaction ended the episode, or a limit is reached.
            RuntimeError: The episode has no interaction.
        """
        self._go_on()
        if self.interaction is None:
            raise RuntimeError(
                f"the agent '{self.agent_name}' needs an interaction, but the run has none; pass one with "
                "--interactions (in training: rollout.multi_turn.interaction_config_path)"
            )
        self._user_turn_left()
        left = self.seconds_left()
        timeout = self.limits.tool_seconds if left is None else min(self.limits.tool_seconds, max(left, 0.0))
        name = name_of(self.interaction)
        try:
            with running(name):
                said = await within(self.interaction.respond(list(self.messages)), timeout)
        except TimeoutError:
            self._end_late("interaction_failed", f"{name} did not answer within {timeout:g} s")
            raise EpisodeEnded(self.ended) from None
        except Exception as error:
            self.end("interaction_failed", f"{name} failed: {told(name, error)}")
            raise EpisodeEnded(self.ended) from None
        self.reward(said.reward)
        self.metrics.update(said.metrics)
        if said.done:
            self._stop("done")
        await self.append([{"role": "user", "content": plain_text(said.text)}])
        return said

    async def append(self, messages: Sequence[Message]) -> None:
        """Append a turn that the model did not generate. The chat template renders it, and its mask is 0.

        If the turn exceeds the token limits, or if the model cannot take another turn after it, the episode
        keeps the turn as messages and as a `Turn` without tokens.

        Args:
            messages: Messages of the turn, which all have the role `user` or all have the role `tool`.

        Raises:
            EpisodeEnded: A limit is reached.
            TemplateError: The template cannot append the messages to a turn of the model.
            TypeError: `messages` is not a list of messages.
        """
        if (
            isinstance(messages, str | Mapping)
            or not messages
            or not all(isinstance(m, Mapping) for m in messages)
        ):
            raise TypeError(
                'append needs a list of messages, such as [{"role": "user", "content": "..."}], not '
                f"{messages!r:.60}"
            )
        self._go_on()
        self._user_turn_left()
        self._append(messages, "tool" if messages[0]["role"] == "tool" else "user", [])

    def why_answered(self) -> str:
        """Return the reason why the episode ends after its loop returns.

        The reason is `answered` or the limit that was reached.
        """
        last = self.turns[-1] if self.turns else None
        if last is None or last.finish_reason != "length":
            return "answered"
        return self._why_too_long(1) or "answered"

    def _append(self, messages: Sequence[Message], role: Role, statuses: Sequence[str]) -> None:
        """Append messages as one turn, and end the episode if the model cannot take another turn."""
        start = len(self.response_ids)
        reason = self._why_no_turn()
        transcript = self.speaking.transcript
        if reason is None and transcript is not None:
            ids = transcript.appended(self.response_ids, messages, self.schemas)
            reason = self._why_too_long(len(ids))
            if reason is None:
                self.response_ids += ids
                self.response_mask += [0] * len(ids)
                self.log_probs += [0.0] * len(ids)
                self.weight_versions += [0] * len(ids)
        self._keep(messages, role, start, statuses)
        if reason is not None:
            self._stop(reason)
        self._go_on()

    def _keep(self, messages: Sequence[Message], role: Role, start: int, statuses: Sequence[str]) -> None:
        self.messages += [dict(message) for message in messages]
        text = "\n".join(map(message_text, messages))
        self.turns.append(Turn(role, text, start, len(self.response_ids), statuses=list(statuses)))

    def _observe(self, calls: Sequence[Call], found: Sequence[Observation]) -> None:
        for one in found:
            self.reward(one.reward)
            self.metrics.update(one.metrics)
        failed = next((one for one in found if one.status in ("error", "timeout")), None)
        messages = self._observations(calls, found)
        statuses = [one.status for one in found]
        if failed is None and not any(one.done for one in found):
            self._append(messages, "tool", statuses)
            return
        # The model takes no further turn, so the episode keeps only the messages and no tokens.
        self._keep(messages, "tool", len(self.response_ids), statuses)
        if failed is None:
            self.end("done")
        elif failed.status == "timeout":
            self._end_late("tool_failed", failed.text)
        else:
            self.end("tool_failed", failed.text)
        self._go_on()

    def _observations(self, calls: Sequence[Call], found: Sequence[Observation]) -> list[Message]:
        """Return the messages that show the observations to the model."""
        if self.tools_as_text:
            return [{"role": "user", "content": "\n".join(f"Observation: {one.text}" for one in found)}]
        made = self.messages[-1].get("tool_calls") or []
        names = [made[i]["id"] if i < len(made) else call.id for i, call in enumerate(calls)]
        return [
            {"role": "tool", "name": call.name, "tool_call_id": name, "content": one.text}
            for call, name, one in zip(calls, names, found, strict=True)
        ]

    async def _continue(self, transcript: Transcript, wanted: TurnRequest, opening: str) -> Reply:
        """Request a turn from a TokenModel and keep its token ids exactly as generated."""
        before = [*self.prompt_ids, *self.response_ids]
        given = transcript.opening_ids(before, opening) if opening else []
        wanted = replace(wanted, max_tokens=max(wanted.max_tokens - len(given), 1))
        reply = await continue_ids(self.speaking, [*before, *given], wanted)
        made = list(reply.token_ids)
        ids = [*given, *made]
        start = len(self.response_ids)
        log_probs = [0.0] * len(made) if reply.log_probs is None else list(reply.log_probs)
        # A token that was the only allowed token was not chosen by the model, so it is not trained on.
        chosen = [int(not wanted.constraint or value != 0.0) for value in log_probs]
        self.response_ids += ids
        self.response_mask += [0] * len(given) + (chosen if reply.log_probs is not None else [1] * len(made))
        self.log_probs += [0.0] * len(given) + log_probs
        versions = [0] * len(made) if reply.weight_versions is None else list(reply.weight_versions)
        self.weight_versions += [0] * len(given) + versions
        reply = replace(reply, text=transcript.text_of(ids)) if given else reply
        turn = Turn("assistant", reply.text, start, len(self.response_ids), finish_reason=reply.finish_reason)
        return self._said(reply, turn, transcript.text_of(ids, special=True))

    async def _chat(self, wanted: TurnRequest) -> Reply:
        """Request a turn from a ChatModel."""
        reply = await continue_messages(self.speaking, list(self.messages), self.schemas, wanted)
        # If the endpoint reports no token count, assume four characters per token to enforce the limit.
        self._counted += len(reply.text) // 4 + 1 if reply.tokens is None else reply.tokens
        turn = Turn("assistant", reply.text, finish_reason=reply.finish_reason, tokens=reply.tokens)
        return self._said(reply, turn, reply.text)

    def _said(self, reply: Reply, turn: Turn, text: str) -> Reply:
        """Record a turn of the model and parse its calls.

        Args:
            reply: Turn that the model generated.
            turn: Record of the turn, to which the calls are added.
            text: Text of the turn with special tokens, in which to search for calls.
        """
        content = reply.text
        calls = list(reply.calls or ())
        if reply.calls is None and (self.tools or self.schemas):
            found, calls = parse(self.speaking.calls, text)
            content = found if calls else content
        turn.calls = calls
        self.turns.append(turn)
        message: Message = {"role": "assistant", "content": reply.text}
        if calls and self.schemas:
            number = self.count("assistant")
            made = [_as_message(call, number, i) for i, call in enumerate(calls)]
            message |= {"content": content, "tool_calls": made}
        self.messages.append(message)
        return replace(reply, calls=tuple(calls))

    def _go_on(self) -> None:
        if self.ended is None and (left := self.seconds_left()) is not None and left <= 0:
            self.end("seconds", f"the episode has reached its time limit of {self.limits.seconds:g} s")
        if self.ended is not None:
            raise EpisodeEnded(self.ended)

    def _stop(self, reason: str, detail: str | None = None) -> None:
        self.end(reason, detail)
        raise EpisodeEnded(self.ended)

    def _end_late(self, reason: str, detail: str) -> None:
        """End the episode with the reason `seconds` if its time is up, or else with `reason`."""
        left = self.seconds_left()
        self.end("seconds" if left is not None and left <= 0 else reason, detail)

    def _user_turn_left(self) -> None:
        limit = self.limits.user_turns
        if limit is not None and self.count("tool", "user") >= limit:
            self._stop("user_turns")

    def _why_no_turn(self) -> str | None:
        limit = self.limits.assistant_turns
        return "assistant_turns" if limit is not None and self.count("assistant") >= limit else None

    def _why_too_long(self, more: int) -> str | None:
        length = len(self.response_ids) + self._counted + more
        if length > self.limits.response_tokens:
            return "response_tokens"
        context = self.limits.context_tokens
        if context is not None and len(self.prompt_ids) + length > context:
            return "context_tokens"
        return None

    def _budget(self) -> int:
        """Return the token limit for the next turn. End the episode if no turns or no tokens are left."""
        reason = self._why_no_turn() or self._why_too_long(1)
        if reason is not None:
            self._stop(reason)
        limits = self.limits
        used = len(self.response_ids) + self._counted
        left = limits.response_tokens - used
        if limits.context_tokens is not None:
            left = min(left, limits.context_tokens - used - len(self.prompt_ids))
        return left if limits.turn_tokens is None else min(left, limits.turn_tokens)

    def _check_prompt(self) -> None:
        """End the episode if the prompt, which an environment may have extended, exceeds its limit."""
        length, most = len(self.prompt_ids), self.limits.prompt_tokens
        if most is not None and length > most:
            self._stop(
                "error", f"the prompt and the environment's text have {length} tokens; the limit is {most}"
            )

    def start_clock(self) -> None:
        """Start the time limit of the episode anew."""
        self._started = self._clock()

    def seconds_left(self) -> float | None:
        """Return the time left for the episode in seconds, or None if the episode has no time limit."""
        if self.limits.seconds is None:
            return None
        return self.limits.seconds - (self._clock() - self._started)


def _as_message(call: Call, number: int, place: int) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    name = call.id or f"call_{number}_{place}"
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments}}
