"""Plays episodes on the rollout engine and converts them to rows of a batch.

A batch of episodes contains the same tensors as a batch of responses, and additional tensors for observations
and turns (`batch.py`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.types import ENDED, TokenModel, Turn
from rewardkit.row_reports import episode_facts, interaction_score
from rewardkit.trainer.agents import episode_row
from rewardkit.trainer.batch import Batch, PromptRow, TokenHistory, make_batch, pad_prompts
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import summarize
from rewardkit.trainer.rollout.base import RolloutEngine, Sampling, TurnCosts
from rewardkit.types import Score, Status, failure

CUT_OFF = ("response_tokens", "context_tokens")
"""Values of `Played.ended` for episodes that reached a token limit."""


@dataclass(frozen=True, slots=True)
class Played:
    """Result of an episode as plain data, because it may come from another process."""

    prompt_ids: list[int]
    """Prompt given to the model, possibly written by an environment, or empty if no turn has begun."""
    response_ids: list[int]
    response_mask: list[int]
    log_probs: list[float]
    weight_versions: list[int]
    turns: list[Turn]
    ended: str
    status: Status
    detail: str | None
    answer: str
    tool_rewards: dict[str, float]
    interaction_score: float | None
    metrics: dict[str, float]
    unused_turns: int = 0
    """See `Episode.unused_turns`."""
    branches: list[Played] = field(default_factory=list)
    """See `Episode.branches`. Only the turns and tokens in the branches are used."""

    @classmethod
    def of(cls, episode: Episode) -> Played:
        """Return the result of an episode that has ended."""
        return cls(
            prompt_ids=episode.prompt_ids,
            response_ids=episode.response_ids,
            response_mask=episode.response_mask,
            log_probs=episode.log_probs,
            weight_versions=episode.weight_versions,
            turns=episode.turns,
            ended=episode.ended or "answered",
            status=episode.status,
            detail=episode.detail,
            answer=episode.answer,
            tool_rewards=episode.tool_rewards,
            interaction_score=episode.interaction_score,
            metrics=dict(episode.metrics),
            unused_turns=episode.unused_turns,
            branches=[cls.of(branch) for branch in episode.branches],
        )

    @property
    def history(self) -> TokenHistory:
        """Return the tokens of the episode."""
        return TokenHistory(
            self.prompt_ids, self.response_ids, self.response_mask, self.log_probs, self.weight_versions
        )

    @property
    def num_turns(self) -> int:
        """Return the number of turns by the model, tools and users, plus 1 for the prompt, as in verl."""
        return len(self.turns) + 1

    @property
    def known_score(self) -> Score | None:
        """Return the score from a failure or from the interaction, or None if a reward must compute it."""
        if self.status != "ok":
            return failure(self.status, f"the episode ended with {self.ended}: {self.detail}")
        return interaction_score(self.interaction_score)

    @property
    def turn_rewards(self) -> list[float | None]:
        """Return the rewards for the model's turns, with None for a turn without a reward.

        The rewards for the tools' final states are added to the last turn.
        """
        mine = [turn.reward for turn in self.turns if turn.role == "assistant"]
        if self.tool_rewards and mine:
            mine[-1] = (mine[-1] or 0.0) + sum(self.tool_rewards.values())
        return mine

    def facts(self) -> dict[str, Any]:
        """Return the fields for `extra_info` that tell a reward about the episode."""
        return episode_facts(
            {
                "num_turns": self.num_turns,
                "turn_rewards": [turn.reward for turn in self.turns if turn.role == "assistant"],
                "tool_rewards": self.tool_rewards,
                "interaction_score": self.interaction_score,
            }
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns that describe the episode in a dump."""
        return {
            "num_turns": self.num_turns,
            "ended": self.ended,
            "turn_rewards": self.turn_rewards,
            "turns": _plain_turns(self.turns),
            "branches": [_plain_turns(branch.turns) for branch in self.branches],
        }


