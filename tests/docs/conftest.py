"""What docs and examples begin with: the folder that `make demo` leaves, and a reader's shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.trainer.running import write_forking_command


def make_demo(folder: Path) -> None:
    """Write what `make demo` leaves for the pages: its data, and its model before it has learned."""
    torch = pytest.importorskip("torch", reason="models need torch: pip install 'rewardkit[train]'")
    from rewardkit.datasets_prep import arithmetic
    from rewardkit.demo.model import make_model, make_tokenizer, save

    arithmetic.prepare(folder / "demo/data", n_train=600, n_test=8, level="tiny", seed=0)
    told = pq.read_table(folder / "demo/data/train.parquet", columns=["extra_info"])["extra_info"]
    tokenizer = make_tokenizer(f"{row['question']}\n{row['answer']}" for row in told.to_pylist())
    model = make_model(tokenizer, seed=0)
    config = model.config
    config.hidden_size, config.intermediate_size = 32, 64  # it need not learn anything
    config.num_attention_heads, config.num_key_value_heads = 1, 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save(type(model)(config).eval(), tokenizer, folder / "demo/model")


@pytest.fixture
def after_the_demo(tmp_path: Path) -> Path:
    """A folder with what `make demo` leaves."""
    make_demo(tmp_path)
    return tmp_path


@pytest.fixture
def shell() -> Mapping[str, str]:
    """The environment of a reader whose virtual environment is active."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture
def forking_shell(shell: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The same, in which a command of rewardkit is forked with torch in it."""
    folder = tmp_path_factory.mktemp("bin")
    write_forking_command(folder)
    return {**shell, "PATH": f"{folder}:{shell['PATH']}"}
