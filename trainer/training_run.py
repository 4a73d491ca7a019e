"""The parts of a run, as plain data. `run/build.py` builds them, `sft/stage.py` those of SFT; the loop and
its steps use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.checkpoint.save import Checkpoints
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.rewards import RewardSource
from rewardkit.trainer.rollout.base import RolloutEngine
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.critic import Critic


@dataclass(kw_only=True)
class StageRun:
    """Objects that any training works with."""

    config: Any
    """The stage's settings, a `RunConfig`."""
    world: World
    tokenizer: Any
    feed: Feed[Any]
    """Gives each step its prompts, and the responses to them."""
    val_rows: Sequence[Any]
    total_steps: int
    actor: Actor
    alarms: Alarms
    logger: Logger
    checkpoints: Checkpoints

    @property
    def folder(self) -> Path:
        """`trainer.default_local_dir`."""
        return Path(self.config.trainer.default_local_dir)


@dataclass(kw_only=True)
class TrainingRun(StageRun):
    """Everything that PPO's loop works with."""

    config: Config
    val_rows: Sequence[PromptRow]
    rewards: RewardSource
    reference: Reference | None
    """None where no KL is asked for, in the reward or in the loss."""
    teacher: Reference | None
    """None without `distillation.enabled`."""
    critic: Critic | None
    """None where the advantages need none."""
    rollout: RolloutEngine
    kl: KlController
    eos_ids: list[int]
    """Tokens that end a response; none where `rollout.ignore_eos` is set."""
    needs_old_log_probs: bool
    """True if the policy's log-probabilities are computed before its update."""
    first_kl: float | None = None
    """k3 of the first comparison of rollout engine and policy; see `steps/parity.py`."""
    syncs: int = 0
    """Number of times that the rollout engine was given the actor's weights."""
    agents: EpisodeSetup | None = None
    """Shared setup of episodes; None where every response is a single turn."""
