"""Validation, checkpoints, logging and profiling around the training steps of all stages.

The step itself is in `loop.py` (PPO), `sft/loop.py` (SFT) or `pairs/loop.py` (preferences).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from rewardkit.trainer.logging.metrics import Clock, memory_metrics
from rewardkit.trainer.logging.utilization import profiled
from rewardkit.trainer.training_run import StageRun

R = TypeVar("R", bound=StageRun)
StepMetrics = dict[str, float]
Learn = Callable[[R, int, Clock], StepMetrics]
"""Function that runs a training step, given the run, the step's number and a clock. The metrics that it
returns must include `training/epoch` and `perf/total_num_tokens`."""
Validate = Callable[[R, int], StepMetrics]


def take_steps(run: R, step: int, learn: Learn[R], validate: Validate[R]) -> None:
    """Run all training steps after step `step`, up to `run.total_steps`."""
    while step < run.total_steps:
        step += 1
        run.checkpoints.check()
        _take_step(run, step, learn, validate)
    run.checkpoints.finish()


def validate_alone(run: R, step: int, validate: Validate[R]) -> None:
    """Validate and log the metrics outside of a training step."""
    clock = Clock(run.world.device)
    with clock("testing"):
        metrics = {"training/global_step": float(step), **validate(run, step)}
    run.logger.log(metrics | clock.metrics(), step)


def _take_step(run: R, step: int, learn: Learn[R], validate: Validate[R]) -> None:
    """Run one training step, validate and save if due, and log the metrics."""
    config = run.config.trainer
    last = step == run.total_steps
    clock = Clock(run.world.device)
    metrics = {"training/global_step": float(step)}
    with clock("step"), _profiled_if_due(run, step):
        metrics |= learn(run, step, clock)
        if run.val_rows and (last or _due(step, config.test_freq)):
            with clock("testing"):
                metrics |= validate(run, step)
        alarms = run.world.gather(run.alarms.look(metrics))[0]  # all processes use the result from process 0
        metrics |= run.alarms.metrics()
    last = last or run.alarms.end_run(alarms)
    if last or _due(step, config.save_freq):
        with clock("save_checkpoint"):
            run.checkpoints.save(step, metrics, last=last)
    run.logger.log(metrics | performance(metrics, clock, run.world.size), step)
    run.logger.alarms(alarms, step)
    if run.alarms.end_run(alarms):
        run.checkpoints.finish()
        raise run.alarms.error(alarms)


def _profiled_if_due(run: StageRun, step: int) -> AbstractContextManager[None]:
    """Trace the block to one file per process if `step` is in `trainer.profile_steps`."""
    if step not in (run.config.trainer.profile_steps or ()):
        return nullcontext()
    return profiled(run.folder / "profile" / f"step_{step}_rank_{run.world.rank}.json.gz")


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def performance(metrics: StepMetrics, clock: Clock, processes: int) -> StepMetrics:
    """Return the time, memory and throughput metrics of a step.

    Throughput is in tokens per second and process, corresponding to verl's throughput per GPU.
    """
    seconds = clock.seconds["step"]
    throughput = metrics["perf/total_num_tokens"] / seconds / processes
    return {
        **clock.metrics(),
        **memory_metrics(),
        "perf/time_per_step": seconds,
        "perf/throughput": throughput,
    }
