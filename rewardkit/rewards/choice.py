"""Reward for multiple-choice questions: the response names an option by its letter, its text, or both.

The reward is suitable for MMLU, MMLU-Pro, GPQA, ARC, hellaswag, CommonsenseQA and similar datasets.

- The answer is in the last frame of the final answer text (`answers/place.py`). Without a frame, the whole
  response must be the option, or the last line must be the option's letter, with or without its text.
- `B`, `(B)`, `option B`, `B. Paris`, `Paris (B)` and `Paris` name the same option. A response has no answer
  if it names contradictory options, a letter with another option's text, or a letter without an option. The
  lists `A, C` and `ACD` name all their options, and so does `A. Rome B. Paris C. Oslo` behind the marker of
  an answer.
- The options are `extra_info["choices"]` (or `options`, `endings`): a list, a mapping of letter to text, or
  `{"label": [...], "text": [...]}`, in the order in which the prompt shows them. If the options were shuffled
  after the ground truth was written, `extra_info["permutation"]` contains the original index of the option at
  each position. The rows of `rewardkit prep` contain the options in `extra_info["metadata"]`, as JSON.
  Without options, only letters count.
- The ground truth is a letter, an index from 0, an option's text, or a JSON list of these. The response must
  name all options of a list or, with `several="any"`, one of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewardkit.rewards.answers import reasons
from rewardkit.rewards.answers.notation import without_latex
from rewardkit.rewards.answers.number import DENIED_FIRST, SENTENCE_WORDS
from rewardkit.rewards.answers.place import FRAME_KINDS, Group, last_group, own_text
from rewardkit.rewards.answers.same_value import DECORATION, matching, text_key, undecorated
from rewardkit.types import Sample, Score, failure


@dataclass(frozen=True)
class ChoiceOptions:
    """Options of the `choice` reward."""

    score: float = 1.0
    """Score of a right answer."""
    wrong_score: float = 0.0
    """Score of a wrong option outside an answer format such as `\\boxed{B}` or `Answer: B`, and of a response
    without an option. Set `format_score` too."""
    format_score: float = 0.0
    """Score of a wrong option in an answer format such as `\\boxed{B}` or `Answer: B`."""
    several: Literal["all", "any"] = "all"
    """Rule for a ground truth that is a list. With `all`, the response must choose all options in the list.
    With `any`, it must choose exactly one of them. A response that chooses any other option is wrong."""


def score(sample: Sample, options: ChoiceOptions) -> Score:
    """Score a response by the rules in the docstring of this module.

    `parts["format"]` is 1.0 if the answer is in a frame. The status is `invalid` if the ground truth does not
    name an option.
    """
    choices, right = read_question(sample)
    if right is None:
        return failure("invalid", _why_invalid(sample, choices))
    text = own_text(sample.response, sample.prompt)
    group = last_group(text, *FRAME_KINDS, holds=lambda said: _speaks_of(said, choices))
    named = _agreed(group, choices, _list_behind(text, group, choices)) if group else _alone(text, choices)
    kind = group[-1].kind if group else None
    correct = bool(named) and (
        named == right or (options.several == "any" and len(named) == 1 and named <= right)
    )
    value = options.score if correct else options.format_score if kind and named else options.wrong_score
    shown = ",".join(choices.labels[i] for i in sorted(named)) or None
    where = reasons.place(kind or "whole response or last line")
    why = where if correct else _why_wrong(text, where, group, named, choices, right)
    return Score(value, "ok", correct, shown, {"format": float(kind is not None)}, why)


def _why_wrong(
    text: str, where: str, group: Group, named: frozenset[int], choices: ChoiceList, right: frozenset[int]
) -> str:
    """Return the reason why a response is wrong: the chosen options, or the text that names no option."""
    wanted = ", ".join(choices.labels[i] for i in sorted(right))
    if named:
        return f"{where}: {', '.join(choices.labels[i] for i in sorted(named))} is not {wanted}"
    if group:
        said = reasons.quoted(" … ".join(frame.text for frame in group))
        return f"{where}: {said} does not name exactly one of {', '.join(choices.labels)}"
    return reasons.no_answer(text, f"option {reasons.IN_A_FRAME}, and no letter alone in the last line")


# --- options named by a text ---

Named = frozenset[int]
"""Indices of the options that a text names, or empty if it names no option or contradicts itself."""

_NONE: Named = frozenset()
_CALLED = r"(?:(?:the\s)?(?:option|choice|answer|letter|选项|選項)s?:?\s*)?"
_LABEL = re.compile(
    rf"{_CALLED}(?P<open>[(\[（*_]{{0,4}})(?P<label>[A-Za-z]|\d{{1,2}})(?P<mark>[)\]）*_.:：、,，;。]{{0,4}})(?![\w'’′{{^])",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[(\[]?[A-Z][)\]]?(?:(?:\s?(?:,|;|&|/|、|和|and\b)\s?|\s)?[(\[]?[A-Z][)\]]?){1,25}")
_LABEL_BEHIND = re.compile(r"(?P<text>[^(\[（]{1,400})[(\[（](?P<label>[A-Z])[)\]）]")
_BRACKETED = re.compile(r"[(\[（]([A-Z])[)\]）]")
_LETTER = re.compile(r"(?<![a-zA-Z0-9'’])(?P<open>[(\[])?(?P<letter>[a-zA-Z]|\d{1,2})(?![a-zA-Z0-9'’])")
_WORD_FOLLOWS = re.compile(r"\s+(?!(?:because|since|as|and|or|but|is|for)\b)[a-z]")
"""Word after an article or a pronoun, as in `a man` or `I think`. Conjunctions follow only labels."""

_OPERATOR_FOLLOWS = re.compile(r"\s*[=<>≤≥≠+*/∪∩]")


def _speaks_of(text: str, choices: ChoiceList) -> bool:
    """Return True if a text names an option, begins with a negation, or contains a label."""
    plain = _plain(text)
    denied = plain.partition(" ")[0].casefold() in DENIED_FIRST
    return denied or bool(_named(text, choices, in_sentence=True)) or bool(_labels_in(plain, choices))


def _agreed(group: Group, choices: ChoiceList, listed: Named) -> Named:
    """Return the options named by the last frame of a group, or none if another frame disagrees."""
    last = _named(group[-1].text, choices, in_sentence=group[-1].kind == "marker") | listed
    for frame in group[:-1]:
        other = _exactly(frame.text, choices)
        several = not other and frame.kind != "marker" and _speaks_of(frame.text, choices)
        if several or (other and other != last):
            return _NONE
    return last


def _alone(text: str, choices: ChoiceList) -> Named:
    """Return the options named by a whole response without a frame, or by the letter on its last line."""
    whole = text.strip()
    if named := _exactly(whole, choices):
        return named
    label = _LABEL.match(whole) if "\n" not in whole else None
    if label and label["mark"].strip("*_"):
        return _named(whole, choices, in_sentence=False)
    last = whole.rpartition("\n")[2]
    return _exactly(last, choices) if _LABEL.match(_plain(last)) else _NONE


def _named(text: str, choices: ChoiceList, in_sentence: bool) -> Named:
    """Return the options named by the text of a frame."""
    plain = _plain(text)
    if plain.startswith(_NEGATIONS) or plain.partition(" ")[0].casefold() in DENIED_FIRST:
        return _exactly(text, choices) if choices.called(text) is not None else _NONE
    if named := _exactly(text, choices):
        return named
    label = _LABEL.match(plain)
    if label and (named := _labelled_by(label, choices)):
        rest = plain[label.end() :]
        if _IS_WRONG.match(rest):
            return _NONE
        is_sentence = not in_sentence and not SENTENCE_WORDS.isdisjoint(text_key(rest).split())
        return _NONE if is_sentence or _names_others(rest, named, choices) else named
    bracketed = set(_BRACKETED.findall(plain)) if in_sentence and not _DENIES.search(plain) else ()
    named = _of_labels(bracketed, choices) if len(bracketed) == 1 else _NONE
    return _NONE if _names_others(plain, named, choices) else named


def _exactly(text: str, choices: ChoiceList) -> Named:
    """Return the options that make up a whole text, or none if the text contains anything else."""
    plain = _plain(text)
    one = choices.called(text)
    if plain.startswith(_NEGATIONS):  # `¬p` names the option `¬p`, and denies the option `p`.
        own = one is not None and _plain(choices.shown[one]).startswith(_NEGATIONS)
        return frozenset((one,)) if own and one is not None else _NONE
    if one is not None:
        return frozenset((one,))
    label = _LABEL.match(plain)
    if label and (named := _labelled_by(label, choices)):
        rest = plain[label.end() :].strip(_AROUND)
        whole = without_latex(text).lstrip(_BEFORE)[label.end() :]
        if not rest or choices.called(rest) in named or choices.called(whole) in named:
            return named
    if _LISTED.fullmatch(plain):
        return _of_labels(re.findall("[A-Z]", plain), choices)
    behind = _LABEL_BEHIND.fullmatch(plain)
    named = _of_labels(behind["label"], choices) if behind else _NONE
    return named if behind and choices.called(behind["text"]) in named else _NONE


def _labelled_by(label: re.Match[str], choices: ChoiceList) -> Named:
    """Return the option of a leading label. In `a man` and `b = 7`, the first letter is not a label."""
    letter = label["label"]
    bare = not label["open"] and not label["mark"] and label.end() < len(label.string)
    if bare and (letter.islower() or letter in "AI") and _WORD_FOLLOWS.match(label.string, label.end()):
        return _NONE
    if bare and letter.islower() and _OPERATOR_FOLLOWS.match(label.string, label.end()):
        return _NONE
    return _of_labels(letter.upper() if letter.isalpha() else (letter,), choices)


def _of_labels(letters: Iterable[str], choices: ChoiceList) -> Named:
    found = set(letters)
    return frozenset(choices.labels.index(x) for x in found) if found <= set(choices.labels) else _NONE


def _list_behind(text: str, group: Group, choices: ChoiceList) -> Named:
    """Return the options of a list that begins at an answer marker, or nothing if there is no list.

    The list's labels are in alphabetical order and in one notation. Each label precedes its option's text, or
    there are at least three labels before texts that are not sentences.
    """
    answer = group[-1]
    if answer.kind != "marker":
        return _NONE
    begins = text.rfind(answer.text, answer.start, answer.end)
    items = [item for item in _ITEM.finditer(text, answer.start) if item.end() > begins]
    found: list[int] = []
    known = True
    for place, item in enumerate(items):
        named = _of_labels(item["label"], choices)
        follows = not found or named == {found[-1] + 1}
        if not named or not follows or item["mark"] != items[0]["mark"] or items[0].start() > begins:
            break
        end = items[place + 1].start() if place + 1 < len(items) else len(text)
        said = text[item.end() : end].partition("\n")[0].strip()
        if not said or not SENTENCE_WORDS.isdisjoint(said.casefold().split()):
            break
        known = known and choices.called(said.rstrip(".,;")) in named
        found.extend(named)
    return frozenset(found) if len(found) > 2 or (known and len(found) > 1) else _NONE


_ITEM = re.compile(r"(?:^|(?<=[\s;,]))[*_]{0,2}[(\[]?(?P<label>[A-Z])(?P<mark>[.):：、])[*_]{0,2}(?=\s)")
"""Label of an option in a list."""


def _names_others(rest: str, named: Named, choices: ChoiceList) -> bool:
    """Return True if a text names an option that is not in `named`, by its letter or by its text."""
    if not _of_labels(_labels_in(rest, choices), choices) <= named:
        return True
    said = f" {text_key(rest)} "
    begun = [text for text in choices.texts if said.startswith(f" {text} ")]
    if begun and choices.texts[max(begun, key=len)] not in named:
        return True
    for text, option in choices.texts.items():
        if option in named and _TELLING.search(text):
            said = said.replace(f" {text} ", " ")
    return any(
        f" {text} " in said
        for text, option in choices.texts.items()
        if option not in named and _TELLING.search(text)
    )


_TELLING = re.compile(r"[^\W\d_]{3}")
"""Option texts that can be searched for.

