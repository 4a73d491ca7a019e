"""Branches of an episode in which an external program controls the message history.

Each branch is an `Episode`, with turns, limits and tokens as in an episode that a built-in loop drives.
A request continues a branch, with exactly the same tokens, if it begins with all messages of that branch. If
the messages of a request diverge from a branch after a turn of the model, a new branch reuses the tokens up
to that turn. The shared tokens are trained on in the first branch only. Any other request starts a new branch
from a prompt that the chat template renders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewardkit.agents.endpoint.program_requests import ApiError, AskedTurn
from rewardkit.agents.episode import Episode
from rewardkit.agents.model_turns import branch_seed
from rewardkit.agents.transcript import TemplateError
from rewardkit.agents.types import Reply
from rewardkit.messages import message_text
from rewardkit.types import Message

TOO_LONG = "context_length_exceeded"
"""Error code in the API that tells a program to shorten its history."""
_BEFORE, _SHOWN = 20, 60
"""Number of characters that a message about a change shows before the change, and in total."""
Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Role, text and tool calls of a message. Two messages are equal if these parts are equal."""


@dataclass
class EpisodeBranch:
    """One branch of an episode, with message keys that are compared with the messages in requests."""

    episode: Episode
    keys: list[Key]
    """Keys of all messages of the branch."""
    ends: dict[int, int] = field(default_factory=dict)
    """Number of turns up to each turn of the model. The key is the number of messages up to that turn."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Additional arguments for the chat template, which the requests for this branch contain."""
    made: int = 0
    """Number of turns that the model generated in this branch."""

    def says(self, reply: Reply, asked: AskedTurn, number: int) -> tuple[str, list[dict[str, Any]]]:
        """Record a generated turn in the form that the program receives, and return its text and calls.

        If any call in the turn cannot be parsed, the text keeps all calls of the turn.

        Args:
            reply: Turn that the model generated.
            asked: Request that the turn answers.
            number: Number of the turn in the whole episode.
        """
        message = self.episode.messages[-1]
        text, calls = message_text(message), list(message.get("tool_calls") or ())
        if any(call.error for call in reply.calls or ()):
            text, calls = reply.text, []
        places = [place for one in asked.stop if (place := text.find(one)) >= 0]
        text = text[: min(places)] if places else text
        calls = [{**one, "id": f"call_{number}_{i}"} for i, one in enumerate(calls)]
        calls = calls[:1] if asked.one_call else calls
        kept: Message = {"role": "assistant", "content": text}
        return text, self._keep({**kept, "tool_calls": calls} if calls else kept)

    def renders(self, asked: AskedTurn) -> bool:
        """Return True if the branch has the same tools and template arguments as a request."""
        return self.episode.schemas == asked.schemas and self.template_kwargs == asked.template_kwargs

    def appended(self, messages: Sequence[Message]) -> None:
        """Record messages that have been appended to the episode."""
        self.keys = [*self.keys, *(key_of(message) for message in messages)]

    def _keep(self, message: Message) -> list[dict[str, Any]]:
        self.episode.messages[-1] = message
        self.keys = [*self.keys, key_of(message)]
        self.ends[len(self.keys)] = len(self.episode.turns)
        self.made += 1
        calls: list[dict[str, Any]] = message.get("tool_calls", [])
        return calls


class EpisodeBranches:
    """All branches of an episode, in the order in which they began."""

    def __init__(self, episode: Episode, most: int) -> None:
        """Create an empty collection. `episode` provides the row, model and limits for all branches."""
        self._episode = episode
        self._most = most
        self.all: list[EpisodeBranch] = []

    @property
    def made(self) -> int:
        """Return the number of turns that the model generated in all branches."""
        return sum(branch.made for branch in self.all)

    @property
    def full(self) -> bool:
        """Return True if no further branch may begin."""
        return len(self.all) >= self._most

    def find(self, asked: AskedTurn) -> tuple[EpisodeBranch, list[Message]] | None:
        """Return the branch that a request continues, and the new messages. Return None if no branch matches.

        A new branch is created if the request diverges from an existing branch after a turn of the model.
        """
        keys = [key_of(message) for message in asked.messages]
        best: tuple[int, int, EpisodeBranch] | None = None
        for number, branch in enumerate(self.all):
            shared = _shared(branch, keys) if branch.renders(asked) else 0
            new = asked.messages[shared:]
            if shared and new and all(message["role"] in ("user", "tool") for message in new):
                best = max(best or (0, 0, branch), (shared, number, branch), key=lambda one: one[:2])
        if best is None:
            return None
        shared, _, branch = best
        if shared < len(branch.keys):
            if self.full:
                return None
            branch = self._left(branch, shared)
        return branch, asked.messages[shared:]

    def begin(self, asked: AskedTurn) -> EpisodeBranch:
        """Start a branch whose prompt consists of all messages of a request.

        Raises:
            ApiError: The template cannot render the messages, or they are too long.
        """
        made = self._episode_of(asked.messages, asked.schemas)
        if made.speaking.transcript is not None and asked.template_kwargs:
            kwargs = {**made.speaking.transcript.template_kwargs, **asked.template_kwargs}
            made.speaking = replace(
                made.speaking, transcript=replace(made.speaking.transcript, template_kwargs=kwargs)
            )
        made.prompt_messages = len(made.messages)
        transcript = made.speaking.transcript
        if transcript is not None:
            made.prompt_ids = _prompt_ids(made)
            _check_length(made)
        added = self._add(made, [key_of(message) for message in made.messages])
        added.template_kwargs = asked.template_kwargs
        return added

    def _left(self, branch: EpisodeBranch, shared: int) -> EpisodeBranch:
        """Create a branch from the first `shared` messages of `branch`, with the tokens of these messages."""
        old = branch.episode
        made = self._episode_of(old.messages[:shared], old.schemas)
        made.prompt_messages, made.prompt_ids = old.prompt_messages, list(old.prompt_ids)
        made.turns = [replace(turn) for turn in old.turns[: branch.ends[shared]]]
        length = made.turns[-1].end
        made.response_ids = old.response_ids[:length]
        made.response_mask, made.log_probs = [0] * length, [0.0] * length
        made.weight_versions = [0] * length
        ends = {messages: turns for messages, turns in branch.ends.items() if messages <= shared}
        added = self._add(made, branch.keys[:shared])
        added.ends, added.template_kwargs = ends, branch.template_kwargs
        added.episode.speaking = old.speaking
        return added

    def _add(self, episode: Episode, keys: list[Key]) -> EpisodeBranch:
        self.all.append(EpisodeBranch(episode, keys))
        return self.all[-1]

    def _episode_of(self, messages: Sequence[Message], schemas: Sequence[Any]) -> Episode:
        whole = self._episode
        return Episode(
            whole.row,
            whole.speaking,
            replace(whole.limits, seconds=whole.seconds_left()),
            seed=branch_seed(whole.seed, len(self.all)),
            agent_name=whole.agent_name,
            messages=messages,
            schemas=schemas,
        )

    def settle(self, last: EpisodeBranch) -> None:
        """Copy the branch `last` into the episode, and attach the other branches to it.

        A branch is left out if it has no tokens to train on.
        """
        main, whole = last.episode, self._episode
        spoken = [branch.episode for branch in self.all if branch.made and branch.episode is not main]
        whole.branches = [one for one in spoken if any(one.response_mask) or not one.response_ids]
        whole.messages, whole.prompt_messages, whole.schemas = (
            main.messages,
            main.prompt_messages,
            main.schemas,
        )
        whole.prompt_ids, whole.response_ids = main.prompt_ids, main.response_ids
        whole.response_mask, whole.log_probs = main.response_mask, main.log_probs
        whole.weight_versions, whole.turns = main.weight_versions, main.turns


