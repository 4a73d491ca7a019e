"""The trainer's only batch type: tensors, most of them with verl's names, and one Python row per response.

Shapes: B responses, P prompt tokens (left-padded), T response tokens (right-padded), L = P + T.

    input_ids, attention_mask, position_ids                      (B, L) int64
    responses, response_mask                                     (B, T) int64, float32
    rollout_log_probs, old_log_probs, ref_log_prob, entropys     (B, T) float32
    teacher_log_prob, values, sum_pi_squared                     (B, T) float32
    teacher_top_log_probs, teacher_top_ids, teacher_states       (B, T, k), (B, T, k), (B, T, H): see
                                                                 `workers/distillation.py`
    weight_versions                                              (B, T) int64: training step of the weights
                                                                 that generated a token; only from servers
    routed_experts                                               (B, L, layers * k) int32: `models/routing.py`
    token_level_scores, token_level_rewards, advantages, returns (B, T) float32
    rollout_is_weights, within_bounds, chosen                    (B, T) float32, bool, bool: see `steps/`
    scored                                                       (B,) bool: the reward's status was `ok`
    correct                                                      (B,) float64: 1, 0, or NaN if undecided
    groups, seeds                                                (B,) int64: prompt number; random seed
    pictures                                                     (B, K) int64: `models/vision.py`
    reward_baselines                                             (B,) float32: ReMax's greedy scores
    score_parts                                                  (B, K) float64: parts that GDPO compares

If the run has agents, a response may contain observations, which are messages from tools and users between
the policy's turns. The policy attends to their tokens but did not generate them, so `response_mask` is 0 and
there is no log-probability.

    observations         (B, T) float32: 1 on observation tokens
    turns                (B, T) int64: number, from 1, of the policy's turn that contains the token; else 0
    turn_rewards         (B, T) float32: reward for a turn, on the turn's last token; NaN if scoring failed
    trajectory_scores    (B, T) float32: part of `token_level_scores` that is for the episode as a whole
    truncated            (B,) bool: the episode was cut off by a token limit
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from rewardkit.types import Message, Score


@dataclass(frozen=True, slots=True)
class TokenHistory:
    """A prompt and the tokens that followed it."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    """1 for the policy's tokens that are trained on in this history, else 0."""
    log_probs: list[float]
    weight_versions: list[int]


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt from the dataset, with the values needed to score a response to it."""

    data_source: str
    prompt: str | list[Message]
    ground_truth: str
    extra_info: dict[str, Any]
    token_ids: list[int]
    """Token ids of the prompt, with the chat template applied."""
    agent_name: str | None = None
    """Name of the agent that generates the response, or None for the run's default agent."""
    pictures: tuple[int, ...] = ()
    """Numbers of the prompt's pictures in the run's `PictureBook`."""
    branches: tuple[TokenHistory, ...] = ()
    """Other histories of the same episode, if a program rewrote the message history. They are trained on with
    the advantage of the response (`steps/branches.py`)."""


class ScoredRollout(NamedTuple):
    """A response to a prompt, with its score."""

    row: PromptRow
    text: str
    score: Score
    episode: dict[str, Any] | None = None
    """Columns that describe the episode in dumps, such as `turns`."""


@dataclass
class Batch:
    """Tensors by name, and the prompt rows to which they belong."""

    tensors: dict[str, Tensor]
    rows: list[PromptRow]
    """Prompt row of each response; empty in batches that workers use internally."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.tensors[name] = value

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    @property
    def prompt_width(self) -> int:
        """Padded prompt length, P."""
        return self["input_ids"].shape[1] - self["responses"].shape[1]

    def select(self, index: Tensor | slice) -> Batch:
        """Return a batch with the rows at `index`."""
        tensors = {k: v[index] for k, v in self.tensors.items()}
        if isinstance(index, slice) or not self.rows:
            return Batch(tensors, self.rows[index] if isinstance(index, slice) else [])
        return Batch(tensors, [self.rows[i] for i in index.tolist()])

    def to(self, device: torch.device) -> Batch:
        """Return the batch with its tensors on `device`."""
        return Batch({name: t.to(device) for name, t in self.tensors.items()}, self.rows)

    def split(self, size: int | None) -> Iterator[Batch]:
        """Yield consecutive slices of at most `size` rows, or the whole batch if `size` is None."""
        for start in range(0, len(self), size or len(self)):
            yield self.select(slice(start, start + (size or len(self))))


def join(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches that have the same width and the same tensors."""
    names = batches[0].tensors
    return Batch({n: torch.cat([b[n] for b in batches]) for n in names}, [r for b in batches for r in b.rows])