Texts such as `3` and `x^2` are excluded, because they also occur in other contexts.
"""


def _labels_in(text: str, choices: ChoiceList) -> set[str]:
    """Return the labels that occur as separate words in a text.

    The words `a` and `i`, and `A` and `I` before another word, count only in brackets.
    """
    found = set()
    for label in _LETTER.finditer(unicodedata.normalize("NFKC", text)):
        letter = label["letter"]
        is_word = letter in "aAiI" and (letter.islower() or _WORD_FOLLOWS.match(label.string, label.end()))
        if label["open"] or not is_word:
            found.add(letter.upper())
    return found & set(choices.labels)


def _plain(text: str) -> str:
    """Remove LaTeX formatting and surrounding punctuation and Markdown marks."""
    return undecorated(without_latex(text))


_DENIES = re.compile(r"\b(?:not|never|cannot|wrong|incorrect|false|except|but)\b|n['’]t\b", re.IGNORECASE)
"""Words with which a sentence denies the option that it names: "It can't be (B)"."""
_IS_WRONG = re.compile(
    r"\s*(?:is|are|was)\s(?:not|wrong|incorrect|false)\b|\s*[(\[](?:wrong|incorrect|false)\b", re.I
)
"""Text after a label that denies its option: "B is wrong"."""
_NEGATIONS = ("!", "¬", "~", "≠")
_AROUND = " \t\r\n*_`\"'“”‘’.:：,;!。，…()[]（）–—-"


# --- options of the question ---

LETTERS = "ABCDEFGHIJ"
"""Labels that count if a sample has no options."""
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEFORE = DECORATION.replace("!", "")


@dataclass(frozen=True, slots=True)
class ChoiceList:
    """Options of one question, in the order in which the prompt shows them."""

    labels: tuple[str, ...]
    shown: tuple[str, ...]
    """Texts of the options as shown, or empty if the sample has no options."""
    texts: dict[str, int]
    """Normalised text (`text_key`) -> index of the option, without texts that several options share."""
    longest: int = 0
    """Maximum length of a text that may be an option in another notation, in characters."""

    def called(self, text: str) -> int | None:
        """Return the index of the only option whose text has the same value as `text`, or None."""
        if len(text) > self.longest:
            return None
        at = self.texts.get(text_key(text))
        if at is not None and text.strip() not in self.shown:
            return at
        found = matching(text, self.shown)
        return found[0] if len(found) == 1 else None


def read_question(sample: Sample) -> tuple[ChoiceList, frozenset[int] | None]:
    """Return the options of a sample, and the indices of the right options or None if there are none."""
    info = sample.extra_info
    if not info:
        return _prepared(_NO_CHOICES.labels, (), sample.ground_truth)
    given = info.get("choices") or info.get("options") or info.get("endings")
    if not given and isinstance(info.get("metadata"), str) and (kept := _kept(info["metadata"])):
        label = _plain_label(sample.ground_truth)
        choices, right = _prepared_list(tuple(kept), sample.ground_truth)
        if label in choices.labels:  # Prepared rows contain letters, even if option texts are letters.
            return choices, frozenset((choices.labels.index(label),))
        return choices, right
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
    """Return the `choices` in the JSON metadata of a prepared row, or None."""
    try:
        given = msgspec.json.decode(metadata)
    except (msgspec.DecodeError, RecursionError):
        return None
    found = given.get("choices") if isinstance(given, dict) else None
    return found if isinstance(found, list) and found and all(type(c) is str for c in found) else None


def _labelled(given: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels and texts of options given in any supported format."""
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
    """Return the options, and the indices of the right options before any permutation, or None."""
    choices = _choices(labels, texts) if texts else _NO_CHOICES
    return choices, _right(ground_truth, choices)


