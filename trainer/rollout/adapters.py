"""Loads each version of the trainer's adapter into vLLM servers, from a folder and under a new name.

Because every version has a new name, vLLM's prefix cache needs no reset, and a turn ends with the adapter
that it started with. The servers read the base model from its original files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from torch import Tensor

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.workers import (
    ActorRolloutRefConfig,
    ModelConfig,
    RolloutConfig,
    has_adapter,
)
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.lora import adapter_settings, write_adapter
from rewardkit.trainer.rollout.serving import ask_all, models_of, post
from rewardkit.trainer.rollout.shared_folder import shared_folder

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM accepts for `max_lora_rank`."""
KEY = "actor_rollout_ref.rollout.lora_sync"
HERE = ("127.0.0.1", "localhost", "::1")


def check(policy: ActorRolloutRefConfig) -> None:
    """Raise ConfigError if the policy has no adapter, or if a server runs on another machine."""
    if not has_adapter(policy.model):
        raise ConfigError(
            f"{KEY}=adapter needs a policy with LoRA: set actor_rollout_ref.model.lora_rank, or set "
            f"{KEY}=merge"
        )
    for url in policy.rollout.urls or ():
        if urlsplit(str(url)).hostname not in HERE:
            raise ConfigError(
                f"{KEY}=adapter needs servers on this machine, because they read adapters from the local "
                f"disk, but {url} is on another machine; set {KEY}=merge"
            )


def serving_arguments(model: ModelConfig, rollout: RolloutConfig) -> dict[str, Any]:
    """Return the `vllm.LLM` arguments for serving adapters with a base model that vLLM loads from disk.

    Raises:
        ConfigError: The rank exceeds vLLM's maximum.
    """
    settings = adapter_settings(model)
    rank = max([settings.r, *settings.rank_pattern.values()])
    if rank > RANKS[-1]:
        raise ConfigError(
            f"the LoRA adapter has rank {rank} (model.lora_rank, or the rank in model.lora_adapter_path), "
            f"but vLLM serves at most rank {RANKS[-1]}; set {KEY}=merge"
        )
    return {
        "enable_lora": True,
        "max_lora_rank": min(one for one in RANKS if one >= rank),
        "max_loras": rollout.max_loras,
        "load_format": "auto",
    }


class AdapterPublisher:
    """Publisher of the policy's adapter. All processes take part, and the first one calls the servers."""

    def __init__(self, model: ModelConfig, world: World, in_use: Callable[[], Collection[str]]) -> None:
        """Create a publisher for the adapter that `model` configures.

        Args:
            in_use: Function that returns the current version and the versions that running turns use in this
                process.
        """
        self._settings = adapter_settings(model)
        self._world = world
        self._in_use = in_use
        self._kept: dict[str, TemporaryDirectory[str]] = {}
        """Folder of each version that the servers have loaded. The mapping is empty in all processes but the
        first."""

    def publish(
        self, named_tensors: Iterable[tuple[str, Tensor]], version: str, urls: Sequence[str]
    ) -> dict[str, str]:
        """Load a version into all servers, and unload versions that no turn uses any more.

        Args:
            named_tensors: Tensors from `adapter_tensors`.

        Returns:
            The error from each server that could not load this version, by URL. All processes return the same
            errors.
        """
        in_use = set().union(*self._world.gather(self._in_use()))
        here = self._world.is_main  # other processes iterate only to take part in the collectives
        tensors = {name: tensor.detach().cpu() for name, tensor in named_tensors if here}
        failed = self._load(tensors, version, urls, in_use) if here else {}
        return dict(self._world.gather(failed)[0])

    def forget(self) -> None:
        """See `Publisher.forget`. This method does nothing, because the publisher keeps no connections."""

    def _load(
        self, tensors: Mapping[str, Tensor], version: str, urls: Sequence[str], in_use: Collection[str]
    ) -> dict[str, str]:
        for name in [one for one in self._kept if one not in in_use]:
            self._drop(name, urls)
        if version not in self._kept:
            folder = shared_folder(sum(tensor.nbytes for tensor in tensors.values()))
            self._kept[version] = folder
            write_adapter(self._settings, tensors, Path(folder.name))
        given = {"lora_name": version, "lora_path": self._kept[version].name}

        def load(url: str) -> None:
            if version not in models_of(url):  # vLLM refuses to load a version twice
                post(f"{url}/v1/load_lora_adapter", given)

        return ask_all(urls, load)

    def _drop(self, name: str, urls: Sequence[str]) -> None:
        """Unload a version from the servers. Ignore failures, because a restarted server does not have it."""
        ask_all(urls, lambda url: post(f"{url}/v1/unload_lora_adapter", {"lora_name": name}))
        self._kept.pop(name).cleanup()
