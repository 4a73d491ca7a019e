"""Saving and restoring everything that a run needs to go on as if it had not stopped.

    global_step_N/
        actor/, critic/     weights and optimizer states, by torch.distributed.checkpoint: for any world size
        actor/huggingface/  the model's config and tokenizer; in the last checkpoint of a run the weights too
        trainer.json        step, data position, KL coefficient, random states, settings, the step's metrics

How a folder gets its name, and which one a run goes on from, is in `resume.py`.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.staging import BlockingAsyncStager
from torch.distributed.fsdp import FSDPModule

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.config import Config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.export import dtype_of, saved_tensors, write_weights
from rewardkit.trainer.lora import save_adapter
from rewardkit.trainer.models import full_tensors, language_model
from rewardkit.trainer.resume import (
    FACTS,
    changed_settings,
    find_checkpoint,
    number_to_keep,
    prepare,
    put_in_place,
    read_facts,
    temporary,
)

if TYPE_CHECKING:
    from rewardkit.trainer.setup import Parts


@dataclass(frozen=True)
class Content:
    """One checkpoint, as it is written."""

    step: int
    states: dict[str, dict[str, Any]]
    """Tensors by name, for `actor` and `critic`; sharded."""
    facts: dict[str, Any]
    weights: dict[str, Tensor] | None
    """Whole tensors for the Hugging Face folder; filled in the main process."""
    model_config: Any
    tokenizer: Any


class Checkpoints:
    """The checkpoints of a run: restores the one it goes on from, writes new ones. One write at a time."""

    def __init__(self, config: Config, world: World) -> None:
        """Find the checkpoint to go on from, and rid the run's folder of what a killed run left behind."""
        self._folder = Path(config.trainer.default_local_dir)
        self._keep = number_to_keep(config.trainer)
        self._settings = config.actor_rollout_ref.actor.checkpoint
        self._training = world
        # Checkpoints have a group of their own: while one is written in a thread, training uses the other.
        self._world = replace(world, group=dist.new_group(backend="gloo"))
        found = find_checkpoint(config)
        if any(path != found for path in self._world.gather(found)):
            raise ConfigError(
                f"trainer.default_local_dir={self._folder} must be a folder that all machines share: "
                "they see different checkpoints in it"
            )
        if world.is_main:
            prepare(self._folder, found)
        self._world.gather(None)
        self._start = found
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def restore(self, parts: Parts) -> int:
        """Bring the parts to where the checkpoint was taken; return its step, 0 when there is none."""
        if self._start is None:
            return 0
        facts = read_facts(self._start)
        for name, model, optimizer in _learners(parts):
            self._load(self._start / name, model, optimizer)
        parts.loader.load_state_dict(facts["loader"])
        if parts.kl.target is not None:
            parts.kl.coef = facts["kl_coef"]
        if self._world.rank < len(facts["random"]):
            _set_random_state(facts["random"][self._world.rank])
        if self._world.is_main:
            if changed := ", ".join(changed_settings(facts["config"], asdict(parts.config))):
                print(f"warning: {self._start.name} was made with other settings: {changed}", file=sys.stderr)
            done = "; there is nothing left to train" if facts["step"] >= parts.total_steps else ""
            parts.logger.say(f"going on from {self._start}, of {parts.total_steps} steps{done}")
        return int(facts["step"])

    def save(self, parts: Parts, step: int, metrics: dict[str, float], *, last: bool) -> None:
        """Write the checkpoint of a step, or start to; all processes must call it.

        Raises:
            RewardkitError: this one, or the one before where writes are asynchronous, could not be written.
        """
        self.finish()
        content = Content(
            step,
            {name: _state(model, optimizer) for name, model, optimizer in _learners(parts)},
            {
                "step": step,
                "metrics": metrics,
                "loader": parts.loader.state_dict(),
                "kl_coef": parts.kl.coef,
                "random": self._world.gather(_random_state()),
                "config": asdict(parts.config),
            },
            self._gather_weights(parts) if last or "hf_model" in self._settings.save_contents else None,
            parts.model_config,
            parts.tokenizer,
        )
        if parts.config.actor_rollout_ref.model.lora_rank > 0:
            adapter = temporary(self._folder, step) / "actor" / "lora_adapter"
            save_adapter(parts.actor.model, adapter, self._training)
        if self._settings.async_save:
            copied = {name: BlockingAsyncStager().stage(state) for name, state in content.states.items()}
            self._pending = self._writer.submit(self._write, replace(content, states=copied))
        else:
            self._write(content)

    def check(self) -> None:
        """Raise, in all processes, the error of an asynchronous write that has ended; do not wait for one."""
        if self._pending is not None and all(self._training.gather(self._pending.done())):
            self.finish()

    def finish(self) -> None:
        """Wait until nothing is being written, and raise the error if it failed."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _gather_weights(self, parts: Parts) -> dict[str, Tensor]:
        """The whole tensors, one at a time, kept in the main process alone."""
        dtype, weights = dtype_of(parts.model_config), {}
        for name, tensor in full_tensors(parts.actor.model):
            if self._world.is_main:
                weights[name] = tensor.to("cpu", dtype, copy=True)
        return weights

    def _write(self, content: Content) -> None:
        folder, error = temporary(self._folder, content.step), None
        try:
            for name, state in content.states.items():
                writer = FileSystemWriter(folder / name)
                state_dict_saver.save(state, storage_writer=writer, process_group=self._world.group)
            if self._world.is_main:
                _write_rest(content, folder)
                put_in_place(self._folder, content.step, self._keep)
        except (CheckpointException, Exception) as failed:  # whatever it is, all processes must learn of it
            error = RewardkitError(
                f"the checkpoint of step {content.step} could not be written to {self._folder}: "
                f"{_reason(failed)}; those before it are whole: set that right and start again to go on"
            )
        if first := self._world.first_error(error):
            raise first

    @torch.no_grad()
    def _load(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Load in place; an optimizer that had taken no step yet has no states, then as now."""
        if not folder.is_dir():
            raise ConfigError(
                f"{folder.parent} holds no {folder.name}, which algorithm.adv_estimator now needs"
            )
        saved = saved_tensors(folder)
        state, named = _state(model, optimizer), dict(language_model(model).named_parameters())
        _check_shapes(folder, saved, state)
        for key, entry in saved.items():
            if key.startswith("optimizer."):
                name, _, slot = key.removeprefix("optimizer.").rpartition(".")
                like = named[name]
                same = entry.size == like.size()
                optimizer.state[like][slot] = state[key] = (
                    torch.zeros_like(like)
                    if same
                    else torch.zeros(entry.size, dtype=entry.properties.dtype, device=like.device)
                )
        state_dict_loader.load(
            state, storage_reader=FileSystemReader(folder), process_group=self._world.group
        )


