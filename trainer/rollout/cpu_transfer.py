"""Backend `shm` for vLLM's weight-transfer API. It sends weights to CPU engines as files in shared memory.

vLLM's own backends need GPUs. This module implements both sides of the transfer. The trainer writes one
bucket of tensors at a time, and the worker reads it. `--worker-extension-cls` makes workers import this
module, which registers the backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from vllm.distributed.weight_transfer.base import (
    TrainerInitInfo,
    TrainerWeightTransferEngine,
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory, WeightTransferTrainerFactory
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

from rewardkit.trainer.rollout.shared_folder import shared_folder
from rewardkit.trainer.rollout.weight_sync import forget_packed_experts, repack_heads

NAME = "shm"


@dataclass
class ShmInit(WeightTransferInitInfo):  # type: ignore[misc]
    """Empty initial message. The worker needs no information in advance."""


@dataclass
class ShmUpdate(WeightTransferUpdateInfo):  # type: ignore[misc]
    """Message that announces one bucket of tensors."""

    path: str
    """Path of a safetensors file that the worker can read."""
    names: list[str] = field(default_factory=list)
    """Names of the tensors in the file, in the order of the model's layers."""


class ShmReceiver(WeightTransferEngine):  # type: ignore[misc]
    """Worker's side of a transfer."""

    init_info_cls = ShmInit
    update_info_cls = ShmUpdate

    def init_transfer_engine(self, init_info: ShmInit) -> None:
        """See `WeightTransferEngine`."""

    def start_weight_update(self) -> None:
        """See `WeightTransferEngine`."""
        forget_packed_experts(self.model)
        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """See `WeightTransferEngine`. The inherited method would wait for an accelerator."""
        self.receive_weights(self.parse_update_info(update_info))

    def receive_weights(self, update_info: ShmUpdate) -> None:
        """See `WeightTransferEngine`. The tensors are copied, because the file is deleted after this call."""
        with safe_open(update_info.path, "pt") as file:
            self.model.load_weights((name, file.get_tensor(name).clone()) for name in update_info.names)

    def finish_weight_update(self) -> None:
        """See `WeightTransferEngine`."""
        finalize_layerwise_reload(self.model, self.model_config)
        repack_heads(self.model)

    def shutdown(self) -> None:
        """See `WeightTransferEngine`."""


class Extension:
    """Worker extension for `--worker-extension-cls`, which makes each worker import this module."""


@dataclass
class ShmTrainerInit(TrainerInitInfo):  # type: ignore[misc]
    """Arguments for `ShmSender.trainer_init`."""

    backend: ClassVar[str] = NAME
    bucket_bytes: int


class ShmSender(TrainerWeightTransferEngine):  # type: ignore[misc]
    """Trainer's side of a transfer, in the process that sends."""

    init_info_cls = ShmTrainerInit
    bucket_bytes: int

    @classmethod
    def trainer_init(cls, init_info: ShmTrainerInit, *, client: Any, source: Any = None) -> ShmSender:
        """See `TrainerWeightTransferEngine`."""
        made = cls(client=client, source=source)
        made.bucket_bytes = init_info.bucket_bytes
        client.init_weight_transfer_engine({})
        return made

    def send_weights(self) -> None:
        """See `TrainerWeightTransferEngine`. Only one bucket at a time is kept in memory and on disk."""
        self.client.start_weight_update()
        for bucket in buckets(self.source, self.bucket_bytes):
            with shared_folder(sum(map(_bytes, bucket.values()))) as folder:
                path = Path(folder) / "bucket.safetensors"
                save_file(bucket, path)
                self.client.update_weights({"path": str(path), "names": list(bucket)})
        self.client.finish_weight_update()


def buckets(named_tensors: Iterable[tuple[str, Tensor]], most_bytes: int) -> Iterator[dict[str, Tensor]]:
    """Copy tensors to the CPU, and yield them, in order, in buckets of at most `most_bytes`.

    A larger tensor gets a bucket of its own.
    """
    bucket: dict[str, Tensor] = {}
    held = 0
    for name, tensor in named_tensors:
        if bucket and held + _bytes(tensor) > most_bytes:
            yield bucket
            bucket, held = {}, 0
        # Copy each tensor, because pieces of one tensor share memory, which safetensors rejects.
        bucket[name] = tensor.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        held += _bytes(tensor)
    if bucket:
        yield bucket


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


WeightTransferEngineFactory.register_engine(NAME, ShmReceiver)
WeightTransferTrainerFactory.register_engine(NAME, ShmSender)
