"""Answers in the mouth of somebody whom the speaker disowns, numbers of votes, examples; beside sources that are
relied on and what only sounds like these."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, gsm8k, math, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.gsm8k import Gsm8kOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.rewards.structure.plain import NumberOptions, number
from rewardkit.types import Sample

CITIES = {"choices": ["Lyon", "Paris", "Nice", "Lille"]}
OF_FOOLS = (
    "According to a fool, the answer is {}.", "According to my drunk uncle, the answer is {}.", "According to some, the answer is {}.",
    "According to people who know nothing, the answer is {}.", "A fool would say that the answer is {}.", "Only a fool would say that the answer is {}.",
    "A careless student would write {}.", "The ignorant say it is {}.", "It is commonly believed that it is {}.", "It is widely thought that the answer is {}.",
    "Popular belief holds that the answer is {}.", "Conventional wisdom says the answer is {}.", "The layman thinks the answer is {}.",
    "An amateur would pick {}.", "In the opinion of a fool, the answer is {}.", "A liar told me that the answer is {}.", "Legend has it that the answer is {}.",
    "As fools have it, the answer is {}.", "The fool's answer is {}.", "The answer of a fool is {}.", "The general public believes that it is {}.",
    "The answer is {}, according to a fool.", "The answer is {}, as a fool would say.", "The answer is {}, say fools.", "{}, if you believe a fool.",
    "Everyone believes the answer to be {}.",
)  # fmt: skip
ABROAD = (
    "Einem Dummkopf zufolge ist die Antwort {}.", "Selon un imbécile, la réponse est {}.", "Según un tonto, la respuesta es {}.",
    "Un idiot dirait que la réponse est {}.", "Viele denken, die Antwort ist {}.", "Beaucoup pensent que la réponse est {}.",
    "Muchos creen que la respuesta es {}.", "很多人认为答案是{}。", "有人说答案是{}。",
)  # fmt: skip
EXAMPLES = (
    "For example, {}.",
    "For example, the answer is {}.",
    "For instance, {}.",
    "As an example: {}",
    "E.g. {}",
)
NOT_MEANT = (
    "I was going to say {}.", "I almost said {}.", "I wish it were {}.", "I'll be damned if the answer is {}.", "Students lose marks for writing {}.",
    "Wrong answer #1: {}", "Eliminated: {}", "Distractor: {}", "Avoid: {}", "Draft answer: {}", "Temporary answer: {}", "TODO: {}",
    "Answer: {other}\nAlso: {}", "Answer: {other}\nBackup: {}", "Final answer: {other}, failing that {}", "The answer is {} only on Sundays.",
    "The answer is {} when pigs fly.", "{} in your dreams.", "{} earns no credit.", "Answer: {} (verdict: wrong)", "The answer comes after {}.",
    "The answer precedes {}.", "The answer replaces {}.", "The answer is sometimes {}.", "The answer is somewhere near {}.", "{}, right?", "{}...?",
    "Over my dead body is the answer {}.", "In a fool's world, the answer is {}.", "It used to be thought that the answer is {}.",
    "My opponent says the answer is {}.", "The devil says {}.", "I am forced to say {}.", "To please you: {}", "As a joke: {}", "Sarcastically: {}",
    "{} (joke)", "{} (hallucinated)", "{}. I made this up.", "{}. I invented that.", "{}. This was a hallucination.", "{}. Or the other one.",
    "Medieval scholars held that it is {}.", "{}. Who knows.", "{} — this is fabricated.",
)  # fmt: skip
RELIED_ON = (
    "According to the textbook, the answer is {}.", "According to Wikipedia, the answer is {}.", "According to my calculations, the answer is {}.",
    "Even a fool can see that the answer is {}.", "Even a fool would say that the answer is {}.", "Any child knows that the answer is {}.",
    "A fool would say {other}, but the answer is {}.", "Many people think it is {other}, but the answer is {}.", "A fool would say {other}. The answer is {}.",
    "It is commonly believed that it is {other}. However, the answer is {}.", "According to a fool, it is {other}; but the answer is {}.",
    "It is generally accepted that the answer is {}.", "As is generally known, the answer is {}.", "Contrary to popular belief, the answer is {}.",
    "For a child this is hard. The answer is {}.", "My friend and I counted. The answer is {}.", "For example, {other} fails. The answer is {}.",
    "I am going to say {}.", "Also, the answer is {}.", "The rest follows. The answer is {}.", "I was about to give up, but the answer is {}.",
    "Right: the answer is {}.", "The answer is {}. I did not make this up.", "To be safe, I checked twice: the answer is {}.",
    "Once more: the answer is {}.",
)  # fmt: skip
VOTES = (
    "{} got 2 votes and {other} got 3.", "{} got 2 votes, {other} got 3 votes.", "Votes: {} 2, {other} 3", "{} won 2 of 5 votes.",
    "{} received 40% of the votes and {other} 60%.", "{} got two votes, while {other} got three.", "{other} got 3 votes and {} got 2.", "{} got one vote.",
)  # fmt: skip
WON = (
    "{} got 3 votes and {other} got 2. So the answer is {}.", "I vote for {}.", "The answer is {} (3 votes).", "{}. It got 3 votes.",
    "Attempt 1: {}. Attempt 2: {other}. Attempt 3: {}. Majority vote: {}.",
)  # fmt: skip


def _filled(said: str, answer: str, other: str) -> str:
    return said.replace("{other}", other).replace("{}", answer)


def _chooses(said: str) -> bool:
    response = _filled(said, "B", "D")
    return bool(choice.score(Sample("choice", response, "B", extra_info=CITIES), ChoiceOptions()).correct)


def _answers(said: str) -> bool:
    response = _filled(said, "Canberra", "Sydney")
    question = "What is the capital of Australia?"
    return bool(qa.score(Sample("qa", response, '["Canberra"]', question), QaOptions()).correct)


def _numbers(said: str) -> list[str]:
    """Which rewards of numbers pay a response that has 5 at `{}`."""
    found = {
        "math": math.score(Sample("math", _filled(said, "5", "7"), "5")),
        "a box": math.score(Sample("math", _filled(said, "\\boxed{5}", "\\boxed{7}"), "5")),
        "number": number(Sample("number", _filled(said, "5", "7"), "5"), NumberOptions()),
        "gsm8k": gsm8k.score(Sample("gsm8k", _filled(said, "5", "7"), "5"), Gsm8kOptions(method="flexible")),
    }
    return [name for name, score in found.items() if score.correct]


@pytest.mark.parametrize("said", OF_FOOLS + EXAMPLES + NOT_MEANT)
def test_an_answer_in_the_mouth_of_somebody_disowned_is_not_paid(said: str) -> None:
    assert not _chooses(said)
    assert not _answers(said)
    assert not {"math", "a box", "gsm8k"} & {*_numbers(said)}


@pytest.mark.parametrize("said", ABROAD)
def test_nor_is_it_in_another_language(said: str) -> None:
    assert not _chooses(said)
    assert not _answers(said)


@pytest.mark.parametrize("said", RELIED_ON)
def test_an_answer_from_a_source_that_is_relied_on_is_paid(said: str) -> None:
    assert _chooses(said)
    assert _answers(said)
    assert {"math", "gsm8k"} <= {*_numbers(said)}


def test_a_number_of_votes_chooses_nothing_by_itself() -> None:
    assert not [said for said in VOTES if _chooses(said)]
    assert [said for said in WON if _chooses(said)] == list(WON)
