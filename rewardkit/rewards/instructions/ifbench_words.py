"""IFBench's instructions on words and sentences (`count:`, `ratio:`, `words:`, `sentence:`).

The reference is allenai/IFBench (arXiv 2507.02833). Each checker follows the wording of its instruction. It
is stricter than the reference where the reference accepts empty text or the same word over and over (see the
examples in `docs/rewards.md`).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from itertools import pairwise
from math import isqrt

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.instructions.table import checker
from rewardkit.rewards.instructions.text import (
    bare_words,
    ending,
    keyword_counts,
    sentences,
    tokens,
    words,
)
from rewardkit.rewards.instructions.vocabulary import CONJUNCTIONS, PERSON_NAMES, PRONOUNS, STOP_WORDS

UNVERIFIABLE = {
    "words:start_verb": (
        "words:start_verb cannot be verified: only a tagger can guess whether a word is a verb, "
        "and a tagger's guess depends on the data on which it was trained"
    )
}
"""Reasons why rules cannot verify an instruction, by instruction id. Samples with that instruction are
`invalid`."""

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_CLUSTER = re.compile(r"[b-df-hj-np-tv-z]{2}")
_INTERROBANGS = ("?!", "!?", "‽")
_OVERLAP_TOLERANCE = 2
_PALINDROMES = 10
_PALINDROME_LENGTH = 5
_NAMES = re.compile(rf"\b(?:{'|'.join(PERSON_NAMES)})\b")


# --- counts ---


@checker("count:word_count_range")
def word_count_range(text: str, *, min_words: int, max_words: int) -> bool:
    return min_words <= len(words(text)) <= max_words


@checker("count:unique_word_count")
def unique_word_count(text: str, *, N: int) -> bool:
    return len(set(bare_words(text))) >= N


@checker("count:conjunctions")
def conjunctions(text: str, *, small_n: int) -> bool:
    return len(CONJUNCTIONS.intersection(bare_words(text))) >= small_n


@checker("count:person_names")
def person_names(text: str, *, N: int) -> bool:
    return len(set(_NAMES.findall(text))) >= N


@checker("count:numbers")
def numbers(text: str, *, N: int) -> bool:
    return len(_NUMBER.findall(text)) == N


@checker("count:punctuation")
def punctuation(text: str) -> bool:
    rests = [text.replace(mark, "", 1) for mark in _INTERROBANGS if mark in text]
    return any(all(sign in rest for sign in ".,!?;:") for rest in rests)


@checker("count:words_japanese")
def japanese_words(text: str, *, N: int) -> bool:
    said = [word for word in text.split() if any(map(str.isalnum, word))]
    every = said[int(N) - 1 :: int(N)] if N >= 1 else []
    return bool(every) and all(map(_JAPANESE.search, every))


@checker("count:pronouns")
def pronouns(text: str, *, N: int) -> bool:
    return sum(word in PRONOUNS for word in re.findall(r"[a-z]+", text.lower())) >= N


@checker("count:keywords_multiple")
def keywords_multiple(
    text: str, *, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    wanted = zip((keyword1, keyword2, keyword3, keyword4, keyword5), (1, 2, 3, 5, 7), strict=True)
    return all(keyword_counts(word, text) == (count, count) for word, count in wanted)


# --- ratios ---


@checker("ratio:stop_words")
def stop_words(text: str, *, percentage: float) -> bool:
    said = words(text.lower())
    return bool(said) and 100 * sum(word in STOP_WORDS for word in said) <= percentage * len(said)


def _endings(text: str) -> Counter[str]:
    return Counter(map(ending, sentences(text)))


@checker("ratio:sentence_type")
def sentence_type(text: str) -> bool:
    signs = _endings(text)
    return signs["."] == 2 * signs["?"] > 0


@checker("ratio:sentence_balance")
def sentence_balance(text: str) -> bool:
    signs = _endings(text)
    return signs["."] == signs["?"] == signs["!"] > 0


@checker("ratio:overlap")
def overlap(text: str, *, reference_text: str, percentage: float) -> bool:
    ours, theirs = _trigrams(text), _trigrams(reference_text)
    return bool(ours) and abs(100 * len(ours & theirs) / len(ours) - percentage) <= _OVERLAP_TOLERANCE


def _trigrams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)}


@checker("ratio:sentence_words")
def sentence_words(text: str) -> bool:
    said = sentences(text)
    all_words = [word for sentence in said for word in bare_words(sentence)]
    return len(said) == 3 and len(set(map(len, said))) == 1 and len(all_words) == len(set(all_words)) >= 3


# --- words ---


@checker("words:alphabet")
def alphabet(text: str) -> bool:
    letters = [string.ascii_lowercase.find(word[0]) for word in bare_words(text)]
    return len(letters) > 1 and min(letters) >= 0 and all((a + 1) % 26 == b for a, b in pairwise(letters))


@checker("words:vowel")
def vowel(text: str) -> bool:
    plain = unicodedata.normalize("NFKD", text.strip().lower())
    return "\n" not in plain and 1 <= len(set(plain) & set("aeiou")) <= 3


@checker("words:consonants")
def consonants(text: str) -> bool:
    said = [word for word in text.lower().split() if any(map(str.isalnum, word))]
    return bool(said) and all(map(_CLUSTER.search, said))


@checker("words:palindrome")
def palindrome(text: str) -> bool:
    found = {word for word in bare_words(text) if len(word) >= _PALINDROME_LENGTH and word == word[::-1]}
    return sum(word.isalpha() and len(set(word)) > 1 for word in found) >= _PALINDROMES


@checker("words:prime_lengths")
def prime_lengths(text: str) -> bool:
    lengths = {len(word) for word in bare_words(text)}
    return bool(lengths) and all(n > 1 and all(n % d for d in range(2, isqrt(n) + 1)) for n in lengths)


@checker("words:repeats")
def repeats(text: str, *, small_n: int) -> bool:
    counts = Counter(bare_words(text))
    return bool(counts) and max(counts.values()) <= small_n


@checker("words:odd_even_syllables")
def odd_even_syllables(text: str) -> bool:
    try:
        import syllapy
    except ImportError:
        raise MissingDependencyError(
            "counting syllables needs the package syllapy: pip install 'rewardkit[instructions]'"
        ) from None
    counts = [syllapy.count(word) for word in bare_words(text)]
    return bool(counts) and min(counts) > 0 and all((a + b) % 2 for a, b in pairwise(counts))


@checker("words:last_first")
def last_first(text: str) -> bool:
    said = [bare_words(sentence) for sentence in sentences(text)]
    return len(said) > 1 and all(a and b and a[-1] == b[0] for a, b in pairwise(said))


@checker("words:paragraph_last_first")
def paragraph_last_first(text: str) -> bool:
    said = [line for line in map(bare_words, text.split("\n")) if line]
    return bool(said) and all(len(line) > 1 and line[0] == line[-1] for line in said)


@checker("words:no_consecutive")
def no_consecutive(text: str) -> bool:
    said = bare_words(text)
    return bool(said) and all(a[0] != b[0] for a, b in pairwise(said))


@checker("words:keywords_specific_position")
def keyword_position(text: str, *, keyword: str, n: int, m: int) -> bool:
    said = sentences(text)
    if not 1 <= n <= len(said):
        return False
    found = [token.lower() for token in tokens(said[int(n) - 1])]
    return 1 <= m <= len(found) and found[int(m) - 1] == keyword.strip().lower()


@checker("words:words_position")
def words_position(text: str, *, keyword: str) -> bool:
    said = tokens(text.lower())
    return len(said) > 3 and said[1] == said[-2] == keyword.strip().lower()


# --- sentences ---


@checker("sentence:alliteration_increment")
def alliteration_increment(text: str) -> bool:
    runs = [_longest_run([word[0] for word in bare_words(sentence)]) for sentence in sentences(text)]
    return len(runs) > 1 and all(a < b for a, b in pairwise(runs))


def _longest_run(letters: list[str]) -> int:
    """Return the length of the longest run of words with the same first letter, or 0 if there is no run."""
    longest = run = 1
    for a, b in pairwise(letters):
        run = run + 1 if a == b else 1
        longest = max(longest, run)
    return longest if longest > 1 else 0


@checker("sentence:keyword")
def sentence_keyword(text: str, *, word: str, N: int) -> bool:
    said = sentences(text)
    return 1 <= N <= len(said) and keyword_counts(word, said[int(N) - 1], whole=True)[1] > 0


@checker("sentence:increment")
def sentence_increment(text: str, *, small_n: int) -> bool:
    counts = [len(bare_words(sentence)) for sentence in sentences(text)]
    return len(counts) > 1 and all(b - a == small_n for a, b in pairwise(counts))
