"""Whether there is a model of a name, and what is said where there is none."""

# ruff: noqa: E402

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

constants = pytest.importorskip("huggingface_hub.constants", reason="names of the hub need huggingface_hub")

from rewardkit.errors import InputError, message_of, reason_of
from rewardkit.model_folders import model_folder, why_no_model
from tests.hub import hub


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    with hub(monkeypatch) as paths:
        yield paths


def test_a_folder_needs_a_readable_config(tmp_path: Path, asked: list[str]) -> None:
    assert "config.json is missing" in (why_no_model(str(tmp_path)) or "")
    for text in ("{", "[]"):
        (tmp_path / "config.json").write_text(text)
        assert "config.json is not a JSON object" in (why_no_model(str(tmp_path)) or "")
    (tmp_path / "config.json").write_text("{}")
    assert why_no_model(str(tmp_path)) is None
    assert model_folder(str(tmp_path)) == tmp_path
    assert "config.json is a file" in (why_no_model(str(tmp_path / "config.json")) or "")
    assert asked == []


def test_a_mistyped_folder_is_no_question_for_the_hub(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "tiny").mkdir(parents=True)
    (tmp_path / "models" / "tiny" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    hint = "; did you mean tiny?"
    for path, more in {
        "models/tinny": hint,
        str(tmp_path / "models/tinny"): hint,
        "~/no/such/model": "",
        "gpt-2": "; models on the hub are named owner/name (openai-community/gpt2)",
    }.items():
        assert why_no_model(path) == f"no such model folder: {path}{more}"
    assert asked == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("someone/has-it", None),
        ("someone/has-nott", "someone/has-nott is neither a folder nor a model on the hub"),
        ("someone/asks-first", "is gated on the hub; ask for access"),
        ("someone/has-weights", "is not a transformers model: config.json is missing"),
        ("someone/is-busy", "the hub does not return it: .*503"),
    ],
)
def test_the_hub_is_asked_once(name: str, said: str | None, asked: list[str]) -> None:
    found = why_no_model(name)
    assert found is None if said is None else re.search(said, found or ""), found
    assert asked == [f"/{name}/resolve/main/config.json"]


def test_a_tokenizer_needs_no_config(tmp_path: Path, asked: list[str]) -> None:
    assert why_no_model(str(tmp_path), tokenizer_only=True) is None
    assert why_no_model("someone/has-weights", tokenizer_only=True) is None
    assert "someone/has-nott is neither" in (why_no_model("someone/has-nott", tokenizer_only=True) or "")


def test_a_hub_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with hub(monkeypatch, patience_s=0.2) as asked:
        found = why_no_model("someone/sleeps")
        assert asked == ["/someone/sleeps/resolve/main/config.json"]
    assert "hub cannot be reached" in (found or "")
    assert "\n" not in (found or "")


def test_offline_nothing_is_asked(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert "HF_HUB_OFFLINE" in (why_no_model("someone/has-it") or "")
    assert asked == []


def test_tokenizers_of_servers_and_of_prep_are_asked_for_once_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="the tokenizers need transformers")
    from rewardkit.datasets_prep.common.steps import token_counter
    from rewardkit.server.ground_truths import GroundTruthIndex

    with hub(monkeypatch) as asked:
        for load in (
            lambda name: GroundTruthIndex([], tokenizer=name),
            lambda name: token_counter(Path(name)),
        ):
            asked.clear()
            with pytest.raises(InputError, match=r"tokenizer .*: someone/has-nott "):
                load("someone/has-nott")
            assert len(asked) == 1
            with pytest.raises(InputError, match="model folder: typo"):
                load("typo")


def test_the_reasons_that_a_first_line_only_introduces_are_part_of_the_message() -> None:
    said = "Cannot load from one of:\n  (1) a file, \n  (2) a class.\nYou need a package."
    whole = "Cannot load from one of: (1) a file, (2) a class. You need a package."
    assert message_of(OSError(said)) == reason_of(OSError(said)) == whole
    assert message_of(ValueError("first\nsecond")) == "first"
    assert message_of(KeyError()) == "KeyError"
