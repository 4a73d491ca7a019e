"""Sends the policy's weights to rollout servers, through vLLM's weight-transfer API or as an adapter.

All processes gather the weights, one tensor at a time, and the first process sends them. `shm` sends them as
files in shared memory (`worker_side.py`), to servers on this machine with or without a GPU. `nccl` sends them
from GPU to GPU by broadcasts. A broadcast waits for all servers without a limit. A broadcast therefore runs
in a thread, which is abandoned if a server fails or does not answer.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, wait
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from rewardkit.errors import ConfigError
from rewardkit.threads import in_thread
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.distributed import World, free_port
from rewardkit.trainer.models.lora import adapter_settings, write_adapter
from rewardkit.trainer.rollout.base import complete
from rewardkit.trainer.rollout.serving import CALL_S, ask_each, call, errors_of, models_of, post
from rewardkit.trainer.rollout.vllm_side_effects import torchrun_variables
from rewardkit.trainer.rollout.weight_sync import as_saved
from rewardkit.vllm_starts import undisturbed

T = TypeVar("T")

ATTEMPTS = {"shm": 2, "nccl": 1}
"""Number of times that a failing server takes part in sending a version, by transport."""
BYTES_PER_S = 10e6
"""Lowest expected transfer rate. A slower transfer is abandoned."""
GRACE_S = 5.0
"""Number of seconds within which a server must leave an abandoned transfer."""
POLL_S = 0.02
SHARED_MEMORY = Path("/dev/shm")


class TransferError(Exception):
    """Raised if a transfer cannot continue because a server failed."""


class Calls:
    """Calls to the servers during one attempt to send a version of the weights."""

    def __init__(self, targets: Sequence[str], *, joint: bool) -> None:
        """Create the state of an attempt to send weights to the servers `targets`.

        Args:
            joint: True if all servers take part in one transfer. If one server fails, no server gets the
                weights.
        """
        self.left = list(targets)
        """Servers that have not failed."""
        self.failed: dict[str, str] = {}
        """Errors by URL."""
        self._joint = joint
        self._pending: dict[str, Future[object]] = {}

    def make(self, ask: Callable[[str], object]) -> None:
        """Call `ask` concurrently for all remaining servers, and wait as in `finish`."""
        self.begin(ask)
        self.finish()

    def begin(self, ask: Callable[[str], object]) -> None:
        """Start calling `ask` for all remaining servers."""
        self._pending = ask_each(self.left, ask)

    def finish(self) -> None:
        """Wait for the pending calls to finish. In a joint transfer, do not wait after the first failure.

        Raises:
            TransferError: No server is left, or, in a joint transfer, a call failed.
        """
        wait(self._pending.values(), return_when=FIRST_EXCEPTION if self._joint else ALL_COMPLETED)
        self.check()

    def check(self) -> None:
        """Record the calls that have finished. Raise TransferError as in `finish`."""
        done = {url: one for url, one in self._pending.items() if one.done()}
        self._pending = {url: one for url, one in self._pending.items() if url not in done}
        self.failed |= errors_of(done)
        self.left = [url for url in self.left if url not in self.failed]
        if not self.left or (self._joint and self.failed):
            raise TransferError("; ".join(self.failed.values()))

    def abandon(self, why: str) -> None:
        """Give servers some time to end their calls. A server that does not end its call counts as failed."""
        wait(self._pending.values(), GRACE_S)
        self.failed |= {url: why for url, one in self._pending.items() if not one.done()}


class Publisher:
    """Publisher of the policy's weights. All processes take part, and the first one calls the servers."""

    def __init__(
        self,
        model: Any,
        dtype: torch.dtype,
        world: World,
        transport: str,
        bucket_bytes: int,
        *,
        sees: bool = False,
    ) -> None:
        """Create a publisher for a model that is not sharded yet, and record the model's shapes.

        Args:
            transport: `shm` or `nccl`.
            sees: True if the model has a vision tower, whose outputs the servers cache.
        """
        self._sees = sees
        self._model = model
        self._shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
        outline = ((n, torch.empty(s, dtype=dtype, device="meta")) for n, s in self._shapes.items())
        declared = dict(as_saved(model, outline))
        self._declared = {
            "names": list(declared),
            "dtype_names": [str(tensor.dtype).removeprefix("torch.") for tensor in declared.values()],
            "shapes": [list(tensor.shape) for tensor in declared.values()],
        }
        self._world = world
        self._attempts = ATTEMPTS[transport]
        self._joint = transport == "nccl"
        self._bucket_bytes = bucket_bytes
        sizes = [tensor.nbytes for tensor in declared.values()]
        self._limit_s = CALL_S + max(bucket_bytes, *sizes) / BYTES_PER_S
        """Time limit for a broadcast, and for a call in which a server loads a bucket."""
        # Limit for a call that lasts for the whole transfer. A slow transfer is abandoned before this limit.
        self._whole_s = 2 * self._limit_s + GRACE_S + sum(sizes) / BYTES_PER_S
        self._version = ""
        self._updating: set[str] = set()
        """Servers with an open update. vLLM refuses to start an update twice."""
        self._group: Any = None
        self._members: list[str] = []
        """Servers in `_group`, the NCCL communicator."""

    def publish(
        self, tensors: Iterable[tuple[str, Tensor]], version: str, urls: Sequence[str]
    ) -> dict[str, str]:
        """Pause all servers, send them a version in buckets of tensors, and resume them.

        Running requests are kept, and their cached tokens are recomputed with the new weights. If a server
        fails, the version is sent again to the remaining servers.

        Args:
            tensors: Full tensors by parameter name. Each iteration gathers them again.
            urls: URLs of the servers, the same in all processes.

        Returns:
            The error from each server that does not have this version, by URL. All processes return the same
            errors. A server with an error is paused, has incomplete weights or has exited, and must be
            restarted.

        Raises:
            ConfigError: A weight is unknown or missing. The servers are unusable afterwards.
        """
        self._version = version
        failed: dict[str, str] = {}
        attempts = dict.fromkeys(urls, self._attempts)
        while attempts:
            errors, again = self._world.gather(self._attempt(tensors, list(attempts)))[0]
            for url in errors:
                attempts[url] -= 1
            failed |= {url: why for url, why in errors.items() if not attempts[url]}
            attempts = {url: n for url, n in attempts.items() if n and (url in errors or url in again)}
        if self._world.is_main:
            failed |= errors_of(ask_each([url for url in urls if url not in failed], self._resume))
        return dict(self._world.gather(failed)[0])

    def forget(self) -> None:
        """Make the next sync open new connections, because a server may have been restarted."""
        self._members = []

    def _attempt(
        self, tensors: Iterable[tuple[str, Tensor]], targets: list[str]
    ) -> tuple[dict[str, str], set[str]]:
        """Send all weights once.

        Returns:
            The errors from servers that failed, by URL, and the servers that lack the weights through no
            fault of their own.
        """
        pairs = complete(tensors, self._shapes)
        calls = Calls(targets, joint=self._joint)
        try:
            if self._world.is_main:
                self._send(calls, as_saved(self._model, pairs))
            return calls.failed, set()
        except ConfigError as error:
            self._leave(calls, error)
            raise
        except Exception as error:
            self._leave(calls, error)
            if calls.failed:
                return calls.failed, set(targets) - calls.failed.keys()
            return dict.fromkeys(targets, f"{type(error).__name__}: {error}"), set()
        finally:
            for _ in pairs:  # This process only takes part in the collectives.
                pass

    def _send(self, calls: Calls, pairs: Iterator[tuple[str, Tensor]]) -> None:
        calls.make(lambda url: self._post(url, "pause?mode=keep", {}))
        if self._joint and self._members != calls.left:
            self._meet(calls)
        calls.make(self._start_update)
        if self._joint:
            self._broadcast(calls, pairs)
        else:
            self._write(calls, pairs)
        calls.make(self._finish_update)

    def _leave(self, calls: Calls, error: Exception) -> None:
        """Leave a failed transfer, so that its servers can leave as well."""
        self.forget()
        group, self._group = self._group, None
        if group is not None:
            group.destroy()
        calls.abandon(f"it did not end a weight transfer that failed: {error}")

    def _write(self, calls: Calls, pairs: Iterator[tuple[str, Tensor]]) -> None:
        """Send weights as files. Only one bucket at a time is kept in memory and on disk."""
        for bucket in buckets(pairs, self._bucket_bytes):
            with shared_folder(sum(tensor.nbytes for tensor in bucket.values())) as folder:
                path = Path(folder) / "bucket.safetensors"
                save_file(bucket, path)
                info = {"path": str(path), "names": list(bucket)}
                calls.make(partial(self._update, info, self._limit_s))

    def _broadcast(self, calls: Calls, pairs: Iterator[tuple[str, Tensor]]) -> None:
        """Send weights by NCCL, one bucket at a time, while the servers execute a single call."""
        calls.begin(partial(self._update, self._declared, self._whole_s))
        for packed in packed_buckets(pairs, self._bucket_bytes):
            self._together(calls, partial(self._group.broadcast, packed, src=0))
        calls.finish()

    def _meet(self, calls: Calls) -> None:
        """Open an NCCL group with the servers. Every worker gets its own rank, and the trainer has rank 0."""
        with undisturbed(
            [self._world.device] if self._world.device.type == "cuda" else [], torchrun_variables()
        ):
            from vllm.distributed.weight_transfer import nccl_common

        self.forget()
        workers: dict[str, int] = {}
        calls.make(lambda url: workers.update({url: workers_of(url)}))
        ranks, size = {}, 1
        for url in calls.left:
            ranks[url] = size
            size += workers[url]
        here = all("//127.0.0.1:" in url for url in calls.left)
        host = "127.0.0.1" if here else socket.gethostbyname(socket.gethostname())
        met_at = {"master_address": host, "master_port": free_port(), "world_size": size}
        packed = {"packed": True, "packed_buffer_size_bytes": self._bucket_bytes, "packed_num_buffers": 2}

        def meet(url: str) -> None:
            info = {**met_at, **packed, "rank_offset": ranks[url]}
            self._post(url, "init_weight_transfer_engine", {"init_info": info})

        calls.begin(meet)
        self._group = self._together(calls, lambda: nccl_common.trainer_init(met_at))
        calls.finish()
        self._members = calls.left

    def _together(self, calls: Calls, work: Callable[[], T]) -> T:
        """Run a function that waits for all servers.

        Raises:
            TransferError: A pending call failed, the work failed, or it exceeded the time limit.
        """
        device = self._world.device

        def run() -> T:
            if device.type != "cuda":
                return work()
            torch.cuda.set_device(device)  # Each thread has its own current device.
            found = work()
            torch.cuda.synchronize()
            return found

        if device.type == "cuda":
            torch.cuda.synchronize()
        ended = in_thread(run, "weights")
        end = time.monotonic() + self._limit_s + GRACE_S
        while not ended.done():
            calls.check()
            if time.monotonic() > end:
                raise TransferError(f"the transfer did not move for {self._limit_s:g} s")
            wait([ended], POLL_S)
        return ended.result()

    def _start_update(self, url: str) -> None:
        if url not in self._updating:
            self._post(url, "start_weight_update", {})
            self._updating.add(url)

    def _update(self, info: Mapping[str, Any], limit_s: float, url: str) -> None:
        self._updating.discard(url)  # A failed call ends the update.
        post(f"{url}/update_weights", {"update_info": info}, limit_s)
        self._updating.add(url)

    def _finish_update(self, url: str) -> None:
        self._updating.discard(url)
        self._post(url, "finish_weight_update", {"weight_version": self._version})
        if self._sees:
            self._post(url, "reset_encoder_cache", {})

    def _resume(self, url: str) -> None:
        found = call(f"{url}/weight_info")["weight_version"]
        if found != self._version:
            raise ValueError(f"the server has the weights of version {found}, not {self._version}")
        self._post(url, "resume", {})

    def _post(self, url: str, path: str, body: Mapping[str, Any]) -> None:
        post(f"{url}/{path}", body, self._limit_s)