def _plain_turns(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    plain = [asdict(turn) for turn in turns]
    for turn in plain:
        calls = turn["calls"]
        # Different tools have different arguments. As JSON strings, they all have the same type.
        turn["calls"] = [{**c, "arguments": json.dumps(c["arguments"], default=str)} for c in calls]
    return plain


OnPlayed = Callable[[int, Played], None]


def player(
    setting: EpisodeSetup,
) -> Callable[[TokenModel, tuple[EpisodeRow, int]], Coroutine[Any, Any, Played]]:
    """Return a function that plays an episode for a row with a seed."""

    async def play(model: TokenModel, given: tuple[EpisodeRow, int]) -> Played:
        row, seed = given
        return Played.of(await run_episode(row, model, setting, seed))

    return play


def play_rows(
    rollout: RolloutEngine,
    setting: EpisodeSetup,
    rows: Sequence[PromptRow],
    sampling: Sampling,
    seeds: Sequence[int],
    ended: OnPlayed | None = None,
) -> tuple[list[Played], TurnCosts]:
    """Play episodes for all rows concurrently. Return the episodes, and the costs of their turns."""
    given = [(episode_row(row), seed) for row, seed in zip(rows, seeds, strict=True)]
    played = rollout.converse(player(setting), given, sampling, ended)
    return played, rollout.turn_costs


def as_batch(
    rows: Sequence[PromptRow],
    played: Sequence[Played],
    *,
    prompt_length: int,
    response_length: int,
    pad_id: int,
    device: torch.device,
) -> Batch:
    """Convert episodes to a batch."""
    answered = [_answered(row, one, prompt_length) for row, one in zip(rows, played, strict=True)]
    histories = [one.history for one in played]
    batch = histories_as_batch(answered, histories, prompt_length, response_length, pad_id)
    batch["turns"] = torch.zeros_like(batch["responses"])
    batch["turn_rewards"] = torch.zeros_like(batch["response_mask"])
    for i, one in enumerate(played):
        _number_turns(one, batch["turns"][i], batch["turn_rewards"][i])
    batch["turns"] *= batch["response_mask"].long()
    batch["truncated"] = torch.tensor([one.ended in CUT_OFF for one in played], dtype=torch.bool)
    return batch.to(device)


def histories_as_batch(
    rows: Sequence[PromptRow],
    histories: Sequence[TokenHistory],
    prompt_length: int,
    response_length: int,
    pad_id: int,
) -> Batch:
    """Convert token histories to a batch. The `token_ids` in the rows are the prompts."""
    ids, mask = pad_prompts(rows, prompt_length, pad_id)
    shape = (len(histories), response_length)
    responses = torch.full(shape, pad_id)
    own = torch.zeros(shape, dtype=torch.int64)
    observations = torch.zeros_like(own)
    log_probs = torch.zeros(shape)
    versions = torch.zeros_like(own)
    for i, one in enumerate(histories):
        length = len(one.response_ids)
        responses[i, :length] = torch.tensor(one.response_ids, dtype=torch.int64)
        own[i, :length] = torch.tensor(one.response_mask, dtype=torch.int64)
        observations[i, :length] = 1 - own[i, :length]
        log_probs[i, :length] = torch.tensor(one.log_probs)
        versions[i, :length] = torch.tensor(one.weight_versions, dtype=torch.int64)
    batch = make_batch(rows, ids, mask, responses, own, observations)
    batch["rollout_log_probs"] = log_probs
    batch["weight_versions"] = versions
    return batch


def _answered(row: PromptRow, played: Played, prompt_length: int) -> PromptRow:
    """Return the row with the prompt and the branches from its episode.

    If the prompt is too long, the episode has no turns, and the row keeps its own prompt.
    """
    fits = 0 < len(played.prompt_ids) <= prompt_length
    branches = tuple(branch.history for branch in played.branches)
    return replace(row, token_ids=played.prompt_ids if fits else row.token_ids, branches=branches)


def _number_turns(played: Played, turns: Tensor, rewards: Tensor) -> None:
    """Store the turn number for each token of a model turn, and the turn's reward on its last token.

    The reward for the last turn is NaN if the episode failed.
    """
    mine = [turn for turn in played.turns if turn.role == "assistant"]
    for number, (turn, reward) in enumerate(zip(mine, played.turn_rewards, strict=True), start=1):
        if turn.start == turn.end:
            continue
        turns[turn.start : turn.end] = number
        failed = number == len(mine) and played.status != "ok"
        rewards[turn.end - 1] = torch.nan if failed else reward or 0.0


def episode_metrics(played: Sequence[Played], costs: TurnCosts, world: World) -> dict[str, float]:
    """Return statistics on the episodes in all processes.

    Returns:
        `agent/ended/<reason>`, shares of the episodes; `agent/num_turns/mean`, `max` and `min`;
        `agent/tool_calls/...`, calls per episode; `agent/branches/...`, histories per episode, above 1 if a
        program rewrites histories; `agent/unused_turns/...`, turns per episode that a program did not use,
        which are not trained on; `agent/bad_calls` and `agent/tool_failures`, shares of the calls;
        `agent/cached_share`, the share of the turns' prompt tokens that were read from the cache;
        `agent/tools/<name>`, means over episodes of values that tools and users measured; and
        `agent/first_turn_reward/mean` and `agent/last_turn_reward/mean` (see `reward_by_turn`).
    """
    statuses = [status for one in played for turn in one.turns for status in turn.statuses]
    sums = Counter(
        {
            "episodes": float(len(played)),
            "calls": float(len(statuses)),
            "bad": float(statuses.count("bad_call")),
            "failed": float(statuses.count("error") + statuses.count("timeout")),
            "read": float(costs.prompt_tokens),
            "cached": float(costs.cached_tokens),
        }
    )
    sums.update({f"ended/{reason}": float(n) for reason, n in Counter(one.ended for one in played).items()})
    for one in played:
        sums.update({f"tools/{name}": value for name, value in one.metrics.items()})
    total: dict[str, float] = {}
    for share in world.gather(dict(sums)):
        for name, value in share.items():
            total[name] = total.get(name, 0.0) + value
    calls = [float(sum(len(turn.statuses) for turn in one.turns)) for one in played]
    turns = [float(one.num_turns) for one in played]
    spread = {"agent/num_turns": torch.tensor(turns), "agent/tool_calls": torch.tensor(calls)}
    spread["agent/branches"] = torch.tensor([float(len(one.branches) + 1) for one in played])
    spread["agent/unused_turns"] = torch.tensor([float(one.unused_turns) for one in played])
    rewards = [one.turn_rewards for one in played if one.status == "ok"]
    return summarize(spread, world) | _shares(total) | reward_by_turn("agent", rewards, world)


def reward_by_turn(prefix: str, episodes: Sequence[Sequence[float | None]], world: World) -> dict[str, float]:
    """Return the mean rewards for the first and last model turns, to show whether feedback helps the model.

    Args:
        episodes: Rewards for the turns in each episode. Episodes without any reward are excluded. In all
            other episodes, a turn without a reward counts as 0.
    """
    rewarded = [rewards for rewards in episodes if any(one is not None for one in rewards)]
    ends = {"first": [rewards[0] or 0.0 for rewards in rewarded]}
    ends["last"] = [rewards[-1] or 0.0 for rewards in rewarded]
    found = summarize({f"{prefix}/{end}_turn_reward": torch.tensor(of) for end, of in ends.items()}, world)
    return {name: value for name, value in found.items() if name.endswith("/mean")}


def _shares(total: Mapping[str, float]) -> dict[str, float]:
    episodes = max(total["episodes"], 1.0)
    found = {f"agent/ended/{reason}": total.get(f"ended/{reason}", 0.0) / episodes for reason in ENDED}
    found |= {
        "agent/bad_calls": total["bad"] / max(total["calls"], 1.0),
        "agent/tool_failures": total["failed"] / max(total["calls"], 1.0),
        "agent/cached_share": total["cached"] / max(total["read"], 1.0),
    }
    measured = sorted(name for name in total if name.startswith("tools/"))
    return found | {f"agent/{name}": total[name] / episodes for name in measured}
