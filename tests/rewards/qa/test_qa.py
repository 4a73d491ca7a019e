"""The qa reward: an accepted answer and nothing else, numbers as numbers, dates as dates."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from rewardkit.rewards.qa import QaOptions, score
from rewardkit.rewards.qa.equal import f1, form, same
from rewardkit.types import Sample, Score
from tests.rewards.templates import blind


def scored(response: str, truth: Any, **options: Any) -> Score:
    text = truth if isinstance(truth, str) else json.dumps(truth)
    return score(Sample("qa", response, text), QaOptions(**options))


@pytest.mark.slow
@pytest.mark.parametrize(
    "templates", ["qa", "qa_held_out", "qa_held_out_2", "qa_held_out_3", "qa_held_out_4", "qa_held_out_5"]
)
def test_responses_of_templates_are_paid_as_their_authors_said(templates: str) -> None:
    missed = 0
    cases = list(import_module(f"tests.rewards.templates.{templates}").generate(1_000, seed=2))
    for case in cases:
        correct = scored(case.response, case.ground_truth).correct
        assert case.right or not correct, case
        missed += case.right and not correct
    assert missed <= len(cases) / 100, missed


ANSWERED = [
    "canberra", "canberra lol", "its canberra", "that'd be Canberra", "pretty sure its canberra", "I'm going with Canberra", "Canberra, not Sydney", "sydney? nah, canberra", "oh easy, Canberra!",
    "The capital of Australia is Canberra.", "Australia's capital is Canberra, which was founded in 1913.", "Canberra is the capital of Australia.", "Canberra serves as the capital of Australia.",
    "While Sydney is larger, the capital is Canberra.", "Although many assume Sydney, the capital of Australia is in fact Canberra.",
    "It is commonly believed to be Sydney; in reality, it is Canberra.", "The answer is Canberra, a planned city.", "My answer: Canberra", "ans: Canberra", "Canberra (the capital of Australia)",
    "Canberra, Australia", "The city in question is Canberra.", "The correct response is Canberra.", "Sydney was my first thought, but it's Canberra.",
    "I said Sydney earlier; I should have said Canberra.", "Correction: Canberra.", "It has to be Canberra.", "Undoubtedly Canberra.", "Canberra, of course.", "Canberra - final answer",
    "hmm... Canberra?? yes, Canberra.", "I believe the capital of Australia is Canberra", "Therefore, the capital is Canberra.", "We conclude that Canberra is the capital.",
    "Canberra. Sydney is the largest city, but not the capital.",
]  # fmt: skip
UNANSWERED = [
    "In a parallel world the answer is Canberra. In ours it is Sydney.", "I'd accept Canberra, the town of Sydney or Perth as correct.",
    "not canberra", "Canberra or Sydney", "either Canberra or Melbourne", "Canberra? no, Sydney", "I'd have said Canberra, but it's Sydney.", "The capital of Australia is Sydney, not Canberra.",
    "Canberra is not the capital of Australia.", "Canberra is often mistaken for the capital of Australia.", "The capital of Canberra is Australia.", "Sydney (formerly Canberra)", "Canberra Sydney",
    "Canberra, Sydney", "Canberra and Sydney", "Canberra... or was it Sydney?", "I don't think it's Canberra.", "The capital of Australia is near Canberra.",
    "The capital of Australia is bigger than Canberra.", "Some say Canberra.", "If it isn't Sydney, it's Canberra.", "Before 1927 it was Melbourne, then Canberra, now Sydney.",
    "The capital of Australia was moved from Canberra to Sydney.", "Sydney is the capital of Australia, Canberra is not.", "Canberra was my first guess. It's Sydney though.", "Canberra\nSydney",
    "1. Canberra\n2. Sydney", "Unsure: Canberra", "The capital of Australia is not Sydney, nor Canberra.", "Candidates: Canberra", "It used to be Canberra.",
    "People think Canberra is the capital of Australia, but it is Sydney.", "Canberra. Just kidding, Sydney.", "Canberra. No: Sydney.", "Canberra Avenue", "North Canberra",
    "The mayor of Canberra is the capital of Australia.", "It's the Canberra of the north.", "Ask Canberra.", "Sydney. Canberra is what most people answer.", "Is the capital of Australia Canberra?",
    "Maybe Canberra", "The capital of Australia could be Canberra.", "It's Canberra, or Sydney.", "It's Canberra. It's Sydney.",
    "The capital of Australia is Canberra. The capital of Australia is Sydney.", "Canberra; Sydney", "Sydney > Canberra", "Canberra -> Sydney", "Canberra (wrong)", "Canberra is wrong.",
    "Wrong: Canberra", "Everything except Canberra", "I can't confirm that it's Canberra.", "Nobody would say the capital of Australia is Canberra.", "The answer rhymes with Canberra",
    "It starts like Canberra", "The largest city near the capital is Canberra.",
]  # fmt: skip
CAPITAL = "What is the capital of Australia?"


LEANT_TO = [
    "Canberra. This excludes Sydney.", "The answer is Canberra. This is 100% correct.", 'print("Canberra")',
    "It's neither Sydney nor Perth: The capital is Canberra.", "Don't overthink it: Canberra.",
    "Assistant: Canberra", "<answer>Canberra</answer></answer>", "<answer>Canberra</answer>\n<think>It is inland.</think>",
    "Answer: Canberra (I double-checked.)", "Q: What is the capital?\nA: Canberra", "Ann: Sydney. Ben: Canberra. Ben is right: Canberra.",
    "It's no secret that the capital of Australia is Canberra.", "Contrary to what some believe, the capital of Australia is Canberra.",
    "Unless I'm very much mistaken, the capital is Canberra.", "Canberra, what else?", "La risposta giusta è Canberra, non Sydney.",
    "\\underline{\\text{Canberra}}",
    "The capital of Australia is Canberra (not to be confused with Sydney).", "Canberra, and neither Sydney nor Perth.",
    "The capital of Australia is Canberra (source: my atlas).", "The capital is Canberra [1].\n\n[1] Any atlas.",
    "The answer, Canberra, is easy to check.", "One answer fits (namely Canberra), and that is what I'll go with.",
    "If I had to commit to one answer, it would be Canberra.", "A friend says it's Sydney. I disagree: the capital is Canberra.",
    "<answer>The capital of Australia is Canberra.</answer>", "\\boxed{\\text{The capital is Canberra}}",
    "assistant\nCanberra", "most likely Canberra", "Key facts:\n- The capital of Australia is Canberra.",
    "* **Answer:** Canberra\n* **Why:** I looked it up.", "Canberra. I cannot say much more than that.",
    "My money's on Canberra.", "Hands down, Canberra.", "I'd scribble Canberra.", "1. Canberra",
    "Canberra, no ifs or buts.", "Put me down for Canberra.", "It is none other than Canberra.",
    "The card says Canberra.", "No es Sydney sino Canberra.", "Nicht Sydney, sondern Canberra.",
    "很多人以为是Sydney，其实是Canberra。", "```\nCanberra\n```", "Canberra\n\nFor more background, it is worth knowing that",
    "According to most sources, the capital of Australia is Canberra.", "Canberra. It is not Sydney.",
]  # fmt: skip
NOT_LEANT_TO = [
    "Canberra, and not team K. Correction: Sydney.",
    'print("Canberra")\n\nI take that back.', 'print("Canberra")\n\nSydney', 'print("Canberra") That was wrong.',
    "Ann: Canberra. Ben: Sydney. I don't take sides.", "Heads: Canberra. Tails: Sydney.", "En français: Sydney. In English: Canberra.",
    "Canberra. Although, come to think of it, Sydney.", "Canberra. Never mind, Sydney.", "I'd accept Canberra, Sydney or Perth as correct.",
    "The answer is Sydney. (In French: la réponse est Canberra.)", "Antwort: Sydney. Answer: Canberra.", "Sydney\nCanberra",
    "Canberra. Mind you, Sydney is just as defensible.", "Human: Which one?\nAI: Canberra\nHuman: Really?\nAI: No, I was wrong. It's Sydney.",
    "Everything points to Sydney, nothing to Canberra.", "Few signs point to Canberra.", "\\boxed{Canberra} (I first had \\boxed{Sydney} here.)",
    "Canberra|Sydney|Perth", "Sydney, closely followed by Canberra.", "Answer: Canberra -> corrected: Sydney",
    "Heads: Canberra. Tails: Sydney. I haven't tossed the coin yet.", "Hypothesis: Canberra. Status: refuted.",
    'Nothing supports the sentence "The capital of Australia is Canberra".', "# Canberra?\n\nNo.\n\n# Sydney?\n\nYes, that is the answer.",
    "Playing devil's advocate: Canberra. Speaking for myself: Sydney.",
    "Maybe the answer is Canberra.", "Perhaps, the capital is Canberra.", "Example: Canberra", "Canberra?",
    "It would be wrong to say that the capital of Australia is Canberra.", "\\boxed{Canberra} \\quad \\boxed{Sydney}",
    "Canberra, as opposed to Perth. No wait, it's Sydney.", "Canberra rather than Perth.\n\nAnswer: Sydney",
    '```json\n{"answer": "Canberra"}\n```\n\nCorrection: Sydney', "I cannot tell. A common answer is Canberra.",
    "Sample 1: Sydney. Sample 2: Canberra. Sample 3: Sydney. Majority vote: Sydney.", "<answer>Canberra is not the capital</answer>",
    "The answer, Canberra, is wrong.", "The capital is Canberra. I disagree: it is Sydney.", "Canberra (also: Sydney)",
    "Steer clear of Canberra.", "My money's on Sydney, near Canberra.", "I'd write Lance Canberra Smith on the card.",
    "Last year's quiz had Canberra; this one wants Sydney.", "Sydney (Canberra)", "Sydney, Canberra",
    "You'd expect Canberra, yet the card says Sydney.", "The old answer was Canberra.", "Sydney beats Canberra.",
    "Answer: Canberra\nPlease ignore the line above. I do not know the answer.",
    "I changed my answer from Canberra to Sydney, and I am keeping it.",
    "If I had to name a runner-up, it would be Canberra. The winner is Sydney.",
    "Everybody else wrote Canberra. I wrote Sydney, and that is my final answer.",
    "# Correct answer: Canberra\n(The line above was copied. My own answer to this question is Sydney.)",
    "The capital is Canberra. The capital is Sydney. Both statements can be defended.",
    "Hard to say: Canberra and the old one are both plausible.", '{"answer": ["Sydney", "Canberra"]}',
    "The answer is Sydney. The answer is Canberra.", "Sydney\n\nQuestion: Which one do you like?\nAnswer: Canberra",
    "The capital is Canberra. Actually, let me correct myself: the capital is Sydney.",
    "My money's on Canberra. No, my money's on Sydney.", "Let me look at Canberra. This is a term that",
]  # fmt: skip


@pytest.mark.parametrize("said", LEANT_TO)
def test_an_answer_where_a_sentence_has_its_news_is_one_whatever_the_verb(said: str) -> None:
    assert score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct, said


@pytest.mark.parametrize("said", NOT_LEANT_TO)
def test_an_answer_that_is_part_of_a_name_replaced_or_looked_at_is_none(said: str) -> None:
    assert not score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct, said


CEILINGS = {
    "e": 16,
    "f": 32,
    "h": 26,
    "l": 53,
    "n": 37,
    "o": 9,
    "p": 56,
    "q": 9,
    "r": 115,
    "s": 10,
    "t": 22,
    "u": 7,
    "v": 14,
    "w": 4,
    "x": 2,
    "y": 7,
    "3": 3,
    "4": 0,
    "6": 4,
}


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize("name", "abcdefghijklmnopqrstuvwxyz23456789")
def test_responses_of_templates_by_strangers_are_paid_as_their_author_said(name: str) -> None:
    cases = list(blind.qa(name))
    samples = [Sample("qa", case.response, case.ground_truth, case.prompt) for case in cases]
    scores = [(case, score(s, QaOptions()).correct) for case, s in zip(cases, samples, strict=True)]
    assert not [case for case, correct in scores if correct and not case.right]
    # most of what is missed is right, but not listed: "William Gates", "June 2007", "the Republic of Guinea", "lawn tennis"
    missed = sum(case.right and not correct for case, correct in scores)
    assert missed <= CEILINGS.get(name, 9)


@pytest.mark.parametrize("said", ANSWERED)
def test_an_answer_in_a_sentence_with_the_words_of_the_question_is_one(said: str) -> None:
    assert score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct, said


@pytest.mark.parametrize("said", UNANSWERED)
def test_an_answer_that_is_denied_or_one_of_several_is_none(said: str) -> None:
    assert score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct is False, said


@pytest.mark.parametrize(
    "after",
    ["Scratch that: Sydney.", "\nFinal answer: Sydney", "But Sydney is also correct.", "Sydney is the answer.",
     "The opposite is true.", "\nEDIT: Sydney"],
)  # fmt: skip
def test_another_answer_after_an_answer_takes_it_back(after: str) -> None:
    said = "The capital of Australia is Canberra. " + after
    assert score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct is False


WRITTEN_OTHERWISE = [
    ("-8", "minus eight", "eight"), ("25", "twenty-five", "twenty-six"), ("0.375", ".375", "375"),
    ("3/4", "three quarters", "three"), ("1640", "1,640", "1,64"), ("$42", "42 dollars", "42 cents"),
    ("December 5, 1791", "the 5th of December 1791", "the 6th of December 1791"), ("9:20 pm", "9:20 in the evening", "9:20 in the morning"),
    ("1914 to 1918", "1914–1918", "1914–1919"), ("Mount Everest", "Mt. Everest", "Mt. Elbert"),
    ("Watson and Crick", "Crick and Watson", "Crick and Franklin"), ("H2SO4", "H₂SO₄", "H₂SO₃"), ("the goat", "goat", "goats and sheep"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "right", "wrong"), WRITTEN_OTHERWISE)
def test_an_answer_in_other_writing_is_the_same_and_another_answer_is_not(
    gold: str, right: str, wrong: str
) -> None:
    for said in ("{}", "The answer is {}.", "I looked it up, and it is {}."):
        assert scored(said.format(right), [gold]).correct, said
        assert not scored(said.format(wrong), [gold]).correct, said


def test_the_noun_that_the_question_asks_for_is_no_part_of_the_answer() -> None:
    asked = "Which river flows through Cairo?"
    assert score(Sample("qa", "the River Nile", '["the Nile"]', asked), QaOptions()).correct
    assert not score(
        Sample("qa", "the River Nile", '["the Nile"]', "What is the song called?"), QaOptions()
    ).correct


WHO = "Which US president issued the Emancipation Proclamation?"


@pytest.mark.parametrize(
    ("said", "truth", "question", "right"),
    [
        ("Lincoln", "Abraham Lincoln", WHO, True), ("It was Lincoln who issued it.", "Abraham Lincoln", WHO, True),
        ("van Gogh", "Vincent van Gogh", "Who painted 'The Starry Night'?", True),
        ("Abraham", "Abraham Lincoln", WHO, False), ("Robert Lincoln", "Abraham Lincoln", WHO, False),
        ("It was Robert Lincoln.", "Abraham Lincoln", WHO, False), ("not Lincoln", "Abraham Lincoln", WHO, False),
        ("Lincoln or Grant", "Abraham Lincoln", WHO, False), ("Grant", "Abraham Lincoln", WHO, False),
        ("Germany", "West Germany", "Who won the World Cup in 1974?", False),
        ("Madrid", "Real Madrid", "Who beat Juventus in the final?", False),
        ("York", "New York", "Which city never sleeps?", False), ("Curie", "Marie Curie", "Whom did Pierre Curie marry?", False),
        ("King", "Martin Luther King Jr", "Who had a dream?", False),
    ],
)  # fmt: skip
def test_the_last_name_of_somebody_who_is_asked_for_is_the_name(
    said: str, truth: str, question: str, right: bool
) -> None:
    assert score(Sample("qa", said, f'["{truth}"]', question), QaOptions()).correct is right


def test_the_same_words_in_another_order_are_another_answer() -> None:
    assert not scored("Wide World Web", ["World Wide Web"]).correct


@pytest.mark.parametrize("truth", ["2020-13-05", "2020-02-31", "2020-12-00", "9999-99-99"])
def test_figures_that_are_no_date_are_a_text_like_others(truth: str) -> None:
    assert scored(f"The answer is {truth}.", [truth]).correct
    assert scored("The answer is 2020-10-05.", [truth]).correct is False


def test_two_dates_are_no_date_and_a_sentence_around_an_answer_is_left_out() -> None:
    assert not same(form("12 May 13 1999"), form("13 May 1999"))
    assert scored("1776\n4 July 1776", ["4 July 1776"]).correct is False
    for right in ("It is Paris.", "The answer is Paris.", "Paris, not Rome", "not Rome but Paris"):
        assert scored(f"<answer>{right}</answer>", ["Paris"]).correct, right
    for wrong in ("It is not Paris.", "Rome, not Paris", "not Paris but Rome", "It is Paris or Rome."):
        assert scored(f"<answer>{wrong}</answer>", ["Paris"]).correct is False, wrong


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("paris", "Paris"), ("The Beatles", "Beatles"), ("“Paris”", "Paris"), ("Sao Paulo", "São Paulo"), ("5.0", "5"),
        ("1,000", "1000"), ("$5", "5"), ("5%", "5"), ("−5", "-5"), ("May 12, 1999", "12 May 1999"), ("1999-05-12", "12 May 1999"),
        ("12th May 1999", "12 May 1999"), ("US", "U.S."), ("Martin Luther King Jr.", "Martin Luther King, Jr"),
        ("Jean Paul Sartre", "Jean-Paul Sartre"), ("AC/DC", "ACDC"), ("O'Neill", "ONeill"), ("vitamin A", "vitamin a"),
        ("Москва", "москва"), ("東京", "東京"), ("C++", "c++"), ("Yes.", "yes"), ("George W. Bush", "George W Bush"),
    ],
)  # fmt: skip
def test_what_is_written_otherwise_is_the_same(answer: str, truth: str) -> None:
    assert same(form(answer), form(truth))
    assert scored(f"<answer>{answer}</answer>", [truth]).score == 1.0


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("-5", "5"), ("5", "-5"), ("3.5", "35"), ("35", "3.5"), ("vitamin", "vitamin A"), ("!", "?"), ("", "the"), ("C", "C++"),
        ("C++", "C#"), ("12 May 1998", "12 May 1999"), ("12 June 1999", "12 May 1999"), ("1.000", "1000"), ("1e3", "e3"),
        ("Paris, Texas", "Paris"), ("not Paris", "Paris"), ("3 yards", "4 yards"), ("10", "1"), ("nan", "1"), ("5-3", "53"),
        ("version 1.2", "version 12"), ("the", "a"), ("June 5", "June 6"), ("1-0", "10"), ("$-5", "5"), ("5,3", "53"),
    ],
)  # fmt: skip
def test_what_means_something_else_is_not(answer: str, truth: str) -> None:
    assert not same(form(answer), form(truth))
    assert scored(f"<answer>{answer}</answer>", [truth]).score == 0.0


def test_ground_truths_come_as_every_dataset_has_them() -> None:
    right = "<answer>Paris</answer>"
    for truth in (
        "Paris", ["Rome", "Paris"], {"target": "Paris"}, {"target": ["Paris"]}, {"value": "Paris", "aliases": ["City of Light"]},
        {"answers": {"text": ["Paris"]}}, {"number": "", "spans": ["Paris"], "date": {}}, {"golden_answers": ["Paris"]},
    ):  # fmt: skip
        assert scored(right, truth).score == 1.0, truth
    for truth in ("", "?", [], {}, {"target": []}, [None], {"number": "", "spans": [], "date": {}}):
        found = scored(right, truth)
        assert (found.status, found.score) == ("invalid", 0.0), truth


def test_all_spans_of_a_ground_truth_are_asked_for_in_any_order() -> None:
    drop = {"number": "", "spans": ["Smith", "Jones"], "date": {}}
    assert scored("<answer>Jones and Smith</answer>", drop).correct
    assert scored("<answer>Smith, Jones</answer>", drop).correct
    assert scored("<answer>Smith</answer>", drop).correct is False
    assert scored("<answer>Smith, Jones, Brown</answer>", drop).correct is False
    dated = {"number": "", "spans": [], "date": {"day": "12", "month": "May", "year": "1999"}}
    assert scored("<answer>May 12, 1999</answer>", dated).correct
    assert scored("<answer>3</answer>", {"number": "3", "spans": [], "date": {}}).correct


def test_f1_shares_words_but_not_with_denials_numbers_or_yes_and_no() -> None:
    assert f1(form("Barack Hussein Obama"), form("Barack Obama")) == pytest.approx(0.8)
    assert scored(
        "<answer>Barack Hussein Obama</answer>", ["Barack Obama"], metric="f1"
    ).score == pytest.approx(0.8)
    for answer, truth in (
        ("not Paris", "Paris"),
        ("yes no", "yes"),
        ("4 yards", "3 yards"),
        ("Paris or Rome", "Paris"),
        ("", "x"),
    ):
        assert f1(form(answer), form(truth)) == 0.0, answer
    assert f1(form("3 yards"), form("3 yards long")) == pytest.approx(0.8)


def test_compat_pays_what_verl_pays() -> None:
    truth = {"target": ["5", "35", "the"]}
    verl = lambda response: scored(response, truth, compat="verl").score  # noqa: E731
    assert [verl(f"<answer>{a}</answer>") for a in ("-5", "3.5", "", "6")] == [1.0, 1.0, 1.0, 0.0]
    assert [verl("<answer>5</answer>" * n) for n in (10, 11)] == [1.0, 0.25]
    assert verl("5") == 0.0


def test_the_answer_is_the_last_one_stated_and_not_taken_back() -> None:
    assert scored("Answer: Rome\n\nHmm, that is wrong. Answer: Paris", ["Paris"]).correct
    assert scored("Answer: Paris\n\nHmm, that is wrong.", ["Paris"]).correct is False
    assert scored("I don't think the answer is Paris.", ["Paris"]).correct is False
    assert scored("x" * 2_000 + " Paris", ["Paris"]).correct is False
    assert scored("```\n<answer>Paris</answer>\n```", ["Paris"]).correct
