"""Saves and restores everything that a run needs to resume exactly.

    global_step_N/
        actor/, critic/     weights and optimizer states in torch's distributed format, for any world size
        reference/          weights, if the reference moves towards the policy
        actor/huggingface/  the model's config and tokenizer, and in a run's last checkpoint its weights
        turns/              responses generated for later steps, if the run is not synchronous
        trainer.json        step, data position, KL coefficient, random states, settings, the step's metrics

`find.py` renames the folder of a complete checkpoint, and selects the checkpoint from which a run resumes.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
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
from rewardkit.files.publishing import make_folder, sole_writer
from rewardkit.trainer.alarms import Alarms
from rewardkit.trainer.algorithms.kl import KlController
from rewardkit.trainer.checkpoint.damage import reading, why_not_written
from rewardkit.trainer.checkpoint.export import CARD, as_classifier, dtype_of, saved_tensors, write_weights
from rewardkit.trainer.checkpoint.find import (
    FACTS,
    changed_settings,
    find_checkpoint,
    number_to_keep,
    prepare,
    put_in_place,
    read_facts,
    restarted,
    temporary,
    write_whole,
)
from rewardkit.trainer.checkpoint.random_state import random_state, set_random_state
from rewardkit.trainer.config.load import as_dict, as_yaml
from rewardkit.trainer.config.root import RunConfig
from rewardkit.trainer.config.workers import CheckpointConfig
from rewardkit.trainer.data import PromptLoader
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.models.lora import AdapterParts, gather_adapter, write_adapter
from rewardkit.trainer.models.quantised import is_quantised, unquantised
from rewardkit.trainer.models.sharding import full_tensors, is_adapted, language_model
from rewardkit.trainer.rollout.journal import SCHEMA
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.critic import Critic
from rewardkit.trainer.workers.scorer import Scorer

NEEDED = {"step", "metrics", "loader", "feed", "kl_coef", "alarms", "random", "config"}
"""Keys in `trainer.json` that are required for resuming."""
TURNS = "turns"
LOCK = ".lock"
"""Name of the lock file in a run's folder."""
RESTART_S = 30.0
"""Seconds for which a restarted run waits for the folder's lock, as the dead process may still hold it."""


ModelCard = Callable[[Mapping[str, float]], dict[str, Any]]
"""Function that returns the content of a reward model's `CARD` from the metrics of its last step."""


@dataclass(frozen=True)
class Learned:
    """State that changes during a run. Every checkpoint contains it, and resuming restores it."""

    actor: Actor | Scorer
    critic: Critic | None
    feed: Feed[Any]
    kl: KlController
    alarms: Alarms
    tokenizer: Any
    model_config: Any
    reference: nn.Module | None = None
    """Reference, if it moves towards the policy."""
    card: ModelCard | None = None
    """Function for the model card, or None if the model is a language model."""

    def models(self) -> Iterator[tuple[str, nn.Module, torch.optim.Optimizer | None]]:
        """For each model that changes, yield its name, the model, and its optimizer or None."""
        yield "actor", self.actor.model, self.actor.optimizer.inner
        if self.critic is not None:
            yield "critic", self.critic.model, self.critic.optimizer.inner
        if self.reference is not None:
            yield "reference", self.reference, None


@dataclass(frozen=True)
class Content:
    """Content of one checkpoint."""

    step: int
    states: dict[str, dict[str, Any]]
    """Sharded tensors by name, for each of `actor`, `critic` and `reference`."""
    facts: dict[str, Any]
    turns: dict[int, pa.Table]
    """Turns that this process has generated for later steps, by step."""
    weights: dict[str, Tensor] | None
    """Full tensors for the Hugging Face folder. Only the main process has them."""
    adapter: AdapterParts | None
    """Settings and full tensors of the adapter, if there is one. Only the main process has the tensors."""
    model_config: Any
    tokenizer: Any
    card: dict[str, Any] | None
    """Content of a reward model's `CARD`, or None for a language model."""


