"""SFT with pictures: forward passes agree with one by one, and what is not supported refuses."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from rewardkit.errors import ConfigError, InputError
from rewardkit.pictures import pictures_in, with_pictures
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.data import ALONE
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.models.load import load_causal_lm, load_tokenizer
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.vision import PictureBook, Vision
from rewardkit.trainer.run.process import read_and_check
from rewardkit.trainer.sft.config import SftDataConfig
from rewardkit.trainer.sft.data import SftRow, as_batch, load_rows
from rewardkit.trainer.sft.stage import SFT
from rewardkit.trainer.workers.forward import response_log_probs
from tests.tiny_vision import KINDS, colours, prompts_with_pictures

CPU = torch.device("cpu")


def opened(folder: Path, rows: pa.Table, path: Path, **config: Any) -> tuple[Any, list[SftRow]]:
    """Return the prepared model of a folder, and the rows as training reads them."""
    answered = rows.append_column("response", rows["ground_truth"])
    pq.write_table(answered, path)
    options = ModelConfig(str(folder))
    tokenizer = load_tokenizer(str(folder))
    vision = Vision.of(str(folder), tokenizer)
    assert vision is not None
    book = PictureBook(vision)
    settings = SftDataConfig(train_files=str(path), **config)
    found = load_rows([str(path)], tokenizer, settings, -1, ALONE, book=book)
    model = prepare(load_causal_lm(str(folder)), options, CPU, FsdpConfig())
    model.book = book  # type: ignore[assignment]
    return model, found


def log_probs(model: Any, rows: list[SftRow]) -> Any:
    batch = as_batch(rows, 0, CPU)
    found, _ = response_log_probs(model, batch, 1.0, entropy="no")
    return found[batch["response_mask"].bool()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_micro_batch_is_computed_as_its_rows_one_by_one(
    kind: str, vision_models: dict[str, Path], tmp_path: Path
) -> None:
    table = prompts_with_pictures()
    model, rows = opened(vision_models[kind], table, tmp_path / "a.parquet")
    assert [len(row.pictures) for row in rows] == [1, 1, 0, 2, 1, 1]
    together = log_probs(model, rows)
    together.sum().backward()
    grads = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert any("vision" in name or "visual" in name for name in grads)
    model.zero_grad()
    alone = [log_probs(model, [row]) for row in rows]
    torch.cat(alone).sum().backward()
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-5)
    largest = max(float(one.norm()) for one in grads.values())
    for name, parameter in model.named_parameters():
        if name in grads:
            assert float((grads[name] - parameter.grad).norm()) < 1e-5 * largest, name
    first, other = rows[1], rows[4]  # of one size, under one question
    swapped = SftRow(first.token_ids, first.response_ids, first.trained, pictures=other.pictures)
    assert float((log_probs(model, [swapped]) - alone[1]).abs().max()) > 0.03


def test_placeholders_are_not_trained_on_and_rows_are_never_cut(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    folder = vision_models["idefics3"]
    table = prompts_with_pictures()
    model, rows = opened(folder, table, tmp_path / "a.parquet")
    vision = model.book.vision
    for row in rows:
        trained = [token for token, kept in zip(row.response_ids, row.trained, strict=True) if kept]
        assert not set(trained) & set(vision.placeholders)
        assert row.token_ids.count(vision.mark) == 4 * len(row.pictures)
    _, kept = opened(folder, table, tmp_path / "b.parquet", truncation="right", max_length=24)
    assert [len(row.pictures) for row in kept] == [1, 1, 0, 1, 1]
    with pytest.raises(InputError, match=r"row 3: .*max_length"):
        opened(folder, table, tmp_path / "c.parquet", max_length=24)


def test_the_trainer_reads_what_generation_reads(vision_models: dict[str, Path], tmp_path: Path) -> None:
    for kind in KINDS:
        model, rows = opened(vision_models[kind], prompts_with_pictures(), tmp_path / "a.parquet")
        for row, raw in zip(rows, prompts_with_pictures().to_pylist(), strict=True):
            messages = with_pictures(raw, raw["prompt"])
            assert model.book.vision.encode(messages).long_ids == row.token_ids
            assert [model.book[i].digest for i in row.pictures] == [
                one.digest for one in pictures_in(messages)
            ]


def trained(folder: Path, model: Path, rows: pa.Table, *more: str) -> Path:
    """Train on rows in this process, and return the folder of the last checkpoint's model."""
    folder.mkdir()
    pq.write_table(rows.append_column("response", rows["ground_truth"]), folder / "train.parquet")
    overrides = [
        f"data.train_files={folder}/train.parquet",
        "data.train_batch_size=32",
        f"model.path={model}",
        "optim.lr=2e-3",
        "trainer.total_epochs=8",
        "trainer.save_freq=-1",
        "trainer.logger=[jsonl]",
        "trainer.device=cpu",
        f"trainer.default_local_dir={folder}/run",
        *more,
    ]
    config = read_and_check(None, overrides, "sft")
    SFT.rehearse(config)
    with open_world("cpu") as world:
        SFT.train(config, world)
    (last,) = (folder / "run").glob("global_step_*")
    return last / "actor" / "huggingface"


def test_what_is_not_supported_with_pictures_is_refused(
    vision_models: dict[str, Path], model_folder: Path, tmp_path: Path
) -> None:
    rows = colours(40, 0)
    with pytest.raises(InputError, match=r"row 0: column 'image'"):
        trained(tmp_path / "text", model_folder, rows)
    shared = "trainer.n_gpus_per_node=2", "engine.ulysses_sequence_parallel_size=2"
    with pytest.raises(ConfigError, match="ulysses"):
        trained(tmp_path / "shared", vision_models["idefics3"], rows, *shared)


def test_a_prompt_inside_another_column_has_its_pictures_too(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    asked = prompts_with_pictures().slice(0, 1).to_pylist()[0]
    row = {"a": {"prompt": asked["prompt"], "response": "red"}, "images": asked["images"]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "p.parquet")
    tokenizer = load_tokenizer(str(vision_models["idefics3"]))
    vision = Vision.of(str(vision_models["idefics3"]), tokenizer)
    assert vision is not None
    settings = SftDataConfig(train_files="", prompt_key="a.prompt", response_key="a.response")
    (read,) = load_rows(
        [str(tmp_path / "p.parquet")], tokenizer, settings, -1, ALONE, book=PictureBook(vision)
    )
    assert len(read.pictures) == 1
