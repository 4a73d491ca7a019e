"""The shaping parts: bounded, blind to right and wrong, and hard to game."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.errors import OptionsError
from rewardkit.registry import REGISTRY
from rewardkit.rewards.shaping import SPANS
from rewardkit.scoring.runner import RewardRunner
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score
from tests.rewards.attacks import HOSTILE

assert Scorer  # registers the rewards


def scored(name: str, response: str, extra_info: dict[str, Any] | None = None, **options: Any) -> Score:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    return RewardRunner(reward, reward.make_options(options)).run(
        [Sample(name, response, "", None, extra_info or {})]
    )[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SPANS if name != "diversity"])
def test_every_part_stays_within_its_span_and_says_nothing_of_right_and_wrong(name: str) -> None:
    if name == "language":
        pytest.importorskip("langdetect", reason="the extra 'instructions' is not installed")
    low, high = SPANS[name]
    for response in ("", "Hello there.", *HOSTILE):
        found = scored(name, response, {"response_tokens": len(response), "budget": 100})
        assert found.status == "ok" and low <= found.score <= high and found.correct is None, (
            response[:30],
            found,
        )


def test_think_format_is_one_filled_thought_first_and_something_said() -> None:
    assert scored("think_format", "<think>a</think>b").score == 1.0
    assert scored("think_format", " <think>\na\n</think>\n\nb<|im_end|>").score == 1.0
    for wrong in (
        "", "b", "<think></think>b", "<think>a</think>", "x<think>a</think>b", "<think>a</think>b</think>", "<think>a<think>b</think>c",
        "<think>a", "a</think>b", "<THINK>a</THINK>b", "<think>a</think><think>b</think>c", "&lt;think&gt;a&lt;/think&gt;b",
    ):  # fmt: skip
        assert scored("think_format", wrong).score == 0.0, wrong
    for token in ("<pad>", "[PAD][PAD]", "<end_of_turn>", "<|im_end|>\n<|endoftext|>"):
        assert scored("think_format", f"<think>a</think>{token}").score == 0.0, token
        assert scored("think_format", f"<think>a</think><answer>b</answer>{token}", answer=True).score == 1.0
    assert scored("think_format", "a</think>b", opened=True).score == 1.0
    answered = "<think>a</think>\n<answer>b</answer>"
    assert scored("think_format", answered, answer=True).score == 1.0
    for wrong in (
        "<think>a</think>b",
        answered + "junk",
        answered + "<answer>c</answer>",
        "<think>a</think><answer></answer>",
    ):
        assert scored("think_format", wrong, answer=True).score == 0.0, wrong


def test_lengths_are_bounded_and_tokens_are_never_guessed() -> None:
    overlong = {"max_length": 100, "buffer": 20, "unit": "words"}
    assert [scored("length_overlong", "a " * n, **overlong).score for n in (10, 80, 90, 100, 500)] == [
        0.0,
        0.0,
        -0.5,
        -1.0,
        -1.0,
    ]
    cosine = {"max_length": 100}
    assert [round(scored("length_cosine", "a " * n, **cosine).score, 6) for n in (0, 50, 100, 200)] == [
        1.0,
        0.5,
        0.0,
        0.0,
    ]
    assert scored("length_cosine", "a " * 200, max_length=100, shortest=-1.0, longest=-0.5).score == -0.5
    budget = {"budget": 100, "alpha": 0.01, "unit": "words"}
    assert [scored("length_budget", "a " * n, **budget).score for n in (100, 50, 150, 500)] == [
        1.0,
        0.5,
        0.5,
        0.0,
    ]
    assert scored("length_budget", "a " * 50, rule="max", **budget).score == 1.0
    assert scored("length_budget", "a", {"budget": 1}, unit="words").score == 1.0
    assert scored("length_overlong", "a").status == "invalid"
    assert scored("length_budget", "a", unit="words").status == "invalid"
    assert scored("length_overlong", "a", {"response_tokens": 16_384}).score == -1.0


def test_repetition_counts_words_signs_and_characters_without_blanks() -> None:
    assert scored("repetition", "every word in this sentence is another one").score == 0.0
    assert scored("repetition", "again " * 1_000).score < -0.99
    assert scored("repetition", "!" * 1_000).score < -0.99
    assert scored("repetition", "好好学习" * 500).score < -0.99
    assert scored("repetition", "a b").score == 0.0
    assert scored("repetition", "a b c a b c", n=3, penalty=-2.0).score == pytest.approx(-0.5)


def test_language_is_the_share_of_words() -> None:
    pytest.importorskip("langdetect", reason="the extra 'instructions' is not installed")
    english = "The weather is lovely today and we are going to the park."
    german = "Das Wetter ist heute sehr schön und wir gehen in den Park."
    assert scored("language", english).score == 1.0
    assert scored("language", german).score == 0.0
    assert 0.3 < scored("language", f"{english}\n{german}").score < 0.7
    assert scored("language", german, {"language": "de"}).score == 1.0
    assert scored("language", "今天天气很好", language="zh").score == 1.0
    assert scored("language", "今天 nice weather", language="zh").score < 0.5
    assert scored("language", "123 $x^2$", language="zh").score == 0.0


def test_refusals_are_told_from_answers_apologies_and_steps_that_lead_nowhere() -> None:
    for answered in (
        "I'm sorry, but the answer is 5.", "I'm sorry, but that was wrong: it is 5.", "I can't continue the sequence past 5.",
        "I cannot solve this directly, so let us substitute.", "I can't write it as a fraction, so 0.5.", "We cannot do that: 0 has no inverse.",
        "It cannot be 4, so it is 5.", "I am not sure, perhaps 5.",
    ):  # fmt: skip
        assert scored("refusal", answered).score == 0.0, answered
    for refused in (
        "I’m sorry, but I can’t help with that.", "I apologize, but I cannot do this.", "I cannot create that content.",
        "I’m not able to help.", "I'm unable to assist.", "I refuse to answer.", "I will not do that.", "I'm not comfortable discussing it.", 
        "I cannot solve this problem.", "Sorry, I can't.", "I must decline.", "<think>Hm</think>I won't provide that.",
    ):  # fmt: skip
        assert scored("refusal", refused).score == -1.0, refused


def test_a_thought_that_nobody_sees_is_empty() -> None:
    for nothing in ("\u200b", "&nbsp;", " \u3164\u2060", "\u2800", "&#8203;"):
        assert scored("think_format", f"<think>{nothing}</think>b").score == 0.0
        assert scored("think_format", f"<think>a</think>{nothing}").score == 0.0
        assert scored("think_format", f"<think>a</think><answer>{nothing}</answer>", answer=True).score == 0.0
    assert scored("think_format", "\ufeff<think>好</think>...").score == 1.0


def test_what_repeats_without_a_blank_repeats_all_the_same() -> None:
    for glued in ("a" * 5_000, "abcabc" * 500, "哈哈" * 500, "ha_" * 500):
        assert scored("repetition", glued).score < -0.9, glued[:10]
    assert (
        scored("repetition", "counterrevolutionaries misunderstood antidisestablishmentarianism").score == 0.0
    )


def test_letters_of_a_script_are_counted_without_its_marks_and_signs() -> None:
    pytest.importorskip("langdetect", reason="the extra 'instructions' is not installed")
    hindi = "आज मौसम बहुत अच्छा है और हम पार्क में जा रहे हैं"
    assert scored("language", hindi, language="hi").score == 1.0
    assert scored("language", f"{hindi} the weather is lovely today", language="hi").score < 0.6
    assert scored("language", "コーヒー・ブレイク", language="ja").score == 1.0


def test_chinese_is_not_japanese_though_its_characters_are() -> None:
    chinese = "今天天气很好，我们去公园散步，然后回家吃饭。"
    assert scored("language", chinese, language="ja").score < 0.4
    assert scored("language", chinese + "の", language="ja").score < 0.5
    for japanese in ("今日は天気がいいので公園に行きます", "東京都", "第一章 関数の定義"):
        assert scored("language", japanese, language="ja").score == 1.0


def test_a_region_is_no_other_language_and_no_language_is_not_scored() -> None:
    pytest.importorskip("langdetect", reason="the extra 'instructions' is not installed")
    english = "The weather is lovely today and we are going to the park."
    for code in ("en-US", "en_GB", "EN"):
        assert scored("language", english, language=code).score == 1.0
    assert scored("language", "今天天气很好", {"language": "zh-TW"}).score == 1.0
    for code in ("xx", "english", " "):
        assert scored("language", english, {"language": code}).status == "invalid"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("repetition", {"n": 0}), ("repetition", {"penalty": float("nan")}), ("length_overlong", {"max_length": 10, "buffer": 20}), ("length_budget", {"alpha": -1.0}),
        ("regex", {"cpu_s": 0.0}), ("bleu", {"correct_from": 0.0}), ("chrf", {"correct_from": 2.0}), ("number", {"rel_tol": float("inf")}), ("sql", {"max_rows": 0}),
        ("gsm8k", {"window": 0}), ("math", {"methods": []}), ("code", {"first_k": 0}), ("code", {"language": "pyton"}), ("code", {"checker": "/nowhere.py:check"}),
        ("code", {"sandbox.url": "nowhere"}), ("instructions", {"checkers": ["nowhere.py"]}), ("language", {"language": "klingon"}), ("tool_call", {"formats": []}),
        ("rank", {"reward": "diversity"}), ("rank", {"reward": "math", "options": {"units": "all"}}),
    ],
)  # fmt: skip
def test_options_with_which_nothing_sensible_is_scored_are_refused(
    name: str, options: dict[str, Any]
) -> None:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    with pytest.raises(OptionsError, match="expected"):
        reward.make_options(options)


def test_counts_are_taken_as_tables_hold_them() -> None:
    for count in (90, 90.0, "90"):
        assert scored("length_budget", "x", {"response_tokens": count, "budget": count}).score == 1.0
    for nothing in (True, -1, 90.5, "ninety", None, float("nan"), [90]):
        assert scored("length_budget", "x", {"response_tokens": nothing, "budget": 90}).status == "invalid"
        assert scored("length_budget", "x", {"response_tokens": 90, "budget": nothing}).status == "invalid"


@pytest.mark.parametrize(
    "end", ["<|im_end|>", "</s>", "<|eot_id|>\n<|eot_id|>", "<pad><pad>", "<｜end▁of▁sentence｜>"]
)
def test_special_tokens_at_the_end_are_no_part_of_a_response(end: str) -> None:
    for name, response, options in (
        ("length_cosine", "a b c", {"max_length": 5}), ("length_overlong", "a b c", {"max_length": 5, "buffer": 3, "unit": "words"}),
        ("length_budget", "a b c", {"budget": 3, "unit": "characters", "alpha": 0.1}), ("repetition", "a b c a b c", {}),
        ("language", "Привет, как дела", {"language": "ru"}),
    ):  # fmt: skip
        marked, plain = (scored(name, f"{response} {after}", **options) for after in (end, ""))
        assert (marked.score, marked.detail) == (plain.score, plain.detail), name
