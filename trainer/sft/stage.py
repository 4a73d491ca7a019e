"""SFT as a training stage, which `rewardkit sft` and its processes run."""

from __future__ import annotations

from rewardkit.processes import large_imports
from rewardkit.trainer.distributed import World
from rewardkit.trainer.run.checks import run_checks
from rewardkit.trainer.run.process import TrainingStage
from rewardkit.trainer.sft.checks import CHECKS
from rewardkit.trainer.sft.config import SftConfig


def _rehearse(config: SftConfig) -> None:
    from rewardkit.trainer.sft.build import rehearse  # transformers takes seconds to import

    rehearse(config)


def _train(config: SftConfig, world: World) -> None:
    with large_imports():
        from rewardkit.trainer.sft.build import open_run
        from rewardkit.trainer.sft.loop import train

    with open_run(config, world) as run:
        train(run)


SFT = TrainingStage(lambda config, layers: run_checks(CHECKS, config), _rehearse, _train)
