"""What models, prompts and harnesses put around an answer, with right answers in it and wrong ones: `{}` is the answer."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.types import Sample

OPTIONS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}


def _answers(said: str) -> bool | None:
    question = "What is the capital of Australia?"
    return qa.score(Sample("qa", said, '["Canberra"]', question), qa.QaOptions()).correct


def _chooses(said: str) -> bool | None:
    return choice.score(Sample("choice", said, "B", "Which city?", OPTIONS), choice.ChoiceOptions()).correct


TOKENS = [
    "<｜Assistant｜>{}<｜end▁of▁sentence｜>", "<｜Assistant｜><think>\nhm\n</think>\n\n{}<｜end▁of▁sentence｜>", "<|im_start|>assistant\n{}<|im_end|>",
    "<|im_start|>assistant<|im_sep|>{}<|im_end|>", "<|header_start|>assistant<|header_end|>\n\n{}<|eot|>", "<|im_assistant|>assistant<|im_middle|>{}<|im_end|>",
    "◁think▷easy◁/think▷{}", "<start_of_turn>model\n{}<end_of_turn>", "]~b]ai\n{}[e~[", "{}[e~[", "<|start_of_role|>assistant<|end_of_role|>{}<|end_of_text|>",
    "<|hy_Assistant|>{}<|hy_eos|>", "<SPECIAL_11>Assistant\n{}<SPECIAL_12>", "<extra_id_1>Assistant\n{}", "<seed:bos>assistant\n{}<seed:eos>", "{}<seed:eos>",
    "<|assistant_start|><|inner_prefix|>easy<|inner_suffix|>{}<|assistant_end|>", "<|inner_prefix|>easy<|inner_suffix|>{}", "[|assistant|]{}[|endofturn|]",
    "<|bom|><|assistant|> {}<|eom|>", "<|ASSISTANT|>{}", "[gMASK]<sop><|assistant|>\n{}", "<role>ASSISTANT</role>{}<|role_end|>", "<|response|>{}<|endofresponse|>",
    "<|BOT|>assistant\n{}<|EOT|>", "<|thinking|>easy<|/thinking|>{}", "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{}<|END_OF_TURN_TOKEN|>",
    "<|START_THINKING|>easy<|END_THINKING|><|START_RESPONSE|>{}<|END_RESPONSE|>", "<|START_TEXT|>{}<|END_TEXT|>", "<|answer|>{}<|/answer|>",
    "Well.\n<|begin_of_answer|>{}<|end_of_answer|>", "<|answer_start|>{}<|answer_end|>", "<|answer_start|>{}",
]  # fmt: skip
HIDDEN = [
    "◁think▷{}◁/think▷", "◁think▷{}", "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>I don't know.<|END_RESPONSE|>", "<|START_THINKING|>{}",
    "<|inner_prefix|>{}<|inner_suffix|>", "<|thinking|>{}<|/thinking|>", "None.<|im_end|>{}", "None.[e~[{}", "None.[|endofturn|][|user|]{}", "None.<seed:eos>{}",
    "<|im_end|>{}", "<|endoftext|>{}", "<|user|>{}", "<|im_start|>user\n{}", "<start_of_turn>user\n{}",
]  # fmt: skip
"""What stands in a thought, behind the end of a text, or in somebody else's turn."""


@pytest.mark.parametrize("form", TOKENS)
def test_an_answer_among_special_tokens_is_one(form: str) -> None:
    assert _answers(form.format("Canberra"))
    assert _answers(form.format("The capital of Australia is Canberra."))
    assert not _answers(form.format("Canberra or Sydney"))
    assert not _answers(form.format("Not Canberra, but Sydney."))
    assert _chooses(form.format("B"))
    assert _chooses(form.format("The answer is (B) Lyon."))
    assert not _chooses(form.format("B or C"))
    assert not _chooses(form.format("The answer is B. No wait, C."))


@pytest.mark.parametrize("form", HIDDEN)
def test_an_answer_that_special_tokens_hide_is_none(form: str) -> None:
    assert not _answers(form.format("Canberra"))
    assert not _answers(form.format("The answer is Canberra."))
    assert not _chooses(form.format("B"))
    assert not _chooses(form.format("The answer is B."))
