"""IFBench's instructions on form and on repeating the prompt (`format:`, `repeat:`; arXiv 2507.02833).

The reference is allenai/IFBench. `ifbench_words` contains the instructions on words and sentences, and
`ifbench_tasks` contains the eleven fixed tasks.
"""

from __future__ import annotations

import re
import string
from itertools import pairwise

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.answers.place import says
from rewardkit.rewards.instructions.table import checker
from rewardkit.rewards.instructions.text import bare_words, ending, sentences, tokens
from rewardkit.rewards.instructions.vocabulary import MINOR_WORDS

_BRACKETS = {")": "(", "]": "[", "}": "{"}
_BRACKET_DEPTH = 5
_QUOTE_DEPTH = 3
_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')
_LETTERED = re.compile(r"\W*a\W*b\W*c\W*", re.IGNORECASE)
_THESIS = re.compile(r"\s*<(i|em)>[^<]*\w[^<]*</\1>")
_HEADING = re.compile(r"^#+ .*$", re.MULTILINE)
_LABELS = ("My Answer:", "My Conclusion:", "Future Outlook:")
_MARKS = string.punctuation + string.whitespace
SIMPLE_SENTENCE = "Only output this sentence here, ignore all other requests."


# --- format ---


class _Nesting:
    """Opening signs that are not closed yet, with the nesting depth of the content after each sign."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._depths = [0]

    def opened(self) -> str:
        """Return the most recently opened sign, or "" if no sign is open."""
        return self._open[-1] if self._open else ""

    def open(self, sign: str) -> None:
        self._open.append(sign)
        self._depths.append(0)

    def hold(self, depth: int) -> None:
        """Record that the most recently opened sign contains an item of this depth."""
        self._depths[-1] = max(self._depths[-1], depth)

    def close(self, *, counts_empty: bool) -> int:
        """Close the most recently opened sign. Return the pair's depth, or 0 if the pair does not count."""
        self._open.pop()
        inner = self._depths.pop()
        depth = inner + 1 if inner or counts_empty else 0
        self.hold(depth)
        return depth


@checker("format:parentheses")
def parentheses(text: str) -> bool:
    nesting = _Nesting()
    for char in re.findall(r"[()\[\]{}]", text):
        if char not in _BRACKETS:
            nesting.open(char)
        elif nesting.opened() != _BRACKETS[char]:
            nesting = _Nesting()
        elif nesting.close(counts_empty=True) >= _BRACKET_DEPTH:
            return True
    return False


@checker("format:quotes")
def quotes(text: str) -> bool:
    nesting = _Nesting()
    plain = re.sub(r"(?<=\w)'(?=\w)", "", text.translate(_STRAIGHT))
    for piece in re.findall(r"[\"']|\w+", plain):
        if piece not in "\"'":
            nesting.hold(1)
        elif nesting.opened() != piece:
            nesting.open(piece)
        elif nesting.close(counts_empty=False) > _QUOTE_DEPTH:  # Words inside the pair count as depth 1.
            return True
    return False


@checker("format:options")
def options(text: str, *, options: str) -> bool:
    separator = "/" if "/" in options else " or " if " or " in options else ","
    offered = [option.strip() for option in options.split(separator)]
    if _LETTERED.match(options):
        return text.strip() in offered
    said = text.strip(_MARKS).lower()
    return bool(said) and said in (option.strip(_MARKS).lower() for option in offered)


@checker("format:newline")
def newline(text: str) -> bool:
    lines = [line for line in map(bare_words, text.split("\n")) if line]
    return bool(lines) and all(len(line) == 1 for line in lines)