@lru_cache(maxsize=65_536)
def _choices(labels: tuple[str, ...], texts: tuple[str, ...]) -> ChoiceList:
    keys = [text_key(text) for text in texts]
    return ChoiceList(
        tuple(map(_plain_label, labels)),
        texts,
        {key: i for i, key in enumerate(keys) if key and keys.count(key) == 1},
        _MARKUP_CHARS + _MARKUP_FACTOR * max(map(len, texts), default=0),
    )


_MARKUP_FACTOR, _MARKUP_CHARS = 8, 100
"""Bound on the length of an option's text in LaTeX: 8 times its length as shown, plus 100 characters."""
_NO_CHOICES = ChoiceList(tuple(LETTERS), (), {})


def _right(ground_truth: str, choices: ChoiceList) -> frozenset[int] | None:
    plain = ground_truth.strip()
    if plain.startswith("[") and plain not in choices.shown:
        try:
            found = [_one_right(str(item), choices) for item in msgspec.json.decode(plain.encode())]
        except (msgspec.DecodeError, TypeError, UnicodeEncodeError):
            return None
        return None if not found or None in found else frozenset(i for i in found if i is not None)
    one = _one_right(plain, choices)
    return None if one is None else frozenset((one,))


def _one_right(text: str, choices: ChoiceList) -> int | None:
    found = readings(text, choices.labels, choices.shown)
    return next(iter(found)) if len(found) == 1 else None