@contextmanager
def open_folder(config: RunConfig, world: World) -> Iterator[Path | None]:
    """Prepare the run's folder for this run, write the settings to it, and lock it for the block.

    Yields:
        The checkpoint to resume from, or None.

    Raises:
        ConfigError: The checkpoint that `trainer.resume_mode` selects does not exist, or the folder is not
            shared.
        InputError: Another run is using the folder, or the folder is not writable. Raised in all processes.
    """
    folder = Path(config.trainer.default_local_dir)
    with ExitStack() as stack:
        world.spread(lambda _: stack.enter_context(_only_run_in(folder)), 1)
        yield _open_folder(config, folder, world)


@contextmanager
def _only_run_in(folder: Path) -> Iterator[None]:
    make_folder(folder)
    # The system may release the lock of a dead process only after a moment.
    patience_s = RESTART_S if restarted() else 0.0
    instead = "set another trainer.default_local_dir"
    with sole_writer(folder, folder / LOCK, patience_s=patience_s, instead=instead):
        yield


def _open_folder(config: RunConfig, folder: Path, world: World) -> Path | None:
    found = find_checkpoint(config)
    if any(path != found for path in world.gather(found)):
        raise ConfigError(
            f"trainer.default_local_dir={folder} must be a folder that all machines share, but the machines "
            "find different checkpoints there"
        )
    if world.is_main:
        prepare(folder, found)
        write_whole(folder / "config.yaml", as_yaml(config))
    world.gather(None)
    return found


def check_fits(start: Path, loader: PromptLoader[Any], models: Mapping[str, nn.Module]) -> None:
    """Check that a run's data and models match the checkpoint to resume from.

    Args:
        loader: Loader for the run's data. It is moved to the position stored in the checkpoint.
        models: Models that change, `actor`, `critic` and `reference`, with or without weights.

    Raises:
        ConfigError, InputError: The data or the models do not match the checkpoint.
    """
    with reading(start):
        _check_fits(start, loader, models)


def _check_fits(start: Path, loader: PromptLoader[Any], models: Mapping[str, nn.Module]) -> None:
    facts = read_facts(start)
    if lacking := sorted(NEEDED - facts.keys()):
        raise ConfigError(f"{start / FACTS} has no {', '.join(lacking)}; resume from another checkpoint")
    loader.load_state_dict(facts["loader"])
    for name, model in models.items():
        folder = _part(start, name)
        named = {f"model.{n}": p for n, p in language_model(model).named_parameters()}
        _check_shapes(folder, saved_tensors(folder), named)


NEEDED_BY = {"critic": "algorithm.adv_estimator", "reference": "actor_rollout_ref.ref.sync_steps"}
"""Setting that makes a checkpoint contain the model."""


def _part(checkpoint: Path, name: str) -> Path:
    if name in NEEDED_BY and not (checkpoint / name).is_dir():
        raise ConfigError(
            f"{checkpoint} contains no {name}, which this {NEEDED_BY[name]} needs; use the value of the "
            "earlier run, or start from scratch with trainer.resume_mode=disable"
        )
    return checkpoint / name


