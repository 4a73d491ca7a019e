"""Reward models and preference optimisation as training stages, which their processes run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.processes import large_imports
from rewardkit.trainer.distributed import World
from rewardkit.trainer.pairs.checks import DPO_CHECKS
from rewardkit.trainer.run.checks import Check, run_checks
from rewardkit.trainer.run.process import TrainingStage
from rewardkit.trainer.sft.checks import CHECKS


def _stage(name: str, checks: Sequence[tuple[str, Check]]) -> TrainingStage:
    """Return the stage `rm` or `dpo`. Its parts are imported when needed, as transformers takes seconds."""

    def rehearse(config: Any) -> None:
        from rewardkit.trainer.pairs.build import LEARNING
        from rewardkit.trainer.sft import build

        build.rehearse(config, LEARNING[name])

    def train(config: Any, world: World) -> None:
        with large_imports():
            from rewardkit.trainer.pairs import build, loop
            from rewardkit.trainer.sft.build import open_run

        with open_run(config, world, build.LEARNING[name]) as run:
            loop.train(run, build.OBJECTIVES[name](config))

    return TrainingStage(lambda config, layers: run_checks(checks, config), rehearse, train)


RM = _stage("rm", CHECKS)
DPO = _stage("dpo", DPO_CHECKS)
