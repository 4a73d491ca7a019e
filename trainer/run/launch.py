"""Starts the processes of a run, detects when they die, and restarts them from the last checkpoint.

torchrun's agent starts the processes on this machine. With `trainer.launcher=ray`, the processes are Ray
actors on a cluster. Each process runs `process.py`, with RANK and WORLD_SIZE in its environment. For several
machines without Ray, see docs/launch.md.
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
from rewardkit.run_folder import VARIABLE, name_run_folder
from rewardkit.trainer.checkpoint.find import RESTARTED
from rewardkit.trainer.config.root import RunConfig, world_size
from rewardkit.trainer.distributed import free_port
from rewardkit.trainer.run.process import read_and_check, train_here

INTERRUPTED = 130
CRASHED = 1
"""Exit code after an exception or error during the run. Invalid settings have a different exit code."""
LAUNCHER = "REWARDKIT_LAUNCHER_PID"


class ProcessDied(RewardkitError):
    """A process of the run was killed, or its machine is no longer reachable."""


def launch(config: RunConfig, recipe: str | None, overrides: Sequence[str], stage: str = "ppo") -> int:
    """Run all processes, with up to `trainer.max_restarts` restarts, and return the exit code.

    Raises:
        RewardkitError: A process was killed and no restarts are left, or a setting cannot be used.
        KeyboardInterrupt: The run was interrupted or terminated.
    """
    name_run_folder()  # The folder is kept across restarts.
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
    """Tell the kernel to kill this process when its launcher dies, if torchrun started the process."""
    if "RANK" in os.environ and not die_with_parent(int(os.environ.get(LAUNCHER, os.getppid()))):
        sys.exit(CRASHED)  # The launcher had already died.


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
    # By default, each process would start one thread per core, and the threads would compete for the cores.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    for name in logging.root.manager.loggerDict:
        if name.startswith("torch.distributed.elastic"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # This module reports failed processes itself.
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
    """Return the configuration of `torchrun --standalone`, with a rendezvous on the loopback interface.

    The loopback address does not depend on the host name.
    """
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
    # If one process is killed, the others fail as a result, and their failures may be reported first.
    signals = (signal.SIGTERM, signal.SIGINT)  # The agent sends these signals to the other processes.
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
        """Return a host and port for the rendezvous of all processes."""
        return importlib.import_module("ray").util.get_node_ip_address(), free_port()

    def run(
        self, recipe: str | None, overrides: Sequence[str], stage: str, environment: dict[str, str]
    ) -> tuple[int, str]:
        """Train, and return the exit code and an error message, which is empty except in process 0."""
        os.environ.update(environment)
        try:
            train_here(read_and_check(recipe, overrides, stage), stage)
        except RewardkitError as error:
            return error.exit_code, str(error) if environment["RANK"] == "0" else ""
        except KeyboardInterrupt:
            return INTERRUPTED, ""
        return 0, ""


def _with_ray(config: RunConfig, recipe: str | None, overrides: Sequence[str], stage: str) -> int:
    """Run `nnodes` x `n_gpus_per_node` actors, with one placement group bundle per machine."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise MissingDependencyError(
            "trainer.launcher=ray needs Ray; install with: pip install ray"
        ) from None
    ray.init(ignore_reinit_error=True)  # Ray connects to RAY_ADDRESS or a local cluster, or starts a cluster.
    on_gpu = config.trainer.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0
    util = importlib.import_module("ray.util")
    group = _reserve(util, config, on_gpu)
    per_node = config.trainer.n_gpus_per_node
    ranks = [_actor(ray, group, i // per_node, on_gpu) for i in range(world_size(config))]
    try:
        host, port = ray.get(ranks[0].address.remote())
        passed = {k: v for k, v in os.environ.items() if k.startswith(("REWARDKIT_", "OMP_"))}
        passed.pop(VARIABLE, None)  # The folder exists only on this machine.
        shared = {"MASTER_ADDR": host, "MASTER_PORT": str(port), "WORLD_SIZE": str(len(ranks)), **passed}
        running = {}
        for i, rank in enumerate(ranks):
            # Ray shows each actor only its own GPU, which is therefore always number 0.
            mine = {"RANK": str(i), "LOCAL_RANK": "0" if on_gpu else str(i % per_node)}
            running[rank.run.remote(recipe, list(overrides), stage, {**shared, **mine})] = i
        return _first_failure(ray, running)
    finally:
        for rank in ranks:
            ray.kill(rank)
        util.remove_placement_group(group)


def _reserve(util: Any, config: RunConfig, on_gpu: bool) -> Any:
    """Reserve a placement group in which each bundle has resources for the processes of one machine."""
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
    """Wait for the processes and return the exit code of the first that fails, or 0 if all succeed."""
    waiting = list(running)
    while waiting:
        (done,), waiting = ray.wait(waiting, num_returns=1)
        code, message = _result(ray, done, running[done])
        if code and not message and running[done] and waiting:
            # Process 0 may have the error message.
            told, _ = ray.wait(waiting, num_returns=len(waiting), timeout=5)
            message = next((m for _, m in ray.get(told) if m), "")
        if message:
            print(f"error: {public_text(message)}", file=sys.stderr)
        if code:
            return int(code)
    return 0


def _result(ray: Any, done: Any, rank: int) -> tuple[int, str]:
    """Return the exit code and message of a process that has ended.

    Raises:
        ProcessDied: The process was killed.
    """
    try:
        code, message = ray.get(done)
    except ray.exceptions.RayActorError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise ProcessDied(f"process {rank} died: {reason}") from None
    except ray.exceptions.RayTaskError as error:
        print(error, file=sys.stderr)
        return CRASHED, ""
    return code, message