class Checkpoints:
    """Reader and writer of a run's checkpoints. Checkpoints are written one at a time."""

    def __init__(
        self,
        config: RunConfig,
        contents: CheckpointConfig,
        world: World,
        start: Path | None,
        learned: Learned,
        total_steps: int,
        say: Callable[[str], None],
    ) -> None:
        """Create an object that saves and restores `learned`.

        Args:
            contents: Settings for the contents of checkpoints, and for asynchronous writing.
            start: Checkpoint to resume from, as returned by `open_folder`.
            say: Function that prints a line.
        """
        self._config = config
        self._folder = Path(config.trainer.default_local_dir)
        self._keep = number_to_keep(config.trainer)
        self._settings = contents
        self._training = world
        # Checkpoints need their own process group, because training continues while a thread writes them.
        self._world = replace(world, group=dist.new_group(backend="gloo"))
        self._start = start
        self._learned = learned
        self._total_steps = total_steps
        self._say = say
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def restore(self) -> int:
        """Restore the state from the checkpoint and return its step, or return 0 without a checkpoint."""
        if self._start is None:
            return 0
        with reading(self._start):
            return self._restore(self._start)

    def _restore(self, start: Path) -> int:
        facts = read_facts(start)
        learned = self._learned
        for name, model, optimizer in learned.models():
            self._load(_part(start, name), model, optimizer)
        learned.feed.loader.load_state_dict(facts["loader"])
        as_then = len(facts["random"]) == self._world.size
        turns = _read_turns(start, self._world.rank if as_then else None)
        learned.feed.load_state_dict(facts["feed"], turns)
        if learned.kl.target is not None:
            learned.kl.coef = facts["kl_coef"]
        learned.alarms.beyond.update(
            {rule: steps for rule, steps in facts["alarms"].items() if rule in learned.alarms.beyond}
        )
        learned.alarms.truths.load_state_dict(facts.get("truths", {}))
        if self._world.rank < len(facts["random"]):
            set_random_state(facts["random"][self._world.rank])
        if self._world.is_main:
            self._say_restored(start, facts)
        return int(facts["step"])

    def _say_restored(self, start: Path, facts: Mapping[str, Any]) -> None:
        if changed := ", ".join(changed_settings(facts["config"], as_dict(self._config))):
            print(f"warning: {start.name} was saved with other settings: {changed}", file=sys.stderr)
        done = "; all steps are done" if facts["step"] >= self._total_steps else ""
        self._say(f"resuming from {start}, of {self._total_steps} steps{done}")

    def save(self, step: int, metrics: dict[str, float], *, last: bool) -> None:
        """Write the checkpoint of a step, or start writing it. All processes must call this method.

        Raises:
            RewardkitError: This checkpoint could not be written or, with asynchronous writing, the previous
                checkpoint.
        """
        self.finish()
        learned = self._learned
        content = Content(
            step,
            {name: _state(model, optimizer) for name, model, optimizer in learned.models()},
            self._facts(step, metrics),
            learned.feed.turns(),
            self._gather_weights() if last or "hf_model" in self._settings.save_contents else None,
            self._gather_adapter(),
            learned.model_config,
            learned.tokenizer,
            learned.card(metrics) if learned.card else None,
        )
        if self._settings.async_save:
            copied = {name: BlockingAsyncStager().stage(state) for name, state in content.states.items()}
            self._pending = self._writer.submit(self._write, replace(content, states=copied))
        else:
            self._write(content)

    def _facts(self, step: int, metrics: dict[str, float]) -> dict[str, Any]:
        return {
            "step": step,
            "metrics": metrics,
            "feed": self._learned.feed.state_dict(),  # this may move the loader
            "loader": self._learned.feed.loader.state_dict(),
            "kl_coef": self._learned.kl.coef,
            "alarms": self._learned.alarms.beyond,
            "truths": self._learned.alarms.truths.state_dict(),
            "random": self._world.gather(random_state()),
            "config": as_dict(self._config),
        }

    def check(self) -> None:
        """Raise the error from a finished asynchronous write in all processes, without waiting for it."""
        if self._pending is not None and all(self._training.gather(self._pending.done())):
            self.finish()

    def finish(self) -> None:
        """Wait until no checkpoint is being written, and raise the error if writing failed."""
        pending = self._pending
        self._pending = None
        if pending is not None:
            pending.result()

    def _gather_weights(self) -> dict[str, Tensor]:
        """Gather full tensors one at a time. Return them in the main process, and {} in all others."""
        dtype = dtype_of(self._learned.model_config)
        weights = {}
        for name, tensor in full_tensors(self._learned.actor.model):
            if self._world.is_main:
                weights[name] = tensor.to("cpu", dtype, copy=True)
        return weights

    def _gather_adapter(self) -> AdapterParts | None:
        model: Any = self._learned.actor.model
        return gather_adapter(model, keep=self._world.is_main) if is_adapted(model) else None

    def _write(self, content: Content) -> None:
        folder = temporary(self._folder, content.step)

        def states() -> None:
            # `save` returns after all processes have written their files.
            for name, state in content.states.items():
                writer = FileSystemWriter(folder / name)
                state_dict_saver.save(state, storage_writer=writer, process_group=self._world.group)

        def rest() -> None:
            if self._world.is_main:
                _write_rest(content, folder)
                put_in_place(self._folder, content.step, self._keep)

        try:
            # A process that fails must still take part in the collective operations.
            for write in (lambda: _write_turns(content.turns, folder, self._world.rank), states, rest):
                self._write_together(write, content.step)
        except RewardkitError:
            if self._world.is_main:
                shutil.rmtree(folder, ignore_errors=True)  # These files may have filled the disk.
            raise

    def _write_together(self, write: Callable[[], None], step: int) -> None:
        error: RewardkitError | None = None
        try:
            write()
        # All processes must raise an error if one process fails.
        except (CheckpointException, Exception) as failed:
            error = RewardkitError(
                f"cannot write the checkpoint of step {step} to {self._folder}: "
                f"{why_not_written(self._folder, failed)}; fix the cause and start again to resume from "
                "the last complete checkpoint"
            )
        if first := self._world.first_error(error):
            raise first

    @torch.no_grad()
    def _load(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None) -> None:
        """Load the model and optimizer in place. An optimizer saved before its first step has no state."""
        saved = saved_tensors(folder)
        state = _state(model, optimizer)
        named = dict(language_model(model).named_parameters())
        _check_shapes(folder, saved, state)
        for key, entry in saved.items():
            if optimizer is not None and key.startswith("optimizer."):
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
        for name, parameter in named.items():
            if is_quantised(parameter) and not torch.equal(state[f"model.{name}"], _saved(parameter)):
                raise ConfigError(
                    f"{folder} is a checkpoint with other quantised weights: {name} differs; use the same "
                    "model and quantization_config, or start from scratch with trainer.resume_mode=disable"
                )


