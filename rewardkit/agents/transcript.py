"""Conversion of turns to token ids with a chat template. The model's own tokens are never retokenised.

To append a turn, this module appends only the text that the template writes between the end of one assistant
turn and the start of the next. It derives this text from a short conversation of placeholders. Many templates
rewrite earlier turns, for example by dropping reasoning or trimming whitespace. Such changes have no effect
on an episode, because its earlier turns stay as generated. `probe.py` tests which turns a template can
append.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.agents.encoding import TextEncoder, plain_text
from rewardkit.errors import ConfigError
from rewardkit.messages import message_text
from rewardkit.special_tokens import THOUGHTS
from rewardkit.types import Message

Schemas = Sequence[Mapping[str, Any]]

_SAID = "zqsaidqz"
"""Placeholder for the text of an assistant turn, or for the argument of a call."""
_HEARD = "zqheard{}qz"
"""Placeholder for the content of an appended message."""
_TAIL = 32
"""Number of tokens before a turn that are searched for the start of a reasoning block."""
_CALL_ID = "call0000{}"  # ids have nine alphanumeric characters, because some templates reject other ids


class TemplateError(ConfigError):
    """Raised if a chat template cannot render a prompt or the turns to append."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Text that a template writes around the contents of appended messages."""

    parts: tuple[str, ...]
    """Text before the content of each message, and the text after the last content."""
    closing: tuple[int, ...]
    """Token ids at the start of the first part that close the assistant turn."""
    contents: tuple[Callable[[str], str], ...]
    """Functions that change the content of each message as the template does: keep, trim or JSON-encode
    it."""


@dataclass
class Transcript:
    """A tokenizer, its chat template, and the token ids that end a turn."""

    tokenizer: Any
    """A Hugging Face tokenizer with a chat template."""
    end_ids: Sequence[int] = ()
    """Token ids that end an assistant turn. The tokenizer's own end token is always included."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Extra arguments for `apply_chat_template`, such as `enable_thinking` or `date_string`."""

    def __post_init__(self) -> None:
        own = self.tokenizer.eos_token_id
        self.end_ids = sorted({*self.end_ids} | ({own} if own is not None else set()))
        self.encoder = TextEncoder(self.tokenizer)
        self._skeletons: dict[tuple[Any, ...], Skeleton] = {}

    def render(self, messages: Sequence[Message], schemas: Schemas = (), *, prompt: bool = True) -> str:
        """Render a conversation as text with the chat template.

        Args:
            messages: Messages of the conversation.
            schemas: OpenAI function schemas of the tools.
            prompt: If True, the text ends with the start of the next assistant turn.
        """
        text: str = self.tokenizer.apply_chat_template(
            list(messages),
            tools=list(schemas) or None,
            add_generation_prompt=prompt,
            tokenize=False,
            **self.template_kwargs,
        )
        return text

    def prompt_ids(self, messages: Sequence[Message], schemas: Schemas = ()) -> list[int]:
        """Return the token ids of a prompt. As in training on single turns, the text is tokenised as a whole.

        Raises:
            TemplateError: The template cannot render the prompt.
        """
        try:
            return self.encoder.trusted(self.render(messages, schemas))
        except Exception as error:  # a template's Jinja code may raise any exception
            raise TemplateError(f"the chat template cannot render the prompt: {_line(error)}") from None

    def appended(
        self, produced: Sequence[int], messages: Sequence[Message], schemas: Schemas = ()
    ) -> list[int]:
        """Return the token ids to append after an assistant turn.

        The ids consist of the rest of the turn's closing, the messages, and the opening of the next assistant
        turn. No part of a message's content becomes a template marker.

        Args:
            produced: Token ids that end with the assistant turn.
            messages: Messages with the role `tool` or `user`. A tool message has a `name`.
            schemas: OpenAI function schemas of the tools.

        Raises:
            TemplateError: The template cannot append the messages to an assistant turn.
        """
        skeleton = self.skeleton(messages, schemas)
        texts = [
            write(plain_text(message_text(message)))
            for write, message in zip(skeleton.contents, messages, strict=True)
        ]
        ids = self._encode(skeleton.parts, texts)
        return ids[self._said_already(produced, ids, skeleton) :]

    def opening_ids(self, before: Sequence[int], text: str) -> list[int]:
        """Return the token ids of a text that begins a turn, after a reasoning block that `before` has
        opened.

        Args:
            before: Token ids of the history, through the start of the turn.
            text: Text whose markers become special tokens.
        """
        tail = self.encoder.decode(before[-_TAIL:], special=True).rstrip()
        closing = next((f"\n{end}\n\n" for begin, end in THOUGHTS if tail.endswith(begin)), "")
        return self.encoder.trusted(closing + text)

    def text_of(self, ids: Sequence[int], *, special: bool = False) -> str:
        """Return the text of a turn. If `special` is True, include special tokens except the end token."""
        if special and ids and ids[-1] in self.end_ids:
            ids = ids[:-1]
        return self.encoder.decode(ids, special=special)

    def ids_of(self, tokens: Sequence[str]) -> tuple[int, ...]:
        """Return the ids of special tokens. Tokens that the tokenizer does not have are skipped."""
        special = self.tokenizer.get_added_vocab()
        return tuple(special[token] for token in tokens if token in special)

    def skeleton(self, messages: Sequence[Message], schemas: Schemas = ()) -> Skeleton:
        """Return the text that the template writes around the contents of the messages.

        Raises:
            TemplateError: The template cannot append the messages to an assistant turn.
        """
        shape = tuple((str(message["role"]), str(message.get("name") or "")) for message in messages)
        key = (shape, json.dumps(list(schemas), sort_keys=True, default=str))
        if key not in self._skeletons:
            self._skeletons[key] = derive(self, shape, schemas)
        return self._skeletons[key]

    def _encode(self, parts: Sequence[str], texts: Sequence[str]) -> list[int]:
        encoder = self.encoder
        own = [token_id for part in parts for token_id in encoder.trusted(part)]
        if not any(map(encoder.has_markers, texts)):
            # Tokenise everything as one text, as if the template had rendered the contents.
            joint = encoder.trusted(_interleaved(parts, texts))
            if encoder.between(joint) == encoder.between(own):
                return joint
        ids = encoder.trusted(parts[0])
        for text, part in zip(texts, parts[1:], strict=True):
            ids += encoder.untrusted(text) + encoder.trusted(part)
        return ids

    def _said_already(self, produced: Sequence[int], ids: Sequence[int], skeleton: Skeleton) -> int:
        """Return 1 if the model has already generated the first id, which ends its turn, or else 0."""
        if not produced or not ids:
            return 0
        if produced[-1] == ids[0]:
            return 1
        closes = bool(skeleton.closing) and skeleton.closing[0] in self.end_ids
        return int(closes and produced[-1] in self.end_ids)


