"""The 29 instructions of IFBench's training set (IF_multi_constraints_upto5; arXiv 2507.02833).

The reference is IFEvalG in open-instruct. Each checker follows the wording of its instruction. Keywords are
literal text, whereas the reference treats them as patterns.
"""

from __future__ import annotations

import re
from itertools import pairwise

from rewardkit.rewards.instructions.ifbench_words import keyword_position
from rewardkit.rewards.instructions.ifeval import keyword_frequency, number_paragraphs
from rewardkit.rewards.instructions.table import checker
from rewardkit.rewards.instructions.text import (
    bare_words,
    keyword_counts,
    paragraphs,
    related,
    sentences,
    tokens,
)

checker("keywords:word_count_different_numbers")(keyword_frequency)
checker("keywords:keyword_specific_position")(keyword_position)


# --- copies ---


@checker("copy:repeat_phrase")
def repeat_phrase(text: str, *, phrase: str, small_n: int) -> bool:
    """Return True if a phrase is repeated `small_n` times, each time with one inner word changed."""
    asked, said = bare_words(phrase), bare_words(text)
    size = len(asked)
    found = (
        [said[i : i + size] for i in range(len(said) - size + 1) if said[i] == asked[0]] if size > 2 else []
    )
    found = [piece for piece in found if piece[-1] == asked[-1]]
    changed = [piece for piece in found if sum(a != b for a, b in zip(piece, asked, strict=True)) == 1]
    return len(changed) == len(found) == small_n > 0


@checker("copy:copy")
@checker("copy:copying_simple")
def copied(text: str, *, prompt_to_repeat: str) -> bool:
    return text.strip().lower() == prompt_to_repeat.strip().lower()


@checker("copy:copying_multiple")
def copied_often(text: str, *, prompt_to_repeat: str, N: int) -> bool:
    pieces = text.split("******")
    return len(pieces) == N and all(copied(piece, prompt_to_repeat=prompt_to_repeat) for piece in pieces)


@checker("new:copy_span_idx")
def copied_span(text: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    return text.strip().lower() == prompt_to_repeat[int(n_start) : int(n_end)].strip().lower()


# --- format ---


@checker("detectable_format:sentence_hyphens")
def sentence_hyphens(text: str) -> bool:
    pieces = text.strip().split("-")
    said = [piece for piece in pieces if piece == piece.strip() and piece[-1:] in tuple(".!?")]
    return len(said) == len(pieces) > 1 and all(len(sentences(piece)) == 1 for piece in pieces)


@checker("detectable_format:square_brackets")
def square_brackets(text: str) -> bool:
    return re.fullmatch(r"(?:\s*\[[^\s\[\]]+\][.,;:!?]*)+\s*", text) is not None


@checker("detectable_format:bigram_wrapping")
def bigram_wrapping(text: str) -> bool:
    pieces = text.split()
    pairs = list(zip(pieces[::2], pieces[1::2], strict=False))
    wrapped = all(re.fullmatch(r"<<[^<>]+ [^<>]+>>[.,;:!?]*", f"{a} {b}") for a, b in pairs)
    odd_one = pieces[-1] if len(pieces) % 2 else ""
    return bool(pairs) and wrapped and ("<<" in odd_one) == (">>" in odd_one)


@checker("paragraphs:paragraphs")
def two_divided_paragraphs(text: str) -> bool:
    return number_paragraphs(text, num_paragraphs=2)


@checker("paragraphs:paragraphs2")
def two_paragraphs(text: str) -> bool:
    return len(paragraphs(text)) == 2


# --- keywords and letters ---


@checker("keywords:word_once")
def word_once(text: str, *, keyword: str) -> bool:
    return keyword_counts(keyword, text) == (1, 1)


@checker("keywords:exclude_word_harder")
def word_excluded(text: str, *, keyword: str) -> bool:
    return not any(keyword_counts(keyword, text, whole=True))


@checker("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(text: str) -> bool:
    said = bare_words(text)
    return bool(said) and all(ord(b[0]) - ord(a[0]) != 1 for a, b in pairwise(said))


@checker("keywords:palindrome")
def one_palindrome(text: str) -> bool:
    return any(len(word) > 2 and word.isalpha() and word == word[::-1] for word in bare_words(text))


@checker("keywords:start_end")
def start_end(text: str) -> bool:
    said = tokens(text.lower())
    ends = bool(said) and text.strip().lower().endswith(said[-1])
    return len(said) > 1 and ends and said[0] == said[-1]


@checker("letters:letter_counting")
def letter_counting(text: str, *, N: int, relation: str) -> bool:
    return related(len(re.findall(r"[a-zA-Z]", text)), N, relation)


@checker("letters:letter_counting2")
def one_letter_counting(text: str, *, letter: str, let_frequency: int, let_relation: str) -> bool:
    return related(text.lower().count(letter.strip().lower()), let_frequency, let_relation)


# --- first and last words ---


@checker("first_word:first_word_sent")
def first_word_of_sentences(text: str, *, first_word: str) -> bool:
    return all(bare_words(sentence)[:1] == bare_words(first_word) for sentence in sentences(text))


@checker("first_word:first_word_answer")
def first_word_of_answer(text: str, *, first_word: str) -> bool:
    return bare_words(text)[:1] == bare_words(first_word)


@checker("last_word:last_word_sent")
def last_word_of_sentences(text: str, *, last_word: str) -> bool:
    return all(bare_words(sentence)[-1:] == bare_words(last_word) for sentence in sentences(text))


@checker("last_word:last_word_answer")
def last_word_of_answer(text: str, *, last_word: str) -> bool:
    return bare_words(text)[-1:] == bare_words(last_word)


# --- punctuation and counts ---


@checker("punctuation:punctuation_dot")
def no_dot(text: str) -> bool:
    return not any(dot in text for dot in ".。…")


@checker("punctuation:punctuation_exclamation")
def no_exclamation(text: str) -> bool:
    return not any(mark in text for mark in "!！¡")


@checker("count:lowercase_counting")
def lowercase_counting(text: str, *, N: int) -> bool:
    return len(re.findall(r"\b[a-z]+\b", text)) <= N


@checker("count:counting_composition")
def counting_composition(text: str, *, n_sent: int, n_words: int) -> bool:
    pieces = [sentences(piece) for piece in re.split(r"\*[^\S\n]?\*[^\S\n]?\*", text) if piece.strip()]
    counts = {len(bare_words(sentence)) for piece in pieces for sentence in piece}
    return [len(piece) for piece in pieces] == [n_sent] * 3 and counts == {n_words}


@checker("count:count_unique")
def count_unique(text: str) -> bool:
    said = bare_words(text)
    return 0 < len(said) == len(set(said))


@checker("count:count_increment_word")
def count_increment_word(text: str, *, keyword1: str, keyword2: str) -> bool:
    return keyword_counts(keyword1, text) == (1, 1) and keyword_counts(keyword2, text) == (2, 2)