def changed(branch: EpisodeBranch, asked: AskedTurn) -> str | None:
    """Return a description of the first change to a history that a request otherwise repeats, or None.

    A request repeats a history if it contains a turn of the model at the same position. For example, a
    program that puts the time into its system prompt changes the history in every request.
    """
    keys = [key_of(message) for message in asked.messages]
    repeated = [end - 1 for end in branch.ends if end <= len(keys) and branch.keys[end - 1] == keys[end - 1]]
    if not repeated:
        return None
    old, new = (
        sorted(one["function"]["name"] for one in of) for of in (branch.episode.schemas, asked.schemas)
    )
    if branch.episode.schemas != asked.schemas:
        return f"the tools were {', '.join(old) or 'none'} and are {', '.join(new) or 'none'}"
    place = next((i for i in range(max(repeated)) if branch.keys[i] != keys[i]), None)
    if place is None:
        return None
    was, now = branch.keys[place][1], keys[place][1]
    equal = next((i for i, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), 0)
    start = max(equal - _BEFORE, 0)
    shown = [one[start : start + _SHOWN] for one in (was, now)]
    return f"message {place} ({asked.messages[place]['role']}) was {shown[0]!r} and is {shown[1]!r}"


def key_of(message: Message) -> Key:
    """Return the parts of a message to compare. Omit details that clients change when they resend
    messages."""
    text = message_text(message)
    if message["role"] != "assistant":
        return message["role"], text, ()
    calls = [
        (one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls") or ()
    ]
    return "assistant", text.strip(), tuple((name, _canonical(arguments)) for name, arguments in calls)


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _shared(branch: EpisodeBranch, keys: Sequence[Key]) -> int:
    """Return the number of messages up to and including the last turn of the model that both have in common.

    Return 0 if the request and the branch have no turn of the model in common.
    """
    equal = next((i for i, (a, b) in enumerate(zip(branch.keys, keys, strict=False)) if a != b), None)
    length = min(len(branch.keys), len(keys)) if equal is None else equal
    return max((messages for messages in branch.ends if messages <= length), default=0)


def _prompt_ids(episode: Episode) -> list[int]:
    """Return the token ids of a branch's prompt.

    Arguments of tool calls are rendered as objects, as most templates expect, or as text if this fails.
    """
    transcript: Any = episode.speaking.transcript
    try:
        ids: list[int] = transcript.prompt_ids(
            [_with_objects(one) for one in episode.messages], episode.schemas
        )
        return ids
    except TemplateError as error:
        first = error
    try:
        ids = transcript.prompt_ids(episode.messages, episode.schemas)
        return ids
    except TemplateError:
        raise ApiError(str(first), param="messages") from None


def _with_objects(message: Message) -> Message:
    calls = message.get("tool_calls")
    if not calls:
        return message
    return {**message, "tool_calls": [{**one, "function": _with_object(one["function"])} for one in calls]}


def _with_object(function: dict[str, Any]) -> dict[str, Any]:
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        return function
    return {**function, "arguments": arguments} if isinstance(arguments, dict) else function


def _check_length(episode: Episode) -> None:
    limits, length = episode.limits, len(episode.prompt_ids)
    most = [limit for limit in (limits.prompt_tokens, limits.context_tokens) if limit is not None]
    if most and length > min(most):
        text = f"This model's maximum context length is {min(most)} tokens for a prompt; yours has {length}."
        raise ApiError(text, code=TOO_LONG, param="messages")
