"""Starts the processes of a run, notices when they die, and restarts them from the last checkpoint.

torchrun's agent starts those of this machine; `trainer.launcher=ray` starts them as Ray actors on a cluster.
Each runs `process.py`, with RANK and WORLD_SIZE in its environment. Several machines without Ray: see
docs/launch.md.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from rewardkit.errors import ConfigError, MissingDependencyError, RewardkitError
from rewardkit.http_addresses import public_text
from rewardkit.processes import die_with_parent
from rewardkit.trainer.checkpoint.find import RESTARTED
from rewardkit.trainer.config.root import RunConfig, world_size
from rewardkit.trainer.distributed import free_port
from rewardkit.trainer.run.process import read_and_check, train_here

INTERRUPTED = 130
CRASHED = 1
"""Exit code of an uncaught exception and of what goes wrong in mid-run; wrong settings end with another."""
LAUNCHER = "REWARDKIT_LAUNCHER_PID"


class ProcessDied(RewardkitError):
    """A process of the run was killed, or its machine is gone."""


def launch(config: RunConfig, recipe: str | None, overrides: Sequence[str], stage: str = "ppo") -> int:
    """Run all processes to the end, up to `trainer.max_restarts` times anew, and return their exit code.

    Raises:
        RewardkitError: a process was killed and there are no restarts left; a setting that cannot be used.
        KeyboardInterrupt: the run was interrupted, or told to end.
    """
    start = _with_ray if config.trainer.launcher == "ray" else _with_torchrun
    for restart in range(1, config.trainer.max_restarts + 1):
        try:
            code = start(config, recipe, overrides, stage)
            reason = "a process failed"
        except ProcessDied as died:
            code = CRASHED
            reason = str(died)
        if code != CRASHED:
            return code
        limit = config.trainer.max_restarts
        print(f"{reason}; restart {restart} of {limit}, from the last checkpoint", file=sys.stderr)
        os.environ[RESTARTED] = str(restart)
    return start(config, recipe, overrides, stage)


def die_with_launcher() -> None:
    """Have the kernel kill this process when the one that started it dies; for processes of torchrun."""
    if "RANK" in os.environ and not die_with_parent(int(os.environ.get(LAUNCHER, os.getppid()))):
        sys.exit(CRASHED)  # it died before we asked


def _with_torchrun(config: RunConfig, recipe: str | None, overrides: Sequence[str], stage: str) -> int:
    processes = config.trainer.n_gpus_per_node
    if config.trainer.nnodes > 1:
        raise ConfigError(
            f"trainer.nnodes={config.trainer.nnodes}: on every machine, run "
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --nnodes "
            f"{config.trainer.nnodes} --nproc-per-node {processes} --rdzv-backend c10d --rdzv-endpoint "
            f"HOST:PORT -m rewardkit.trainer.run.main --stage {stage} ... (docs/launch.md), or set "
            "trainer.launcher=ray"
        )
    os.environ[LAUNCHER] = str(os.getpid())
    # Without this each process would start as many threads as there are cores, and they would spin.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    for name in logging.root.manager.loggerDict:
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # we say ourselves how a process ended
    given = ["--config", recipe] if recipe else []
    arguments = ["-m", "rewardkit.trainer.run.rank", "--stage", stage, *given, *overrides]
    try:
        elastic_launch(_launch_config(processes), sys.executable)(*arguments)
    except ChildFailedError as failed:
        return _exit_code(failed)
    except SignalException:
        raise KeyboardInterrupt from None
    return 0


def _launch_config(processes: int) -> LaunchConfig:
    """Return the configuration that `torchrun --standalone` would use; processes meet on the loopback,
    whatever the host is called."""
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.2,
    )


def _exit_code(failed: ChildFailedError) -> int:
    """Return the exit code of the process that failed first, or raise ProcessDied if it was killed."""
    # The others fail because one was killed, and may be seen to fail before it.
    signals = (signal.SIGTERM, signal.SIGINT)  # what the agent sends to the others
    first = failed.get_first_failure()
    killed = (f for f in failed.failures.items() if f[1].exitcode < 0 and -f[1].exitcode not in signals)
    rank, failure = next(killed, first)
    if failure.exitcode == -signal.SIGINT:
        raise KeyboardInterrupt
    if failure.exitcode < 0:
        raise ProcessDied(
            f"process {rank} was killed by {signal.Signals(-failure.exitcode).name}; "
            "out of memory is the usual reason: see `dmesg`, and lower the micro-batch sizes"
        ) from None
    return int(failure.exitcode)


class _Rank:
    """A process of the run, as a Ray actor."""

    def address(self) -> tuple[str, int]:
        """Return where the other processes can meet this one."""
        return importlib.import_module("ray").util.get_node_ip_address(), free_port()

    def run(
        self, recipe: str | None, overrides: Sequence[str], stage: str, environment: dict[str, str]
    ) -> tuple[int, str]:
        """Run to the end and return the exit code, and the error where it is this process's to tell."""
        os.environ.update(environment)
        try:
            train_here(read_and_check(recipe, overrides, stage), stage)
        except RewardkitError as error:
            return error.exit_code, str(error) if environment["RANK"] == "0" else ""
        except KeyboardInterrupt:
            return INTERRUPTED, ""
        return 0, ""