def _state(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> dict[str, Tensor]:
    """Return weights and optimizer states by parameter name, without gathering shards.

    torch's `get_optimizer_state_dict` would change the run, because it takes an optimizer step to create the
    state of a new optimizer.
    """
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()  # The root may still have a copy in another dtype.
    state = {}
    for name, parameter in language_model(model).named_parameters():
        state[f"model.{name}"] = _saved(parameter)
        for slot, value in optimizer.state.get(parameter, {}).items() if optimizer else ():
            state[f"optimizer.{name}.{slot}"] = value
    return state


def _saved(parameter: Tensor) -> Tensor:
    """Return a parameter as a checkpoint contains it: one that is quantised as a full matrix, on the CPU.

    A checkpoint can therefore be exported without bitsandbytes and the original model.
    """
    return unquantised(parameter).cpu() if is_quantised(parameter) else parameter.detach()


def _check_shapes(
    folder: Path, saved: Mapping[str, TensorStorageMetadata], state: Mapping[str, Tensor]
) -> None:
    there = {key: tuple(entry.size) for key, entry in saved.items() if key.startswith("model.")}
    here = {key: tuple(tensor.size()) for key, tensor in state.items() if key.startswith("model.")}
    for key in sorted({*there, *here}):
        if there.get(key) != here.get(key):
            raise ConfigError(
                f"{folder} is a checkpoint of a different model: {key.removeprefix('model.')} is "
                f"{there.get(key, 'missing')} in the checkpoint and {here.get(key, 'missing')} in this run; "
                "use the same model, or start from scratch with trainer.resume_mode=disable"
            )


def _write_turns(turns: Mapping[int, pa.Table], checkpoint: Path, rank: int) -> None:
    for step, table in turns.items():
        folder = checkpoint / TURNS / f"step_{step}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / f"process_{rank}.parquet", compression="zstd")


def _read_turns(checkpoint: Path, rank: int | None) -> dict[int, pa.Table]:
    """Return turns by step, from the process with this rank or, if `rank` is None, from all processes.

    A process has turns only for steps whose prompts it has begun to generate.
    """
    name = "" if rank is None else f"process_{rank}.parquet"
    folders = [folder for folder in (checkpoint / TURNS).glob("step_*") if (folder / name).exists()]
    return {int(f.name.removeprefix("step_")): pq.read_table(f / name, schema=SCHEMA) for f in folders}


def _write_rest(content: Content, folder: Path) -> None:
    described = folder / "actor" / "huggingface"
    content.tokenizer.save_pretrained(described)
    content.model_config.save_pretrained(described)
    scores = content.card is not None
    if scores:
        (described / CARD).write_text(json.dumps(content.card, indent=1), encoding="utf-8")
    if content.adapter is not None:
        adapter = as_classifier(content.adapter, content.model_config) if scores else content.adapter
        write_adapter(*adapter, folder / "actor" / "lora_adapter")
    if content.weights is not None:
        dtype = dtype_of(content.model_config)
        write_weights(content.weights, content.model_config, described, dtype, scores=scores)
    (folder / FACTS).write_text(json.dumps(content.facts), encoding="utf-8")