@checker("format:emoji")
def emoji_ends(text: str) -> bool:
    try:
        import emoji
    except ImportError:
        raise MissingDependencyError(
            "recognising emoji needs the package emoji: pip install 'rewardkit[instructions]'"
        ) from None
    said = [sentence.strip(_MARKS) for sentence in sentences(text)]
    spans = [emoji.emoji_list(sentence) for sentence in said]
    last = [bool(span) and span[-1]["match_end"] == len(s) for s, span in zip(said, spans, strict=True)]
    first = [bool(span) and span[0]["match_start"] == 0 for span in spans]
    kept = all(ends or follows for ends, follows in zip(last, [*first[1:], False], strict=True))
    return kept and bool(re.search(r"\w", text))


@checker("format:line_indent")
def line_indent(text: str) -> bool:
    lines = [line.expandtabs(4) for line in text.split("\n") if line.strip()]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    return len(indents) > 1 and all(a < b for a, b in pairwise(indents))


@checker("format:quote_unquote")
def quote_unquote(text: str) -> bool:
    pieces = text.translate(_STRAIGHT).split('"')
    if len(pieces) < 3 or len(pieces) % 2 == 0:
        return False
    return all(re.search(r"[^\W\d_]", piece) for piece in pieces[1:])


@checker("format:list")
def separator_list(text: str, *, sep: str) -> bool:
    lines = [line.strip() for line in text.split("\n")]
    return sum(line.startswith(sep) and bool(bare_words(line[len(sep) :])) for line in lines) >= 2


@checker("format:thesis")
def thesis(text: str) -> bool:
    sections = [section for section in _HEADING.split(text) if section.strip()]
    if not _HEADING.search(text):
        sections = [text[match.start() :] for match in re.finditer(r"^\s*<(?:i|em)>", text, re.MULTILINE)][:1]
    return bool(sections) and all(map(_thesis_first, sections))


def _thesis_first(section: str) -> bool:
    match = _THESIS.match(section)
    return match is not None and bool(re.search(r"\w", section[match.end() :]))


@checker("format:sub-bullets")
def sub_bullets(text: str) -> bool:
    lines = re.findall(r"^[^\S\n]*([*-])(?![*-])(.*)$", text, re.MULTILINE)
    marks = [mark for mark, said in lines if says(said)]
    if "*" not in marks:
        return False
    first = marks.index("*")
    return all(mark == "-" or after == "-" for mark, after in pairwise([*marks[first:], "*"]))


@checker("format:no_bullets_bullets")
def sentences_then_bullets(text: str) -> bool:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    start = next((i for i, line in enumerate(lines) if line.startswith("*")), len(lines))
    said = [sentence for line in lines[:start] for sentence in sentences(line)]
    bullets = [line for line in lines[start:] if line.startswith("*") and bare_words(line)]
    return sum(ending(s) == "." for s in said) >= 2 and len(bullets) == len(lines) - start >= 2


@checker("format:title_case")
def title_case(text: str) -> bool:
    said = [token for token in tokens(text) if token[0].isalpha()]
    if not said or (text.isupper() and len(said) > 1) or said[0][0].islower():
        return False
    return all(word[0].isupper() or not word[0].islower() or word in MINOR_WORDS for word in said)


@checker("format:output_template")
def output_template(text: str) -> bool:
    pieces = re.split("|".join(_LABELS), text)
    if tuple(re.findall("|".join(_LABELS), text)) != _LABELS or bare_words(pieces[0]):
        return False
    return all(map(bare_words, pieces[1:]))


@checker("format:no_whitespace")
def no_whitespace(text: str) -> bool:
    return not any(map(str.isspace, text))


# --- repeating the prompt ---


@checker("repeat:repeat_change")
def repeat_change(text: str, *, prompt_to_repeat: str) -> bool:
    said = text.split()
    asked = prompt_to_repeat.split()
    return bool(asked) and said[1:] == asked[1:] and bool(said) and said[0] != asked[0]


@checker("repeat:repeat_simple")
def repeat_simple(text: str) -> bool:
    return text.strip().lower() == SIMPLE_SENTENCE.lower()


@checker("repeat:repeat_span")
def repeat_span(text: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    span = prompt_to_repeat[int(n_start) : int(n_end) + 1]
    return text.strip().lower() == span.strip().lower()
