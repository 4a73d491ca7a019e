"""Rewards made of rewards: what they score, what failures do, what their versions are."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from rewardkit.composition import check, compose, load_compositions
from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score


def right(sample: Sample) -> Score:
    return Score(1.0, correct=True, extracted="r")


def wrong(sample: Sample) -> Score:
    return Score(0.0, correct=False)


def half(sample: Sample) -> float:
    return 0.5


def same(sample: Sample) -> bool:
    return sample.response == sample.ground_truth


def number(sample: Sample) -> float:
    return float(sample.response)


def broken(sample: Sample) -> float:
    raise ValueError("broken")


def unread(sample: Sample) -> Score:
    return Score(0.0, correct=False, parts={"undecided": 1.0})


def silent(sample: Sample) -> Score:
    return Score(0.0, "invalid", detail="nobody knows")


def slow(sample: Sample) -> float:
    time.sleep(60)
    return 1.0


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    for function in (right, wrong, half, same, number, broken, silent):
        made.register(Reward(function.__name__, 1, function, (function.__name__,)))
    made.register(Reward("unread", 1, unread, ("unread",), parts=("undecided",)))
    made.register(Reward("slow", 1, slow, ("slow",), running=Running(runs="process", timeout_s=0.5)))
    made.register(Reward("same_process", 1, same, ("same_process",), running=Running(runs="process")))
    return made


def score(registry: Registry, spec: dict[str, Any], response: str = "x", truth: str = "x") -> Score:
    compose("mix", spec, ["mix"], registry=registry)
    with Scorer(registry=registry, workers=1) as scorer:
        return scorer.score(Sample("mix", response, truth))


CASES: list[tuple[dict[str, Any], float, bool | None]] = [
    ({"sum": ["right", "half"]}, 1.5, True),
    ({"sum": ["right", {"reward": "half", "weight": 0.2}]}, 1.1, True),
    ({"sum": ["right", "wrong"]}, 1.0, False),
    ({"sum": ["half", "half"]}, 1.0, None),
    ({"product": ["right", "half"]}, 0.5, True),
    ({"min": ["right", "half"]}, 0.5, None),
    ({"max": ["wrong", "right"]}, 1.0, True),
    ({"all": ["right", "right"]}, 1.0, True),
    ({"all": ["right", "wrong"]}, 0.0, False),
    ({"all": ["right", "half"]}, 0.0, False),
    ({"all": ["right", "half"], "threshold": 0.5}, 1.0, True),
    ({"any": ["wrong", "right"]}, 1.0, True),
    ({"any": ["wrong", "half"]}, 0.0, False),
    ({"vote": ["right", "right", "wrong"]}, 1.0, True),
    ({"vote": ["right", "wrong"]}, 0.0, False),
    ({"vote": ["wrong", {"reward": "right", "weight": 2}]}, 1.0, True),
    ({"gate": {"reward": "right", "then": [{"reward": "half", "weight": 0.1}]}}, 1.05, True),
    ({"gate": {"reward": "wrong", "then": ["half"]}}, 0.0, False),
    (
        {"gate": {"reward": "wrong", "then": ["right"], "else": [{"reward": "half", "weight": -1}]}},
        -0.5,
        False,
    ),
    ({"gate": {"all": ["right", "same"], "then": ["half"]}}, 1.5, True),
    ({"first": ["half", "right"]}, 1.0, True),
    ({"first": ["wrong", "right"]}, 0.0, False),
    ({"first": ["wrong", "right"], "until": "right"}, 1.0, True),
    ({"first": ["broken", "right"]}, 1.0, True),
    (
        {"sum": [{"gate": {"reward": "right", "then": ["half"]}}, {"min": ["half", "right"], "weight": 2}]},
        2.5,
        True,
    ),
]


@pytest.mark.parametrize(("spec", "value", "correct"), CASES, ids=[str(case[0]) for case in CASES])
def test_every_way_to_combine(
    registry: Registry, spec: dict[str, Any], value: float, correct: bool | None
) -> None:
    found = score(registry, spec)
    assert (found.status, found.correct) == ("ok", correct), found
    assert found.score == pytest.approx(value)
    assert found.detail


@pytest.mark.slow
def test_members_in_workers_and_inline_come_to_the_same(registry: Registry) -> None:
    inline, mixed = (
        score(registry, {"gate": {"reward": name, "then": ["half"]}}) for name in ("same", "same_process")
    )
    assert (inline.score, inline.correct) == (mixed.score, mixed.correct) == (1.5, True)


@pytest.mark.parametrize("failing", ["broken", "silent"])
def test_a_failing_member_decides_by_rule_and_is_never_silently_0(registry: Registry, failing: str) -> None:
    status = "error" if failing == "broken" else "invalid"
    for kind in ("sum", "product", "min", "max", "all", "any", "vote"):
        found = score(registry, {kind: ["right", failing]})
        assert (found.status, found.score) == (status, 0.0), kind
        assert failing in (found.detail or "")
        dropped = score(registry, {kind: ["right", {"reward": failing, "on_failure": "drop"}]})
        assert (dropped.status, dropped.score) == ("ok", 1.0), kind
    assert score(registry, {"sum": ["right", {"reward": failing, "on_failure": -0.5}]}).score == 0.5
    assert score(registry, {"sum": [{"reward": failing, "on_failure": "drop"}]}).status == status
    assert score(registry, {"gate": {"reward": failing, "then": ["half"]}}).status == status
    assert score(registry, {"gate": {"reward": "right", "then": [failing]}}).status == status
    assert score(registry, {"gate": {"reward": "wrong", "then": [failing]}}).status == "ok"
    assert score(registry, {"first": ["half", failing]}).status == status


@pytest.mark.slow
def test_a_member_that_hangs_runs_into_its_own_deadline(registry: Registry) -> None:
    spec = {"sum": ["right", {"reward": "slow", "timeout_s": 0.3, "on_failure": "drop"}]}
    found = score(registry, spec)
    assert (found.status, found.score, found.parts) == ("ok", 1.0, {"sum.right": 1.0})
    assert score(registry, {"sum": ["right", "slow"]}).status == "timeout"


def test_parts_hold_every_members_score_under_its_path(registry: Registry) -> None:
    found = score(registry, {"sum": ["right", {"gate": {"reward": "same", "then": ["half", "half"]}}]})
    assert found.parts == {
        "sum.right": 1.0,
        "sum.gate.same": 1.0,
        "sum.gate.then.half": 0.5,
        "sum.gate.then.half#2": 0.5,
    }
    skipped = score(registry, {"gate": {"reward": "same", "then": ["half"]}}, response="y")
    assert skipped.parts == {"gate.same": 0.0}
    named = score(registry, {"sum": [{"reward": "half", "name": "style"}]})
    assert named.parts == {"sum.style": 0.5}


def test_the_version_changes_with_any_members_version_option_or_weight(registry: Registry) -> None:
    def version(spec: dict[str, Any], made: Registry = registry) -> str:
        return compose("mix", spec, ["mix"], registry=made).scorer

    plain = version({"sum": ["right", "half"]})
    assert plain == version({"sum": ["right", "half"]})
    assert plain != version({"sum": ["right", {"reward": "half", "weight": 2}]})
    assert plain != version({"sum": ["right", {"reward": "half", "on_failure": "drop"}]})
    newer = Registry()
    newer.register(Reward("right", 2, right, ("r",)))
    newer.register(Reward("half", 1, half, ("h",)))
    assert plain != version({"sum": ["right", "half"]}, newer)
    score_options = [
        version({"sum": [{"reward": "gsm8k", "options": {"method": m}}]}, REGISTRY)
        for m in ("strict", "flexible")
    ]
    assert len(set(score_options)) == 2


def test_a_yaml_file_registers_its_compositions(tmp_path: Path) -> None:
    path = tmp_path / "rewards.yaml"
    path.write_text(
        'data_sources: ["my/gsm*"]\n'
        "gate: {reward: gsm8k, then: [{reward: length_cosine, weight: 0.1}, {reward: think_format, weight: 0.1}]}\n"
    )
    (made,) = load_compositions(path)
    assert made.name == "rewards" and made.running.runs == "inline"
    with Scorer() as scorer:
        found = scorer.score(Sample("my/gsm8k", "<think>6 * 12</think>\n#### 72", "72"))
        assert found.score == pytest.approx(1.2, abs=0.01)
        assert found.scorer.startswith("rewards@")
        drawn = str(scorer.explain(Sample("my/gsm8k", "#### 72", "72")))
    assert "gate" in drawn and "gsm8k@" in drawn and "then length_cosine@" in drawn and "= 1.1" in drawn
    path.write_text(
        "first:\n  data_sources: a\n  all: [gsm8k]\nsecond:\n  data_sources: [b]\n  any: [gsm8k, math]\n"
    )
    assert [(r.name, r.running.runs) for r in load_compositions(path)] == [
        ("first", "inline"),
        ("second", "process"),
    ]


def _deep(levels: int) -> Any:
    spec: Any = "right"
    for _ in range(levels):
        spec = {"sum": [spec]}
    return spec


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"summ": ["right"]}, "did you mean sum"), ({"sum": ["no_such"]}, "no_such"), ({"sum": ["mix"]}, "itself"), ({"sum": [_deep(60)]}, "nested"),
        ({"sum": [{"reward": "right", "weight": float("nan")}]}, "a number"), ({"data_sources": [None], "sum": ["right"]}, "data_sources"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(
    registry: Registry, spec: dict[str, Any], words: str
) -> None:
    with pytest.raises(OptionsError, match=words):
        compose("mix", spec, [] if "data_sources" in spec else ["mix"], registry=registry)


def test_a_composition_needs_data_sources_and_a_file_that_can_be_read(
    registry: Registry, tmp_path: Path
) -> None:
    with pytest.raises(OptionsError, match="has no data_sources"):
        compose("mix", {"sum": ["right"]}, registry=registry)
    for text in ("[", "3", "[]", "a: 3"):
        (tmp_path / "r.yaml").write_text(text)
        with pytest.raises(InputError):
            load_compositions(tmp_path / "r.yaml")
    with pytest.raises(InputError):
        load_compositions(tmp_path / "none.yaml")


def test_a_part_that_fails_and_counts_as_a_number_makes_no_right_answer_wrong() -> None:
    tokens = {"reward": "length_overlong", "weight": 0.1}  # nobody has counted any
    for on_failure, value in ((-0.5, 0.95), (0, 1.0)):
        compose("mix", {"sum": ["gsm8k", tokens | {"on_failure": on_failure}]}, ["mix/uncounted"])
        with Scorer(workers=1) as scorer:
            found = scorer.score(Sample("mix/uncounted", "#### 72", "72"))
            wrong = scorer.score(Sample("mix/uncounted", "#### 7", "72"))
        assert (found.score, found.correct, wrong.correct) == (pytest.approx(value), True, False)


def test_a_composition_goes_to_another_process_with_the_users_own_rewards(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import rewardkit\n\n@rewardkit.reward('mine_source', name='mine_own')\ndef mine_own(sample):\n    return 0.25\n"
    )
    made = compose("mix", {"sum": [f"{path}:mine_own", "gsm8k"]}, ["mix/own"])
    assert isinstance(pickle.loads(pickle.dumps(made.target)), type(made.target))
    with Scorer(workers=1) as scorer:
        assert scorer.score(Sample("mix/own", "#### 72", "72")).score == pytest.approx(1.25)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: {data_sources: [my/x], sum: [gsm8k]}\nb: {data_sources: [my/x], sum: [math]}", "the same data source 'my/x'"),
        ("- {name: a, data_sources: [p], sum: [gsm8k]}\n- {name: a, data_sources: [q], sum: [math]}", "the same name 'a'"),
        ("data_sources: [my/x]\nsum: " + "[" * 2_000 + "]" * 2_000, "nested too deep"),
    ],
)  # fmt: skip
def test_what_would_silently_not_count_in_a_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        load_compositions(tmp_path / "r.yaml")


def test_a_composition_does_not_take_the_name_of_what_others_are_made_of() -> None:
    with pytest.raises(OptionsError, match="the same name"):
        compose("math", {"sum": ["gsm8k"]}, ["mix/named"])
    for _ in range(2):  # but its own it may have again, as when a file is read anew
        assert compose("mix_again", {"sum": ["gsm8k"]}, ["mix/again"]).name == "mix_again"


@pytest.mark.parametrize(
    ("spec", "warned"),
    [
        ({"sum": ["gsm8k", {"reward": "think_format", "weight": 0.1}]}, False), ({"sum": ["gsm8k", "think_format"]}, True), ({"sum": ["think_format"]}, True),
        ({"gate": {"reward": "math", "then": [{"reward": "length_cosine", "weight": 0.1}]}}, False), ({"gate": {"reward": "gsm8k", "else": ["think_format"]}}, True),
        ({"any": ["gsm8k", "think_format"]}, True), ({"product": ["gsm8k", "repetition"]}, True), ({"min": ["gsm8k", "repetition"]}, True),
        ({"gate": {"reward": "think_format", "then": ["gsm8k"]}}, True), ({"vote": ["gsm8k", "think_format", "length_cosine"]}, True), ({"sum": [{"reward": "gsm8k", "weight": -1}]}, True),
        ({"gate": {"reward": "think_format", "weight": 0, "then": ["math"]}}, False), ({"product": ["math", "length_cosine"]}, False), ({"all": ["gsm8k", "think_format"]}, False),
        ({"gate": {"reward": "think_format", "weight": 0, "then": ["gsm8k"]}}, True), ({"product": ["gsm8k", "length_cosine"]}, True),  # 0.1 for the format of a wrong answer
        ({"sum": [{"reward": "gsm8k", "options": {"format_score": 0.6}}, {"reward": "think_format", "weight": 0.5}]}, True),
        ({"sum": ["math", {"reward": "refusal", "options": {"penalty": -5.0}, "weight": 0.3}]}, True), ({"sum": ["math", {"reward": "repetition", "options": {"penalty": 0.1}}]}, False),
        ({"sum": ["exact", {"reward": "math", "on_failure": 3}]}, True), ({"all": [{"reward": "math", "on_failure": "drop"}, "think_format"]}, True),
        ({"sum": [{"reward": "rank", "options": {"reward": "length_cosine"}}, {"reward": "think_format", "weight": 0.1}]}, True), ({"sum": [{"reward": "rank", "options": {"reward": "math"}}]}, False),
        ({"vote": ["gsm8k", "math", "think_format"]}, False), ({"first": ["think_format", "gsm8k"]}, False),
        ({"sum": [{"gate": {"reward": "gsm8k", "then": [{"reward": "length_cosine", "weight": 0.2}]}}, {"reward": "think_format", "weight": 0.3}]}, False),
    ],
)  # fmt: skip
def test_every_way_to_combine_is_tried_with_right_and_wrong_answers(
    spec: dict[str, Any], warned: bool
) -> None:
    assert bool(check(compose("mix", spec, ["mix/tried"]))) is warned


def test_a_reward_that_is_no_composition_is_warned_of_nothing() -> None:
    assert not check(REGISTRY.resolve("gsm8k"))


@pytest.mark.parametrize(
    ("spec", "correct", "undecided"),
    [
        ({"first": ["unread", "right"]}, True, 0.0),
        ({"first": ["unread", "wrong"]}, False, 0.0),
        ({"first": ["unread", "half"]}, None, 0.0),
        ({"first": [{"sum": ["unread", "half"]}, "right"]}, True, 0.0),
        ({"first": ["wrong", "unread"]}, False, 0.0),
        ({"sum": ["unread", "half"]}, False, 1.0),
        ({"all": ["right", "unread"]}, False, 1.0),
        ({"all": ["wrong", "unread"]}, False, 0.0),
        ({"any": ["unread", "unread"]}, False, 1.0),
        ({"any": ["unread", "right"]}, True, 0.0),
    ],
)
def test_an_item_that_cannot_decide_passes_on_and_says_so(
    registry: Registry, spec: dict[str, Any], correct: bool | None, undecided: float
) -> None:
    found = score(registry, spec)
    assert found.correct is correct and found.parts.get("undecided", 0.0) == undecided, found
