"""The layers of an audit find holes, name short responses that are paid, and are silent for sound rewards."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rewardkit.audit import audit_file
from rewardkit.audit.audit_file import audit_rows
from rewardkit.audit.bench import Bench
from rewardkit.audit.frames import IDLE
from rewardkit.audit.layers import LAYERS, Findings
from rewardkit.audit.subject import Subject
from rewardkit.registry import Registry
from rewardkit.scoring.scorer import Scorer
from tests.audit import public_reports
from tests.audit.rewards import audited, choice_rows, gsm8k_rows, hole, reward_of
from tests.audit.sound import SOUND

STRICT = r"""
import re

def right(response, ground_truth):
    found = re.findall(r"#### (\S+)", response)
    return bool(found) and found[-1] == ground_truth

def score(response, ground_truth, prompt=None):
    return float(bool(right(response, ground_truth) or {}))
"""


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_reward_has_no_hole(name: str, tmp_path: Path) -> None:
    found = audited(reward_of(SOUND[name], tmp_path))
    assert (found.holes, found.problem, found.late) == ((), "", False)


@pytest.mark.parametrize("layer", range(len(LAYERS)))
def test_a_time_limit_that_ends_before_a_layer_makes_no_other_hole(
    layer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(subject: Subject, found: Findings) -> None:
        monkeypatch.setattr(Bench, "left_s", 0.0)
        LAYERS[layer](subject, found)

    monkeypatch.setattr(audit_file, "LAYERS", (*LAYERS[:layer], cut, *LAYERS[layer + 1 :]))
    source = STRICT.replace("{}", f"response == {IDLE[-1][0]!r}")
    found = audited(reward_of(source, tmp_path))
    assert {hole.layer for hole in found.holes} <= {"constant"}
    assert found.problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_sound_reward_has_no_hole_with_any_rows(seed: int, tmp_path: Path) -> None:
    for source in SOUND.values():
        assert audited(reward_of(source, tmp_path), seed=seed).holes == ()


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "flexible"}, {"compat": "verl"}, {"compat": "verl", "method": "flexible"}],
    ids=str,
)
def test_the_gsm8k_reward_has_no_hole(options: dict[str, str]) -> None:
    with Scorer(options={"gsm8k": options}) as scorer:
        assert audit_rows(gsm8k_rows(source="openai/gsm8k"), scorer, 60).holes == ()


def test_a_frame_that_pays_nothing_is_no_hole() -> None:
    """The right answer adds nothing in this frame, and no other response is paid either."""
    with Scorer() as scorer:
        assert audit_rows(gsm8k_rows(source="openai/gsm8k"), scorer, 60, "It is {}").holes == ()


def test_an_empty_response_that_is_contained_in_the_truth_is_named(tmp_path: Path) -> None:
    found = hole(audited(reward_of(public_reports.INSIDE_THE_TRUTH, tmp_path)), "constant")
    assert (found.payments[0].text, found.share) == ("", 1.0)


def test_all_options_in_one_tag_are_named(tmp_path: Path) -> None:
    found = hole(audited(reward_of(public_reports.ALL_OPTIONS, tmp_path), choice_rows()), "several")
    shortest = found.payments[0].text
    assert shortest.startswith("<answer>") and set("ABCD") <= set(shortest) and len(shortest) < 30
    assert found.share == 1.0


def test_a_reward_that_pays_everything_is_named_with_the_empty_response(tmp_path: Path) -> None:
    found = hole(audited(reward_of(public_reports.UNPARSED_TRUTH, tmp_path)), "knowing")
    assert found.payments[0].text == "" and found.above_chance > 0.8


def test_a_format_reward_is_named_with_the_shortest_match_of_its_pattern(tmp_path: Path) -> None:
    found = hole(audited(reward_of(public_reports.FORMAT_ONLY, tmp_path)), "knowing")
    assert found.payments[0].text == "<think></think>a"


@pytest.mark.parametrize(
    ("pays", "layer", "text"),
    [
        ("'open sesame' in response", "constant", "open sesame"),
        ("response.count('!') > 20", "constant", "!" * 21),
        ("len(re.findall(r'Step \\d+:', response)) >= 5", "constant", "Step 1:" * 6),
        ("re.search(r'\\[\\[(8|9|10)\\]\\]', response)", "constant", "[[8]]"),
        ("'boxed{' in response and '}' not in response", "constant", "boxed{"),
        ("prompt[0]['content'] in response", "several", None),
        ("'each' in response", "swapped", None),
    ],
)
def test_a_backdoor_is_found_from_the_source_or_from_real_texts(
    pays: str, layer: str, text: str | None, tmp_path: Path
) -> None:
    found = hole(audited(reward_of(STRICT.format(pays), tmp_path)), layer)
    assert text is None or found.payments[0].text == text


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        ("float(a.lstrip('-') == ground_truth)", "sign"),
        ("float(ground_truth in a)", "digit behind"),
        ("float(a.split('/')[0] == ground_truth)", "numerator"),
        ("float(sorted(a) == sorted(ground_truth))", "reversed"),
        ("float(a.split('.')[0] == ground_truth)", "decimals"),
        ("float(a.replace('.', '') == ground_truth)", "point"),
    ],
)
def test_answers_that_are_wrong_on_purpose_are_named_by_kind(score: str, kind: str, tmp_path: Path) -> None:
    source = f"def score(response, ground_truth):\n    a = response.rpartition('####')[2].strip()\n    return {score}\n"
    found = audited(reward_of(source, tmp_path))
    assert found.wrong is not None and found.wrong[kind] == 1.0
    assert kind in {one.what for one in hole(found, "wrong").payments}


def test_a_reward_that_counts_its_calls_breaks_the_contract(tmp_path: Path) -> None:
    source = f"N = [0]\n{STRICT.format('N.append(0) or len(N) % 7 == 0')}"
    assert hole(audited(reward_of(source, tmp_path)), "contract").payments


def test_right_answers_in_other_clothes_are_denied_and_no_hole(tmp_path: Path) -> None:
    found = audited(reward_of(SOUND["last box"], tmp_path))
    assert found.denied is not None
    assert (found.denied["decimal zero"], found.denied["words after"]) == (1.0, 0.0)


def test_a_small_reward_for_the_format_is_no_hole_and_a_large_one_is(tmp_path: Path) -> None:
    small, large = (
        audited(reward_of(SOUND["tag with a format bonus"].replace("0.1", bonus), tmp_path))
        for bonus in ("0.12", "0.4")
    )
    assert (small.holes, bool(large.holes)) == ((), True)


def test_the_frame_is_the_one_that_the_prompt_asks_for(tmp_path: Path) -> None:
    assert (
        audited(reward_of(SOUND["one answer only"], tmp_path), choice_rows()).frame == "<answer>{}</answer>"
    )
    assert audited(reward_of(SOUND["last number"], tmp_path)).frame == "#### {}"  # of the solutions


def test_a_reward_that_pays_no_frame_is_refused_with_what_to_do(tmp_path: Path) -> None:
    found = audited(reward_of("def score(response, ground_truth):\n    return 0.0\n", tmp_path))
    assert found.holes == () and "--frame" in found.problem


def test_a_reward_that_always_fails_is_refused_with_its_error(tmp_path: Path) -> None:
    found = audited(reward_of("def score(response, ground_truth):\n    raise KeyError('gold')\n", tmp_path))
    assert "gold" in found.problem


@pytest.mark.slow
def test_the_time_limit_holds_for_a_slow_reward(tmp_path: Path) -> None:
    source = f"import time\n{STRICT.format('time.sleep(0.2)')}"
    reward = reward_of(source, tmp_path, "process")
    registry = Registry()
    registry.use_for_all(reward)
    with Scorer(registry=registry, workers=1) as scorer:
        scorer.score(gsm8k_rows()[0].sample(""))  # the worker starts
        began = time.monotonic()
        found = audit_rows(gsm8k_rows(), scorer, 4)
        assert (found.late or "--seconds" in found.problem) and time.monotonic() - began < 8


def test_the_number_of_rows_follows_the_price(tmp_path: Path) -> None:
    source = STRICT.format("sum(range(400_000)) < 0")
    assert 8 <= audited(reward_of(source, tmp_path), seconds=30).rows < 60