def derive(transcript: Transcript, shape: Sequence[tuple[str, str]], schemas: Schemas) -> Skeleton:
    """Derive the skeleton for messages with these roles and names. See `Transcript.skeleton`."""
    for role, _ in shape:
        if role not in ("tool", "user"):
            raise TemplateError(f"a turn with the role '{role}' cannot be appended; expected tool or user")
    marks = [_HEARD.format(i) for i in range(len(shape))]
    tail, closing = _tail(transcript, _messages(shape, marks), schemas)
    parts = _cut(tail, marks)
    contents = [_content_of(transcript, shape, i, schemas) for i in range(len(shape))]
    return Skeleton(tuple(parts), tuple(closing), tuple(contents))


def _tail(
    transcript: Transcript, new: Sequence[Message], schemas: Schemas, *, prompt: bool = True
) -> tuple[str, list[int]]:
    """Return the text from the end of an assistant turn through `new`, and the ids in it that close the turn.

    Args:
        transcript: Tokenizer and chat template.
        new: Messages after the assistant turn.
        schemas: OpenAI function schemas of the tools.
        prompt: If True, the text ends with the start of the next assistant turn.
    """
    tried = []
    if any(message["role"] == "tool" for message in new):
        for arguments in ({"x": _SAID}, json.dumps({"x": _SAID})):
            try:
                return _tail_of_call(transcript, new, schemas, arguments, prompt)
            except Exception as error:
                tried.append(_line(error))
        if len(new) > 1 and all(message["role"] == "tool" for message in new):
            try:
                return _tails_in_turn(transcript, new, schemas)
            except Exception as error:
                tried.append(_line(error))
    try:
        return _tail_of_text(transcript, new, schemas, prompt)
    except Exception as error:
        tried.append(_line(error))
    raise TemplateError("; ".join(dict.fromkeys(tried)))


