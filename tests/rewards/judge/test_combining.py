"""Rubrics, votes, several models, pairs and probabilities: what many answers come to, and when they come to nothing."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest

from rewardkit import Sample, Score
from rewardkit.rewards.judge.judge_reward import parts_of, score
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.types import COST_PARTS
from tests.rewards.judge.conftest import JudgeServer, marker_in, text_in

RUBRIC: list[dict[str, Any]] = [
    {"text": "Names the capital.", "name": "capital", "weight": 3},
    {"text": "Gives a source.", "weight": 1},
    {"text": "Insults the reader.", "weight": 2, "pitfall": True},
]


def judged(server: JudgeServer, *samples: Sample, **options: Any) -> list[Score]:
    """The scores of some samples (one without a rubric of its own by default)."""
    made = JudgeOptions(
        **{"url": server.url, "model": "m", "retries": 0, **options}
        | {"criteria": [item(one) for one in options.get("criteria", [])]}
    )

    async def all_of_them() -> list[Score]:
        return await asyncio.gather(
            *(score(one, made) for one in samples or [Sample("s", "Paris.", "", "?")])
        )

    found = asyncio.run(all_of_them())
    assert all(set(one.parts) <= set(parts_of(made)) for one in found)
    return found


def item(given: dict[str, Any]) -> Any:
    from rewardkit.rewards.judge.options import RubricItem

    return RubricItem(**given)


def says(server: JudgeServer, **by_text: str) -> None:
    """Answer with the verdict of the first word that the question's criterion holds."""

    def answer(body: dict[str, Any]) -> str:
        criterion = text_in(body).rpartition("Criterion:")[2]
        return f"Hm.\n{marker_in(body)} {next(v for word, v in by_text.items() if word in criterion)}"

    server.answer = answer


@pytest.mark.parametrize(
    ("met", "changes", "expected"),
    [
        ("yes yes no", {}, 1.0),
        ("yes no no", {}, 0.75),
        ("yes yes yes", {}, 0.5),
        ("no no yes", {}, -0.5),
        ("no yes no", {"aggregate": "min"}, 0.0),
        ("yes yes yes", {"aggregate": "all"}, 0.0),
        ("yes yes no", {"aggregate": "all"}, 1.0),
    ],
)
def test_criteria_add_up_by_their_weights(
    judge_server: JudgeServer, met: str, changes: dict[str, Any], expected: float
) -> None:
    capital, source, insult = met.split()
    says(judge_server, capital=capital, source=source, Insults=insult)
    [found] = judged(judge_server, criteria=RUBRIC, **changes)
    assert (found.status, found.score) == ("ok", expected)
    assert found.parts["criterion.capital"] == float(capital == "yes")
    assert found.parts["calls"] == len(judge_server.bodies) == 3


def test_a_required_criterion_that_is_not_met_leaves_nothing(judge_server: JudgeServer) -> None:
    says(judge_server, capital="no", source="yes", Insults="no")
    [found] = judged(judge_server, criteria=[{**RUBRIC[0], "required": True}, *RUBRIC[1:]])
    assert (found.score, "not met: capital" in (found.detail or "")) == (0.0, True)


def test_all_criteria_in_one_call_are_one_json_object(judge_server: JudgeServer) -> None:
    verdicts = {"reason": "so so", "criterion_1": "yes", "criterion_2": "no", "criterion_3": "no"}
    judge_server.answer = lambda body: json.dumps(verdicts)
    [found] = judged(judge_server, criteria=RUBRIC, one_call=True, structured=True)
    assert (found.score, found.parts["calls"]) == (0.75, 1.0)
    schema = judge_server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == list(verdicts)  # the reason before what it is for
    assert schema["properties"]["criterion_1"]["enum"] == ["yes", "no"]
    del verdicts["criterion_2"]
    [found] = judged(judge_server, criteria=RUBRIC, one_call=True)
    assert (found.status, found.parts["asked_again"]) == ("error", 1.0)


def test_a_criterion_without_a_verdict_is_no_zero(judge_server: JudgeServer) -> None:
    says(judge_server, capital="yes", source="perhaps", Insults="no")
    [found] = judged(judge_server, criteria=RUBRIC)
    assert (found.status, found.score, found.parts["asked_again"]) == ("error", 0.0, 1.0)
    [found] = judged(judge_server, criteria=RUBRIC, allow_missing=True)
    assert (found.status, found.score, found.parts["missing"]) == ("ok", 1.0, 1.0)
    says(judge_server, capital="perhaps", source="perhaps", Insults="perhaps")
    [found] = judged(judge_server, criteria=RUBRIC, allow_missing=True)
    assert found.status == "error"


