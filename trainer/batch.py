"""The one batch type: a dict of tensors with the field's names, plus one Python row per response.

Shapes: B responses, P prompt tokens (left-padded), T response tokens (right-padded), L = P + T.

    input_ids, attention_mask, position_ids                      (B, L) int64
    responses, response_mask                                     (B, T) int64, float32
    rollout_log_probs, old_log_probs, ref_log_prob, entropys     (B, T) float32
    teacher_log_prob, values, sum_pi_squared                     (B, T) float32
    weight_versions                                              (B, T) int64: steps that the weights which
                                                                 drew a token had learned; served engines
    routed_experts                                               (B, L, layers * k) int32: `models/routing.py`
    token_level_scores, token_level_rewards, advantages, returns (B, T) float32
    rollout_is_weights, within_bounds, chosen                    (B, T) float32, bool, bool; `steps/`
    scored                                                       (B,) bool: the reward's status was `ok`
    correct                                                      (B,) float64: 1, 0, or NaN where not decided
    groups, seeds                                                (B,) int64: number of the prompt, of the draw
    reward_baselines                                             (B,) float32: ReMax's greedy scores
    score_parts                                                  (B, K) float64: what GDPO compares

Where the run has agents, a response may hold what tools and users said between the policy's turns: tokens
that are attended to and are no step of the policy's (`response_mask` 0, no log-probability).

    observations         (B, T) float32: 1 on those tokens
    turns                (B, T) int64: which of its turns the policy's token belongs to, from 1; 0 elsewhere
    turn_rewards         (B, T) float32: on the last token of each turn what it earned; NaN where that failed
    trajectory_scores    (B, T) float32: of `token_level_scores`, what is for the episode as a whole
    truncated            (B,) bool: the episode was cut off by a limit of tokens
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
    """A prompt and what followed it, token by token."""

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    """1 on the policy's own tokens, to be learned from here."""
    log_probs: list[float]
    weight_versions: list[int]


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt of the dataset and what is needed to score a response to it."""

    data_source: str
    prompt: str | list[Message]
    ground_truth: str
    extra_info: dict[str, Any]
    token_ids: list[int]
    """The prompt after the chat template."""
    agent_name: str | None = None
    """Name of the agent that draws the response; None: the run's default."""
    branches: tuple[TokenHistory, ...] = ()
    """Other histories of the episode that is the response, where a program has rewritten its own: they are
    learned from with the response's advantage (`steps/branches.py`)."""


class ScoredRollout(NamedTuple):
    """A response to a prompt, and its score."""

    row: PromptRow
    text: str
    score: Score
    episode: dict[str, Any] | None = None
    """Turns and end of an episode, for dumps."""


@dataclass
class Batch:
    """Tensors by name, and the rows they belong to."""

    tensors: dict[str, Tensor]
    rows: list[PromptRow]
    """Empty in what workers pass around among themselves."""

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.tensors[name] = value

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    @property
    def prompt_width(self) -> int:
        """P, the padded prompt length."""
        return self["input_ids"].shape[1] - self["responses"].shape[1]

    def select(self, index: Tensor | slice) -> Batch:
        """Return the rows at `index`."""
        tensors = {k: v[index] for k, v in self.tensors.items()}
        if isinstance(index, slice) or not self.rows:
            return Batch(tensors, self.rows[index] if isinstance(index, slice) else [])
        return Batch(tensors, [self.rows[i] for i in index.tolist()])

    def to(self, device: torch.device) -> Batch:
        """Return the batch with its tensors on `device`."""
        return Batch({name: t.to(device) for name, t in self.tensors.items()}, self.rows)

    def split(self, size: int | None) -> Iterator[Batch]:
        """Yield consecutive pieces of at most `size` rows (the whole batch if None)."""
        for start in range(0, len(self), size or len(self)):
            yield self.select(slice(start, start + (size or len(self))))


def join(batches: Sequence[Batch]) -> Batch:
    """Return the rows of batches of the same width and the same tensors as one batch."""
    names = batches[0].tensors
    return Batch({n: torch.cat([b[n] for b in batches]) for n in names}, [r for b in batches for r in b.rows])


class Tokenised(Protocol):
    """Common part of a row of prompts and one of SFT."""

    @property
    def token_ids(self) -> list[int]:
        """The tokens before the response."""
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
    """Return position ids that count the real tokens of left-padded rows, (B, P); 0 on the padding."""
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
        response_mask: 1 on the policy's own tokens.
        observations: 1 on the tokens of tools and users among them; None: there are none.
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
"""A prompt's tokens, without padding."""


def prompts_of(batch: Batch) -> list[PromptTokens]:
    """Return each row's prompt."""
    width = batch.prompt_width
    ids = batch["input_ids"][:, :width].tolist()
    padding = (batch["attention_mask"][:, :width] == 0).sum(dim=1).tolist()
    return [tuple(row[skipped:]) for row, skipped in zip(ids, padding, strict=True)]


def rows_by_prompt(prompts: Sequence[PromptTokens]) -> dict[PromptTokens, list[int]]:
    """Return the numbers of the rows that have each prompt, in the order of its first."""
    found: dict[PromptTokens, list[int]] = {}
    for i, prompt in enumerate(prompts):
        found.setdefault(prompt, []).append(i)
    return found


def last_tokens(mask: Tensor) -> Tensor:
    """Return the place of the last 1 of each row of a mask, (B, T) -> (B,); 0 for a row without one."""
    return mask.cumsum(dim=1).argmax(dim=1)


def whole_lengths(batch: Batch) -> Tensor:
    """Return the length of each response, (B,), observations and what was not scored included."""
    return batch["attention_mask"][:, -batch["responses"].shape[1] :].sum(dim=1)


def policy_lengths(batch: Batch) -> Tensor:
    """Return how many tokens of each response are the policy's own, (B,), scored or not."""
    lengths = whole_lengths(batch)
    if "observations" not in batch.tensors:
        return lengths
    return lengths - batch["observations"].sum(dim=1).to(lengths.dtype)
