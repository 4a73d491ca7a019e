"""A task of several turns for a model of 0.4M parameters, and the model, warmed up to solve it badly.

`38 times 71 modulo 97?`, which the model cannot compute itself; it may call the calculator. The vocabulary is
the task's own, and a number is one token, so that copying a number is one step of attention.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from rewardkit.agents.transcript import Transcript
from rewardkit.arithmetic import calculate
from rewardkit.demo.model import ASSISTANT, END, PAD, USER, make_model, save
from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts
from rewardkit.trainer.models.heads import PolicyModel
from rewardkit.trainer.workers.forward import response_log_probs

MODULUS = 97
OPERATIONS = {"plus": "+", "minus": "-", "times": "*"}
SOURCE = "rewardkit/arithmetic"
N_TEST = 256
TOOL = "<|tool|>"
CALL = ("<tool_call>", '{"name": "calculator", "arguments": {"expression": "', '"}}', "</tool_call>")
WORDS = [
    *(*CALL, "(", f") % {MODULUS}", "#### ", f" modulo {MODULUS}?"),
    *(text for pair in OPERATIONS.items() for word in pair for text in (f" {word} ",)),
]
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + (message['content'] or '') }}"
    "{% for call in message.get('tool_calls') or [] %}"
    "{{ '<tool_call>' + ({'name': call.function.name, 'arguments': call.function.arguments} | tojson)"
    " + '</tool_call>' }}"
    "{% endfor %}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
BATCH = 64
CALLS, RIGHT_OPERAND, RIGHT_OPERATION, COPIES = 0.6, 0.7, 0.8, 0.7
"""Probabilities that a demonstration calls the calculator, has the right operand in each place, has the right
operation, and answers with the calculator's result. Errors are another number of the prompt, or another
operation."""
WARM_UP = (180, 120)
"""Numbers of steps: with perfect demonstrations, from which the model learns to copy, and then with careless
ones, which it imitates at once."""


@dataclass(frozen=True)
class Problem:
    """One prompt and its answer."""

    question: str
    answer: str
    numbers: tuple[int, ...]
    operation: str


Turns = list[tuple[str, str]]
"""Pairs (role, text) of an episode after its prompt."""


def problems_of(rng: random.Random) -> list[Problem]:
    """Return all problems, shuffled."""
    found = []
    for name, sign in OPERATIONS.items():
        for a in range(1, MODULUS):
            for b in range(1, MODULUS):
                answer = calculate(f"({a} {sign} {b}) % {MODULUS}")
                found.append(Problem(f"{a} {name} {b} modulo {MODULUS}?", answer, (a, b), sign))
    rng.shuffle(found)
    return found


def call_of(a: int, sign: str, b: int) -> str:
    """Return the model's turn that calls the calculator."""
    before, head, tail, after = CALL
    return f"{before}{head}({a} {sign} {b}) % {MODULUS}{tail}{after}"


def show(problem: Problem, rng: random.Random, careless: bool) -> Turns:
    """Return an episode with well-formed calls, whose content may have errors if `careless`."""

    def sure(share: float) -> bool:
        return not careless or rng.random() < share

    first, second = problem.numbers
    if not sure(CALLS):
        return [("assistant", f"#### {rng.choice(problem.numbers)}")]
    a = first if sure(RIGHT_OPERAND) else second
    b = second if sure(RIGHT_OPERAND) else first
    sign = problem.operation if sure(RIGHT_OPERATION) else rng.choice(list(OPERATIONS.values()))
    result = calculate(f"({a} {sign} {b}) % {MODULUS}")
    answer = result if sure(COPIES) else rng.choice(problem.numbers)
    return [("assistant", call_of(a, sign, b)), ("tool", result), ("assistant", f"#### {answer}")]


def prepare(folder: Path, seed: int) -> list[Problem]:
    """Write train.parquet and test.parquet, which share no problem; return the problems of train."""
    problems = problems_of(random.Random(seed))
    folder.mkdir(parents=True, exist_ok=True)
    for name, share in (("test", problems[:N_TEST]), ("train", problems[N_TEST:])):
        rows = [
            {
                "data_source": SOURCE,
                "prompt": [{"role": "user", "content": one.question}],
                "reward_model": {"style": "rule", "ground_truth": one.answer},
                "agent_name": "tool_agent",
                "extra_info": {"index": i},
            }
            for i, one in enumerate(share)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return problems[N_TEST:]


def tiny_tokenizer() -> Any:
    """Return a tokenizer in which each number and each word of the task is one token."""
    special = [PAD, END, USER, ASSISTANT, TOOL]
    texts = [*special, "<unk>", *WORDS, *map(str, range(MODULUS + 1))]
    tokenizer = Tokenizer(
        models.WordLevel({text: i for i, text in enumerate(dict.fromkeys(texts))}, unk_token="<unk>")
    )
    known = "|".join(re.escape(word) for word in sorted(WORDS, key=len, reverse=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(rf"{known}|\d+|\w+|."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT, TOOL],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def make_start(problems: Sequence[Problem], folder: Path, seed: int) -> float:
    """Make, warm up and save a model and its tokenizer; return the last loss."""
    tokenizer = tiny_tokenizer()
    model = make_model(tokenizer, seed)
    policy = PolicyModel(model)
    rng = random.Random(seed)
    encode = cache(partial(_encode, Transcript(tokenizer)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, sum(WARM_UP))
    value = 0.0
    for step in range(sum(WARM_UP)):
        careless = step >= WARM_UP[0]
        chosen = rng.choices(problems, k=BATCH)
        shown = [(one.question, show(one, rng, careless)) for one in chosen]
        loss = _loss(policy, encode, shown)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        value = float(loss.detach())
    save(model, tokenizer, folder)
    return value


Encode = Callable[[str, str], list[int]]
"""Function (role, text) -> token ids within an episode; for the role `prompt`, those of the prompt."""


def _loss(policy: nn.Module, encode: Encode, shown: Sequence[tuple[str, Turns]]) -> Tensor:
    """Return the mean cross-entropy of the assistant's tokens in episodes."""
    rows = [PromptRow("", "", "", {}, encode("prompt", question)) for question, _ in shown]
    played = [[(role, encode(role, text)) for role, text in turns] for _, turns in shown]
    ids = [[i for _, part in turns for i in part] for turns in played]
    masks = [[int(role == "assistant") for role, part in turns for _ in part] for turns in played]
    width = max(map(len, ids))
    prompts = pad_prompts(rows, max(len(row.token_ids) for row in rows), 0)
    responses = torch.tensor([one + [0] * (width - len(one)) for one in ids])
    own = torch.tensor([one + [0] * (width - len(one)) for one in masks])
    there = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in ids])
    batch = make_batch(rows, *prompts, responses, own, there - own)
    log_probs, _ = response_log_probs(policy, batch, temperature=1.0, entropy="no")
    return -log_probs[own.bool()].mean()


def _encode(transcript: Transcript, role: str, text: str) -> list[int]:
    """Encode as described at `Encode`; returns the ids that follow a finished turn."""
    if role == "prompt":
        return transcript.prompt_ids([{"role": "user", "content": text}])
    end = transcript.tokenizer.eos_token_id
    if role == "assistant":
        return [*transcript.encoder.trusted(text), end]
    named = {"name": "calculator", "tool_call_id": "call00000"} if role == "tool" else {}
    return transcript.appended([end], [{"role": role, "content": text, **named}])
