"""IFBench's eleven fixed tasks (`custom:`; arXiv 2507.02833, allenai/IFBench), whose answers are known.

The reference checks only the form of a response. The checkers in this file also check the content. For
example, the countries must exist, Kyiv must be among the capitals, and the dates must fall within Napoleon's
wars.
"""

from __future__ import annotations

import csv
import io
import re
import string
import unicodedata
from datetime import date
from itertools import pairwise

from rewardkit.rewards.instructions.table import checker
from rewardkit.rewards.instructions.text import bare_words, sentences
from rewardkit.rewards.instructions.vocabulary import AFRICA, CAPITALS

_ALSO = {
    "kiev": "kyiv",
    "luxembourg city": "luxembourg",
    "cape verde": "cabo verde",
    "ivory coast": "cote divoire",
    "the gambia": "gambia",
    "swaziland": "eswatini",
    "republic of the congo": "congo",
    "congo republic": "congo",
    "congo brazzaville": "congo",
    "drc": "democratic republic of the congo",
    "congo kinshasa": "democratic republic of the congo",
    "sao tome": "sao tome and principe",
}
_AFRICA_AT_LEAST = 52
_NAPOLEON = range(1793, 1816)
"""Years of Napoleon's battles, from Toulon to Waterloo."""
_QUESTION = re.compile(r"^Question\b[ \t]*\d*[.):;]?", re.MULTILINE)
_OPTION = re.compile(r"^\s*([A-Ea-e])[.)]\s*\w")


def _plain(name: str) -> str:
    """Return a place's name in lower case, without accents and punctuation, and in one spelling per place."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    kept = " ".join(
        ascii_name.replace("&", "and").translate(str.maketrans("", "", string.punctuation)).split()
    )
    return _ALSO.get(kept, kept)


@checker("custom:multiples")
def multiples(text: str) -> bool:
    return re.findall(r"\d+", text) == [str(n) for n in range(14, 51, 7)]


@checker("custom:mcq_count_length")
def multiple_choice_questions(text: str) -> bool:
    pieces = _QUESTION.split(text.strip())
    lengths = [_question_length(piece) for piece in pieces[1:]]
    return not pieces[0].strip() and len(lengths) == 4 and all(0 < a < b for a, b in pairwise(lengths))


def _question_length(piece: str) -> int:
    """Return the length of a question with exactly five options, or 0 for any other piece."""
    lines = [line.strip() for line in piece.split("\n") if line.strip()]
    start = next((i for i, line in enumerate(lines) if _OPTION.match(line)), len(lines))
    letters = [match[1].lower() for match in map(_OPTION.match, lines[start:]) if match]
    if "".join(letters) != "abcde" or len(lines) - start != len(letters):
        return 0
    return len(" ".join(lines[:start]))


@checker("custom:reverse_newline")
def countries_of_africa(text: str) -> bool:
    lines = [line.strip(string.punctuation + string.digits + string.whitespace) for line in text.split("\n")]
    lines = [line for line in lines if line]
    start = next((i for i, line in enumerate(lines) if _plain(line) == "zimbabwe"), len(lines))
    listed = lines[start:]
    names = {_plain(line) for line in listed}
    if not names <= AFRICA or not _AFRICA_AT_LEAST <= len(names) == len(listed):
        return False
    written = [unicodedata.normalize("NFKD", line).encode("ascii", "ignore").lower() for line in listed]
    return written == sorted(written, reverse=True)


@checker("custom:word_reverse")
def words_reversed(text: str) -> bool:
    said = " ".join(reversed(bare_words(text)))
    answers = re.search(r"\bbald eagle\b", said) and re.search(r"\b(?:is|was|represents|symbolizes)\b", said)
    return bool(answers) and len(sentences(text)) == 1 and "bald eagle" not in " ".join(bare_words(text))


@checker("custom:character_reverse")
def characters_reversed(text: str) -> bool:
    return "elgae dlab" in text.lower() and "bald eagle" not in text.lower()


@checker("custom:sentence_alphabet")
def sentence_alphabet(text: str) -> bool:
    said = [bare_words(sentence) for sentence in sentences(text)]
    return [word[0][0] for word in said if word] == list(string.ascii_lowercase) and len(said) == 26


@checker("custom:european_capitals_sort")
def european_capitals(text: str) -> bool:
    named = [_plain(piece) for piece in text.strip().strip(".").split(",")]
    return named == [_plain(name) for name in CAPITALS]


@checker("custom:csv_city")
def csv_city(text: str) -> bool:
    rows = _table(text, ",")
    return len(rows) == 8 and rows[0] == ["ID", "Country", "City", "Year", "Count"] and _filled(rows, 5)


@checker("custom:csv_special_character")
def csv_special_character(text: str) -> bool:
    rows = _table(text, ",")
    if len(rows) != 15 or rows[0] != ["ProductID", "Category", "Brand", "Price", "Stock"]:
        return False
    body = text.strip().partition("\n")[2]
    quoted = re.findall(r'(?:^|,)[ \t]*"([^"\n]*)"', body, re.MULTILINE)
    return _filled(rows, 5) and any(re.search(r"[^\w\s]", field) for field in quoted)


@checker("custom:csv_quotes")
def csv_quotes(text: str) -> bool:
    rows = [[field.strip(" ") for field in line.split("\t")] for line in text.strip().splitlines()]
    if not all(len(field) > 2 and field[0] == field[-1] == '"' for row in rows for field in row):
        return False
    bare = [[field[1:-1] for field in row] for row in rows]
    return (
        len(bare) == 4
        and bare[0] == ["StudentID", "Subject", "Grade", "Semester", "Score"]
        and _filled(bare, 5)
    )


def _table(text: str, delimiter: str) -> list[list[str]]:
    """Return the rows of a CSV text, or an empty list if the text is not CSV."""
    try:
        rows = csv.reader(io.StringIO(text.strip()), delimiter=delimiter, skipinitialspace=True, strict=True)
        return [[field.strip() for field in row] for row in rows]
    except csv.Error:
        return []


def _filled(rows: list[list[str]], columns: int) -> bool:
    return all(len(row) == columns and all(map(str.strip, row)) for row in rows)


@checker("custom:date_format_list")
def napoleons_dates(text: str) -> bool:
    listed = [piece.strip() for piece in text.split(",")]
    return len(set(listed)) == len(listed) > 1 and all(map(_napoleonic, listed))


def _napoleonic(piece: str) -> bool:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", piece) is None:
        return False
    try:
        return date.fromisoformat(piece).year in _NAPOLEON
    except ValueError:
        return False
