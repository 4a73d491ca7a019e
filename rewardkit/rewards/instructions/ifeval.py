"""IFEval's 25 instructions (arXiv 2311.07911; google-research/instruction_following_eval).

Each instruction has the same meaning as in the reference checker. Where the reference can be deceived or
depends on chance, these checkers are stricter (`docs/rewards.md` lists the main differences). A keyword must
start a word, a postscript must start a line or sentence, a title must be alone in its brackets, and JSON must
be valid. A text whose language cannot be detected is in no language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from rewardkit.rewards.answers.place import says
from rewardkit.rewards.instructions.language import language
from rewardkit.rewards.instructions.table import checker
from rewardkit.rewards.instructions.text import keyword_counts, related, sentences, shown, tokens, words

_COMMAS = ",،፣᠂᠈⸴⹁⹌、︐︑﹐﹑，､"
"""Commas in the Latin, Arabic, Ethiopic, Mongolian and East Asian scripts, in all widths."""
CONSTRAINED_RESPONSES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


# --- keywords ---


@checker("keywords:existence")
def keywords_exist(text: str, *, keywords: Sequence[str]) -> bool:
    return bool(keywords) and all(keyword_counts(word, text)[1] for word in keywords)


@checker("keywords:frequency")
def keyword_frequency(text: str, *, keyword: str, frequency: int, relation: str = "at least") -> bool:
    written, seen = keyword_counts(keyword, text)
    return related(max(written, seen) if relation == "less than" else seen, frequency, relation)


@checker("keywords:forbidden_words")
def no_forbidden_words(text: str, *, forbidden_words: Sequence[str]) -> bool:
    return not any(any(keyword_counts(word, text, whole=True)) for word in forbidden_words)


@checker("keywords:letter_frequency")
def letter_frequency(text: str, *, letter: str, let_frequency: int, let_relation: str = "at least") -> bool:
    return related(text.lower().count(letter.strip().lower()), let_frequency, let_relation)


# --- language and letter case ---


@checker("language:response_language")
def response_language(text: str, *, language: str) -> bool:
    return _is_in(text, language)


def _is_in(text: str, code: str) -> bool:
    found = language(text)
    return found is not None and (found == code or found.partition("-")[0] == code)


@checker("change_case:english_capital")
def english_capital(text: str) -> bool:
    return text.isupper() and _is_english(text)


@checker("change_case:english_lowercase")
def english_lowercase(text: str) -> bool:
    return text.islower() and _is_english(text)


def _is_english(text: str) -> bool:
    """Return True if a text is English. Also try lower case, because the detector knows few capitals."""
    return _is_in(text, "en") or _is_in(text.lower(), "en")


@checker("change_case:capital_word_frequency")
def capital_word_frequency(text: str, *, capital_frequency: int, capital_relation: str = "at least") -> bool:
    return related(sum(token.isupper() for token in tokens(text)), capital_frequency, capital_relation)


# --- length ---


@checker("length_constraints:number_sentences")
def number_sentences(text: str, *, num_sentences: int, relation: str = "at least") -> bool:
    return related(len(sentences(text)), num_sentences, relation)


@checker("length_constraints:number_words")
def number_words(text: str, *, num_words: int, relation: str = "at least") -> bool:
    return related(len(words(text)), num_words, relation)


@checker("length_constraints:number_paragraphs")
def number_paragraphs(text: str, *, num_paragraphs: int) -> bool:
    pieces = re.split(r"\s?\*\*\*\s?", text)
    if not all(map(says, pieces[1:-1])):
        return False
    return sum(map(says, pieces)) == num_paragraphs


@checker("length_constraints:nth_paragraph_first_word")
def nth_paragraph_first_word(text: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    pieces = [piece.strip() for piece in text.split("\n\n") if says(piece)]
    if len(pieces) != num_paragraphs or not 1 <= nth_paragraph <= len(pieces):
        return False
    start = pieces[nth_paragraph - 1].split()[0].lstrip("'\"")
    return re.split(r"[.,?!'\"]", start, maxsplit=1)[0].lower() == first_word.strip().lower()


# --- content ---


@checker("detectable_content:number_placeholders")
def number_placeholders(text: str, *, num_placeholders: int) -> bool:
    return sum(map(says, re.findall(r"\[([^\[\]\n]+)\]", text))) >= num_placeholders


@checker("detectable_content:postscript")
def postscript(text: str, *, postscript_marker: str) -> bool:
    marker = postscript_marker.strip().lower()
    known = {"p.p.s": r"p\.\s?p\.\s?s", "p.s.": r"p\.\s?s\."}
    return _postscript(known.get(marker, re.escape(marker))).search(text.lower()) is not None


@lru_cache(maxsize=256)
def _postscript(marker: str) -> re.Pattern[str]:
    """Return a pattern for a postscript that starts a line or sentence and is followed by text."""
    return re.compile(rf"(?:^(?:[^\S\n]|[>*_])*|[.!?)*\"”]\s+){marker}[^\w\n]*\w", re.MULTILINE)


# --- format ---


@checker("detectable_format:number_bullet_lists")
def number_bullet_lists(text: str, *, num_bullets: int) -> bool:
    return sum(map(says, re.findall(r"^[^\S\n]*(?:\*[^\*\n]|-(?!-)).*$", text, re.MULTILINE))) == num_bullets


@checker("detectable_format:constrained_response")
def constrained_response(text: str) -> bool:
    return sum(response in text for response in CONSTRAINED_RESPONSES) == 1


@checker("detectable_format:number_highlighted_sections")
def number_highlighted_sections(text: str, *, num_highlights: int) -> bool:
    single, double = (re.findall(pattern, text) for pattern in (r"\*[^\n*]*\*", r"\*\*[^\n*]*\*\*"))
    return sum(map(says, single + double)) >= num_highlights


@checker("detectable_format:multiple_sections")
def multiple_sections(text: str, *, section_spliter: str, num_sections: int) -> bool:
    return sum(map(says, re.split(rf"{re.escape(section_spliter.strip())}\s?\d+", text)[1:])) >= num_sections


@checker("detectable_format:json_format")
def json_format(text: str) -> bool:
    text = text.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        if text.startswith(fence):
            text = text.removeprefix(fence)
            break
    try:
        msgspec.json.decode(text.removesuffix("```").strip().encode())
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


@checker("detectable_format:title")
def title(text: str) -> bool:
    return any(says(t) for t in re.findall(r"(?<![\w<])<<([^<>\n]+)>>(?![\w>])", text))


# --- combinations, starts and ends ---


@checker("combination:two_responses")
def two_responses(text: str) -> bool:
    pieces = text.split("******")
    if not all(map(says, pieces[1:-1])):
        return False
    said = [piece.strip() for piece in pieces if says(piece)]
    return len(said) == 2 and said[0] != said[1]


@checker("combination:repeat_prompt")
def repeat_prompt(text: str, *, prompt_to_repeat: str) -> bool:
    prompt = prompt_to_repeat.strip().lower()
    return bool(prompt) and text.strip().lower().startswith(prompt)


@checker("startend:end_checker")
def ends_with(text: str, *, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


@checker("startend:quotation")
def quotation(text: str) -> bool:
    text = text.strip()
    return len(text) > 2 and text[0] == text[-1] == '"' and says(text)


@checker("punctuation:no_comma")
def no_comma(text: str) -> bool:
    return not any(comma in said for said in (text, shown(text)) for comma in _COMMAS)