class Tokenised(Protocol):
    """Common interface of PPO rows and SFT rows."""

    @property
    def token_ids(self) -> list[int]:
        """Token ids before the response."""
        ...


def pad_prompts(rows: Sequence[Tokenised], width: int, pad_id: int) -> tuple[Tensor, Tensor]:
    """Return the prompts as left-padded `input_ids` and `attention_mask`, each (B, width)."""
    ids = torch.full((len(rows), width), pad_id, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, width - len(row.token_ids) :] = torch.tensor(row.token_ids)
        mask[i, width - len(row.token_ids) :] = 1
    return ids, mask


def positions(attention_mask: Tensor) -> Tensor:
    """Return the position ids (B, P) of left-padded rows: 0 for padding, then counting up from 0."""
    return (attention_mask.cumsum(dim=1) - 1).clamp(min=0)


def make_batch(
    rows: Sequence[PromptRow],
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    responses: Tensor,
    response_mask: Tensor,
    observations: Tensor | None = None,
) -> Batch:
    """Join prompts (B, P) and their responses (B, T) into a batch.

    Args:
        response_mask: 1 on tokens that the policy generated.
        observations: 1 on tokens from tools and users, or None if there are no such tokens.
    """
    prompt_positions = positions(prompt_mask)
    steps = torch.arange(1, responses.shape[1] + 1, device=responses.device)
    attended = response_mask if observations is None else response_mask + observations
    batch = Batch(
        {
            "input_ids": torch.cat([prompt_ids, responses], dim=1),
            "attention_mask": torch.cat([prompt_mask, attended.to(prompt_mask.dtype)], dim=1),
            "position_ids": torch.cat([prompt_positions, prompt_positions[:, -1:] + steps], dim=1),
            "responses": responses,
            "response_mask": response_mask.float(),
        },
        list(rows),
    )
    if observations is not None:
        batch["observations"] = observations.float()
    return batch


PromptTokens = tuple[int, ...]
"""Token ids of a prompt, without padding."""


def prompts_of(batch: Batch) -> list[PromptTokens]:
    """Return the token ids of each row's prompt, without padding."""
    width = batch.prompt_width
    ids = batch["input_ids"][:, :width].tolist()
    padding = (batch["attention_mask"][:, :width] == 0).sum(dim=1).tolist()
    return [tuple(row[skipped:]) for row, skipped in zip(ids, padding, strict=True)]


def rows_by_prompt(prompts: Sequence[PromptTokens]) -> dict[PromptTokens, list[int]]:
    """Return the row indices of each prompt, with the prompts in order of first appearance."""
    found: dict[PromptTokens, list[int]] = {}
    for i, prompt in enumerate(prompts):
        found.setdefault(prompt, []).append(i)
    return found


def last_tokens(mask: Tensor) -> Tensor:
    """Return the index of the last 1 in each row of a mask, (B, T) -> (B,); 0 for a row of zeros."""
    return mask.cumsum(dim=1).argmax(dim=1)


def whole_lengths(batch: Batch) -> Tensor:
    """Return the length of each response, (B,), including observations. Unscored responses count as well."""
    return batch["attention_mask"][:, -batch["responses"].shape[1] :].sum(dim=1)


def policy_lengths(batch: Batch) -> Tensor:
    """Return the number of policy tokens in each response with its branches, (B,).

    Unscored responses count as well. The batch must not contain branches as rows of their own.
    """
    lengths = whole_lengths(batch)
    if "observations" not in batch.tensors:
        return lengths
    of_branches = [sum(sum(branch.response_mask) for branch in row.branches) for row in batch.rows]
    more = torch.tensor(of_branches, dtype=lengths.dtype, device=lengths.device)
    return lengths - batch["observations"].sum(dim=1).to(lengths.dtype) + more