def _tails_in_turn(transcript: Transcript, new: Sequence[Message], schemas: Schemas) -> tuple[str, list[int]]:
    """Return the tail for several tool results, joined from the tails of the individual results.

    Some templates, such as gpt-oss's, render only one call per turn. Each result is therefore rendered in a
    separate turn, and the closing of that turn is removed. Only the last result keeps the opening of the next
    turn.
    """
    whole = ""
    closing: list[int] = []
    for message in new:
        tail, closing = _tail(transcript, [message], schemas)
        bare, _ = _tail(transcript, [message], schemas, prompt=False)
        opening = tail.removeprefix(bare)
        begin = transcript.encoder.decode(closing, special=True)
        if opening == tail or not bare.startswith(begin):
            raise TemplateError("the template renders a tool result differently when a turn follows")
        whole = f"{whole.removesuffix(opening) or begin}{bare.removeprefix(begin)}{opening}"
    return whole, closing


def _tail_of_text(
    transcript: Transcript, new: Sequence[Message], schemas: Schemas, prompt: bool
) -> tuple[str, list[int]]:
    before: list[Message] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": _SAID}]
    alone = _behind(transcript.render(before, schemas, prompt=False))
    tail = _behind(transcript.render([*before, *new], schemas, prompt=prompt))
    return tail, _common(transcript.encoder.trusted(alone), transcript.encoder.trusted(tail))


def _tail_of_call(
    transcript: Transcript, new: Sequence[Message], schemas: Schemas, arguments: Any, prompt: bool
) -> tuple[str, list[int]]:
    """Return the tail after a turn with tool calls, without the part that the model itself generates."""
    calls = [
        {
            "type": "function",
            "id": message["tool_call_id"],
            "function": {"name": message.get("name") or "f", "arguments": arguments},
        }
        for message in new
        if message["role"] == "tool"
    ]
    before: list[Message] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": calls},
    ]
    alone = _behind(transcript.render(before, schemas, prompt=False), len(calls))
    tail = _behind(transcript.render([*before, *new], schemas, prompt=prompt), len(calls))
    if not tail.startswith(alone):
        raise TemplateError("the template renders a tool call differently when a tool result follows")
    closing = _closing(transcript, transcript.encoder.trusted(alone), schemas)
    return transcript.encoder.decode(closing, special=True) + tail[len(alone) :], closing


def _closing(transcript: Transcript, ids: Sequence[int], schemas: Schemas) -> list[int]:
    """Return the end of `ids` that closes the turn. `ids` are the tokens after the arguments of a call."""
    ends = [i for i, token_id in enumerate(ids) if token_id in transcript.end_ids]
    if ends:
        return list(ids[ends[-1] :])
    before: list[Message] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": _SAID}]
    plain = transcript.encoder.trusted(_behind(transcript.render(before, schemas, prompt=False)))
    return plain if plain and list(ids[-len(plain) :]) == plain else []


def _content_of(
    transcript: Transcript, shape: Sequence[tuple[str, str]], place: int, schemas: Schemas
) -> Callable[[str], str]:
    """Return a function that changes the content of one message as the template does."""
    sample = ' "zq\n{}<é'
    marks = [_HEARD.format(i) for i in range(len(shape))]
    marks[place] = sample + _HEARD.format(place) + " \n"
    tail, _ = _tail(transcript, _messages(shape, marks), schemas)
    for write in (_as_it_is, str.strip, _as_json, _as_stripped_json):
        if tail.count(write(marks[place])) == 1:
            return write
    raise TemplateError(f"the template changes the text of a {shape[place][0]} message")


def _as_it_is(text: str) -> str:
    return text


def _as_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _as_stripped_json(text: str) -> str:
    return _as_json(text.strip())


def _messages(shape: Sequence[tuple[str, str]], contents: Sequence[str]) -> list[Message]:
    messages: list[Message] = []
    for i, ((role, name), content) in enumerate(zip(shape, contents, strict=True)):
        message: Message = {"role": role, "content": content}
        if role == "tool":
            message |= {"name": name or "f", "tool_call_id": _CALL_ID.format(i % 10)}
        messages.append(message)
    return messages


def _cut(tail: str, marks: Sequence[str]) -> list[str]:
    parts = []
    for mark in marks:
        before, found, tail = tail.partition(mark)
        if not found:
            raise TemplateError("the template omits a message or changes the order of messages")
        parts.append(before)
    if any(mark in part for mark in marks for part in (*parts, tail)):
        raise TemplateError("the template renders a message twice")
    return [*parts, tail]


def _behind(text: str, times: int = 1) -> str:
    """Return the text after the last placeholder for the assistant's text."""
    if text.count(_SAID) != times:
        raise TemplateError("the template omits or changes the assistant's text")
    return text.rpartition(_SAID)[2]


def _interleaved(parts: Sequence[str], texts: Sequence[str]) -> str:
    return parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))


def _common(first: Sequence[int], second: Sequence[int]) -> list[int]:
    length = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    return list(first[: min(len(first), len(second)) if length is None else length])


def _line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
