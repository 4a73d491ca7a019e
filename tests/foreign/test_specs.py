"""Specs name somebody else's rewards; entries of YAML files say more about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewardkit import Sample, Scorer
from rewardkit.composition import load_compositions
from rewardkit.errors import InputError, OptionsError
from rewardkit.foreign import KINDS, ForeignSpec, is_spec, load_reward, parse_spec, verl_function
from rewardkit.registry import Registry, Reward, Running


def made_of(spec: ForeignSpec) -> Reward:
    """A kind for these tests: pays what its option says."""

    def score(sample: Sample) -> float:
        return float(spec.options.get("pays", 1.0)) * (sample.response == spec.target)

    return Reward(
        spec.name or "made",
        1,
        score,
        spec.data_sources,
        running=Running(runs="inline", timeout_s=spec.timeout_s),
    )


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(KINDS.rows, "made", f"{__name__}:made_of")
    return "made"


@pytest.mark.parametrize(
    ("text", "target", "rest"),
    [
        ("made:yes", "yes", {"kind": "made"}),
        ("my/set=made:yes", "yes", {"kind": "made", "data_sources": ("my/set",)}),
        ("rewards.py", "rewards.py", {}),
        ("a/rewards.py:f?n=3&by=word", "a/rewards.py:f", {"options": {"n": 3, "by": "word"}}),
        ("my/set=a.b:f?n=3", "a.b:f", {"options": {"n": 3}, "data_sources": ("my/set",)}),
        ("aime?=a.b:f", "a.b:f", {"data_sources": ("aime?",)}),
    ],
)
def test_a_spec_is_read(kind: str, text: str, target: str, rest: dict[str, Any]) -> None:
    assert parse_spec(text) == ForeignSpec(target, **rest)


def test_verls_custom_reward_function_is_a_spec() -> None:
    text = verl_function("file:///a/mine.py", "f", {"by": "a&b=c", "n": 0.5})
    assert parse_spec(text) == ForeignSpec("/a/mine.py:f", options={"by": "a&b=c", "n": 0.5})
    assert parse_spec(verl_function("pkg://mine/rewards", "f", {})) == ForeignSpec("mine.rewards:f")


def test_what_is_no_spec_is_refused_with_the_kinds(kind: str) -> None:
    assert not is_spec("openai/gsm8k")
    with pytest.raises(InputError, match=r"nonsense.*made"):
        parse_spec("nonsense")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("tlr:f.py:g", "trl"),
        ("a=verifers:env", "verifiers"),
        ("nemogym:http://h", "nemo-gym"),
        ("x:f.py", "trl"),
    ],
)
def test_a_misspelt_kind_is_named_and_the_near_one(registry: Registry, text: str, near: str) -> None:
    assert is_spec(text)
    kind = text.partition("=")[2].partition(":")[0] or text.partition(":")[0]
    with pytest.raises(InputError, match=rf"{kind}.*{near}"):
        load_reward(text)


def test_an_imported_reward_can_be_a_member_of_a_composition_of_the_same_file(
    kind: str, registry: Registry, tmp_path: Path
) -> None:
    file = tmp_path / "rewards.yaml"
    file.write_text(
        "mix:\n  data_sources: [my/mix]\n  sum: [{reward: theirs, weight: 0.5}, ours]\n"
        "theirs: {import: 'made:yes', options: {pays: 4}}\n"
        "ours: {import: 'made:yes', data_sources: my/own, timeout_s: 3}\n"
    )
    assert [one.name for one in load_compositions(file)] == ["mix", "theirs", "ours"]
    with Scorer() as scorer:
        found = [scorer.score(Sample(source, "yes", "")).score for source in ("my/mix", "my/own")]
    assert found == [3.0, 1.0]
    assert registry.resolve("my/own").running.timeout_s == 3.0


def test_without_a_source_an_imported_reward_scores_all_of_them(kind: str, registry: Registry) -> None:
    load_reward("made:yes")
    load_reward("gsm8k=made:no")
    with Scorer() as scorer:
        assert scorer.score(Sample("any/thing", "yes", "")).score == 1.0


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{import: 'made:yes', optoins: {}}", "unknown key 'optoins'; did you mean options"),
        (
            "{import: 'made:yes', timeout_s: 0}",
            "timeout_s must be a positive, finite number of seconds, found 0",
        ),
        (
            "{import: 'made:yes', timeout_s: .inf}",
            "timeout_s must be a positive, finite number of seconds, found inf",
        ),
        ("{import: 'made:yes', batch: all}", "batch"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(kind: str, tmp_path: Path, entry: str, said: str) -> None:
    file = tmp_path / "rewards.yaml"
    file.write_text(f"\ntheirs: {entry}\n")
    with pytest.raises(OptionsError, match=f"rewards.yaml, line 2.*{said}"):
        load_compositions(file)


@pytest.mark.parametrize("name", ["gsm8k", "openai/gsm8k", "math"])
def test_a_reward_of_ours_is_named_by_its_data_source(name: str) -> None:
    with pytest.raises(InputError, match=f"--data-source {name}"):
        parse_spec(name)