def readings(ground_truth: str, labels: Sequence[str], texts: Sequence[str]) -> dict[int, str]:
    """Map the index of each option that a ground truth names to `label`, `index` or `text`.

    A ground truth names an option by its label, by its index from 0 if no label is equal, or by its text. A
    ground truth that names several options is ambiguous.
    """
    found: dict[int, str] = {}
    label = _plain_label(ground_truth)
    known = list(map(_plain_label, labels))
    if label in known:
        found[known.index(label)] = "label"
    elif label.isdecimal() and label.isascii() and int(label[:4]) < len(labels):
        found[int(label[:4])] = "index"
    named = matching(ground_truth, texts)
    if len(named) == 1:
        found.setdefault(named[0], "text")
    return found


def _plain_label(label: str) -> str:
    return label.strip("(). \t\n").upper()


def _why_invalid(sample: Sample, choices: ChoiceList) -> str:
    """Return the message about a ground truth that does not name exactly one option."""
    shown = f"the ground truth {sample.ground_truth!r:.80}"
    found = readings(sample.ground_truth, choices.labels, choices.shown)
    if len(found) < 2:
        return f"{shown} is not one of the options"
    named = " and ".join(f"option {choices.labels[i]} by its {how}" for i, how in found.items())
    return f"{shown} names {named}; write the label of the right option"
