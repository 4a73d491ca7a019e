"""SFT as a training stage, which `rewardkit sft` and its processes run."""

from __future__ import annotations

from rewardkit.processes import large_imports
from rewardkit.trainer.distributed import World
from rewardkit.trainer.run.checks import run_checks
from rewardkit.trainer.run.process import TrainingStage
from rewardkit.trainer.sft.checks import CHECKS
from rewardkit.trainer.sft.config import SftConfig


def _rehearse(config: SftConfig) -> None:
    from rewardkit.trainer.sft import build  # transformers takes seconds to import

    build.rehearse(config, build.SFT)


def _train(config: SftConfig, world: World) -> None:
    with large_imports():
        from rewardkit.trainer.sft import build
        from rewardkit.trainer.sft.loop import train

    with build.open_run(config, world, build.SFT) as run:
        train(run)


SFT = TrainingStage(lambda config, layers: run_checks(CHECKS, config), _rehearse, _train)
