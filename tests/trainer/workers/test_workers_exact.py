"""Packing, batching, sharding, offloading, checkpointing: they move memory and time, never a result."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from rewardkit.demo.model import save
from rewardkit.trainer.batch import Batch, PromptRow, make_batch, pad_prompts
from rewardkit.trainer.distributed import World
from rewardkit.trainer.workers.batching import Batching, _bundled, _mixtures, _runs, _split_up, share_out
from rewardkit.trainer.workers.forward import lay_out
from tests.closeness import assert_same, near, rounding
from tests.trainer.workers.worker_runs import (
    AFTER_ADAM,
    IN_TWO_PROCESSES,
    PLAIN,
    SETTINGS,
    SHARED,
    in_processes,
    outcome,
)


@pytest.fixture(scope="module")
def folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model whose distributions are not uniform."""
    from rewardkit.demo.model import make_model

    made = make_model(tokenizer, seed=0)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(1.3)
    path = tmp_path_factory.mktemp("sharp") / "model"
    save(made, tokenizer, path)
    return str(path)


@pytest.fixture
def batch(batch: Batch, rows: list[PromptRow], tokenizer: Any) -> Batch:
    """Prompts of 3 to 17 tokens, so that some rows fit beside others."""
    short = [
        replace(row, token_ids=row.token_ids[: 3 + 2 * i])
        for i, row in enumerate([rows[j] for j in (5, 1, 7, 3, 2, 6, 4, 0)])
    ]
    mask = batch["response_mask"].long()
    ragged = make_batch(short, *pad_prompts(short, 40, tokenizer.pad_token_id), batch["responses"], mask)
    return Batch({**batch.tensors, **ragged.tensors}, short)


_shared: dict[str, Any] = {}


@pytest.fixture
def expected(folder: str, batch: Batch, world: World) -> dict[str, Any]:
    """The plain computation: padded, whole mini-batches, one process."""
    if "expected" not in _shared:
        _shared["expected"] = outcome(world, folder, batch.tensors, PLAIN)
    found: dict[str, Any] = _shared["expected"]
    return found


@pytest.fixture
def two_processes(folder: str, batch: Batch, tmp_path: Path) -> list[dict[str, dict[str, Any]]]:
    if "two" not in _shared:
        settings = IN_TWO_PROCESSES | SHARED[2]
        _shared["two"] = in_processes(2, settings, folder, batch.tensors, tmp_path)
    found: list[dict[str, dict[str, Any]]] = _shared["two"]
    return found


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in ("log_probs", "entropies", "values"):
        assert_same(found[name], expected[name][found["rows"]], said=name)
    for name in ("actor gradients", "critic gradients"):
        for mine, other in zip(found[name], expected[name], strict=True):
            assert_same(mine, other, said=name)
    for name in ("actor metrics", "critic metrics"):
        assert found[name] == near(expected[name])
    for name in ("actor weights", "critic weights"):
        assert float((found[name] - expected[name]).abs().max()) < AFTER_ADAM, name


def check_first_step(found: dict[str, Any]) -> None:
    assert found["ratio"] < rounding(magnitude=10.0), "log-probabilities are down to -10"
    assert abs(found["actor metrics"]["trained_rows/approx_kl"]) < rounding(magnitude=10.0)
    assert found["actor metrics"]["pg_clipfrac"] == found["actor metrics"]["pg_clipfrac_lower"] == 0.0


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_changes_no_result(
    folder: str, batch: Batch, world: World, expected: dict[str, Any], name: str
) -> None:
    found = outcome(world, folder, batch.tensors, SETTINGS[name])
    check(found, expected)
    check_first_step(found)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", [*IN_TWO_PROCESSES, *SHARED[2]])
def test_two_processes_compute_what_one_does(
    two_processes: list[dict[str, dict[str, Any]]], expected: dict[str, Any], name: str
) -> None:
    for rank in two_processes:
        check(rank[name], expected)
        check_first_step(rank[name])


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_four_processes_that_share_rows_compute_what_one_does(
    folder: str, batch: Batch, expected: dict[str, Any], tmp_path: Path
) -> None:
    for rank in in_processes(4, SHARED[4], folder, batch.tensors, tmp_path):
        for name in SHARED[4]:
            check(rank[name], expected)
            check_first_step(rank[name])


