"""Special tokens in decoded texts: tokens that end turns, pad texts, or enclose reasoning ("thoughts").

This module only recognises the tokens, while the server's chat templates define their role in turns. All
code that separates a model's reasoning from its answer uses this module. A thought is a reasoning block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
"""Pairs of tags that open and close a reasoning block, as the various model families write them."""
_CLOSING_OF = dict(THOUGHTS)
_TAGS = [tag for form in THOUGHTS for tag in form]
_TAGS_BY_SIGN = {
    sign: [tag[1:] for tag in _TAGS if tag[0] == sign] for sign in dict.fromkeys(tag[0] for tag in _TAGS)
}
_THOUGHT_TAG = re.compile(
    "|".join(f"{re.escape(sign)}(?:{'|'.join(map(re.escape, rest))})" for sign, rest in _TAGS_BY_SIGN.items())
)
"""Pattern of all these tags. Grouping the tags by their first characters doubles the speed of the search."""
_OF_THOUGHTS = "|".join(re.escape(tag[2:-2]) for tag in _TAGS if tag.startswith("<|"))
_CLOSING = rf"(?:end_of_(?:box|solution|answer)|/?answer|answer_end|{_OF_THOUGHTS})"
"""Pattern of tokens that close an earlier token or belong to a reasoning block. They do not end the text."""
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
"""Pattern of tokens that end a response wherever they occur. The pattern excludes tokens that introduce the
text after them, such as the token before a tool call."""
_ELSEWHERE_TEXT = (
    r"</?(?:eos|eot|eod|EOS|EOT|EOD|PAD|UNK|endoftext|end_of_text|start_of_turn|end_of_utterance"
    r"|im_end|eom|eot_id|eos_token|pad_token)>|\[(?:SEP|EOT)\]"
)
"""Pattern of texts that are end tokens at the end of a response and ordinary text elsewhere. The pattern
excludes mask tokens, because no model ends or pads a response with them."""
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
    """Remove special tokens and the white space between them from the end of a response.

    The function removes end-of-turn and padding tokens. A token may be repeated any number of times, but only
    a limited number of runs of different tokens is removed.
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
    """Remove the tokens that open the model's turn, which some responses repeat from the end of the
    prompt."""
    opening = _OPENING.match(text)
    return text[opening.end() :] if opening and not opening[0].isspace() else text


def behind_thoughts(text: str) -> str | None:
    """Return the text after the last reasoning block, or the whole text if it has no reasoning block.

    The result is None if a reasoning block is still open at the end of the text. A closing tag without an
    opening tag ends a reasoning block that the prompt opened. Tags inside a reasoning block are part of it.
    """
    thoughts, is_open = _thoughts(text)
    if is_open:
        return None
    return text[thoughts[-1][1] :] if thoughts else text


def outside_thoughts(text: str) -> str:
    """Return the text outside all reasoning blocks, including calls or programs between the blocks.

    A reasoning block without a closing tag extends to the end of the text. A closing tag without an opening
    tag ends a block that the prompt opened, so all text before the tag is part of the block. Tags inside a
    reasoning block are part of it.
    """
    thoughts, _ = _thoughts(text)
    return "\n".join(piece for piece in _between(text, thoughts) if piece.strip()) if thoughts else text


def thoughts_and_said(text: str) -> tuple[str, str]:
    """Return the reasoning blocks of a text with their tags, and the text without these blocks.

    A reasoning block must have both tags, except a block at the beginning of the text that the prompt opened.
    Any other tag may be part of an argument of a tool call.
    """
    thoughts, _ = _thoughts(text, pairs_only=True)
    return "".join(text[start:end] for start, end in thoughts), "".join(_between(text, thoughts))


def begins_with_thought(text: str) -> bool:
    """Return True if a text begins with the opening tag of a reasoning block."""
    return text.lstrip().startswith(tuple(opening for opening, _ in THOUGHTS))


def behind_first_thought(text: str) -> str:
    """Return the text after its initial reasoning block, or the whole text if it begins with other text."""
    begun = text.lstrip()
    closing = next((closing for opening, closing in THOUGHTS if begun.startswith(opening)), None)
    return text if closing is None else begun.partition(closing)[2]


def _thoughts(text: str, *, pairs_only: bool = False) -> tuple[list[tuple[int, int]], bool]:
    """Return the start and end of each reasoning block, and True if the last block is still open.

    An opening tag without a closing tag begins a block that extends to the end of the text. The tag is
    instead part of a block that the prompt opened if other words precede the tag and a closing tag of a
    different form follows it.
    """
    found: list[tuple[int, int]] = []
    endless: set[str] = set()
    open_at: int | None = None
    is_prompted = False
    position = 0
    while tag := _THOUGHT_TAG.search(text, position):
        is_prompted = is_prompted or (position == 0 and bool(text[: tag.start()].strip()))
        position = tag.end()
        closing = _CLOSING_OF.get(tag[0])
        if closing is None:
            if not (found and pairs_only):
                found, open_at = [(0, position)], None
            continue
        end = -1 if closing in endless else text.find(closing, position)
        if end >= 0:
            position = end + len(closing)
            found.append((tag.start(), position))
            continue
        endless.add(closing)  # a second search for this tag would take quadratic time
        if not pairs_only:
            open_at = tag.start() if open_at is None else open_at
            if found or not is_prompted:
                break
    if open_at is None:
        return found, False
    return [*(one for one in found if one[1] <= open_at), (open_at, len(text))], True


def _between(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the pieces of a text before, between and after the given spans."""
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _is_data(token: str, text: str, start: int) -> bool:
    """Return True if a token is the end of an element (`<eos>2</eos>`) or a value (`tokens: [PAD]`)."""
    if token.startswith("["):
        return text[max(0, start - 2) : start].rstrip(" ").endswith((":", "="))
    return token.startswith("</") and token != "</s>" and text.find(f"<{token[2:]}", 0, start) >= 0
