"""Group rewards: all responses to a prompt in one call, in order, in Python, in files and in streams."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.composition import compose, load_compositions
from rewardkit.errors import InputError, OptionsError
from rewardkit.files import formats
from rewardkit.groups import group_places
from rewardkit.offline import score_file
from rewardkit.registry import Registry, Reward, Running
from rewardkit.rewards.group.ranking import shares_beaten
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample


def answers(*values: str, prompt: str = "6 * 12?") -> list[Sample]:
    return [Sample("rank", f"#### {value}", "72", prompt) for value in values]


def group_size(samples: list[Sample]) -> list[float]:
    if any(sample.response == "break" for sample in samples):
        raise ValueError("broken")
    return [float(len(samples))] * len(samples)


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.register(Reward("size", 1, group_size, ("size",), running=Running(runs="process", batch="group")))
    return made


def test_rank_is_the_share_of_others_beaten_with_ties_counted_half() -> None:
    assert shares_beaten([1.0, 0.0, 0.0]) == [1.0, 0.25, 0.25]
    assert shares_beaten([1.0, 1.0]) == [0.5, 0.5] and shares_beaten([3.0]) == [0.5]
    with Scorer(options={"rank": {"reward": "gsm8k"}}, workers=1) as scorer:
        found = scorer.score_batch([*answers("72", "7"), *answers("72", prompt="other"), *answers("72")])
        assert [score.score for score in found] == [0.75, 0.0, 0.5, 0.75]
        assert found[0].correct and found[1].parts == {"raw": 0.1}
        unusable = scorer.score_batch([Sample("rank", "#### 72", "no number", "p")])
        assert unusable[0].status == "invalid"


def test_a_response_by_itself_is_no_group_and_a_list_of_one_is() -> None:
    with Scorer(options={"rank": {"reward": "gsm8k"}}, workers=1) as scorer:
        (sample,) = answers("72")
        for found in (scorer.score(sample), asyncio.run(scorer.ascore(sample))):
            assert found.status == "invalid" and found.scorer.startswith("rank@")
            assert "'rank' looks at all" in (found.detail or "")
            assert "score_batch" in (found.detail or "")
        assert scorer.score_batch([sample])[0].ok


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reward": "maths"}, "'maths'; did you mean math"),
        (
            {"reward": "code"},
            "scores single responses",
        ),
    ],
)
def test_what_cannot_be_ranked_by_is_said_once_and_where(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionsError, match=f"options of reward 'rank': .*{said}"):
        Scorer(options={"rank": options})
    file = tmp_path / "rewards.yaml"
    file.write_text(
        json.dumps(
            {"ranked": {"data_sources": ["own/ranked"], "sum": [{"reward": "rank", "options": options}]}}
        )
    )
    with pytest.raises(OptionsError) as error:
        load_compositions(file)
    assert said in str(error.value) and f"{file}, line 1: composition 'ranked'" in str(error.value)


def test_diversity_is_what_a_response_does_not_share_with_the_others() -> None:
    texts = ("the cat sat on the mat", "the cat sat on the mat", "a dog ran over every hill", "")
    with Scorer(workers=1) as scorer:
        found = scorer.score_batch([Sample("diversity", text, "", "p") for text in texts])
        (alone,) = scorer.score_batch([Sample("diversity", "the cat", "", "p")])
    assert [round(score.score, 3) for score in found] == [0.667, 0.667, 1.0, 0.0]
    assert alone.score == 0.0


def test_groups_are_named_or_told_by_prompt_and_ground_truth() -> None:
    prompts = [Sample("x", "r", "t", prompt) for prompt in ("a", "b", "a")]
    assert group_places(prompts) == [[0, 2], [1]]
    named = [Sample("x", "r", "t", "p", {"uid": uid}) for uid in (1, 2, 1)]
    assert group_places(named) == [[0, 2], [1]]


def test_one_groups_failure_is_its_own(registry: Registry) -> None:
    samples = [Sample("size", r, "", p) for p, r in (("a", "x"), ("b", "break"), ("a", "y"), ("b", "z"))]
    with Scorer(registry=registry, workers=1) as scorer:
        assert [s.status for s in scorer.score_batch(samples)] == ["ok", "error", "ok", "error"]


def test_a_stream_never_cuts_a_group(registry: Registry) -> None:
    samples = [Sample("size", "x", "", f"p{i // 3}") for i in range(30)]
    with Scorer(registry=registry, workers=1) as scorer:
        assert {s.score for s in scorer.stream(samples, batch_size=4)} == {3.0}


def test_the_rows_of_a_prompt_in_a_file_are_one_group(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"data_source": "size", "response": "x", "ground_truth": "t", "prompt": f"p{i // 2}"}
        for i in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Scorer(registry=registry, workers=1) as scorer:
        score_file(path, out, scorer=scorer)
        assert [json.loads(line)["score"] for line in out.read_text().splitlines()] == [2.0] * 6
        monkeypatch.setattr(formats, "CHUNK_ROWS", 3)
        with pytest.raises(InputError, match="all responses to a"):
            score_file(path, tmp_path / "cut.jsonl", scorer=scorer)


@pytest.mark.slow
def test_a_composition_that_looks_at_groups_gets_them_whole(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a stream, from a file, and as the trainer and a client of the server ask."""
    registry.register(Reward("length", 1, lambda sample: float(len(sample.response)), ("length",)))
    inner = {"max": ["size", "length"]}
    made = compose(
        "looks", {"sum": [{"gate": {"reward": "length", "then": []}}, inner]}, ["looks"], registry=registry
    )
    alone = compose("alone", {"sum": ["length"]}, ["alone"], registry=registry)
    assert made.describe()["batch"] == "group" and alone.describe()["batch"] is False
    samples = [Sample("looks", "x" * (1 + i % 3), "", f"p{i // 3}") for i in range(12)]
    path = tmp_path / "rows.jsonl"
    rows = [
        {"data_source": "looks", "response": s.response, "ground_truth": "", "prompt": s.prompt}
        for s in samples
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(formats, "CHUNK_ROWS", 4)
    with Scorer(registry=registry, workers=1) as scorer:
        assert scorer.scores_by_group("looks") and not scorer.scores_by_group("alone")
        together = [score.score for score in scorer.score_batch(samples)]
        assert [score.score for score in scorer.stream(samples, batch_size=4)] == together
        with pytest.raises(InputError, match="all responses to a"):
            score_file(path, tmp_path / "cut.jsonl", scorer=scorer)


def test_a_composition_ranks_within_the_group(registry: Registry) -> None:
    registry.register(Reward("one", 1, lambda sample: 1.0, ("one",)))
    compose("mixed", {"sum": ["one", {"reward": "size", "weight": 0.1}]}, ["mixed"], registry=registry)
    with Scorer(registry=registry, workers=1) as scorer:
        found = scorer.score_batch([Sample("mixed", "x", "t", p) for p in ("a", "a", "b")])
    assert [round(score.score, 3) for score in found] == [1.2, 1.2, 1.1]


def test_special_tokens_at_the_end_make_no_response_another() -> None:
    said = ("a b c d<|im_end|>", "a b c d", "a b c d</s>", "something else altogether")
    with Scorer(workers=1) as scorer:
        found = [
            score.score for score in scorer.score_batch([Sample("diversity", s, "x", "p") for s in said])
        ]
    assert found[0] == found[1] == found[2] < found[3] == 1.0
