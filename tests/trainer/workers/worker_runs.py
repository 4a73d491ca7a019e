"""One step of actor and critic under different settings, in one process or more: what must be the same.

All of it is in float64: what differs by more than rounding there is another computation.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import ActorConfig, CriticConfig, FsdpConfig, ModelConfig, OptimConfig
from rewardkit.trainer.distributed import World, gathered, open_world
from rewardkit.trainer.models import heads
from rewardkit.trainer.models.load import load_causal_lm, load_value_model
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import full_tensors, shard
from rewardkit.trainer.workers import actor as actor_module
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.critic import Critic
from tests.closeness import in_float64, rounding
from tests.trainer.running import run_module

TEMPERATURE = 0.7
LEARNING_RATE = 1e-4
AFTER_ADAM = 2 * LEARNING_RATE / 1e-8 * rounding(magnitude=10.0)
"""How far weights may be apart after two steps: each is lr * m / (sqrt(v) + 1e-8), so lr / 1e-8 times as far
as gradients, of up to 10. One of another sign would show by lr."""


@dataclass
class Setting:
    """What may change without changing a result."""

    model: dict[str, Any] = field(default_factory=dict)
    fsdp: dict[str, Any] = field(default_factory=dict)
    micro: int | None = None
    tokens: int | None = None
    balance: bool = False
    packing: str | None = None
    split: int = 1
    chunk_elements: int = heads.CHUNK_ELEMENTS
    entropy_coeff: float = 0.01
    everything: bool = False
    """Compute the rows without a gradient too."""


PLAIN = Setting(model={"use_remove_padding": False, "enable_gradient_checkpointing": False})
SETTINGS = {
    "packed, micro-batches of 1": Setting(micro=1),
    "padded, micro-batches of 3": Setting(model={"use_remove_padding": False}, micro=3),
    "packed into several rows": Setting(packing="rows", micro=3),
    "padded, 40 tokens": Setting(model={"use_remove_padding": False}, tokens=40),
    "balanced, 40 tokens": Setting(balance=True, tokens=40),
    "one token of logits at a time, no checkpointing": Setting(
        model={"enable_gradient_checkpointing": False}, chunk_elements=1
    ),
    "weights kept after forward, parameters offloaded": Setting(
        fsdp={"reshard_after_forward": False, "param_offload": True}, micro=2
    ),
    "gradients added up once, optimizer offloaded": Setting(
        fsdp={"no_sync": True, "optimizer_offload": True}, micro=2
    ),
}
"""By twos, where what they change does not depend on each other."""

SHARED = {
    2: {
        "two share a row": Setting(split=2, micro=3),
        "two share 20 tokens": Setting(split=2, tokens=20, chunk_elements=1),
    },
    4: {
        "four share a row": Setting(split=4, micro=3, fsdp={"no_sync": True}),
        "two and two share a row": Setting(split=2, tokens=20, balance=True),
        "two and two, each with its weights": Setting(split=2, fsdp={"fsdp_size": 2}),
    },
}
"""By the number of processes: those of a group compute each row together."""

IN_TWO_PROCESSES = {
    "padded, gradients added up once": Setting(
        model={"use_remove_padding": False}, fsdp={"no_sync": True}, micro=1
    ),
    "packed into several rows, weights kept after forward": Setting(
        packing="rows", fsdp={"reshard_after_forward": False}, micro=3
    ),
    "balanced, parameters offloaded": Setting(balance=True, tokens=40, fsdp={"param_offload": True}),
    "replicated": Setting(fsdp={"fsdp_size": 1}, micro=2),
}
"""Those of above that concern processes, by twos: where they lie and what they compute do not depend on each other."""


def outcome(world: World, folder: str, tensors: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """Run both workers over two mini-batches of 4 rows, two epochs, without moving a weight in the first.

    Returns:
        log-probs, entropies and values of this process's rows; the gradients of both mini-batches; the
        first epoch's metrics and largest |ratio - 1|; the weights after a second, real epoch.
    """
    rows = torch.arange(len(tensors["input_ids"]))[world.rank :: world.size]
    batch = Batch({k: v[rows] for k, v in tensors.items()}, [])
    options, fsdp = ModelConfig(folder, **setting.model), FsdpConfig("float32", **setting.fsdp)
    policy = load_causal_lm(folder, torch.float64)
    policy = prepare(policy, options, world.device, fsdp, sequence_parallel=setting.split)
    value = load_value_model(folder, torch.float64)
    torch.nn.init.constant_(value.head.weight, 0.05)
    value = prepare(value, options, world.device, fsdp, sequence_parallel=setting.split)
    for model in (policy, value):
        model.packing = setting.packing or model.packing
    shared = {
        "ppo_mini_batch_size": 4,
        "ppo_micro_batch_size_per_gpu": setting.micro,
        "use_dynamic_bsz": setting.tokens is not None,
        "ppo_max_token_len_per_gpu": setting.tokens,
        "ulysses_sequence_parallel_size": setting.split,
        "optim": OptimConfig(lr=LEARNING_RATE),
        "fsdp_config": fsdp,
    }
    ranges = {"clip_ratio_low": 0.2, "clip_ratio_high": 0.2, "entropy_coeff": setting.entropy_coeff}
    actor = Actor(
        shard(policy, world, fsdp),
        world,
        ActorConfig(**shared, **ranges),
        samples_per_prompt=1,
        temperature=TEMPERATURE,
        log_prob_batching=Batching(setting.micro, setting.tokens, setting.balance),
        balance=setting.balance,
    )
    forward = {
        "forward_micro_batch_size_per_gpu": setting.micro,
        "forward_max_token_len_per_gpu": setting.tokens,
        "shuffle": False,
        "ppo_epochs": 1,
        "loss_agg_mode": "token-mean",
        "loss_scale_factor": 1,
    }
    critic = Critic(
        shard(value, world, fsdp),
        world,
        CriticConfig(model=options, **shared, **forward),
        samples_per_prompt=1,
        balance=setting.balance,
    )
    if setting.everything:
        actor.live = lambda given: torch.ones(len(given), dtype=torch.bool)  # type: ignore[method-assign]
    heads.CHUNK_ELEMENTS, whole_chunks = setting.chunk_elements, heads.CHUNK_ELEMENTS
    try:
        found: dict[str, Any] = {"rows": rows}
        found["log_probs"], found["entropies"] = actor.log_probs_and_entropies(batch)
        found["values"] = critic.values(batch)
        batch["old_log_probs"] = found["log_probs"]
        ratios = _record_ratios()
        for name, worker in (("actor", actor), ("critic", critic)):
            found[f"{name} gradients"], found[f"{name} metrics"] = _gradients(worker, batch)
            if name == "actor":
                found["ratio"] = max(ratios)
            worker.update(batch, 1, 0)
            found[f"{name} weights"] = torch.cat([t.flatten() for _, t in full_tensors(worker.model)])
    finally:
        actor_module.response_log_probs = SCORE
        heads.CHUNK_ELEMENTS = whole_chunks
    return found


def _gradients(worker: Any, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
    gradients: list[torch.Tensor] = []

    def keep() -> float:
        trained = [p for p in worker.model.parameters() if p.requires_grad]
        gradients.append(torch.cat([gathered(p.grad).flatten() for p in trained]))
        worker.model.zero_grad()
        return 0.0

    step, worker.optimizer.step = worker.optimizer.step, keep
    metrics = worker.update(batch, 1, 0)
    worker.optimizer.step = step
    return torch.stack(gradients), metrics


SCORE = actor_module.response_log_probs


def _record_ratios() -> list[float]:
    """Return a list that grows with the largest |ratio - 1| of each forward of an update."""
    largest: list[float] = []

    def recorded(model: Any, piece: Batch, temperature: float, *, entropy: str, sharing: Any) -> Any:
        log_probs, entropies = SCORE(model, piece, temperature, entropy=entropy, sharing=sharing)
        drift = (log_probs.detach() - piece["old_log_probs"])[piece["response_mask"].bool()]
        largest.append(float(drift.exp().sub(1).abs().max()))
        return log_probs, entropies

    actor_module.response_log_probs = recorded
    return largest


def in_processes(
    size: int, settings: dict[str, Setting], folder: str, tensors: dict[str, Any], out: Path
) -> list[dict[str, dict[str, Any]]]:
    """Return the outcomes of settings in each of `size` processes, forked from one that has imported torch."""
    given = {name: dataclasses.asdict(setting) for name, setting in settings.items()}
    torch.save((size, given, folder, tensors), out / "given.pt")
    run_module("tests.trainer.workers.worker_runs", out, timeout=800)
    return [torch.load(out / f"rank{rank}.pt", weights_only=True) for rank in range(size)]


def main(out: Path) -> int:
    """Fork the processes; the exit code is 1 when one failed."""
    size, given, folder, tensors = torch.load(out / "given.pt", weights_only=True)
    settings = {name: Setting(**values) for name, values in given.items()}
    fork = multiprocessing.get_context("fork")
    arguments = (size, settings, folder, tensors, out)
    ranks = [fork.Process(target=_run_rank, args=(rank, *arguments), daemon=True) for rank in range(size)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return int(any(rank.exitcode for rank in ranks))


def _run_rank(
    rank: int, size: int, settings: dict[str, Setting], folder: str, tensors: dict[str, Any], out: Path
) -> None:
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(str(out / "store"), size)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    os.environ["RANK"] = str(rank)
    with in_float64(), open_world("cpu") as world:
        found = {name: outcome(world, folder, tensors, setting) for name, setting in settings.items()}
    torch.save(found, out / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
