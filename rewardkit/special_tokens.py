"""Special tokens as texts hold them that were decoded with them: ends of turns, padding, beginnings.

What they mean for turns stands with the server's chat templates; here they are only recognised.
"""

from __future__ import annotations

import re

_CLOSING = r"(?:end_of_(?:box|thought|solution|answer)|/?answer|answer_end|END_THINKING|inner_suffix)"
"""Tokens that close what opens before them, and end nothing else."""
SPECIAL = re.compile(
    r"<(?:\|[^|<>\s]{1,40}\|>|｜[^｜<>\s]{1,40}｜>|/?s>|(?:bos|eos|pad|unk|sop|end_of_turn)>)"
    r"|\[/?(?:gMASK|SYSTEM_PROMPT|PAD|UNK|BOS|EOS)\]|\[\|(?:assistant|endofturn|user|system)\|\]"
)
END_OF_TEXT = re.compile(
    rf"<\|(?!begin|{_CLOSING}|channel|message|constrain|python_tag|tool"
    r"|\w{0,12}think|START_(?:TH|RE|TE)|inner_|answer_start|response\|)[a-zA-Z]\w{2,30}\|>"
    r"|</s>|<｜|\[/?INST\]|\[EOS\]|\[\|(?:endofturn|user|system)\|\]|\[e~\[|\[end of text\]"
    r"|<(?:s|eos|eot|eod|pad|EOS|EOT|PAD|endoftext|end_of_text|end_of_turn|start_of_turn|seed:eos|/longcat_s"
    r"|SPECIAL_\d{1,3}|extra_id_1)>"
)
"""With one of these, wherever it stands, a response has ended. Tokens that announce what comes (a box, a
channel, a call, a solution) are none of them."""
_ELSEWHERE_TEXT = (
    r"</?(?:eos|eot|eod|EOS|EOT|EOD|PAD|UNK|endoftext|end_of_text|start_of_turn|end_of_utterance"
    r"|im_end|eom|eot_id|eos_token|pad_token)>|\[(?:SEP|EOT)\]"
)
"""What ends a text as a token would, and is a part of it elsewhere. No model ends or fills up with masks."""
THOUGHTS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|thinking|>", "<|/thinking|>"),
)
"""What opens and closes a thought, by model family."""
_OPENING = re.compile(
    r"\s*(?:(?:<s>|<bos>|<seed:bos>|\[gMASK\]\s?(?:<sop>|sop\b)?|<\|(?:START_OF_TURN_TOKEN|bom)\|>)\s*)*"
    r"(?:<\|(?:assistant|ASSISTANT|CHATBOT_TOKEN|hy_Assistant|assistant_start)\|>|<｜(?:hy_)?Assistant｜>"
    r"|\[/INST\]|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|<\|header_start\|>assistant<\|header_end\|>|<\|start_of_role\|>assistant<\|end_of_role\|>"
    r"|<\|im_start\|>assistant(?:<\|im_sep\|>)?|<\|im_assistant\|>assistant<\|im_middle\|>"
    r"|<\|BOT\|>assistant|<start_of_turn>model\b|<(?:SPECIAL_\d{1,3}|extra_id_1)>Assistant\b"
    r"|(?<=<seed:bos>)assistant\b|<role>ASSISTANT</role>|\[\|assistant\|\]|\]~b\]ai\n)?\s*"
)
_LAST = re.compile(rf"(?!<\|{_CLOSING}\|>)(?:{SPECIAL.pattern}|{_ELSEWHERE_TEXT})\Z")
_LONGEST = 44
_MOST_RUNS = 64
_SIGNS = (">", "]")


def strip_end(text: str) -> str:
    """Remove special tokens (end of turn, padding) and the white space among them from a response's end.

    Of padding there are thousands, of runs of different tokens only as many as anybody fills up with.
    """
    kept = len(text)
    for _ in range(_MOST_RUNS):
        end = kept
        while end and text[end - 1].isspace():
            end -= 1
        if not text.endswith(_SIGNS, 0, end):
            return text[:kept]
        found = _LAST.search(text[max(0, end - _LONGEST) : end])
        if not found or _is_data(found[0], text, end - len(found[0])):
            return text[:kept]
        kept = end - len(found[0])
        while found[0][0] == "<" and found[0][1] != "/" and text.endswith(found[0], 0, kept):
            kept -= len(found[0])
    return text[:kept]


def strip_start(text: str) -> str:
    """Remove the tokens that open the model's turn, where a response repeats the end of its prompt."""
    opening = _OPENING.match(text)
    return text[opening.end() :] if opening and not opening[0].isspace() else text


def _is_data(token: str, text: str, start: int) -> bool:
    """Whether what looks like a token closes an element, `<eos>2</eos>`, or is a value: `tokens: [PAD]`."""
    if token.startswith("["):
        return text[max(0, start - 2) : start].rstrip(" ").endswith((":", "="))
    return token.startswith("</") and token != "</s>" and text.find(f"<{token[2:]}", 0, start) >= 0
