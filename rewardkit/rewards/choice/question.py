"""The options of a multiple-choice question and which are right, from a ground truth and `extra_info`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from rewardkit.types import Sample

LETTERS = "ABCDEFGHIJ"
"""The labels of options that are not given."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DECORATION = " \t\r\n*_`\"'“”‘’.:：,;!。，…«»„‚‹›「」『』《》•▶►│║┃⭐✅✔☑👉👈➡→\ufe0f"
LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mathit|textit|operatorname)\s?\{|\\[,;!() \[\]]|[{}$]")
_ARTICLE = re.compile(r"\b(?:an?(?!\s+(?:only|and|or|alone|but|nor)\b)|the)\s+(?=\w)")
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?|[-+/^=<>%×#]")
_OF_PROSE = re.compile(r"[^\W\d_]{2,}")
"""A word: between two of them a dash or stroke is punctuation, and no sign."""


@dataclass(frozen=True, slots=True)
class ChoiceList:
    """The options of one question, in the order shown."""

    labels: tuple[str, ...]
    texts: dict[str, int]
    """Folded text -> index; texts that two options share are left out."""


def read_question(sample: Sample) -> tuple[ChoiceList, frozenset[int] | None]:
    """Return the options as shown, and which of them are right: None when the ground truth names none."""
    info = sample.extra_info
    if not info:
        return _prepared(_NO_CHOICES.labels, (), sample.ground_truth)
    given = info.get("choices") or info.get("options") or info.get("endings")
    if not given and isinstance(info.get("metadata"), str):
        given = _kept(info["metadata"])
    if type(given) is list and type(given[0]) is str:
        choices, right = _prepared_list(tuple(given), sample.ground_truth)
    else:
        labels, texts = _labelled(given) if given else (_NO_CHOICES.labels, ())
        choices, right = _prepared(labels, texts, sample.ground_truth)
    permutation = info.get("permutation")
    if right is None or permutation is None:
        return choices, right
    try:
        return choices, frozenset(list(permutation).index(i) for i in right)
    except (ValueError, TypeError):
        return choices, None


@lru_cache(maxsize=65_536)
def _kept(metadata: str) -> list[str] | None:
    """The options in the metadata of a prepared row, JSON with `choices`."""
    try:
        given = msgspec.json.decode(metadata)
    except (msgspec.DecodeError, RecursionError):
        return None
    found = given.get("choices") if isinstance(given, dict) else None
    return found if isinstance(found, list) and found and all(type(c) is str for c in found) else None


def _labelled(given: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and texts of the options, however they were given."""
    if isinstance(given, Mapping):
        labels, texts = given.get("label"), given.get("text")
        if isinstance(labels, Sequence) and isinstance(texts, Sequence) and not isinstance(labels, str):
            return tuple(map(str, labels)), tuple(map(str, texts))
        return tuple(map(str, given)), tuple(map(str, given.values()))
    texts = tuple(map(str, given))
    return tuple(_ALPHABET[: len(texts)]), texts


@lru_cache(maxsize=65_536)
def _prepared_list(given: tuple[Any, ...], ground_truth: str) -> tuple[ChoiceList, frozenset[int] | None]:
    labels, texts = _labelled(given)
    return _prepared(labels, texts, ground_truth)


@lru_cache(maxsize=65_536)
def _prepared(
    labels: tuple[str, ...], texts: tuple[str, ...], ground_truth: str
) -> tuple[ChoiceList, frozenset[int] | None]:
    """The options, and which of them are right before any permutation."""
    choices = _choices(labels, texts) if texts else _NO_CHOICES
    return choices, _right(ground_truth, choices)


@lru_cache(maxsize=65_536)
def _choices(labels: tuple[str, ...], texts: tuple[str, ...]) -> ChoiceList:
    folded = [fold(text) for text in texts]
    return ChoiceList(
        tuple(label.strip("(). ").upper() for label in labels),
        {text: i for i, text in enumerate(folded) if text and folded.count(text) == 1},
    )


_NO_CHOICES = ChoiceList(tuple(LETTERS), {})


def _right(ground_truth: str, choices: ChoiceList) -> frozenset[int] | None:
    plain = ground_truth.strip()
    if plain.startswith("["):
        try:
            found = [_one_right(str(item), choices) for item in msgspec.json.decode(plain.encode())]
        except (msgspec.DecodeError, TypeError, UnicodeEncodeError):
            return None
        return None if not found or None in found else frozenset(i for i in found if i is not None)
    one = _one_right(plain, choices)
    return None if one is None else frozenset((one,))


def _one_right(text: str, choices: ChoiceList) -> int | None:
    label = text.strip("(). ").upper()
    if label in choices.labels:
        return choices.labels.index(label)
    if text.isdecimal() and text.isascii() and int(text[:4]) < len(choices.labels):
        return int(text[:4])
    return choices.texts.get(fold(text))


def fold(text: str) -> str:
    """Return a text as options are compared: letter case, punctuation and articles in front do not matter."""
    text = LATEX.sub("", text) if "\\" in text or "$" in text else text
    plain = _ARTICLE.sub("", text.strip(DECORATION).casefold()).translate(_DASHES)
    tokens = _TOKEN.findall(plain)
    if "-" in tokens or "/" in tokens:
        tokens = [token for i, token in enumerate(tokens) if token not in "-/" or _is_sign(tokens, i)]
    return " ".join(tokens)


_DASHES = {0x2212: "-", 0x2013: "-", 0x2014: "-"}


def _is_sign(tokens: list[str], at: int) -> bool:
    """Whether a dash or stroke is one of arithmetic: something follows, and it is not between two words."""
    if at + 1 == len(tokens):
        return False
    return at == 0 or not (_OF_PROSE.fullmatch(tokens[at - 1]) and _OF_PROSE.fullmatch(tokens[at + 1]))