class AdapterPublisher:
    """Publisher of the policy's adapter. All processes take part, and the first one calls the servers.

    The servers read the adapter from a folder, and the base model from its original files. Because every
    version has a new name, vLLM's prefix cache needs no reset, and a turn ends with the adapter that it
    started with.
    """

    def __init__(self, model: ModelConfig, world: World, in_use: Callable[[], Collection[str]]) -> None:
        """Create a publisher for the adapter that `model` configures.

        Args:
            in_use: Function that returns the current version and the versions that running turns use in this
                process.
        """
        self._settings = adapter_settings(model)
        self._world = world
        self._in_use = in_use
        self._kept: dict[str, tempfile.TemporaryDirectory[str]] = {}
        """Folder of each version that the servers have loaded. The mapping is empty in all processes but the
        first."""

    def publish(
        self, tensors: Iterable[tuple[str, Tensor]], version: str, urls: Sequence[str]
    ) -> dict[str, str]:
        """Load a version into all servers, and unload versions that no turn uses any more.

        Args:
            tensors: Tensors from `adapter_tensors`.

        Returns:
            The error from each server that could not load this version, by URL. All processes return the same
            errors.
        """
        in_use = set().union(*self._world.gather(self._in_use()))
        here = self._world.is_main  # The other processes only take part in the collectives.
        mine = {name: tensor.detach().cpu() for name, tensor in tensors if here}
        failed = self._load(mine, version, urls, in_use) if here else {}
        return dict(self._world.gather(failed)[0])

    def forget(self) -> None:
        """See `Publisher.forget`. This method does nothing, because the publisher keeps no connections."""

    def _load(
        self, tensors: Mapping[str, Tensor], version: str, urls: Sequence[str], in_use: Collection[str]
    ) -> dict[str, str]:
        for name in [one for one in self._kept if one not in in_use]:
            # Failures are ignored, because a restarted server does not have the version.
            errors_of(ask_each(urls, partial(_unload, name)))
            self._kept.pop(name).cleanup()
        if version not in self._kept:
            folder = shared_folder(sum(tensor.nbytes for tensor in tensors.values()))
            self._kept[version] = folder
            write_adapter(self._settings, tensors, Path(folder.name))
        given = {"lora_name": version, "lora_path": self._kept[version].name}

        def load(url: str) -> None:
            if version not in models_of(url):  # vLLM refuses to load a version twice
                post(f"{url}/v1/load_lora_adapter", given)

        return errors_of(ask_each(urls, load))