def _learners(parts: Parts) -> Iterator[tuple[str, nn.Module, torch.optim.Optimizer]]:
    yield "actor", parts.actor.model, parts.actor.optimizer.adamw
    if parts.critic is not None:
        yield "critic", parts.critic.model, parts.critic.optimizer.adamw


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Weights and optimizer states by the parameters' names, sharded as they are.

    Not torch's `get_optimizer_state_dict`: it makes states for an optimizer that has none by taking a step,
    and a run that is saved would no longer be the run that is not.
    """
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()  # after a forward alone the root still holds its copy in the computing type
    state = {}
    for name, parameter in language_model(model).named_parameters():
        state[f"model.{name}"] = parameter.detach()
        for slot, value in optimizer.state.get(parameter, {}).items():
            state[f"optimizer.{name}.{slot}"] = value
    return state


def _check_shapes(
    folder: Path, saved: Mapping[str, TensorStorageMetadata], state: Mapping[str, Tensor]
) -> None:
    there = {key: tuple(entry.size) for key, entry in saved.items() if key.startswith("model.")}
    here = {key: tuple(tensor.size()) for key, tensor in state.items() if key.startswith("model.")}
    for key in sorted({*there, *here}):
        if there.get(key) != here.get(key):
            raise ConfigError(
                f"{folder} holds another model than this run's: {key.removeprefix('model.')} is "
                f"{there.get(key, 'missing')} there and {here.get(key, 'missing')} here; give it the same "
                "model, or start anew with trainer.resume_mode=disable"
            )


def _write_rest(content: Content, folder: Path) -> None:
    described = folder / "actor" / "huggingface"
    content.tokenizer.save_pretrained(described)
    content.model_config.save_pretrained(described)
    if content.weights is not None:
        write_weights(content.weights, content.model_config, described, dtype_of(content.model_config))
    (folder / FACTS).write_text(json.dumps(content.facts), encoding="utf-8")


def _random_state() -> dict[str, Any]:
    """The global generators of this process, as JSON."""
    numpy_state: Any = np.random.get_state()
    name, keys, *rest = numpy_state
    state = {
        "python": random.getstate(),
        "numpy": [name, keys.tolist(), *rest],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return {
        k: base64.b85encode(bytes(v.tolist())).decode() if isinstance(v, Tensor) else v
        for k, v in state.items()
    }


def _set_random_state(state: Mapping[str, Any]) -> None:
    version, internal, gauss = state["python"]
    random.setstate((version, tuple(internal), gauss))
    np.random.set_state(tuple(state["numpy"]))
    torch.set_rng_state(_bytes(state["torch"]))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(_bytes(state["cuda"]))


def _bytes(text: str) -> Tensor:
    return torch.tensor(list(base64.b85decode(text)), dtype=torch.uint8)


def _reason(error: BaseException) -> str:
    if isinstance(error, CheckpointException) and error.failures:
        error = next(iter(error.failures.values()))[0]
    return str(error).strip().partition("\n")[0] or type(error).__name__