HEALTHBENCH = [
    {"criterion": "Names the capital.", "points": 7, "tags": ["axis:accuracy"]},
    {"criterion": "Gives a source.", "points": 3, "tags": []},
    {"criterion": "Insults the reader.", "points": -5, "tags": []},
]
RAR = [
    {"title": "Capital", "description": "Essential Criteria: names the capital.", "weight": 5},
    {"title": "Source", "description": "Optional Criteria: gives a source.", "weight": 2},
    {"title": "Insult", "description": "Pitfall Criteria: Insults the reader.", "weight": -1},
]


@pytest.mark.parametrize(
    ("ground_truth", "extra_info", "expected"),
    [
        (json.dumps(HEALTHBENCH), {}, 0.2),
        ("Paris", {"rubrics": HEALTHBENCH}, 0.2),
        (json.dumps({"rubric": RAR, "rubric_count": 3}), {}, 4 / 7),
        ("Paris", {"rubric": json.dumps(RAR)}, 4 / 7),
        (json.dumps(["Names the capital.", "Gives a source."]), {}, 0.5),
    ],
)
def test_rows_of_datasets_bring_their_rubrics(
    judge_server: JudgeServer, ground_truth: str, extra_info: dict[str, Any], expected: float
) -> None:
    says(judge_server, capital="yes", source="no", Insults="yes")
    [found] = judged(judge_server, Sample("s", "Paris.", ground_truth, "?", extra_info), rubric=True)
    assert found.score == pytest.approx(expected)


@pytest.mark.parametrize(
    "ground_truth",
    ["", "Paris", "[]", "[{}]", '[{"text": "a", "weight": "1"}]', '[{"text": "a", "weight": -1}]'],
)
def test_a_sample_without_a_rubric_that_can_be_used_is_invalid(
    judge_server: JudgeServer, ground_truth: str
) -> None:
    [found] = judged(judge_server, Sample("s", "Paris.", ground_truth), rubric=True)
    assert (found.status, judge_server.bodies) == ("invalid", [])


# --- votes and models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "changes", "expected", "agreement"),
    [
        ("7 7 1", {}, 0.7, 0.8),
        ("7 7 x", {}, 0.7, 1.0),
        ("7 x x", {}, None, None),
        ("2 8 5", {"min_agreement": 0.9}, None, None),
        ("yes yes no", {"verdicts": {"yes": 1, "no": 0}}, 1.0, 2 / 3),
        ("yes no maybe", {"verdicts": {"yes": 1, "no": 0, "maybe": 0.8}}, 0.6, 1 / 3),
    ],
)
def test_votes_come_to_the_median_or_the_most_frequent_word(
    judge_server: JudgeServer,
    said: str,
    changes: dict[str, Any],
    expected: float | None,
    agreement: float | None,
) -> None:
    answers = said.split()
    judge_server.answer = lambda body: f"{marker_in(body)} {answers[body['seed'] - 5]}"
    [found] = judged(judge_server, votes=3, temperature=1.0, extra_body={"seed": 5}, **changes)
    if expected is None:
        assert found.status == "error"
    else:
        assert (found.score, found.parts["agreement"]) == (pytest.approx(expected), pytest.approx(agreement))


def test_several_models_vote(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: f"{marker_in(body)} {len(body['model'])}"
    models = [{"model": "a"}, {"model": "aaaa"}, {"model": "aaaaa", "url": judge_server.url}]
    from rewardkit.rewards.judge.options import JudgeModel

    [found] = judged(judge_server, models=[JudgeModel(**one) for one in models])
    assert (found.score, found.parts["calls"]) == (0.4, 3.0)
    assert {body["model"] for body in judge_server.bodies} == {"a", "aaaa", "aaaaa"}


# --- pairs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "expected", "bias"),
    [("Paris", 1.0, 0.0), ("Lyon", 0.0, 0.0), ("first", 0.5, 1.0), ("second", 0.5, -1.0), ("none", 0.5, 0.0)],
)
def test_a_pair_is_compared_in_both_orders(
    judge_server: JudgeServer, better: str, expected: float, bias: float
) -> None:
    def answer(body: dict[str, Any]) -> str:
        first = text_in(body).partition("Response A:")[2].split()[0]
        a = better == "first" or first == better
        b = better == "second" or (better in ("Paris", "Lyon") and first != better)
        return f"{marker_in(body)} {'A' if a else 'B' if b else 'tie'}"

    judge_server.answer = answer
    [found] = judged(judge_server, Sample("s", "Paris", "Lyon", "?"), pairwise=True)
    assert (found.score, found.parts["slot_bias"]) == (expected, bias)
    [found] = judged(judge_server, Sample("s", "Paris", "", "?"), pairwise=True)
    assert found.status == "invalid"


