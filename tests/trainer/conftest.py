"""A tiny model, its tokenizer and rows for it; a process group of one."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")
pytest.importorskip("transformers", reason="the trainer needs transformers: pip install 'rewardkit[train]'")

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.trainer.batch import Batch, PromptRow, make_batch, pad_prompts
from rewardkit.trainer.distributed import World, open_world
from tests.closeness import in_float64

QUESTIONS = [f"Tom has {a} apples and buys {b} more. How many now?" for a in range(1, 9) for b in (1, 2, 3)]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def float64() -> Iterator[None]:
    """All that a test makes and computes is in float64, as long as it does so in its own thread."""
    with in_float64():
        yield


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with open_world("cpu") as opened:
        yield opened


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer([*QUESTIONS, "1+2=3\n#### 3"], vocab_size=320)


@pytest.fixture
def model(tokenizer: Any) -> Any:
    return sharp_model(tokenizer)


def sharp_model(tokenizer: Any) -> Any:
    """An untrained model, sharp enough for its distributions not to be uniform."""
    made = make_model(tokenizer, seed=0)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(4.0)
    return made


@pytest.fixture(scope="session")
def model_folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "model"
    save(make_model(tokenizer, seed=0), tokenizer, folder)
    return folder


@pytest.fixture
def rows(tokenizer: Any) -> list[PromptRow]:
    """Prompts of different lengths."""
    texts = ["Tom has 3", *QUESTIONS[:7]]
    return [
        PromptRow(
            "gsm8k",
            [{"role": "user", "content": t}],
            "3",
            {},
            tokenizer(f"<|user|>{t}<|assistant|>")["input_ids"],
        )
        for t in texts
    ]


@pytest.fixture
def batch(rows: list[PromptRow], tokenizer: Any) -> Batch:
    """Eight ragged responses with every tensor of a PPO batch filled in at random."""
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([1, 2, 3, 4, 5, 6, 6, 2])
    mask = (torch.arange(8) < lengths[:, None]).long()
    responses = torch.randint(5, 260, (8, 8), generator=generator) * mask
    made = make_batch(rows, *pad_prompts(rows, 40, tokenizer.pad_token_id), responses, mask)
    for name in ("old_log_probs", "ref_log_prob", "values", "returns", "advantages", "token_level_scores"):
        made[name] = torch.randn((8, 8), generator=generator) * 0.3
    made["old_log_probs"] -= 4.0
    return made


def write_parquet(folder: Path) -> Path:
    """Write a train.parquet of the project's schema: 24 prompts."""
    table = pa.table(
        {
            "data_source": ["rewardkit/arithmetic"] * len(QUESTIONS),
            "prompt": [[{"role": "user", "content": q}] for q in QUESTIONS],
            "reward_model": [{"style": "rule", "ground_truth": "3"}] * len(QUESTIONS),
            "extra_info": [{"index": i} for i in range(len(QUESTIONS))],
        }
    )
    pq.write_table(table, folder / "train.parquet")
    return folder / "train.parquet"


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    return write_parquet(tmp_path)
