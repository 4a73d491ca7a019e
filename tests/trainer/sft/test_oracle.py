"""Losses and gradients are those of TRL's `SFTTrainer` on the same rows."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl", reason="the oracle is TRL: pip install trl")

from rewardkit.trainer.config.load import load_settings
from rewardkit.trainer.distributed import World
from rewardkit.trainer.sft import build
from rewardkit.trainer.sft.config import SETTINGS
from rewardkit.trainer.sft.data import Conversation, as_batch, encode
from tests.trainer.sft.templates import MARKED

BOUND = 1e-6
TALKS = [["2+2", "4"], ["Tom has 3 apples", "So he has 3.\n#### 3", "and now 5", "5"], ["1", "one " * 9]]


def messages(talk: list[str]) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[i % 2], "content": said} for i, said in enumerate(talk)]


def by_trl(folder: Path, tokenizer: Any, rows: list[dict[str, Any]], out: Path, **options: Any) -> Any:
    """The loss and the gradients of one optimizer step over all rows, two at a time."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import SFTConfig, SFTTrainer

    gradients: dict[str, Any] = {}

    class Keep(TrainerCallback):  # type: ignore[misc]
        def on_pre_optimizer_step(self, *args: Any, model: Any, **kwargs: Any) -> None:
            gradients.update({n: p.grad.clone() for n, p in model.named_parameters()})

    settings = SFTConfig(
        output_dir=str(out),
        per_device_train_batch_size=2,
        gradient_accumulation_steps=-(-len(rows) // 2),
        max_steps=1,
        max_grad_norm=0.0,
        learning_rate=0.0,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        model_init_kwargs={"dtype": "float32"},
        **options,
    )
    trainer = SFTTrainer(
        str(folder),
        settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[Keep()],
    )
    trainer.train()
    return trainer.state.log_history[0]["loss"], gradients


def by_us(folder: Path, rows: list[Any], world: World, tokens: int) -> Any:
    """The same, at most `tokens` at a time."""
    words = ["data.train_files=x", f"model.path={folder}", f"data.train_batch_size={len(rows)}"]
    limits = [f"data.max_token_len_per_gpu={tokens}", "data.max_length=64"]
    config = load_settings(SETTINGS, "tiny-cpu", [*words, *limits])
    actor = build.open_actor(config, world, 1)
    gradients: dict[str, Any] = {}

    def keep() -> float:
        gradients.update({n: p.grad.clone() for n, p in actor.model.body.named_parameters()})
        return 1.0

    actor.optimizer.step = keep  # type: ignore[method-assign]
    metrics = actor.update(as_batch(rows, 0, world.device), 1, 0)
    return metrics["pg_loss"], gradients


@pytest.mark.slow
def test_loss_and_gradients_are_trl_s_for_pairs_and_for_marked_conversations(
    model_folder: Path, tokenizer: Any, world: World, tmp_path: Path
) -> None:
    data = load_settings(SETTINGS, None, ["data.train_files=x", "model.path=y"]).data
    pairs = [{"prompt": messages(talk)[:-1], "completion": messages(talk)[-1:]} for talk in TALKS]
    plain = tokenizer.chat_template
    for name, template, given, first, options in (
        ("pairs", plain, pairs, lambda talk: len(talk) - 1, {}),
        (
            "turns",
            MARKED,
            [{"messages": messages(t)} for t in TALKS],
            lambda talk: 0,
            {"assistant_only_loss": True},
        ),
    ):
        tokenizer.chat_template = template
        try:
            theirs = by_trl(model_folder, tokenizer, given, tmp_path / name, **options)
            rows = [encode(tokenizer, Conversation(messages(t), first(t)), data, "row") for t in TALKS]
        finally:
            tokenizer.chat_template = plain
        for tokens in (64, 8192):
            ours = by_us(model_folder, rows, world, tokens)
            assert abs(ours[0] - theirs[0]) < BOUND, name
            assert ours[1].keys() == theirs[1].keys()
            for parameter, gradient in ours[1].items():
                torch.testing.assert_close(
                    gradient, theirs[1][parameter], rtol=0, atol=BOUND, msg=f"{name} {parameter}"
                )
