"""The parts of a run, as plain data for the training loop and its steps.

`run/build.py` builds the parts of a PPO run. `sft/build.py` builds the parts of all other runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.batch import Batch, PromptRow
from rewardkit.trainer.checkpoint.save import Checkpoints
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.models.vision import PictureBook
from rewardkit.trainer.rewards import RewardSource
from rewardkit.trainer.rollout.base import RolloutEngine
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.critic import Critic
from rewardkit.trainer.workers.teacher import Teacher


@dataclass(kw_only=True)
class StageRun:
    """Parts that a run of any stage needs."""

    config: Any
    """Settings of the stage, a `RunConfig`."""
    world: World
    tokenizer: Any
    feed: Feed[Any]
    """Source of the prompts and responses for each step."""
    val_rows: Sequence[Any]
    total_steps: int
    actor: Any
    """Worker that trains the model: an `Actor`, or a `Scorer` for a reward model."""
    alarms: Alarms
    logger: Logger
    checkpoints: Checkpoints

    @property
    def folder(self) -> Path:
        """Output folder of the run, `trainer.default_local_dir`."""
        return Path(self.config.trainer.default_local_dir)


@dataclass(kw_only=True)
class TrainingRun(StageRun):
    """Parts of a PPO run."""

    config: Config
    val_rows: Sequence[PromptRow]
    actor: Actor
    rewards: RewardSource
    reference: Reference | None
    """Reference policy, or None if neither the reward nor the loss has a KL term."""
    teacher: Teacher | None
    """Teacher for distillation, or None if `distillation.enabled` is false."""
    critic: Critic | None
    """Critic, or None if the advantage estimator does not use one."""
    rollout: RolloutEngine
    kl: KlController
    eos_ids: list[int]
    """Ids of the tokens that end a response; empty if `rollout.ignore_eos` is set."""
    needs_old_log_probs: bool
    """True if the policy's log-probabilities are computed before the policy is updated."""
    first_kl: float | None = None
    """KL (estimate k3) in the first comparison of rollout engine and policy; see `steps/parity.py`."""
    scorers_without_verdict: set[str] = field(default_factory=set)
    """Rewards, such as `rm@2`, that have scored training responses without deciding their correctness."""
    failure_shown: str = ""
    """Reason for failed responses that was printed last; see `steps/failures.py`."""
    probe: Future[Batch] | None = None
    """Responses from the latest weights, if they are generated in the background; see `steps/parity.py`."""
    syncs: int = 0
    """Number of times that the actor's weights have been sent to the rollout engine."""
    synced: int = 0
    """Step of the weights that were sent last."""
    book: PictureBook | None = None
    """Pictures in the prompts, or None if the policy reads only text."""
    agents: EpisodeSetup | None = None
    """Setup shared by all episodes, or None if every response is a single turn."""
