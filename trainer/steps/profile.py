"""A torch profiler trace of chosen steps, for https://ui.perfetto.dev or chrome://tracing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.profiler import profile

from rewardkit.trainer.training_run import TrainingRun


@contextmanager
def profiled(run: TrainingRun, step: int) -> Iterator[None]:
    """Trace the block if `step` is one of `trainer.profile_steps`: one file for each process."""
    if step not in (run.config.trainer.profile_steps or ()):
        yield
        return
    folder = run.folder / "profile"
    folder.mkdir(parents=True, exist_ok=True)
    with profile() as trace:
        yield
    trace.export_chrome_trace(str(folder / f"step_{step}_rank_{run.world.rank}.json.gz"))
