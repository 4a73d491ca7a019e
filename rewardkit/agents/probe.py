"""Tests of a chat template at the start of a run: which turns it can append, and which turns it rewrites.

A template is rejected if it cannot render the turns of the run's agents. If a template rewrites earlier
turns, a message describes the changes and says that episodes keep the turns as they were generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.agents.registry import Agent
from rewardkit.agents.transcript import Schemas, TemplateError, Transcript
from rewardkit.special_tokens import THOUGHTS
from rewardkit.types import Message

_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "zqtool",
        "description": "A tool.",
        "parameters": {
            "type": "object",
            "properties": {"x": {"type": "string", "description": "A text."}},
            "required": ["x"],
        },
    },
}
_ASKED: Message = {"role": "user", "content": "zqasked"}
_MORE: Message = {"role": "user", "content": "zqmore"}
_HEARD: Message = {"role": "tool", "name": "zqtool", "tool_call_id": "call00000", "content": "zqheard"}


@dataclass(frozen=True, slots=True)
class TemplateReport:
    """Findings of the function `probe` about a template."""

    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons why turns cannot be appended, by kind of turn (`user`, `tool`, `parallel tools`)."""
    rewrites: Mapping[str, str] = field(default_factory=dict)
    """Changes that the template makes to earlier turns, by kind of turn. Episodes keep the original turns."""
    notes: Sequence[str] = ()
    """Additional lines for the user."""

    def lines(self) -> list[str]:
        """Return one line for each finding that the user should see."""
        said = [
            f"the chat template cannot append a turn of kind '{kind}': {why}"
            for kind, why in self.refused.items()
        ]
        if self.rewrites:
            what = "; ".join(f"{kind}: {how}" for kind, how in self.rewrites.items())
            said.append(
                f"the chat template changes earlier turns when others follow ({what}); within an "
                "episode all turns stay as the model produced them"
            )
        return [*said, *self.notes]


def probe(transcript: Transcript) -> TemplateReport:
    """Test a template on short conversations that some templates reject or rewrite."""
    refused = {}
    kinds: dict[str, tuple[list[Message], Schemas]] = {
        "user": ([_MORE], ()),
        "tool": ([_HEARD], (_TOOL,)),
        "parallel tools": ([_HEARD, {**_HEARD, "tool_call_id": "call00001"}], (_TOOL,)),
    }
    for kind, (messages, schemas) in kinds.items():
        try:
            transcript.skeleton(messages, schemas)
            if kind == "user":
                _same_later(transcript, messages)
        except TemplateError as error:
            refused[kind] = str(error)
    return TemplateReport(refused, dict(_rewrites(transcript)), _notes(transcript, refused))


def check_template(transcript: Transcript, agents: Iterable[Agent]) -> TemplateReport:
    """Check that the template supports the agents of the run, and return the findings of `probe`.

    Raises:
        TemplateError: The template cannot append the turns of one of the agents.
    """
    report = probe(transcript)
    for one in agents:
        kind = {"template": "tool", "text": "user"}.get(one.tools, "")
        if kind in report.refused:
            hint = "; use react_agent, which needs only user turns" if kind == "tool" else ""
            raise TemplateError(
                f"the agent '{one.name}' cannot run with this chat template, which cannot append a {kind} "
                f"turn to an assistant turn: {report.refused[kind]}{hint}"
            )
    return report


def _same_later(transcript: Transcript, messages: Sequence[Message]) -> None:
    """Raise TemplateError if the template renders a turn differently when more turns precede it."""
    said: Message = {"role": "assistant", "content": "zqsaid"}
    later: list[str] = []
    for before in ([_ASKED, said], [_ASKED, said, {"role": "user", "content": "zqagain"}, said]):
        text = _rendered(transcript, [*before, *messages], ())
        later.append(text.rpartition("zqsaid")[2])
    if later[0] != later[1]:
        raise TemplateError(
            "the template renders the same turn differently depending on its place in the conversation"
        )


def _shows_tools(transcript: Transcript) -> bool:
    try:
        return "zqtool" in transcript.render([_ASKED], (_TOOL,))
    except Exception:  # a template's Jinja code may raise any exception if it does not support tools
        return False


def _rewrites(transcript: Transcript) -> Iterable[tuple[str, str]]:
    """Yield each kind of earlier turn that the template changes, and a description of the change."""
    for kind, said, new, schemas in _histories():
        try:
            alone = _rendered(transcript, [_ASKED, *said], schemas, prompt=False)
            whole = _rendered(transcript, [_ASKED, *said, *new], schemas)
        except TemplateError:
            continue  # `refused` already reports this error, or the template does not support a field
        lost = "zqthought" in alone and "zqthought" not in whole
        if lost:
            yield kind, "dropped when a turn follows"
        elif not whole.startswith(alone.rstrip()):
            yield kind, "rendered differently when a turn follows"
        elif kind == "outer spaces" and "  zqsaid  " not in whole:
            yield kind, "trimmed"


def _histories() -> list[tuple[str, list[Message], list[Message], Schemas]]:
    def said(content: str, **more: Any) -> Message:
        return {"role": "assistant", "content": content, **more}

    call = {
        "type": "function",
        "id": "call00000",
        "function": {"name": "zqtool", "arguments": {"x": "zq"}},
    }
    thoughts = [f"{opening}\nzqthought\n{closing}\n\nzqsaid" for opening, closing in THOUGHTS]
    called = said("", tool_calls=[call])
    return [
        ("plain answers", [said("zqsaid")], [_MORE], ()),
        ("outer spaces", [said("  zqsaid  ")], [_MORE], ()),
        *(("reasoning in the content", [said(thought)], [_MORE], ()) for thought in thoughts),
        ("reasoning in reasoning_content", [said("zqsaid", reasoning_content="zqthought")], [_MORE], ()),
        ("calls", [called], [_HEARD], (_TOOL,)),
        *(("calls with reasoning", [said(one, tool_calls=[call])], [_HEARD], (_TOOL,)) for one in thoughts),
        ("a round of tools", [called, _HEARD, said("zqsaid")], [_MORE], (_TOOL,)),
    ]


def _notes(transcript: Transcript, refused: Mapping[str, str]) -> list[str]:
    template = str(transcript.tokenizer.chat_template or "")
    notes = []
    if "tool" not in refused and not _shows_tools(transcript):
        notes.append(
            "the chat template does not show tools to the model; if episodes use tools, describe them in the "
            "prompts, or use react_agent"
        )
    if "strftime_now" in template and "date_string" not in transcript.template_kwargs:
        notes.append(
            "the chat template can write today's date into the prompt, so a run resumed on "
            "another day has different prompts; if the template reads date_string, set date_string in "
            "the template's arguments"
        )
    return notes


def _rendered(
    transcript: Transcript, messages: Sequence[Message], schemas: Schemas, *, prompt: bool = True
) -> str:
    try:
        return transcript.render(messages, schemas, prompt=prompt)
    except Exception as error:  # a template's Jinja code may raise any exception
        raise TemplateError(str(error)) from None