# --- probabilities -------------------------------------------------------------------------------------------


def tokens(*said: tuple[str, dict[str, float]]) -> dict[str, Any]:
    content = [
        {
            "token": token,
            "logprob": 0.0,
            "top_logprobs": [{"token": one, "logprob": math.log(p)} for one, p in top.items()],
        }
        for token, top in said
    ]
    text = "".join(token for token, _ in said)
    return {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": content}}


@pytest.mark.parametrize(
    ("verdict", "expected", "mass"),
    [
        ([(" yes", {" yes": 0.5, "Yes": 0.1, " no": 0.2, " perhaps": 0.2})], 0.75, 0.8),
        ([(" no", {" no": 0.3, " well": 0.7})], None, None),
        ([(" y", {" y": 1.0}), ("es", {"es": 1.0})], None, None),
        ([(" perhaps", {" yes": 0.9, " perhaps": 0.1})], None, None),
        ([(" **", {" **": 1.0}), ("no", {"no": 0.6, "yes": 0.4}), ("**", {"**": 1.0})], 0.4, 1.0),
    ],
)
def test_the_probabilities_of_the_verdicts_token_make_the_score(
    judge_server: JudgeServer,
    verdict: list[tuple[str, dict[str, float]]],
    expected: float | None,
    mass: float | None,
) -> None:
    before = ("yes is what it says. ", {"yes": 1.0})
    judge_server.answer = lambda body: tokens(before, (marker_in(body), {}), *verdict)
    [found] = judged(judge_server, logprobs=True, verdicts={"yes": 1.0, "no": 0.0})
    if expected is None:
        assert found.status == "error"
    else:
        assert (found.score, found.parts["mass"]) == (pytest.approx(expected), pytest.approx(mass))
    assert judge_server.bodies[0]["top_logprobs"] == 20


def test_one_token_alone_may_be_the_answer(judge_server: JudgeServer) -> None:
    cut = tokens(("4", {"4": 0.6, "8": 0.4, "10": 0.0001})) | {"finish_reason": "length"}
    judge_server.answer = lambda body: cut
    [found] = judged(judge_server, logprobs=True, max_tokens=1, score_range=(0, 8))
    assert found.score == pytest.approx((0.6 * 4 + 0.4 * 8) / 8)
    judge_server.answer = lambda body: "4"
    [found] = judged(judge_server, logprobs=True, max_tokens=1, score_range=(0, 8), model="other")
    assert (found.status, "logprobs" in (found.detail or "")) == ("error", True)


@pytest.mark.parametrize(
    "bad",
    [
        {"votes": 0},
        {"votes": 2},
        {"logprobs": True},
        {"logprobs": True, "score_field": "score"},
        {"structured": True},
        {"one_call": True},
        {"pairwise": True, "rubric": True},
        {"rubric": True, "criteria": RUBRIC},
        {"criteria": [RUBRIC[2]]},
        {"pair_roles": ["a", "b"]},
        {"models": [{"model": ""}]},
    ],
)
def test_options_that_cannot_work_together_are_refused(
    judge_server: JudgeServer, bad: dict[str, Any]
) -> None:
    from rewardkit.rewards.judge.options import JudgeModel

    bad = {
        name: [JudgeModel(**one) for one in value] if name == "models" else value
        for name, value in bad.items()
    }
    with pytest.raises(ValueError, match=r"\w"):
        judged(judge_server, **bad)


def test_what_it_cost_is_told_of_a_failure_too(judge_server: JudgeServer) -> None:
    judge_server.answer = lambda body: "I cannot say."
    [found] = judged(judge_server)
    costs = {name: found.parts[name] for name in COST_PARTS}
    assert found.status == "error"
    assert costs == dict(zip(COST_PARTS, (2, 0, 1, 200, 20, 0, 0), strict=True))
