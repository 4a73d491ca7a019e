"""What is a response's own text, and where the frames in it stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.registry import REGISTRY
from rewardkit.rewards.answers.place import (
    FRAME_KINDS,
    FrameKind,
    last_group,
    own_text,
    reply,
    without_prompt,
)
from rewardkit.scoring.runner import RewardRunner
from rewardkit.special_tokens import THOUGHTS, outside_thoughts
from rewardkit.types import Sample
from tests.rewards.scramble import frames_in

PROMPT = "What is the capital of Australia?"


def last(text: str, *kinds: FrameKind) -> list[tuple[str, str]]:
    """Kinds and texts of the group that is the answer."""
    return [(frame.kind, frame.text) for frame in last_group(text, *(kinds or FRAME_KINDS))]


# Own text.


@pytest.mark.parametrize(("opening", "closing"), THOUGHTS)
def test_what_follows_the_last_thought_is_the_response_s_own(opening: str, closing: str) -> None:
    assert own_text(f"{opening}a{closing}b{opening}c{closing}d") == "d"
    assert own_text(f"a{closing}b") == "b", "the prompt opened it"
    assert own_text(f"{opening}a") == own_text(f"a{closing}b{opening}c") == "", "it never ends"


def test_the_final_channel_is_the_response_s_own() -> None:
    said = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>"
    assert own_text(said) == own_text("analysisWe add: a.assistantfinalb") == "b"
    assert own_text("<|channel|>analysis<|message|>a") == own_text("analysisWe add: a") == ""
    assert own_text("analysis: it is b") == "analysis: it is b"
    assert own_text("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b").endswith("b")


@pytest.mark.parametrize(
    "token",
    ["<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "<|endoftext|>", "[INST]", "[/INST]", "<｜end▁of▁sentence｜>", "<|user|>"],
)  # fmt: skip
def test_a_response_ends_with_the_first_end_or_role_token(token: str) -> None:
    assert own_text(f"Canberra{token}\nAnswer: Sydney").strip() == "Canberra"
    assert own_text(f"Canberra{token}") == "Canberra"


def test_comments_are_left_out_and_nothing_else_that_a_page_would_hide() -> None:
    assert own_text("a<!-- b -->c<!-- d") == "ac"
    assert own_text("a\n[//]: # (b)\nc") == "a\n\nc"
    for shown in (
        "<span style='display:none'>a</span>",
        "~~a~~",
        "\\phantom{a}",
        "<details>a</details>",
        "a % b",
        "[x](y)",
    ):
        assert own_text(shown) == shown


@pytest.mark.parametrize(
    "after",
    ["Question: What is the capital of Italy?\nAnswer: Rome", "Q: What do dogs eat?\nA: meat", "Human: Thanks!",
     "**Question 2:** How many legs has an ant?\n6", "### User:\nNext", "### Instruction\nWrite a poem.", "问题：意大利的首都是？",
     "User: Which is the largest?\nAssistant: Sydney"],
)  # fmt: skip
def test_a_line_that_opens_a_next_turn_ends_the_own_text(after: str) -> None:
    assert own_text(f"Canberra\n\n{after}", PROMPT).strip() == "Canberra"


@pytest.mark.parametrize(
    "said",
    ["Question: What is asked?\nAnswer: Canberra", f"Sure.\n\nQuestion: {PROMPT}\nAnswer: Canberra", "Users like it.\nUser friendly.\nCanberra",
     "It is asked:\nthe question is what the capital is.\nCanberra", "Questions:\nnone\nCanberra",
     "Step by step.\n\nQuestion 1: no.\n\nQuestion 2: yes.\n\nCanberra"],
)  # fmt: skip
def test_a_first_line_the_prompt_itself_and_other_words_end_nothing(said: str) -> None:
    assert own_text(said, PROMPT).endswith("Canberra")


def test_a_prompt_that_is_repeated_word_for_word_can_be_left_out() -> None:
    prompt = "Compute the value of $2 + 3$ now."
    assert without_prompt(f"{prompt} It is 5.", prompt).strip() == "It is 5."
    assert without_prompt("Paris", "Paris") == "Paris"


def test_several_thoughts_may_stand_between_calls_and_programs() -> None:
    for response, said in (
        ("<think>a</think>b<think>c</think>d", "b\nd"),
        ("b<think>c", "b"),
        ("a</think>b<think>c</think>d", "b\nd"),
        ("a</think>b</think>c", "c"),
        ("<think>a<think>b</think>c", "c"),
    ):
        assert outside_thoughts(response) == said, response


# Frames.


@pytest.mark.parametrize(
    ("text", "kind", "held"),
    [
        ("<answer> 5 </answer>", "tags", "5"), ("<ANSWER>5</ANSWER>", "tags", "5"), ("<answer>a<answer>5</answer>", "tags", "5"),
        ("\\boxed{\\frac{1}{2}}", "box", "\\frac{1}{2}"), ("\\fbox{3}", "box", "3"), ("$\\boxed 7$", "box", "7"), ("<|begin_of_box|>72<|end_of_box|>", "box", "72"),
        ("#### 18", "hash", "18"), ("It is so. #### **18**", "hash", "18"), ("####\n\n18\n", "hash", "18"),
        ("Answer: 5", "marker", "5"), ("**Final Answer:** 5", "marker", "5"), ("## Answer\n\n5", "marker", "5"), ("So the answer is: 5.", "marker", "5"),
        ("We see that the best answer is 5. It fits.", "marker", "5"), ("The answer (arabic numerals) is 5", "marker", "5"),
        ("The answer (among A through E) is D.", "marker", "D"), ("Answer: St. Petersburg. It is old.", "marker", "St. Petersburg"),
        ("Answer: J. K. Rowling", "marker", "J. K. Rowling"), ("答案是B。", "marker", "B"), ("【答案】B", "marker", "B"), ("故选：C", "marker", "C"),
        ("Final Answer: The final answer is $5$. I hope it is correct.", "marker", "$5$"),
        ('{"reasoning": "The answer is 4.", "answer": 1.50}', "json", "1.50"), ('Here:\n```json\n{"answer": "x"}\n```\nDone.', "json", "x"),
    ],
)  # fmt: skip
def test_each_kind_of_frame_is_found(text: str, kind: str, held: str) -> None:
    assert last(text) == [(kind, held)]


@pytest.mark.parametrize(
    "text",
    ["", "<answer></answer>", "\\boxed{}", "####", "Answer:", "<answer>...</answer>", "\\boxed{\\ldots}", "I will answer this.", "Answers vary.",
     "the teacher's answer", "\\boxed{5", "<answer>5", "unanswered: 5", "{}", '{"answer": ""}'],
)  # fmt: skip
def test_empty_and_unfinished_frames_are_none(text: str) -> None:
    assert last(text) == []


def test_the_last_frame_with_anything_in_it_counts_whatever_its_kind() -> None:
    assert last("<answer>5</answer> Hm. So \\boxed{6}, then.") == [("box", "6")]
    assert last("\\boxed{5} is near. The answer is 6.") == [("marker", "6")]
    assert last("#### 5\nIt is done. \\boxed{}") == [("hash", "5")]


def test_a_frame_within_a_frame_is_the_frame() -> None:
    for text in (
        "<answer>So \\boxed{5}.</answer>",
        "#### \\boxed{5}",
        "The answer is $\\boxed{5}$ apples, or more.",
    ):
        assert last(text) == [("box", "5")], text
    assert last("<answer>The answer is 5</answer>") == [("marker", "5")]


@pytest.mark.parametrize("gap", [" ", ", ", " or ", "\n\n", " and ", "$, $", "；", " 或 ", "$ or $x = $"])
def test_frames_that_only_a_joint_separates_are_one_group(gap: str) -> None:
    assert last(f"\\boxed{{5}}{gap}\\boxed{{6}}") == [("box", "5"), ("box", "6")]
    assert last("\\boxed{5} No, wait: \\boxed{6}") == [("box", "6")]


def test_markers_and_frames_of_other_kinds_stand_side_by_side_too() -> None:
    assert last("The answer is 5. The answer is 6.") == [("marker", "5"), ("marker", "6")]
    assert last("Answer: 5\n#### 6") == [("marker", "5"), ("hash", "6")]


def test_fences_are_looked_into_only_where_no_frame_stands_outside() -> None:
    assert last("#### 5\n```\n#### 6\n```") == [("hash", "5")]
    assert last("```python\n#### 6\n```\nDone.") == [("hash", "6")]
    assert last("**Answer:**\n```\n42\n```") == [("marker", "42")]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    ["\\boxed{", "<answer>", "</answer>", "#### ", "####", "Answer: ", "the answer is ", "```", "{", "\n#", "<think>", "</think>", "答案", "<!--",
     "\nQ: ", "<|im_start|>", "[//]: #", "\\boxed{1} ", "Answer: 1\n", "x ", "9"],
)  # fmt: skip
def test_a_megabyte_of_openings_is_read_in_a_moment(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    last_group(own_text(text, PROMPT), *FRAME_KINDS)


PIECES = ["<answer>", "</answer>", "\\boxed{", "}", "####", "Answer:", "the answer is", "答案", "\n", " ", "5", "B", "or", ",", "```", "<think>",
          "</think>", "<!--", "-->", "Q:", "<|im_end|>", '{"answer": ', '"', "$"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_frames_are_in_order_do_not_overlap_and_hold_something(text: str) -> None:
    if "```" in text:
        text = text.replace("```", "")
    edge = len(text)
    for frame in frames_in(text, *FRAME_KINDS):
        assert frame.text.strip()
        assert 0 <= frame.start < frame.end <= edge
        edge = frame.start


# In the rewards.


@pytest.mark.parametrize("token", ["<|assistant|>\n", "<|start_header_id|>assistant<|end_header_id|>\n\n"])
@pytest.mark.parametrize(
    ("name", "response", "ground_truth"),
    [
        ("gsm8k", "#### 72", "72"), ("math", r"\boxed{72}", "72"), ("choice", "B", "B"), ("qa", "Paris", "Paris"), ("contains", "Paris", "Paris"),
        ("number", "72", "72"), ("rouge_l", "the cat sat", "the cat sat"), ("exact", "Paris", "Paris"),
    ],
)  # fmt: skip
def test_the_end_of_the_prompt_before_a_response_hides_nothing(
    token: str, name: str, response: str, ground_truth: str
) -> None:
    reward = REGISTRY.by_name(name)
    assert reward is not None
    runner = RewardRunner(reward, reward.make_options({}))
    assert runner.run_one(Sample(name, token + response, ground_truth, "q")).score == 1.0
    behind = runner.run_one(Sample(name, f"wrong{token}{response}", ground_truth, "q"))
    assert not behind.correct, "another turn is no answer"


@pytest.mark.parametrize(
    "token",
    [
        "<pad>",
        "[PAD]",
        "<unk>",
        "[SEP]",
        "<|im_end|>",
        "<end_of_utterance>",
        "</s>",
        "<|fim_pad|>",
        "<｜▁pad▁｜>",
    ],
)
def test_tokens_that_fill_up_a_response_are_no_part_of_it(token: str) -> None:
    for answer, name, truth in (
        ("\\boxed{72}", "math", "72"), ("#### 72", "gsm8k", "72"), ('{"a": 1}', "json", '{"a": 1}'), ("72", "exact", "72"), ("72", "number", "72"),
        ('[f(a="x")]', "tool_call", '[{"name": "f", "arguments": {"a": "x"}}]'), ("B", "choice", "B"), ("Canberra", "qa", "Canberra"),
    ):  # fmt: skip
        reward = REGISTRY.resolve(name)
        sample = Sample(name, answer + "\n" + token * 3 + " " + token, truth)
        found = RewardRunner(reward, reward.make_options({})).run_one(sample)
        assert found.score == 1.0, (name, token, found)


@pytest.mark.parametrize(
    ("name", "truth", "response"),
    [
        ("exact", "[MASK]", "[MASK]"), ("contains", "[MASK]", "BERT fills in [MASK]"),
        ("regex", r"\[MASK\]", "[MASK]"),
        ("yaml", '{"value": {"tokens": ["MASK"]}}', "tokens: [MASK]"),
        ("yaml", '{"value": {"tokens": ["PAD"]}}', "tokens: [PAD]"),
        ("xml", '["mask"]', "<mask>x</mask>"), ("xml", '["sos", "eos"]', "<sos>1</sos>\n<eos>2</eos>"),
        ("tool_call", '[{"name": "f", "arguments": {"a": "[MASK]"}}]', "Action: f\nAction Input: [MASK]"),
    ],
)  # fmt: skip
def test_values_and_elements_with_the_names_of_tokens_are_data(name: str, truth: str, response: str) -> None:
    reward = REGISTRY.resolve(name)
    runner = RewardRunner(reward, reward.make_options({}))
    for ending in ("", "<|im_end|>", "\n</s>"):
        assert runner.run_one(Sample(name, response + ending, truth)).score == 1.0, ending


def test_long_runs_of_such_tokens_are_read_in_one_pass() -> None:
    for run in ("<pad>" * 200_000, "\n" * 1_000_000 + "<pad>", "<think>" * 200_000, "</think>" * 200_000):
        reply("72" + run)


@pytest.mark.parametrize("mark", ["✅ ", "→ ", "👉 **", "• ", "🎯 ### "])
def test_a_mark_before_a_marker_does_not_hide_it(mark: str) -> None:
    assert last(f"It is so.\n\n{mark}Final Answer: **73**") == [("marker", "73")]


def test_a_box_and_a_line_are_two_claims_of_which_the_last_counts() -> None:
    assert last("\\boxed{5\\text{ A}}\n\nAnswer: D") == [("marker", "D")]
    assert last("Answer: D\n\n\\boxed{5}") == [("box", "5")]


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("The answer is B. A is wrong.", "B"),
        ("The answer is J. K. Rowling. She wrote it.", "J. K. Rowling"),
        ("The answer is St. Louis.", "St. Louis"),
        ("The answer is Dr. Watson", "Dr. Watson"),
        ("The answer is C. The other options are wrong.", "C"),
        ("Answer: No. It is not.", "No"),
    ],
)
def test_an_initial_ends_no_name_and_a_letter_before_a_sentence_ends_one(sentence: str, answer: str) -> None:
    assert last(sentence) == [("marker", answer)]
