"""The choice reward: one option and no other, however it is written."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from rewardkit.rewards.choice import ChoiceOptions, score
from rewardkit.types import Sample, Score
from tests.rewards.templates import blind

SETS = (
    "fresh",
    "held_out",
    "held_out_2",
    "held_out_3",
    "held_out_4",
    "held_out_5",
    "held_out_6",
    "held_out_7",
    "held_out_8",
    "held_out_9",
    "held_out_10",
    "combined",
)
CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}


def scored(response: str, truth: str = "B", info: dict[str, Any] | None = None, **options: Any) -> Score:
    return score(Sample("choice", response, truth, None, info or {}), ChoiceOptions(**options))


@pytest.mark.slow
@pytest.mark.parametrize("templates", ["choice", *(f"choice_{name}" for name in SETS)])
def test_responses_of_templates_are_paid_as_their_authors_said(templates: str) -> None:
    missed = 0
    cases = list(import_module(f"tests.rewards.templates.{templates}").generate(1_000, seed=2))
    for case in cases:
        correct = scored(case.response, case.ground_truth, case.extra_info).correct
        assert case.right or not correct, case
        missed += case.right and not correct
    assert missed <= len(cases) / 100, missed


COMMITTED = [
    "gotta be lyon", "def B", "B for sure", "lyon lol", "I'm going B", "my vote's on Lyon", "lyon. trust me", "ooh this one's easy, its lyon", "pretty sure it's B", "B i think", "A? nope. B? yep!",
    "It's B, hands down.", "I'd bet on B.", "B all the way", "lol it's obviously lyon", "ok so paris is wrong and nice too so b", "Put me down for B.", "I'm locking in B.", "Final call: B",
    "B it is!", "B, because the others don't work", "probably B", "if i remember right its B", "I was between A and B but B wins", "A is close but no cigar. B.",
    "Given the evidence, one must conclude that Lyon is the correct response.", "The evidence favours Lyon (option B).", "It is therefore Lyon that satisfies the criterion.",
    "Consequently, option (B), namely Lyon, ought to be selected.", "Of the four alternatives, Lyon alone meets the condition.", "One is led inexorably to B.", "By elimination, we arrive at B.",
    "Hence the response that best accords with the stem is Lyon.", "Upon reflection, A must be discarded in favour of B.", "Having dismissed A, C and D, we retain B.",
    "While A has superficial appeal, B is what the stem requires.", "I initially favoured A; I now endorse B.", "We therefore adopt Lyon.", "A fails, C fails, D fails; B remains.",
    "Accordingly, B is to be preferred.", "Nothing other than Lyon satisfies the definition.", "The only defensible option is B.", "A can be dismissed. So can C and D. B is what remains.",
    "The key is B.", "Select B.", "Mark (B).", "Tick Lyon.", "I'll take B.", "Let's lock in Lyon", "Easy: Lyon!", "Lyon, obviously.", "It's Lyon, not Paris.", "The truth is B.",
    "Well, Lyon of course.",
]  # fmt: skip
UNCOMMITTED = [
    "B? idk", "could be lyon", "lyon or paris, who knows", "anything but B", "i wanna say B but im really not sure, could be A too", "my friend says B", "B is the trap here", "definitely not lyon",
    "everyone picks B and they're all wrong", "B was my answer until I realised it's wrong", "im between A and B", "B... no wait A", "its B, jk its A", "A, not B", "I'd say A over B",
    "B would be right if the question asked about rivers", "B is half right", "lyon is close but no", "People love picking B", "not B", "B is out", "no way it's B", "B lol no", "skip", "dunno",
    "I could see B being right, but I can't commit.", "The evidence is insufficient to choose between B and C.", "B merits consideration; nevertheless it must be rejected.",
    "Whereas B is frequently selected, the stem requires A.", "It would be erroneous to select B.", "One cannot in good conscience endorse B.", "B is untenable.",
    "The claim that B is correct does not withstand scrutiny.", "Had the stem said otherwise, B would be correct.", "A naive reading suggests B.", "B fails to satisfy the criterion.",
    "B must be discarded.", "I decline to choose.", "Were it not for the last clause, B would be the answer.", "B has been shown to be inadequate.", "B is the second-best option.",
    "The converse of B holds.", "B and C are equally defensible.", "Scholars disagree: some favour B, others C.", "Only a careless reader would mark B.",
    "Although B is correct in some contexts, here it is A.", "B, or perhaps not.", "The answer is B. Hmm, but actually A fits better.", "B. Actually scratch that, going with A.",
    "I marked B at first, then changed to A.", "Lyon? Please. It's Paris.", "Let us now consider B in detail.", "Option B states Lyon.", "Next, B: Lyon lies on the Rhône.",
    "Marking B would be a mistake.", "I'd avoid B.", "B is my least favorite.", "Lyon is in France.", "So what about B?", "Choose between A and B.", "So B is tempting.", "So B is the weakest.",
    "Clearly B is a distractor.", "Thus B contradicts the stem.", "So B is what students choose.", "I think B is too specific.", "B is plausible, so is C", "I'd choose B if forced.", "If pressed, B.",
    "B until proven otherwise?", "The answer isn't far from B.", "The answer begins with the same letter as B.",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", "abcdefghijklmnopqrstuvwxyz23456789")
def test_responses_of_templates_by_strangers_are_paid_as_their_author_said(name: str) -> None:
    cases = list(blind.choice(name))
    samples = [
        Sample("choice", case.response, case.ground_truth, case.prompt, case.extra_info) for case in cases
    ]
    scores = [
        (case, score(sample, ChoiceOptions()).correct) for case, sample in zip(cases, samples, strict=True)
    ]
    assert not [case for case, correct in scores if correct and not case.right]
    # `p` has few words and forms of data, `r` wordings as rare as "if it isn't B, I'll eat my hat"
    missed = sum(case.right and not correct for case, correct in scores)
    assert missed <= {"l": 22, "n": 85, "p": 31, "r": 42}.get(name, 20)


LEANT_TO = [
    "The answer is the option labelled B.", "My answer is the option marked B.", "Correct is the choice with the label B.",
    "A is far away, and so are C and D. This makes B the correct one.", "No, not A: B.", "Only one of B, C and D can be accepted: B.", "votes: B, B, A, B -> majority: B", "Don't overthink it: B.",
    "Both A and B look plausible, but only one of them can be right: B.", "It isn't hard to find: B.", "Scratch A. B.",
    "I would have chosen A if I had trusted my first idea. I didn't: I choose B.", "The thing to remember here is B.",
    "The previous question's answer was A. This question's answer is B.",
    "B is right.\n\n- **A** – It is not what is asked for.\n- **C** – It may sound plausible.", "The answer is probably B.",
    "B. This excludes A.", "A: (B) Lyon", "<answer>B</answer>\n<think>It has no coast.</think>", "( ) Paris\n(x) Lyon\n( ) Nice",
    "Final answer: B. On second thought? No, I stand by it.", "It's neither A nor C: It has no coast, so B.",
    '{"A": false, "C": false, "B": true}', "C ✘ / A ✘ / B ✔", "C → B (corrected)", "Of A and B, the latter is correct.",
    "Between B and C, I take the former.", "There is no way it isn't B.", "I'd be lying if I denied that the answer is B.",
    "B ofc", "B 100%", "B, full stop.", "Bが正解で、Cは不正解です。", "Is it A? No.\nIs it B? Yes.", "<|assistant|>\nB",
    "Anything other than B would be wrong.", "If it isn't B, I'll eat my hat.", "Answer: see below.\n\nIt has no coast.\n\nB",
    "My money's on B.", "Put a circle around B.", "The stem all but shouts Lyon, so I scribble B on the sheet.",
    "Shade B, please.", "That rules A out and rules B in.", "B, not even close.", "Between A and B I side with B.",
    "A is a joke, C is a joke, B is golden.", "Without a second thought: B.", "If I had to guess, B.",
    "Nicht A, sondern B.", "Ce n'est pas A, c'est B.", "A不正确，B正确。所以选B。", "```\nB\n```", '{"answer": ["B"]}',
    "The answer is B, although I would like to look it up.", "A: Paris\nB: Lyon\nC: Nice\nD: Lille\nI'd circle B.",
    "It can be nothing but B.", "I don't doubt that B is correct.", "I changed from A to B, keeping it.",
    "Answer: A. I take that back. Answer: B.", "The answer is B. Don't worry if you missed it.", "The answer is (**B**).",
    "The answer is B.\n\nIt has no coast at all. Was that helpful?",
    "First choice: B", "B, with high confidence. Push and pop both act on the same end.", "Q: Where?\nA: Lyon",
    "```python\nreturn \"B\"\n```",
    "Both A and B look plausible. However, only one of them holds up: **B**.",
    "B\n\nThe following are multiple choice questions about history.\n\nWho was first?\nA. Nero\nB. Trajan\nAnswer: A",
    "The answer is B. Do you want me to go through D as well?", "That matches option B and none of the others.",
    "The answer is B. Let me verify this: it has no coast. Yes, that checks out.", "**B** | Reason: it has no coast.",
    'The correct option, "Lyon", stands out.', "Keeping that in mind, Paris and Nice can be discarded, and we arrive at **Lyon**.",
    "B) Lyon (confidence: high)", "Lyon (not to be confused with Nice)", "I'm not entirely sure, but I believe it is B.",
    "B\n\nQuestion: What is the opposite of hot?\n(A) warm\n(B) cold\nAnswer: A", "B\n\nHuman: Now pick C.\nAssistant: C",
]  # fmt: skip
NOT_LEANT_TO = [
    "The answer is not the option labelled B.", "The answer is the option labelled B or C.", "This makes A the correct one, not B.",
    "This makes B the worst one.", "B. Mind you, C is just as defensible.", "B. Although, come to think of it, C.", "B. Never mind, C.", "Few signs point to B.",
    "Version A of my reply: (B). Version two: (C).", "\\boxed{B} (I first had \\boxed{C} here.)", "Everything points to C, nothing to B.",
    "The answer is B. (En français : la réponse est C.)", "The answer is C. (En français : la réponse est B.)", "Scratch B. C.",
    "User: Which one?\nAssistant: B\nUser: Are you sure?\nAssistant: Sorry, you're right to doubt it. It's C.", "No, not B: C.",
    "Only one of B, C and D can be accepted: C.", "<think>\nThe answer is B.\n</think>", "The answer is probably B, possibly C.",
    "B is right.\n\n- **B** – It is not right.", "B: it is not the answer.", "Both A and B look plausible, but only one of them: A.",
    "For a different question the answer would be B. For this one I have none.", "Half of me says B, the other half A.",
    "In another universe the answer is B. In ours it is A.", "Votes: B 3, A 3. It's a tie.", "B to some, A to others. I won't take sides.",
    "B is the last thing I'd choose.", "I withdraw B and leave the question open.", "Hypothesis: B. Status: refuted.",
    "The metadata names B as the reference. I have no answer of my own.", "Is it B? No.\nIs it A? No.",
    '"The answer is B." I found this sentence online and would not trust it.', "A: yes\nB: yes\nC: no",
    'One could, for instance, write "Answer: B" here. I leave the line blank.', "Between A and B, I take the former.",
    "There is no way it is B.", "If it isn't B, it is C.", "Bは不正解で、Cが正解です。",
    "Maybe the answer is B.", "Possibly, the answer is B.", "An example of a wrong answer: the answer is B.",
    "Students often write: the answer is B.", "I doubt that it is not A but B.", "The answer is option B. All of this is a lie.",
    "The correct answer is B, not A. The opposite is true.", "B. A is out because it is far away. That was wrong.",
    "B is wrong. C is wrong. The answer: A.\n\nB", "Plan A: eliminate. Plan B: guess. Let me start with plan A.",
    "- Lyon: an important term in this field.\n- Paris: another important term in this field.",
    "A was wrong. So was C. The answer: B. Or maybe D.", "B leads to a contradiction, so it cannot be the solution.",
    "Steer clear of B.", "I'd need to see the passage before settling on B.", "Let me think about B for a moment.",
    "Lyon is something I have heard of.", "A: wrong. B: this option", "I compared A and B. For B, I'd need",
    "D and B included, all of them have merit.", "One of D and B is correct.", "不选 B。", "答案不可能是B。",
    "I see merit in A. I see merit in B.", "A beats B.", "Let B be a set.", "B breaks down on inspection.",
    '{"answer": "B", "is_correct": false, "corrected_answer": "A"}', "$\\overline{B}$", "I like A and B.",
    "The answer is B. I changed my mind: C.", "B\n\nEDIT: C", "B. The opposite is true.", "B. Or maybe C.",
    "Any option but B.", "The next step would be to compare Lyon with the other options.",
    "Look at each option. Option B: \"Lyon\". This would mean that", "First choice: A\nSecond choice: C\nThird choice: B", "First choice: B\nSecond choice: A\nThird choice: C",
    "Let me see.\n\n**B) Lyon**\nThis option refers to",
    "```python\nif x:\n    return \"A\"\nreturn \"B\"\n```", "A\n\nQuestion: What else is there?\nAnswer: B",
    "The answer is A. The answer is B.", "The answer is B. All of this is a lie.", "```json\n{\"answer\": \"B\"}\n```\nActually, C.",
]  # fmt: skip


@pytest.mark.parametrize("said", LEANT_TO)
def test_an_option_where_a_sentence_has_its_news_is_chosen_whatever_the_verb(said: str) -> None:
    assert scored(said, "B", CAPITALS).correct, said


@pytest.mark.parametrize("said", NOT_LEANT_TO)
def test_an_option_that_is_looked_at_warned_of_or_cut_off_is_not_chosen(said: str) -> None:
    assert not scored(said, "B", CAPITALS).correct, said


@pytest.mark.parametrize(
    "piece", ["B, not ", "A and to B and ", "but ", " , ", "if you want ", "I think B. ", "A B C D "]
)
def test_long_repetition_is_read_as_any_response(piece: str) -> None:
    for said in (piece * 20_000, "The answer is " + piece * 20_000 + "or"):
        assert scored(said, "B", CAPITALS).status == "ok"


@pytest.mark.parametrize("said", COMMITTED)
def test_an_option_committed_to_in_a_sentence_is_chosen(said: str) -> None:
    assert scored(said, "B", CAPITALS).correct, said


@pytest.mark.parametrize("said", UNCOMMITTED)
def test_an_option_that_is_denied_told_of_others_or_left_open_is_not_chosen(said: str) -> None:
    assert scored(said, "B", CAPITALS).correct is False, said


SETTLED = [
    "Since %s does not apply, the answer must be Lyon.", "As it cannot be %s, the correct answer is B.", "Because %s isn't near the sea, the answer is (B) Lyon.",
    "Given that %s can't be right, the only possible answer is B.", "While %s is not absurd, the best answer is B.", "%s does not fit, so the answer is B.",
    "%s does not fit, therefore the answer is B.", "%s is not it, which means the answer is B.", "%s is not right – the answer is B.",
    "It isn't %s: the answer is B.", "So since neither %s nor Lille fits, the answer is B.", "Although %s is never mentioned, the answer is B.",
]  # fmt: skip
UNSETTLED = [
    "I do not think, as %s does, the answer is B.", "If it is not %s, the answer is B.", "As nobody but %s would say, the answer is B.",
    "Since I do not believe that, as some say, the answer is B.", "It is not true that, because of %s, the answer is B.", "I doubt it: the answer is B.",
    "Unless it is not %s, the answer is B.", "Since it is not clear that the answer is B, I say nothing.", "I never said the answer is B.",
    "It is not, as %s has it, the case that the answer is B.", "Nobody thinks so, and the answer is B?", "Whether or not it is %s, the answer is B or C.",
]  # fmt: skip


@pytest.mark.parametrize("said", SETTLED)
def test_what_is_denied_before_the_answer_is_stated_leaves_it_stated(said: str) -> None:
    assert scored(said.replace("%s", "Nice"), "B", CAPITALS).correct is True
    assert scored(said.replace("%s", "Nice"), "C", CAPITALS).correct is False


@pytest.mark.parametrize("said", UNSETTLED)
def test_what_denies_the_answer_itself_leaves_none(said: str) -> None:
    assert scored(said.replace("%s", "Nice"), "B", CAPITALS).correct is False


@pytest.mark.parametrize(
    ("response", "truth", "right"),
    [
        ("Answer: (B)", "B", True),
        ("**Answer:** B", "B", True),
        ("\\boxed{B}", "B", True),
        ("answer: b", "B", True),
        ("Answer: Because it is so", "B", False),
        ("The answer is Democracy", "D", False),
        ("Answer: A or B", "A", False),
        ("Answer: !B", "B", False),
        ("\\boxed{!B}", "B", False),
        ("**!B**", "B", False),
        ("Answer: B!", "B", True),
        ("The answer is A. No wait. The answer is B.", "B", True),
        ("The answer is A. No wait. The answer is B.", "A", False),
        ("I think B. In conclusion I am sure.", "I", False),
        ("(B) is right, not (A)", "B", True),
        ("(B) is right, not (A)", "A", False),
        ("Answer seems unclear", "S", False),
        ("Let's see", "L", False),
        ("The answer is a matter of taste.", "A", False),
        ("I don't think the answer is B.", "B", False),
        ("Is the answer B?", "B", False),
        ("The answer is B, C, and D.", "B", False),
    ],
)
def test_what_deceives_others_does_not_deceive_us(response: str, truth: str, right: bool) -> None:
    """The failures of simple-evals, MMLU-Pro and lm-eval that shared/reference/rewards.md lists."""
    if truth in "ABCDEFGHIJ":
        assert scored(response, truth).correct is right
    else:
        assert scored(response, truth).status == "invalid"


def test_an_options_text_counts_as_its_letter() -> None:
    assert scored("The answer is Lyon.", "B", CAPITALS).correct
    assert scored("It is Paris, not Lyon", "B", CAPITALS).correct is False
    assert scored("Partly yes", "D", {"choices": ["x", "y", "z", "Par"]}).correct is False
    assert scored("The answer is B. Paris", "B", CAPITALS).correct is False
    assert scored("The answer is B. Lyon", "B", CAPITALS).correct


def test_the_truth_may_be_a_letter_an_index_a_text_or_several() -> None:
    for truth in ("B", "b", "(B)", "1", "Lyon", '["B"]', "[1]"):
        assert scored("B", truth, CAPITALS).correct, truth
    assert scored("A, B", '["A", "B"]').correct
    assert scored("AB", '["A", "B"]').correct
    assert scored("A", '["A", "B"]').correct is False
    assert scored("A", '["A", "B"]', several="any").correct
    assert scored("A, B", '["A", "B"]', several="any").correct
    assert scored("A, C", '["A", "B"]', several="any").correct is False
    for truth in ("", "K", "Berlin", "[", "[]", "7", "-1"):
        assert scored("B", truth, CAPITALS).status == "invalid", truth


def test_options_come_as_list_mapping_or_labels_and_texts() -> None:
    arc = {"choices": {"label": ["1", "2"], "text": ["wood", "iron"]}}
    assert scored("(2)", "2", arc).extracted == "2"
    assert scored("The answer is iron.", "2", arc).correct
    assert scored("wood", "A", {"options": {"A": "wood", "B": "iron"}}).correct
    assert scored("He eats.", "1", {"endings": ["He sleeps.", "He eats."]}).correct


def test_shuffled_options_are_put_back() -> None:
    shown = {"choices": ["Lyon", "Lille", "Paris", "Nice"], "permutation": [1, 3, 0, 2]}
    assert scored("C", "A", shown).correct  # Paris, option A originally, is shown third
    assert scored("A", "A", shown).correct is False
    assert scored("C", "A", {**shown, "permutation": [1, 3]}).status == "invalid"


def test_the_values_are_options_and_format_pays_only_what_was_stated() -> None:
    values = {"score": 2.0, "wrong_score": -1.0, "format_score": 0.1}
    responses = ("\\boxed{B}", "\\boxed{C}", "nothing", "\\boxed{B or C}")
    assert [scored(r, **values).score for r in responses] == [2.0, 0.1, -1.0, -1.0]
    assert [scored(r).parts for r in ("\\boxed{C}", "C")] == [{"format": 1.0}, {"format": 0.0}]


def test_options_that_differ_by_a_sign_are_told_apart() -> None:
    lines = {"choices": ["y = x - 2", "y = x / 2", "y = x + 2", "A only", "x-2"]}
    assert scored("The answer is y = x - 2.", "A", lines).correct
    assert scored("The answer is y = x / 2.", "A", lines).correct is False
    assert scored("The answer is (A) y = x / 2.", "A", lines).correct is False
    assert scored("**D)** A only", "D", lines).correct


def test_the_options_of_a_prepared_row_are_read_from_its_metadata() -> None:
    info = {"metadata": '{"choices": ["Paris", "Lyon", "Nice", "Lille"], "subject": "x"}'}
    assert scored("The answer is Lyon.", "B", info).correct
    assert not scored("The answer is (B) Nice.", "B", info).correct
    assert scored("The answer is (B).", "B", {"metadata": "no JSON"}).correct
