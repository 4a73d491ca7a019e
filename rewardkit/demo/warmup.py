"""A short supervised phase, after which the model knows some arithmetic and sometimes answers in format.

Two in seven of the worked answers it sees end in `#### N`; the rest say the number in words. Sampled, it is
then right and in format about one time in five: the usual state of a small model before reinforcement.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts
from rewardkit.trainer.models.heads import PolicyModel
from rewardkit.trainer.workers.forward import response_log_probs

BATCH_SIZE = 64
LEARNING_RATE = 1e-3
MAX_STEPS = 300
FIRST_CHECK = 100
CHECK_EVERY = 10
FORMATS = ("#### {}", "The answer is {}.", "So {}.", "The answer is {}.", "#### {}", "So {}.", "So {}.")
"""Two in seven are the format that is rewarded; no format is common enough to be the only one."""
ENOUGH = 0.9
"""Greedy accuracy, whatever the format, at which the warm-up stops."""


def warm_up(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    accuracy: Callable[[], float],
    *,
    seed: int,
) -> int:
    """Train `model` on worked answers until `accuracy()` is enough; return the steps taken."""
    rng = random.Random(seed)
    policy = PolicyModel(model)
    policy.packing = "rows"  # its attention keeps them apart: a sixth less to compute
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    for step in range(1, MAX_STEPS + 1):
        chosen = rng.choices(rows, k=BATCH_SIZE)
        loss = _loss(policy, tokenizer, chosen, [demonstration(row, i) for i, row in enumerate(chosen)])
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step >= FIRST_CHECK and step % CHECK_EVERY == 0 and accuracy() >= ENOUGH:
            return step
    return MAX_STEPS


def demonstration(row: PromptRow, number: int) -> str:
    """Return the worked answer in one of three formats, chosen by its number in the batch."""
    work, _, answer = row.extra_info["answer"].rpartition("\n#### ")
    return f"{work}\n" + FORMATS[number % len(FORMATS)].format(answer)


def _loss(model: nn.Module, tokenizer: Any, rows: Sequence[PromptRow], answers: Sequence[str]) -> Tensor:
    """Mean cross-entropy of the answers' tokens, end of sequence included."""
    width = max(len(row.token_ids) for row in rows)
    prompt_ids, prompt_mask = pad_prompts(rows, width, tokenizer.pad_token_id)
    encoded = [[*ids, tokenizer.eos_token_id] for ids in tokenizer(list(answers))["input_ids"]]
    length = max(map(len, encoded))
    responses = torch.tensor([ids + [tokenizer.pad_token_id] * (length - len(ids)) for ids in encoded])
    mask = torch.tensor([[1] * len(ids) + [0] * (length - len(ids)) for ids in encoded])
    batch = make_batch(rows, prompt_ids, prompt_mask, responses, mask)
    log_probs, _ = response_log_probs(model, batch, temperature=1.0, entropy="no")
    return -log_probs[mask.bool()].mean()
