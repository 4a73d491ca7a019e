"""Other letters for all prose of a response; frames, their markers and the response's structure stay."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator

from rewardkit.rewards.answers.place import _JOINT, _TURN, Frame, FrameKind, last_group, own_text

KINDS: tuple[FrameKind, ...] = ("tags", "box", "hash", "marker")
STRUCTURE = re.compile(
    rf"<\|[a-z_]+\|>(?:analysis|commentary|final|assistant|user)?|\Aanalysis|assistantfinal|<[^<>\n]{{1,60}}>|\[[^\[\]\n]{{1,20}}\]|```[^\n]*|<!--.*?(?:-->|\Z)|{_TURN.pattern}",
    re.DOTALL | re.IGNORECASE,
)
FORMULAS = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]|\\begin\{[a-z]+\*?\}.*?\\end\{[a-z]+\*?\}|\\[a-zA-Z]+",
    re.DOTALL,
)
OTHERS = "山川日月木火土金石竹"


def has_frame(response: str) -> bool:
    """Whether the own text of a response holds a frame."""
    return bool(last_group(own_text(response), *KINDS))


def scrambled(response: str, seed: int, *, formulas: bool) -> str:
    """Return a response with every letter outside of its frames and structure replaced by another."""
    kept = bytearray(len(response))
    for pattern in (STRUCTURE, FORMULAS) if formulas else (STRUCTURE,):
        for found in pattern.finditer(response):
            kept[found.start() : found.end()] = b"\1" * len(found[0])
    for piece in _frames_and_joints(response):
        start = -1
        while (start := response.find(piece, start + 1)) >= 0:
            kept[start : start + len(piece)] = b"\1" * len(piece)
    draw = random.Random(seed)
    return "".join(char if keep else _other(char, draw) for char, keep in zip(response, kept, strict=True))


def _frames_and_joints(response: str) -> set[str]:
    """The texts of all frames, and of what stands between two of them and joins them."""
    found = set()
    for part in (own_text(response), *response.split("```")):
        frames = list(frames_in(part.replace("```", "   "), *KINDS))
        for later, frame in zip([None, *frames], frames, strict=False):
            found.add(part[frame.start : frame.end])
            joint = part[frame.end : later.start] if later else ""
            if joint and _JOINT.fullmatch(joint):
                found.add(part[frame.start : later.end])  # type: ignore[union-attr]
    return {piece for piece in found if piece}


def frames_in(text: str, *kinds: FrameKind) -> Iterator[Frame]:
    """Yield all frames of a text without fences, from the end."""
    while group := last_group(text, *kinds):
        yield from reversed(group)
        text = text[: group[0].start]


def _other(char: str, draw: random.Random) -> str:
    if char in string.ascii_lowercase:
        return draw.choice(string.ascii_lowercase)
    if char in string.ascii_uppercase:
        return draw.choice(string.ascii_uppercase)
    return draw.choice(OTHERS) if char.isalpha() else char