def test_packing_leaves_no_padding_where_sequences_fit(batch: Batch) -> None:
    tokens = int(batch["attention_mask"].sum())
    padded, rows, flat = (lay_out(batch, packing) for packing in ("off", "rows", "flat"))
    assert flat.ids.shape == (1, tokens)
    assert rows.ids.numel() < padded.ids.numel() < batch["input_ids"].numel()
    for layout in (padded, rows, flat):
        before = layout.ids.flatten()[layout.places + 1]
        assert torch.equal(before, batch["responses"][layout.real]), "each stands behind its state"


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 200), st.booleans())
def test_no_forward_exceeds_its_tokens_and_no_row_is_lost(
    lengths: list[int], limit: int, packed: bool
) -> None:
    mask = (torch.arange(50) < torch.tensor(lengths)[:, None]).long()
    given_ = Batch({"input_ids": mask, "attention_mask": mask}, [])
    model = torch.nn.Identity()
    model.packing = "rows" if packed else "off"
    pieces = Batching(tokens=limit).pieces(given_, World(0, 1, torch.device("cpu")), model)
    assert sorted(torch.cat(pieces).tolist()) == list(range(len(lengths)))
    for piece in pieces:
        sizes = [lengths[i] for i in piece.tolist()]
        assert len(sizes) == 1 or (sum(sizes) if packed else len(sizes) * max(sizes)) <= limit


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 40)), min_size=1, max_size=40),
    st.integers(1, 200),
    st.data(),
)
def test_rows_of_one_prompt_share_a_forward_and_its_tokens(
    rows: list[tuple[int, int]], limit: int, data: st.DataObject
) -> None:
    prompts = [(kind,) * (2 * kind) for kind, _ in rows]
    lengths = [len(prompt) + own for prompt, (_, own) in zip(prompts, rows, strict=True)]
    pieces = _bundled(lengths, prompts, limit)
    assert sorted(i for piece in pieces for i in piece) == list(range(len(rows)))
    for piece in pieces:
        computed = sum(rows[i][1] for i in piece) + sum(map(len, {prompts[i] for i in piece}))
        assert len(piece) == 1 or computed <= limit
    wanted = data.draw(st.integers(len(pieces), len(rows)))
    parts = _split_up(pieces, wanted)
    assert len(parts) == wanted, "or the processes would wait for each other without end"
    assert sorted(i for part in parts for i in part) == list(range(len(rows)))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 200), st.booleans(), st.data())
def test_a_process_makes_as_many_forwards_as_the_one_that_needs_most(
    lengths: list[int], limit: int, packed: bool, data: st.DataObject
) -> None:
    cut = _mixtures if packed else _runs
    wanted = data.draw(st.integers(len(cut(lengths, limit, 1)), len(lengths)))
    pieces = cut(lengths, limit, wanted)
    assert len(pieces) == wanted, "or the processes would wait for each other without end"
    assert sorted(i for piece in pieces for i in piece) == list(range(len(lengths)))


@pytest.mark.parametrize("shortest", [1, 60, 150])
def test_packed_forwards_of_uneven_sequences_carry_little_padding(shortest: int) -> None:
    lengths = torch.randint(shortest, 300, (32,), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(300) < lengths[:, None]).long()
    given_ = Batch(
        {"input_ids": mask, "attention_mask": mask, "responses": mask[:, :0], "response_mask": mask[:, :0]},
        [],
    )
    model = torch.nn.Identity()
    model.packing = "rows"
    pieces = Batching(tokens=1024).pieces(given_, World(0, 1, torch.device("cpu")), model)
    computed = sum(lay_out(given_.select(piece), "rows").ids.numel() for piece in pieces)
    assert computed < 1.08 * int(lengths.sum())


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=12), st.integers(1, 4))
def test_shares_are_equal_in_rows_and_close_in_tokens(lengths: list[int], shares: int) -> None:
    lengths = lengths * shares
    owners = share_out(lengths, shares, equally_many=True)
    loads = [sum(n for n, o in zip(lengths, owners, strict=True) if o == s) for s in range(shares)]
    assert [owners.count(s) for s in range(shares)] == [len(lengths) // shares] * shares
    assert max(loads) - min(loads) <= max(lengths)
