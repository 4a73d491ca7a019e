"""Splits and counts words, sentences and paragraphs for the checkers.

Sentences are split by rules, because NLTK's Punkt has to download data. A sentence ends at `.`, `!` or `?`
before white space, but not after an abbreviation or an initial, nor after an ellipsis inside a sentence.
"""

from __future__ import annotations

import html
import re
import string
from functools import lru_cache

from rewardkit.rewards.answers.place import says, without_comments

_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)\]*_]*(?=\s+\S)|[。！？]+[”’」』）]*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|sr|jr|st|vs|etc|e\.g|i\.e|inc|ltd|co|corp|vol|fig|gen|col|capt|sen|rep|gov"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|a\.m|p\.m|ph\.d)|(?-i:\b[A-HJ-Z])|^\s*\d{1,3})\.$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(
    r"(?:[A-Za-z]\.)+[A-Za-z](?!\w)\.?|(?=\w)(?:\w+?(?=n['’]t\b)|n['’]t\b|[^\W_]+(?:[-./_&][\w]+)*)|['’](?:s|m|d|re|ve|ll)\b|\w+",
    re.IGNORECASE,
)
_LOOK_BACK = 12
_CLOSING = "\"'”’)]*_ "
_DISGUISE = re.compile(
    r"[\xad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"
    r"|(?<=[^\W\d_])\*{1,3}(?=[^\W\d_])"
)
"""Pattern for zero-width characters, and for asterisks between letters, which invisibly split a word."""
_DROPPED = {ord(c): None for c in string.punctuation + "“”‘’…"} | {ord(c): " " for c in "—–"}


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, stripped. Sentences without words (`! ! !`) are omitted."""
    found = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match[0][0] == "." and _goes_on(text, start, match):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if says(sentence)]


def _goes_on(text: str, start: int, end: re.Match[str]) -> bool:
    """Return True if the sentence from `start` continues after the full stops at `end`."""
    after = text[end.end() : end.end() + 3].lstrip(" ")
    if after == "\n\n":
        return False
    if end[0].startswith("..") and after[:1].islower():
        return True
    return _ABBREVIATION.search(text[max(start, end.start() - _LOOK_BACK) : end.start() + 1]) is not None


def words(text: str) -> list[str]:
    """Return the runs of word characters, as IFEval counts words. `don't` is two words, and `_` is none."""
    return [word for word in _WORD.findall(text) if word.strip("_")]


def shown(text: str) -> str:
    """Return the text as a reader sees it, without comments, HTML entities and invisible splits in words."""
    drawn = html.unescape(without_comments(text))
    return drawn if drawn.isascii() and "*" not in drawn else _DISGUISE.sub("", drawn)


def tokens(text: str) -> list[str]:
    """Return the words as a treebank tokeniser splits them. `WELL-KNOWN` is one word, and `DON'T` is two."""
    return _TOKEN.findall(text)


def paragraphs(text: str, separator: str = "\n\n") -> list[str]:
    """Return the stripped pieces between separators. Pieces without words are omitted."""
    return [piece.strip() for piece in text.split(separator) if says(piece)]


def bare_words(text: str) -> list[str]:
    """Return the words in lower case and without punctuation, as in IFBench (`don't` becomes `dont`)."""
    return text.lower().translate(_DROPPED).split()


def ending(sentence: str) -> str:
    """Return the last character of a sentence before closing quotes and brackets, or "" if there is none."""
    return sentence.rstrip(_CLOSING)[-1:]


def related(count: int, threshold: float, relation: str) -> bool:
    """Return True if a count is less than a threshold or, depending on `relation`, at least the threshold."""
    return count < threshold if relation == "less than" else count >= threshold


@lru_cache(maxsize=4_096)
def keyword_pattern(keyword: str, *, whole: bool) -> re.Pattern[str]:
    """Return a pattern for a keyword that starts a word or, with `whole`, is a whole word."""
    keyword = keyword.strip()
    left = r"(?<![^\W_])" if keyword[:1].isalnum() and keyword[:1].isascii() else ""
    right = r"(?![^\W_])" if whole and keyword[-1:].isalnum() and keyword[-1:].isascii() else ""
    return re.compile(left + re.escape(keyword) + right, re.IGNORECASE)


def keyword_counts(keyword: str, text: str, *, whole: bool = False) -> tuple[int, int]:
    """Return how often a keyword occurs in a text as written, and in the text as a reader sees it."""
    pattern = keyword_pattern(keyword, whole=whole)
    return len(pattern.findall(text)), len(pattern.findall(shown(text)))
