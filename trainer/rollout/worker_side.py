"""Receives the trainer's weights in a vLLM worker, as files in shared memory: the backend `shm`.

vLLM's own backends need GPUs, and none of them works if server and trainer share a GPU.
`--worker-extension-cls` makes workers import this module, which registers the backend. `publish.py` sends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from safetensors import safe_open
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

from rewardkit.trainer.rollout.weight_sync import forget_packed_experts, repack_heads


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
    """Receiver of a transfer in a vLLM worker."""

    init_info_cls = ShmInit
    update_info_cls = ShmUpdate

    def init_transfer_engine(self, init_info: ShmInit) -> None:
        """See `WeightTransferEngine`."""

    def start_weight_update(self) -> None:
        """See `WeightTransferEngine`."""
        forget_packed_experts(self.model)
        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """See `WeightTransferEngine`. The inherited method would wait for an accelerator even on a CPU."""
        self.receive_weights(self.parse_update_info(update_info))
        if self.device.type != "cpu":
            torch.accelerator.synchronize()

    def receive_weights(self, update_info: ShmUpdate) -> None:
        """See `WeightTransferEngine`. The tensors are copied, because the file is deleted after this call."""
        with safe_open(update_info.path, "pt") as file:
            self.model.load_weights(
                (name, file.get_tensor(name).to(self.device, copy=True)) for name in update_info.names
            )

    def finish_weight_update(self) -> None:
        """See `WeightTransferEngine`."""
        finalize_layerwise_reload(self.model, self.model_config)
        repack_heads(self.model)

    def shutdown(self) -> None:
        """See `WeightTransferEngine`."""


class Extension:
    """Worker extension for `--worker-extension-cls`, which makes each worker import this module."""


WeightTransferEngineFactory.register_engine("shm", ShmReceiver)