def _with_ray(config: RunConfig, recipe: str | None, overrides: Sequence[str], stage: str) -> int:
    """Start `nnodes` x `n_gpus_per_node` actors, a machine's worth in each placement group bundle."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise MissingDependencyError(
            "trainer.launcher=ray needs Ray; install with: pip install ray"
        ) from None
    ray.init(ignore_reinit_error=True)  # the cluster of RAY_ADDRESS or of this machine, or a new one here
    on_gpu = config.trainer.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
    util = importlib.import_module("ray.util")
    group = _reserve(util, config, on_gpu)
    per_node = config.trainer.n_gpus_per_node
    ranks = [_actor(ray, group, i // per_node, on_gpu) for i in range(world_size(config))]
    try:
        host, port = ray.get(ranks[0].address.remote())
        passed = {k: v for k, v in os.environ.items() if k.startswith(("REWARDKIT_", "OMP_"))}
        shared = {"MASTER_ADDR": host, "MASTER_PORT": str(port), "WORLD_SIZE": str(len(ranks)), **passed}
        running = {}
        for i, rank in enumerate(ranks):
            # Ray shows an actor its own GPU alone, so that it is always number 0.
            mine = {"RANK": str(i), "LOCAL_RANK": "0" if on_gpu else str(i % per_node)}
            running[rank.run.remote(recipe, list(overrides), stage, {**shared, **mine})] = i
        return _first_failure(ray, running)
    finally:
        for rank in ranks:
            ray.kill(rank)
        util.remove_placement_group(group)


def _reserve(util: Any, config: RunConfig, on_gpu: bool) -> Any:
    """Return a placement group with room for a machine's processes in each bundle."""
    nodes = config.trainer.nnodes
    per_node = config.trainer.n_gpus_per_node
    bundle = {"CPU": per_node, **({"GPU": per_node} if on_gpu else {})}
    group = util.placement_group([bundle] * nodes, strategy="STRICT_SPREAD" if nodes > 1 else "PACK")
    if not group.wait(timeout_seconds=60):
        util.remove_placement_group(group)
        raise ConfigError(
            f"the Ray cluster does not have {nodes} free machine(s) with {bundle}; see `ray status`"
        )
    return group


def _actor(ray: Any, group: Any, bundle: int, on_gpu: bool) -> Any:
    strategies = importlib.import_module("ray.util.scheduling_strategies")
    placed = strategies.PlacementGroupSchedulingStrategy(group, bundle)
    remote = ray.remote(_Rank).options(num_cpus=1, num_gpus=int(on_gpu), scheduling_strategy=placed)
    return remote.remote()


def _first_failure(ray: Any, running: dict[Any, int]) -> int:
    """Wait for the processes; return the exit code of the first that fails, 0 if none does."""
    waiting = list(running)
    while waiting:
        (done,), waiting = ray.wait(waiting, num_returns=1)
        code, message = _result(ray, done, running[done])
        if code and not message and running[done] and waiting:
            told, _ = ray.wait(waiting, num_returns=len(waiting), timeout=5)  # process 0 says what it was
            message = next((m for _, m in ray.get(told) if m), "")
        if message:
            print(f"error: {public_text(message)}", file=sys.stderr)
        if code:
            return int(code)
    return 0


def _result(ray: Any, done: Any, rank: int) -> tuple[int, str]:
    """Return exit code and message of a process that has ended; ProcessDied if it did not end by itself."""
    try:
        code, message = ray.get(done)
    except ray.exceptions.RayActorError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise ProcessDied(f"process {rank} died: {reason}") from None
    except ray.exceptions.RayTaskError as error:
        print(error, file=sys.stderr)
        return CRASHED, ""
    return code, message
