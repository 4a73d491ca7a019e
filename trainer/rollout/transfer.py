"""Sends the trainer's weights to vLLM servers through vLLM's weight-transfer API.

The backend is NCCL for GPUs and `shm` (`cpu_transfer.py`) for CPUs. The main thread gathers the weights, as
gathering is a collective of the trainer's processes, and hands them to a thread that sends them. If a server
fails or does not answer, the thread is abandoned, and the main thread goes on.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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

BYTES_PER_S = 10e6
"""Lowest expected transfer rate. A transfer that moves more slowly is abandoned."""
GRACE_S = 5.0
"""Seconds in which a server must leave a transfer that was abandoned."""
POLL_S = 0.02
_END: Any = object()


class TransferError(Exception):
    """Raised if a transfer cannot go on, because a server failed or because the transfer was abandoned."""


@dataclass(frozen=True)
class Transport:
    """A way to send weights."""

    attempts: int
    """Number of times that a failing server takes part in sending a version."""
    joint: bool
    """True if all servers take part in one collective, so that none gets the weights if one of them fails."""


TRANSPORTS = {
    "shm": Transport(attempts=2, joint=False),
    "nccl": Transport(attempts=1, joint=True),
}


class Handover(WeightSource):  # type: ignore[misc]
    """Source of weights for vLLM's sender, filled by the main thread with one tensor at a time."""

    def __init__(self, declared: list[ParamMeta]) -> None:
        self._declared = declared
        self._waiting: queue.Queue[Any] = queue.Queue(1)
        self.closed = threading.Event()
        """Set if no tensor will follow, because the transfer was abandoned or has ended."""

    def metadata(self) -> list[ParamMeta]:
        """See `WeightSource`."""
        return self._declared

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """See `WeightSource`. Raise TransferError if the transfer is abandoned."""
        while True:
            try:
                item = self._waiting.get(timeout=POLL_S)
            except queue.Empty:
                if self.closed.is_set():
                    raise TransferError("the transfer was abandoned") from None
                continue
            if item is _END:
                return
            yield item

    def put(self, item: Any) -> bool:
        """Hand over an item, or return False if the previous item has not been taken for a moment."""
        try:
            self._waiting.put(item, timeout=POLL_S)
        except queue.Full:
            return False
        return True


@dataclass(eq=False)
class Calls:
    """State of the calls to servers during one attempt to send a version."""

    targets: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    """Errors by URL. Later calls skip these servers."""
    pending: set[str] = field(default_factory=set)
    """Servers that have not answered the current call yet."""
    broken: bool = False
    """True if a server has failed for which the others may be waiting."""
    abandoned: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def make(self, ask: Callable[[str], object], *, joint: bool) -> None:
        """Call `ask` concurrently for all targets that have not failed. See `ServerChannel.each`."""
        asked = {url for url in self.targets if url not in self.failed}
        with self.changed:
            self.pending |= asked
            for url in asked:
                threading.Thread(target=self._make_one, args=(ask, url, joint), daemon=True).start()
            self.changed.wait_for(lambda: self.abandoned or self.broken or not asked & self.pending)
        if self.abandoned or self.broken or len(self.failed) == len(self.targets):
            raise TransferError("; ".join(self.failed.values()) or "the transfer was abandoned")

    def _make_one(self, ask: Callable[[str], object], url: str, joint: bool) -> None:
        why: str | None = None
        try:
            ask(url)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
        with self.changed:
            self.pending.discard(url)
            if why is not None and not self.abandoned:  # otherwise, the call failed because it was abandoned
                self.failed[url] = why
                self.broken = self.broken or joint
            self.changed.notify_all()

    def abandon(self, leave: Callable[[], None], why: str) -> None:
        """Stop waiting. Servers that do not end their call soon count as failed.

        Args:
            leave: Function that makes the servers end their calls, in which they may wait for the sender.
            why: Error from the servers that do not end their calls.
        """
        with self.changed:
            self.abandoned = True
            self.changed.notify_all()
        leave()
        with self.changed:
            self.changed.wait_for(lambda: not self.pending, GRACE_S)
            for url in self.pending:
                self.failed.setdefault(url, why)


