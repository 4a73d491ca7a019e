"""From a command line to a finished run: read the config, check it, start the processes, train.

`rewardkit train` comes here, and so does each process of `torchrun -m rewardkit.trainer.main key=value`.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.config import Config, load_config
from rewardkit.trainer.distributed import open_world, started_by_torchrun
from rewardkit.trainer.preflight import check, world_size

INTERRUPTED = 130


def run(recipe: str | None, overrides: Sequence[str]) -> int:
    """Train as the config says and return an exit code; start the other processes where it asks for some.

    Raises:
        RewardkitError: whatever is wrong with the config, the data or the rewards. Under torchrun it is
            raised in the main process alone, so that it is printed once.
    """
    try:
        config = load_config(recipe, overrides)
        check(config)
        if world_size(config) > 1 and not started_by_torchrun():
            return launch(config, recipe, overrides)
        train_here(config)
    except RewardkitError as error:
        if os.environ.get("RANK", "0") == "0":
            raise
        return error.exit_code
    except KeyboardInterrupt:
        if started_by_torchrun():
            return INTERRUPTED
        raise
    return 0


def train_here(config: Config) -> None:
    """Train in this process, as one of those that torchrun started or as the only one."""
    # Not at the top: the launcher needs no models, and transformers takes seconds to import.
    from rewardkit.trainer.loop import train
    from rewardkit.trainer.setup import open_parts

    started = int(os.environ.get("WORLD_SIZE", "1"))
    if started != world_size(config):
        raise ConfigError(
            f"torchrun started {started} processes, but trainer.nnodes x trainer.n_gpus_per_node is "
            f"{world_size(config)}; make them equal"
        )
    with open_world(config.trainer.device) as world, open_parts(config, world) as parts:
        train(parts)


def launch(config: Config, recipe: str | None, overrides: Sequence[str]) -> int:
    """Start one process per GPU on this machine with torchrun's agent; return their exit code."""
    processes = config.trainer.n_gpus_per_node
    if config.trainer.nnodes > 1:
        raise ConfigError(
            f"trainer.nnodes={config.trainer.nnodes}: start every machine with torchrun --nnodes "
            f"{config.trainer.nnodes} --nproc-per-node {processes} --rdzv-backend c10d --rdzv-endpoint "
            "HOST:PORT -m rewardkit.trainer.main ..."
        )
    # Without this each process would start as many threads as there are cores, and they would spin.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    for name in logging.root.manager.loggerDict:
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we say ourselves how a process ended
    settings = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.2,
    )
    arguments = ["-m", "rewardkit.trainer.main", *(["--config", recipe] if recipe else []), *overrides]
    try:
        elastic_launch(settings, sys.executable)(*arguments)
    except ChildFailedError as failed:
        rank, failure = failed.get_first_failure()
        if failure.exitcode < 0:
            raise RewardkitError(
                f"process {rank} was killed by {signal.Signals(-failure.exitcode).name}; "
                "out of memory is the usual reason: see `dmesg`, and lower the micro-batch sizes"
            ) from None
        return int(failure.exitcode)
    except (SignalException, KeyboardInterrupt):
        return INTERRUPTED
    return 0


def main() -> None:
    """Run as a module, which is how torchrun starts each process."""
    parser = argparse.ArgumentParser(prog="rewardkit.trainer.main")
    parser.add_argument("--config")
    parser.add_argument("overrides", nargs="*")
    given = parser.parse_args()
    try:
        code = run(given.config, given.overrides)
    except RewardkitError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


if __name__ == "__main__":
    main()
