"""A small real tokenizer with chat templates of both kinds, and models that say what a test tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from rewardkit.agents.loops import BUILT_IN
from rewardkit.agents.registry import AGENTS, Agents
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import Observation, Reply

AGENTS.offer(BUILT_IN)
CHATML = """
{%- if tools %}{{ '<|im_start|>system\\nTools: ' ~ (tools | map(attribute='function.name') | join(' ')) ~ '<|im_end|>\\n' }}{% endif -%}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{{- '' if loop.index0 and messages[loop.index0 - 1].role == 'tool' else '<|im_start|>user' }}
{{- '\\n<tool_response>\\n' ~ m.content ~ '\\n</tool_response>' }}
{{- '' if not loop.last and messages[loop.index0 + 1].role == 'tool' else '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' ~ m.role ~ '\\n' ~ (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>\\n' ~ (c.function | tojson) ~ '\\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""As Qwen writes it: tool results within a user's turn, calls as JSON in markers."""

TEXTS = [
    "What is 12 + 30? The answer is 42.",
    "<tool_call> name arguments calculator expression user assistant",
]


def make_tokenizer(template: str = CHATML) -> Any:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXTS, trainer)
    # Added, and not special, as in Qwen 3.
    made.add_tokens([AddedToken(text, special=False) for text in ("<tool_call>", "</tool_response>")])
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=template,
        clean_up_tokenization_spaces=False,
    )


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture(scope="session")
def transcript(tokenizer: Any) -> Transcript:
    return Transcript(tokenizer)


def call_of(name: str, **arguments: Any) -> str:
    """A turn that calls a tool, in the hermes format."""
    import json

    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@dataclass
class Script:
    """A TokenModel that says its turns in order, each as the tokenizer writes it, and an end token."""

    tokenizer: Any
    turns: Iterable[str | Callable[[Sequence[int]], str]] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._turns = list(self.turns)

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        said = self._turns[sum(one["tag"] == "turn" for one in self.asked) % len(self._turns)]
        text = said if isinstance(said, str) else said(token_ids)
        asked = {"ids": list(token_ids), "seed": seed, "max_tokens": max_tokens, "stop": list(stop_token_ids)}
        self.asked.append({"tag": "turn", **asked})
        ids = [*self.tokenizer(text, add_special_tokens=False)["input_ids"], self.tokenizer.eos_token_id]
        cut = ids[:max_tokens]
        log_probs = [-0.5 - token_id / 1000 for token_id in cut]
        return Reply(text, cut, log_probs, "stop" if len(cut) == len(ids) else "length")


@dataclass
class Counted:
    """Counts what all tools of a test were asked."""

    created: int = 0
    released: int = 0
    executed: int = 0


class Echo:
    """A tool that answers with what `answer` makes of its arguments."""

    name = "echo"

    def __init__(
        self, counted: Counted | None = None, answer: Callable[[Mapping[str, Any]], Any] | None = None
    ) -> None:
        self.counted = counted or Counted()
        self._answer = answer or (lambda arguments: Observation(str(arguments.get("text", ""))))
        self.created_with: dict[str, Any] = {}
        self.schema = {
            "type": "function",
            "function": {
                "name": self.name,
                "description": "Says it again.",
                "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
            },
        }

    async def create(self, **kwargs: Any) -> None:
        self.counted.created += 1
        self.created_with = kwargs

    async def execute(self, arguments: Mapping[str, Any]) -> Observation:
        self.counted.executed += 1
        found = self._answer(arguments)
        answer: Observation = await found if hasattr(found, "__await__") else found
        return answer

    async def reward(self) -> float | None:
        return None

    async def release(self) -> None:
        self.counted.released += 1


@pytest.fixture
def agents() -> Iterator[Agents]:
    """The loops; what a test registers is gone after it."""
    AGENTS.names()
    before = dict(AGENTS._agents)
    yield AGENTS
    AGENTS._agents = before