class ServerChannel:
    """Client for vLLM's weight sync with many servers at once."""

    def __init__(self, transport: Transport, limit_s: float) -> None:
        self._joint = transport.joint
        self._limit_s = limit_s
        self.version = ""
        self.calls = Calls()
        """Calls of the current attempt. The calls of an abandoned attempt may still end later."""
        self._updating: set[str] = set()
        """Servers with an open update. vLLM refuses to start an update twice."""

    def init_weight_transfer_engine(self, init_info: dict[str, Any]) -> None:
        """See `VLLMWeightSyncClient`. Every worker gets its own rank in a group with the trainer."""
        ranks: dict[str, dict[str, int]] = {}
        first = 1  # rank 0 is the sender
        for url in self.calls.targets if "rank_offset" in init_info else ():
            ranks[url] = {"rank_offset": first}
            first += workers_of(url)
        self.each(
            lambda url: self._post(
                url, "init_weight_transfer_engine", {"init_info": {**init_info, **ranks.get(url, {})}}
            ),
            joint=self._joint,
        )

    def start_weight_update(self) -> None:
        """See `VLLMWeightSyncClient`."""

        def start(url: str) -> None:
            if url not in self._updating:
                self._post(url, "start_weight_update")
                self._updating.add(url)

        self.each(start, joint=self._joint)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """See `VLLMWeightSyncClient`."""

        def update(url: str) -> None:
            self._updating.discard(url)  # an update ends if this call fails
            self._post(url, "update_weights", {"update_info": update_info})
            self._updating.add(url)

        self.each(update, joint=self._joint)

    def finish_weight_update(self, weight_version: str | None = None) -> None:
        """See `VLLMWeightSyncClient`."""

        def finish(url: str) -> None:
            self._updating.discard(url)
            self._post(url, "finish_weight_update", {"weight_version": weight_version or self.version})

        self.each(finish)

    def each(self, ask: Callable[[str], object], *, joint: bool = False) -> None:
        """Call `ask` concurrently for all targets that have not failed, and wait for the calls to finish.

        Args:
            joint: True to stop waiting as soon as one call has failed, because the other servers may be
                waiting for that server.

        Raises:
            TransferError: All calls failed, one of them failed and `joint` is True, or the transfer was
                abandoned.
        """
        self.calls.make(ask, joint=joint)

    def _post(self, url: str, path: str, body: dict[str, Any] | None = None) -> None:
        call(f"{url}/{path}", body or {}, self._limit_s)


