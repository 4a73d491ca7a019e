"""GRPO with pictures: the policy learns what only the pictures tell, and what is not supported refuses."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import asyncio
import base64
import json
import resource
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from rewardkit.agents.types import Reply
from rewardkit.errors import ConfigError, InputError
from rewardkit.pictures import picture_of, with_pictures
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.data import load_rows, open_prompts
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.models.load import load_causal_lm, load_tokenizer
from rewardkit.trainer.models.vision import PictureBook, Vision, freeze_tower
from rewardkit.trainer.rollout.journal import JournaledModel, TurnJournal
from rewardkit.trainer.rollout.vllm_arguments import check_expanded, vllm_prompt
from rewardkit.trainer.run.process import PPO, read_and_check
from tests.tiny_vision import colours, picture, prompts_with_pictures, save_model


def book_of(folder: Path) -> tuple[Any, PictureBook]:
    tokenizer = load_tokenizer(str(folder))
    vision = Vision.of(str(folder), tokenizer)
    assert vision is not None
    return tokenizer, PictureBook(vision)


def test_prompts_are_read_with_their_pictures_and_never_cut(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(prompts_with_pictures(), path)
    for kind, folder in vision_models.items():
        tokenizer, book = book_of(folder)
        rows = load_rows([str(path)], tokenizer, DataConfig(max_prompt_length=64), book=book)
        assert [len(row.pictures) for row in rows] == [1, 1, 0, 2, 1, 1], kind
        asked = prompts_with_pictures().to_pylist()
        for row, raw in zip(rows, asked, strict=True):
            held = [picture_of(one).digest for one in raw["images"]]
            assert [book[i].digest for i in row.pictures] == held
        assert len({row.pictures for row in rows if len(row.pictures) == 1}) == 4
    tokenizer, book = book_of(vision_models["idefics3"])
    with pytest.raises(InputError, match="row 3: "):
        load_rows([str(path)], tokenizer, DataConfig(max_prompt_length=24, truncation="left"), book=book)
    leaving_out = DataConfig(max_prompt_length=24, filter_overlong_prompts=True)
    assert len(load_rows([str(path)], tokenizer, leaving_out, book=book)) == 5


def test_pictures_inside_prompts_are_read_from_every_kind_of_file(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    url = f"data:image/png;base64,{base64.b64encode(picture()).decode()}"
    parts = [{"type": "image", "image": url, "text": None}, {"type": "text", "image": None, "text": "what?"}]
    row = {"data_source": "exact", "prompt": [{"role": "user", "content": parts}], "ground_truth": "red"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "p.parquet")
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    for path in (tmp_path / "p.parquet", tmp_path / "p.jsonl"):
        tokenizer, book = book_of(vision_models["idefics3"])
        (read,) = load_rows([str(path)], tokenizer, DataConfig(max_prompt_length=64), book=book)
        assert len(read.pictures) == 1, path


def test_a_picture_without_a_prompt_is_refused_with_its_row(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    rows = [
        {"data_source": "exact", "prompt": one, "ground_truth": "a", "image": picture()}
        for one in ("?", None)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    tokenizer, book = book_of(vision_models["idefics3"])
    with pytest.raises(InputError, match="row 1"):
        load_rows([str(tmp_path / "p.parquet")], tokenizer, DataConfig(), book=book)


def test_pictures_stay_on_disk(vision_models: dict[str, Path], tmp_path: Path) -> None:
    noise = torch.randint(0, 255, (200, 200, 3), generator=torch.Generator().manual_seed(0)).byte().numpy()
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(noise).save(file, "PNG")
    content = file.getvalue()
    table = pa.table(
        {
            "data_source": ["exact"] * 1000,
            "prompt": ["<image>"] * 1000,
            "ground_truth": ["a"] * 1000,
            "image": [content + str(i).encode() for i in range(1000)],
        }
    )
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=100, compression="none")
    del table
    _, book = book_of(vision_models["idefics3"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    open_prompts(tmp_path / "p.parquet", "prompt", book)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert len(book) == 1000
    assert grown < 0.6 * 1000 * len(content)


def trained(
    folder: Path, model: Path, rows: pa.Table, test: pa.Table, *more: str, steps: int = 2
) -> list[dict[str, float]]:
    """Train in this process, and return the metrics of all steps."""
    folder.mkdir(exist_ok=True)
    pq.write_table(rows, folder / "train.parquet")
    pq.write_table(test, folder / "test.parquet")
    overrides = [
        f"data.train_files={folder}/train.parquet",
        f"data.val_files={folder}/test.parquet",
        "data.train_batch_size=32",
        "data.max_prompt_length=32",
        "data.max_response_length=1",
        f"actor_rollout_ref.model.path={model}",
        "algorithm.adv_estimator=grpo",
        "actor_rollout_ref.actor.ppo_mini_batch_size=32",
        "actor_rollout_ref.actor.use_kl_loss=false",
        "actor_rollout_ref.actor.optim.lr=1e-3",
        "actor_rollout_ref.actor.optim.lr_warmup_steps=0",
        "actor_rollout_ref.rollout.name=hf",
        "actor_rollout_ref.rollout.n=8",
        "algorithm.use_kl_in_reward=false",
        f"trainer.total_training_steps={steps}",
        f"trainer.test_freq={steps}",
        "trainer.val_before_train=false",
        "trainer.save_freq=-1",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={folder}/run",
        *more,
    ]
    config = read_and_check("tiny-cpu", overrides)
    PPO.rehearse(config)
    with open_world("cpu") as world:
        PPO.train(config, world)
    return [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_policy_learns_what_only_the_pictures_tell(tmp_path: Path, seed: int) -> None:
    start = save_model("idefics3", tmp_path / "model", seed=seed)
    test = colours(128, seed + 100)
    found = trained(tmp_path / "seeing", start, colours(32 * 80, seed), test, steps=80)
    assert found[-1]["val-core/exact/acc/mean@1"] >= 0.9
    assert max(line["training/rollout_actor_diff_max"] for line in found) < 1e-4
    blank = colours(128, seed + 100, blank=True)
    control = trained(tmp_path / "blind", start, colours(32 * 80, seed, blank=True), blank, steps=80)
    assert control[-1]["val-core/exact/acc/mean@1"] <= 0.35


def test_two_steps_of_a_model_with_three_part_positions_agree_with_its_engine(
    vision_models: dict[str, Path], tmp_path: Path
) -> None:
    table = prompts_with_pictures()
    rows = pa.concat_tables([table] * 2)
    found = trained(
        *(tmp_path / "run", vision_models["qwen2_vl"], rows, table.slice(0, 2)),
        *("data.train_batch_size=6", "data.max_prompt_length=48", "data.max_response_length=3"),
        *("actor_rollout_ref.actor.ppo_mini_batch_size=3", "actor_rollout_ref.actor.use_kl_loss=true"),
        *("actor_rollout_ref.actor.entropy_coeff=0.01", "trainer.test_freq=-1"),
    )
    assert max(line["training/rollout_actor_diff_max"] for line in found) < 1e-4
    assert "data:image/png;base64," in (tmp_path / "run" / "run" / "samples.jsonl").read_text()


def test_vllm_gets_one_mark_for_each_picture_and_must_expand_it_as_the_policy_does(
    vision_models: dict[str, Path],
) -> None:
    for kind, folder in vision_models.items():
        _, book = book_of(folder)
        for raw in prompts_with_pictures().to_pylist():
            prompt = book.vision.encode(with_pictures(raw, raw["prompt"]))
            assert book.vision.shorten(prompt.long_ids, prompt.pictures) == prompt, kind
            assert vllm_prompt(prompt)["prompt_token_ids"].count(book.vision.mark) == len(prompt.pictures)
            check_expanded(prompt, prompt.long_ids)
            if prompt.pictures:
                twice = [one for i in prompt.long_ids for one in [i] * (1 + (i == book.vision.mark))]
                for wrong in (twice, prompt.short_ids):
                    with pytest.raises(ConfigError):
                        check_expanded(prompt, wrong)


def test_a_journal_tells_pictures_under_one_question_apart() -> None:
    class Counting:
        asked = 0

        async def generate(self, ids: Any, **_: Any) -> Reply:
            self.asked += 1
            return Reply("", [self.asked])

    model = Counting()
    journaled: Any = JournaledModel(model, TurnJournal())
    found = []
    for colour in ("red", "blue", "red"):
        shown = [picture_of(picture(colour))]
        reply = asyncio.run(journaled.generate([1, 2], seed=0, max_tokens=1, pictures=shown))
        found.append(list(reply.token_ids))
    assert found == [[1], [2], [1]]


def test_a_frozen_tower_is_all_that_is_not_trained(
    vision_models: dict[str, Path], model: Any, tmp_path: Path
) -> None:
    for kind, folder in vision_models.items():
        whole = load_causal_lm(str(folder))
        freeze_tower(whole)
        held = {name for name, one in whole.named_parameters() if not one.requires_grad}
        assert held == {name for name, _ in whole.named_parameters() if ".vis" in name}, kind
    with pytest.raises(ConfigError, match="vision tower"):
        freeze_tower(model)


def test_what_is_not_supported_with_pictures_is_refused(
    vision_models: dict[str, Path], model_folder: Path, tmp_path: Path
) -> None:
    table = prompts_with_pictures()
    for said, more in {
        "critic": ("algorithm.adv_estimator=gae", f"critic.model.path={model_folder}"),
        "distillation": (
            "distillation.enabled=true",
            f"distillation.teacher_models.teacher_model.model_path={model_folder}",
        ),
    }.items():
        with pytest.raises(ConfigError, match=f"pictures .*{said}"):
            trained(
                *(tmp_path / "run", vision_models["idefics3"], pa.concat_tables([table] * 6), table),
                *("data.train_batch_size=32", "data.max_prompt_length=48", *more),
            )


def test_a_model_of_text_refuses_rows_with_pictures(model_folder: Path, tmp_path: Path) -> None:
    assert picture()
    with pytest.raises(InputError, match="row 0: column 'images'"):
        trained(tmp_path / "run", model_folder, prompts_with_pictures(), prompts_with_pictures())
