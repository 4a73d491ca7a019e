"""Reward `language`, the share of a response's words that are in a given language (as in DeepSeek-R1).

A language with its own script is detected by its letters. Other languages are detected by langdetect (the
extra `instructions`) with a fixed seed, one paragraph at a time. Code, formulas and digits are not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardkit.rewards.instructions.language import LANGUAGES
from rewardkit.rewards.instructions.language import language as detect
from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score, failure

_SCRIPTS = {
    "zh": r"[\u3400-\u9fff]",
    "ko": r"[\uac00-\ud7af\u1100-\u11ff]",
    "ru": r"[\u0400-\u04ff]",
    "ar": r"[\u0600-\u06ff]",
    "he": r"[\u0590-\u05ff]",
    "hi": r"[\u0900-\u097f]",
    "th": r"[\u0e00-\u0e7f]",
    "el": r"[\u0370-\u03ff]",
}
_KANA = r"[\u3041-\u30ff]"
_HAN = r"[\u3400-\u9fff]"
_HAN_TO_A_KANA = 2
_HEADING = 6
"""Maximum number of Chinese characters to count as Japanese in a text without kana."""
_UNSPOKEN = re.compile(r"```.*?(?:```|\Z)|\$[^$\n]{1,500}\$|</?\w+>|\\[a-z]+", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MAX_PARAGRAPHS = 40
_MAX_CHARS = 100_000


@dataclass(frozen=True)
class LanguageOptions:
    """Options for the language reward."""

    language: str = "en"
    """Expected language as an ISO 639-1 code, such as `en`. A region, as in `en-GB`, is ignored. If the
    `extra_info` of a sample has a `language`, that value is used instead."""

    def __post_init__(self) -> None:
        """Check that the language is known."""
        if _code(self.language) not in LANGUAGES:
            raise ValueError(_unknown(self.language))


def language(sample: Sample, options: LanguageOptions) -> Score:
    """Score the share of words in the language, from 0 to 1. A response without words scores 0.

    Raises:
        MissingDependencyError: The language requires the package langdetect, which is not installed.
    """
    given = str(sample.extra_info.get("language") or options.language)
    wanted = _code(given)
    if wanted not in LANGUAGES:
        return failure("invalid", _unknown(given))
    text = _UNSPOKEN.sub(" ", strip_end(sample.response)[:_MAX_CHARS])
    script = _SCRIPTS.get(wanted)
    if wanted == "ja":
        share = _japanese(text)
    else:
        share = _by_script(text, script) if script else _by_detection(text, wanted)
    return Score(share, detail=f"{share:.0%} in {wanted}")


def _code(language: str) -> str:
    return language.lower().replace("_", "-").partition("-")[0]


def _unknown(language: str) -> str:
    return f"unknown language {language!r:.40}; expected an ISO 639-1 code, such as 'en'"


def _by_script(text: str, script: str) -> float:
    letters = len(_LETTER.findall(text))
    return _letters_of(script, text) / letters if letters else 0.0


def _letters_of(script: str, text: str) -> int:
    """Return the number of a text's letters in a script, not counting the script's marks and signs."""
    return len(re.findall(rf"(?=[^\W\d_]){script}", text))


def _japanese(text: str) -> float:
    """Return the share of Japanese letters. The fewer kana, the fewer Chinese characters are counted."""
    letters = len(_LETTER.findall(text))
    kana = _letters_of(_KANA, text)
    shared = _letters_of(_HAN, text)
    return (kana + min(shared, _HEADING + _HAN_TO_A_KANA * kana)) / letters if letters else 0.0


def _by_detection(text: str, wanted: str) -> float:
    """Return the share of words in the expected language, based on the longest paragraphs."""
    weighed = [(len(_WORD.findall(p)), p) for p in text.split("\n") if p.strip()]
    longest = sorted(weighed, reverse=True)[:_MAX_PARAGRAPHS]
    total = sum(n for n, _ in longest)
    met = sum(n for n, paragraph in longest if n and (detect(paragraph) or "").partition("-")[0] == wanted)
    return met / total if total else 0.0