def _unload(name: str, url: str) -> None:
    post(f"{url}/v1/unload_lora_adapter", {"lora_name": name})


def workers_of(url: str) -> int:
    """Return the number of worker processes in a server."""
    return int(call(f"{url}/get_world_size")["world_size"])


def buckets(named_tensors: Iterable[tuple[str, Tensor]], most_bytes: int) -> Iterator[dict[str, Tensor]]:
    """Copy tensors to the CPU, and yield them, in order, in buckets of at most `most_bytes`.

    A larger tensor gets a bucket of its own.
    """
    bucket: dict[str, Tensor] = {}
    held = 0
    for name, tensor in named_tensors:
        if bucket and held + tensor.nbytes > most_bytes:
            yield bucket
            bucket, held = {}, 0
        # Copy each tensor, because pieces of one tensor share memory, which safetensors rejects.
        bucket[name] = tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        held += tensor.nbytes
    if bucket:
        yield bucket


def packed_buckets(named_tensors: Iterable[tuple[str, Tensor]], bucket_bytes: int) -> Iterator[Tensor]:
    """Yield the bytes of all tensors in buckets, packed by vLLM as its receiver expects them."""
    from vllm.distributed.weight_transfer.packed_tensor import pack_tensors

    tensors = iter(named_tensors)
    while True:
        with warnings.catch_warnings(action="ignore"):  # vLLM warns about tensors larger than a bucket.
            chunk = pack_tensors(tensors, itemgetter(1), bucket_bytes)
        if chunk is None:
            return
        yield chunk.packed_tensor


def shared_folder(needed: int) -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder for `needed` bytes, in shared memory if possible, or else on disk.

    A container has only 64 MiB of shared memory by default.
    """
    fits = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > needed + (1 << 20)
    return tempfile.TemporaryDirectory(prefix="rewardkit-weights-", dir=SHARED_MEMORY if fits else None)
