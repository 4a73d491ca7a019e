"""The gradient of a step is that of the pairs' loss, however answers are divided over forward passes."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.functional import logsigmoid
from transformers import AutoModel, AutoModelForCausalLM

from rewardkit.trainer.config.load import load_settings
from rewardkit.trainer.config.stages import schema_named
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.pairs import build, loop
from rewardkit.trainer.sft.build import open_run
from rewardkit.trainer.sft.data import SftRow
from rewardkit.trainer.training_run import StageRun
from tests.trainer.conftest import QUESTIONS

PAIRS = [
    {"prompt": QUESTIONS[i], "chosen": f"{'so ' * i}{i}", "rejected": f"{i} or{' or' * (3 - i)} {i}"}
    for i in range(3)
]
BATCHINGS = {
    "one": ["data.use_dynamic_bsz=false", "data.micro_batch_size_per_gpu=1"],
    "two": ["data.use_dynamic_bsz=false", "data.micro_batch_size_per_gpu=2"],
    "four": ["data.use_dynamic_bsz=false", "data.micro_batch_size_per_gpu=4"],
    "tokens": ["data.max_token_len_per_gpu=64", "data.max_length=64"],
    "all": [],
    "padded": ["model.use_remove_padding=false"],
    "checkpointed": ["model.enable_gradient_checkpointing=true"],
}


@pytest.fixture
def opened(
    request: Any, model_folder: Path, tmp_path: Path, world: World
) -> Iterator[tuple[StageRun, loop.Objective]]:
    stage, batching = request.param
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in PAIRS))
    words = [f"data.train_files={path}", f"model.path={model_folder}", "data.train_batch_size=3"]
    words += [f"trainer.default_local_dir={tmp_path}/run", "trainer.logger=[]"]
    words += BATCHINGS.get(batching, [f"dpo.reference_model_path={model_folder}"])
    config = load_settings(schema_named(stage), "tiny-cpu", words)
    with open_run(config, world, build.LEARNING[stage]) as run:
        yield run, build.OBJECTIVES[stage](config)


def gradients_of_step(run: StageRun, objective: loop.Objective) -> tuple[float, dict[str, Any]]:
    """The loss of the next step, and its gradients, without an update."""
    found: dict[str, Any] = {}

    def keep() -> float:
        found.update({n: p.grad.clone() for n, p in run.actor.model.named_parameters()})
        return 1.0

    run.actor.optimizer.step = keep
    metrics = loop._step(run, 1, Clock(run.world.device), objective, objective.values(run.actor))
    return metrics["train/loss"], found


def log_prob(model: Any, row: SftRow) -> Any:
    ids = torch.tensor([[*row.token_ids, *row.response_ids]])
    log_probs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])
    return log_probs[len(row.token_ids) - 1 :].sum()


def compare(found: Any, gradient: Any, name: str) -> None:
    """Float32 adds up in another order: the bound is for the tensor as a whole."""
    bound = 2e-5 * float(gradient.abs().max())
    torch.testing.assert_close(found, gradient, rtol=1e-4, atol=bound, msg=name)


@pytest.mark.parametrize("opened", [("rm", b) for b in BATCHINGS], indirect=True, ids=str)
def test_a_reward_model_gets_the_gradient_of_its_loss(
    opened: tuple[StageRun, loop.Objective], model_folder: Path
) -> None:
    run, objective = opened
    head = torch.linspace(-1, 1, run.actor.model.head.in_features).unsqueeze(0)
    with torch.no_grad():
        run.actor.model.head.weight.copy_(head)
    body = AutoModel.from_pretrained(model_folder, dtype=torch.float32)
    head.requires_grad_()
    loss = 0.0
    for row in run.feed.loader.rows:
        ids = [torch.tensor([[*one.token_ids, *one.response_ids]]) for one in row.sequences]
        chosen, rejected = ((body(one).last_hidden_state[0, -1] @ head[0]) for one in ids)
        loss = loss - logsigmoid(chosen - rejected) / len(PAIRS)
    loss.backward()
    ours, found = gradients_of_step(run, objective)
    assert ours == pytest.approx(float(loss.detach()), rel=1e-5)
    compare(found["head.weight"], head.grad, "head")
    for name, parameter in body.named_parameters():
        compare(found[f"body.{name}"], parameter.grad, name)


@pytest.mark.parametrize("opened", [("dpo", b) for b in BATCHINGS], indirect=True, ids=str)
def test_a_policy_gets_the_gradient_of_its_loss(
    opened: tuple[StageRun, loop.Objective], model_folder: Path
) -> None:
    run, objective = opened
    assert objective.reference is not None
    loop._keep_references(run, objective.reference(run))
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    with torch.no_grad():
        for ours, theirs in zip(run.actor.model.parameters(), model.parameters(), strict=True):
            theirs.mul_(1.05)  # away from the reference
            ours.copy_(theirs)
    loss = 0.0
    for row in run.feed.loader.rows:
        gains = []
        for one, reference in zip(row.sequences, row.reference, strict=True):
            gains.append(log_prob(model, one) - reference)
        loss = loss - logsigmoid(0.1 * (gains[0] - gains[1])) / len(PAIRS)
    loss.backward()
    ours, found = gradients_of_step(run, objective)
    assert ours == pytest.approx(float(loss.detach()), rel=1e-5)
    for name, parameter in model.named_parameters():
        compare(found[f"body.{name}"], parameter.grad, name)


@pytest.mark.parametrize("opened", [("dpo", "reference")], indirect=True, ids=str)
def test_the_reference_can_be_another_model(
    opened: tuple[StageRun, loop.Objective], model_folder: Path
) -> None:
    run, objective = opened
    assert objective.reference is not None
    with torch.no_grad():
        for parameter in run.actor.model.parameters():
            parameter.mul_(1.5)
    loop._keep_references(run, objective.reference(run))
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    for row in run.feed.loader.rows:
        for one, reference in zip(row.sequences, row.reference, strict=True):
            assert float(log_prob(model, one).detach()) == pytest.approx(reference, rel=1e-5)
