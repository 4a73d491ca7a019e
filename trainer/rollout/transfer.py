"""Sends the trainer's weights to vLLM servers through vLLM's weight-transfer API.

The backend is NCCL for GPUs and `shm` (`cpu_transfer.py`) for CPUs. The backend sends the tensors in buckets.
This module coordinates the servers during a transfer, and handles servers that fail.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from vllm.distributed.weight_transfer.base import ParamMeta, WeightSource
from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory
from vllm.distributed.weight_transfer.nccl_engine import NCCLTrainerInitInfo

from rewardkit.trainer.distributed import World, free_port
from rewardkit.trainer.rollout.base import complete
from rewardkit.trainer.rollout.cpu_transfer import ShmTrainerInit
from rewardkit.trainer.rollout.serving import CALL_S, ask_all, call
from rewardkit.trainer.rollout.weight_sync import as_saved

ROUNDS = 2
"""Maximum number of attempts to send a version to a server."""
BYTES_PER_S = 10e6
"""Lowest expected transfer rate. The time limit for a call that transfers weights is `CALL_S` plus the time
for the transfer at this rate."""


class PolicySource(WeightSource):  # type: ignore[misc]
    """Source of the policy's weights for vLLM. The publisher sets `tensors` before each sync."""

    def __init__(self, model: Any, dtype: torch.dtype, *, sends: bool) -> None:
        """Create a source for a model that is not sharded yet, and record the model's shapes.

        Args:
            sends: True if this process sends the weights. Other processes iterate over the weights only to
                take part in the collectives.
        """
        self._model = model
        self._shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
        self._dtype = dtype
        self._sends = sends
        self.tensors: Iterable[tuple[str, Tensor]] = ()

    def metadata(self) -> list[ParamMeta]:
        """See `WeightSource`."""
        outline = ((n, torch.empty(s, dtype=self._dtype, device="meta")) for n, s in self._shapes.items())
        return [ParamMeta(name, t.dtype, tuple(t.shape)) for name, t in as_saved(self._model, outline)]

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """See `WeightSource`."""
        sent = complete(self.tensors, self._shapes)
        return as_saved(self._model, sent) if self._sends else sent


class ServerChannel:
    """Client for vLLM's weight sync with many servers at once. Later calls skip servers that have failed."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self.targets: list[str] = []
        self.failed: dict[str, str] = {}
        """Errors from the skipped servers, by URL."""
        self.version = ""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """See `VLLMWeightSyncClient`. Every worker gets its own rank in a group with the trainer."""
        ranks: dict[str, dict[str, int]] = {}
        first = 1  # rank 0 is the sender
        for url in self.targets if "rank_offset" in init_info else ():
            ranks[url] = {"rank_offset": first}
            first += workers_of(url)
        self.each(
            lambda url: self._post(
                url, "init_weight_transfer_engine", {"init_info": {**init_info, **ranks.get(url, {})}}
            )
        )

    def start_weight_update(self) -> None:
        """See `VLLMWeightSyncClient`."""
        self.each(lambda url: self._post(url, "start_weight_update"))

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """See `VLLMWeightSyncClient`."""
        self.each(lambda url: self._post(url, "update_weights", {"update_info": update_info}))

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """See `VLLMWeightSyncClient`."""
        named = {"weight_version": weight_version or self.version}
        self.each(lambda url: self._post(url, "finish_weight_update", named))

    def each(self, ask: Callable[[str], object]) -> None:
        """Call `ask` concurrently for all targets that have not failed, and wait for the calls to finish."""
        self.failed |= ask_all([url for url in self.targets if url not in self.failed], ask)

    def _post(self, url: str, path: str, body: dict[str, Any] | None = None) -> None:
        call(f"{url}/{path}", body or {}, self._limit_s)


class Publisher:
    """Publisher of the policy's weights. All processes take part, and the first one calls the servers."""

    def __init__(self, source: PolicySource, world: World, backend: str, bucket_bytes: int) -> None:
        self._source = source
        self._world = world
        self._backend = backend
        self._bucket_bytes = bucket_bytes
        sizes = [meta.dtype.itemsize * torch.Size(meta.shape).numel() for meta in source.metadata()]
        moved = sum(sizes) if backend == "nccl" else max(bucket_bytes, *sizes)  # bytes per call
        self._channel = ServerChannel(CALL_S + moved / BYTES_PER_S)
        self._sender: Any = None
        self._members: list[str] = []
        """Servers for which `_sender` was opened."""

    def publish(
        self, tensors: Iterable[tuple[str, Tensor]], version: str, urls: Sequence[str]
    ) -> dict[str, str]:
        """Pause all servers, send them a version in buckets of tensors, and resume them.

        Running requests are kept, and their cached tokens are recomputed with the new weights.

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
        self._source.tensors = tensors
        channel = self._channel
        channel.version = version
        failed: dict[str, str] = {}
        targets = list(urls)
        # NCCL gets a single attempt, because its process group breaks if a member exits.
        for _ in range(ROUNDS if self._backend == "shm" else 1):
            if not targets:
                break
            channel.targets, channel.failed = targets, {}
            if self._world.is_main:
                channel.each(lambda url: call(f"{url}/pause?mode=keep", {}))
            self._open(targets)
            self._sender.send_weights()
            failed = self._world.gather(channel.failed)[0]
            targets = list(failed)
        if self._world.is_main:
            channel.targets, channel.failed = [url for url in urls if url not in failed], {}
            channel.each(lambda url: _resume(url, version))
            failed |= channel.failed
        return dict(self._world.gather(failed)[0])

    def forget(self) -> None:
        """Open new connections at the next sync, because a server may have been restarted."""
        self._members = []

    def _open(self, targets: list[str]) -> None:
        if self._members == targets:
            return
        world = self._world
        size = 1 + sum(map(workers_of, targets)) if self._backend == "nccl" and world.is_main else 0
        here = all("//127.0.0.1:" in url for url in targets)
        host = "127.0.0.1" if here else socket.gethostbyname(socket.gethostname())
        infos: dict[str, Callable[[], Any]] = {
            "shm": lambda: ShmTrainerInit(rank=world.rank, bucket_bytes=self._bucket_bytes),
            "nccl": lambda: NCCLTrainerInitInfo(
                rank=world.rank,
                master_address=host,
                master_port=free_port(),
                world_size=size,
                packed_buffer_size_bytes=self._bucket_bytes,
            ),
        }
        self._sender = WeightTransferTrainerFactory.trainer_init(
            infos[self._backend](), client=self._channel, source=self._source
        )
        self._members = targets


def workers_of(url: str) -> int:
    """Return the number of worker processes in a server."""
    return int(call(f"{url}/get_world_size")["world_size"])


def _resume(url: str, version: str) -> None:
    found = call(f"{url}/weight_info")["weight_version"]
    if found != version:
        raise ValueError(f"the server has the weights of version {found}, not {version}")
    call(f"{url}/resume", {})
