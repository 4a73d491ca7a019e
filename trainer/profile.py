"""A torch profiler trace of chosen steps, for https://ui.perfetto.dev or chrome://tracing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch.profiler import profile

from rewardkit.trainer.setup import Parts


@contextmanager
def profiled(parts: Parts, step: int) -> Iterator[None]:
    """Trace the block if `step` is one of `trainer.profile_steps`: one file for each process."""
    if step not in (parts.config.trainer.profile_steps or ()):
        yield
        return
    folder = parts.folder / "profile"
    folder.mkdir(parents=True, exist_ok=True)
    with profile() as trace:
        yield
    trace.export_chrome_trace(str(folder / f"step_{step}_rank_{parts.world.rank}.json.gz"))