class Publisher:
    """Publisher of the policy's weights. All processes take part, and the first one calls the servers."""

    def __init__(self, model: Any, dtype: torch.dtype, world: World, backend: str, bucket_bytes: int) -> None:
        """Create a publisher for a model that is not sharded yet, and record the model's shapes."""
        self._model = model
        self._shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
        outline = ((n, torch.empty(s, dtype=dtype, device="meta")) for n, s in self._shapes.items())
        self._declared = [ParamMeta(n, t.dtype, tuple(t.shape)) for n, t in as_saved(model, outline)]
        self._world = world
        self._backend = backend
        self._transport = TRANSPORTS[backend]
        self._bucket_bytes = bucket_bytes
        sizes = [meta.dtype.itemsize * torch.Size(meta.shape).numel() for meta in self._declared]
        bucket = max(bucket_bytes, *sizes)
        self._limit_s = CALL_S + bucket / BYTES_PER_S + GRACE_S
        # A joint call lasts as long as the whole transfer, and must not end before a transfer is abandoned.
        joint_s = 2 * self._limit_s + sum(sizes) / BYTES_PER_S
        call_s = joint_s if self._transport.joint else CALL_S + bucket / BYTES_PER_S
        self._channel = ServerChannel(self._transport, call_s)
        self._source = Handover(self._declared)
        self._sender: Any = None
        self._members: list[str] = []
        """Servers for which `_sender` was opened."""

    def publish(
        self, tensors: Iterable[tuple[str, Tensor]], version: str, urls: Sequence[str]
    ) -> dict[str, str]:
        """Pause all servers, send them a version in buckets of tensors, and resume them.

        Running requests are kept, and their cached tokens are recomputed with the new weights. If a server
        fails, the version is sent again to the servers that are left.

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
        self._channel.version = version
        failed: dict[str, str] = {}
        attempts = dict.fromkeys(urls, self._transport.attempts)
        while attempts:
            errors, again = self._world.gather(self._attempt(tensors, list(attempts)))[0]
            for url in errors:
                attempts[url] -= 1
            failed |= {url: why for url, why in errors.items() if not attempts[url]}
            attempts = {url: n for url, n in attempts.items() if n and (url in errors or url in again)}
        if self._world.is_main:
            sent = [url for url in urls if url not in failed]
            failed |= ask_all(sent, lambda url: _resume(url, version))
        return dict(self._world.gather(failed)[0])

    def forget(self) -> None:
        """Open new connections at the next sync, because a server may have been restarted."""
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
        if not self._world.is_main:
            for _ in pairs:  # take part in the collectives
                pass
            return {}, set()
        calls = self._channel.calls = Calls(targets)
        self._source.closed.clear()
        sending = Sending(self._send, self._source, calls, self._limit_s)
        try:
            for pair in as_saved(self._model, pairs):
                sending.hand(pair)
            sending.hand(_END)
        finally:
            self._source.closed.set()
        sending.join()
        if sending.error is None:
            return dict(calls.failed), set()
        self._leave(sending)
        innocent = set(targets) - calls.failed.keys()
        if calls.failed:
            return dict(calls.failed), innocent
        return dict.fromkeys(targets, f"{type(sending.error).__name__}: {sending.error}"), set()

    def _send(self) -> None:
        channel, targets = self._channel, self._channel.calls.targets
        channel.each(lambda url: call(f"{url}/pause?mode=keep", {}), joint=self._transport.joint)
        if self._members != targets:
            self._open(targets)
        self._sender.send_weights()

    def _leave(self, sending: Sending) -> None:
        """Leave a transfer that failed, so that the servers in it can leave as well."""
        self.forget()
        self._source = Handover(self._declared)  # the thread may still read the old one
        sender, self._sender = self._sender, None
        self._channel.calls.abandon(
            sender.shutdown if sender is not None else lambda: None,
            f"it did not end a weight transfer that failed: {sending.error}",
        )

    def _open(self, targets: list[str]) -> None:
        """Connect to the servers. In the first process only, which is the sender."""
        size = 1 + sum(map(workers_of, targets)) if self._backend == "nccl" else 0
        here = all("//127.0.0.1:" in url for url in targets)
        host = "127.0.0.1" if here else socket.gethostbyname(socket.gethostname())
        infos: dict[str, Callable[[], Any]] = {
            "shm": lambda: ShmTrainerInit(rank=0, bucket_bytes=self._bucket_bytes),
            "nccl": lambda: NCCLTrainerInitInfo(
                rank=0,
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


class Sending:
    """Thread that sends weights while the main thread gathers them."""

    def __init__(self, send: Callable[[], None], source: Handover, calls: Calls, limit_s: float) -> None:
        """Start sending.

        Args:
            send: Function that sends all weights from `source`.
            limit_s: Seconds without progress after which the transfer is abandoned.
        """
        self.error: Exception | None = None
        """Reason why the weights were not sent."""
        self._source = source
        self._calls = calls
        self._limit_s = limit_s
        self._over = threading.Event()
        self._device = torch.cuda.current_device() if torch.cuda.is_available() else None
        threading.Thread(target=self._run, args=(send,), name="weights", daemon=True).start()

    def _run(self, send: Callable[[], None]) -> None:
        try:
            if self._device is not None:
                torch.cuda.set_device(self._device)  # each thread has its own
            send()
        except Exception as error:
            self.error = self.error or error
        self._over.set()

    def hand(self, item: Any) -> None:
        """Hand over the next tensor. Do nothing if the transfer has failed.

        The caller goes on gathering tensors in both cases, because the other processes take part.
        """
        end = time.monotonic() + self._limit_s
        while not self._ended(end) and not self._source.put(item):
            pass

    def join(self) -> None:
        """Wait until all weights have been sent, or until the transfer is abandoned."""
        end = time.monotonic() + self._limit_s
        while not self._ended(end):
            self._over.wait(POLL_S)

    def _ended(self, end: float) -> bool:
        if not self._over.is_set() and self.error is None:
            if self._calls.broken:
                self.error = TransferError("; ".join(self._calls.failed.values()))
            elif time.monotonic() > end:
                self.error = TransferError(f"the transfer did not move for {self._limit_s:g} s")
        return self._over.is_set() or self.error is not None


def workers_of(url: str) -> int:
    """Return the number of worker processes in a server."""
    return int(call(f"{url}/get_world_size")["world_size"])


def _resume(url: str, version: str) -> None:
    found = call(f"{url}/weight_info")["weight_version"]
    if found != version:
        raise ValueError(f"the server has the weights of version {found}, not {version}")
    call(f"{url}/resume", {})
