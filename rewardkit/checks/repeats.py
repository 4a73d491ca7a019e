"""Detection of questions that occur twice in a file, in two splits, or in an evaluation set."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from rewardkit.checks.findings import Findings
from rewardkit.checks.items import Item
from rewardkit.checks.overlap import EvalIndex
from rewardkit.checks.texts import Template, digest, template_of, tokens_of
from rewardkit.messages import message_text

_TEMPLATE_ROWS = 256
_LEFT = ("chosen", "rejected", "completion", "response")
"""Columns that must also be equal for two rows of preferences or demonstrations to be equal."""


class Repeats:
    """Record of all questions and their first occurrences, which uses about 130 bytes per question."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._rows = array("q")
        self._files = array("H")
        self._truths = array("Q")
        self._names: list[str] = []
        self._splits: list[str] = []

    def open(self, file: str, split: str) -> None:
        """Start a new file, to which all rows checked afterwards belong."""
        self._names.append(file)
        self._splits.append(split)

    def check(self, item: Item, asked: Sequence[Sequence[str]], findings: Findings) -> None:
        """Compare a row with all earlier rows, and record it.

        Args:
            item: Row to check.
            asked: Forms of the question from `question_tokens`.
            findings: Collection to which findings are added.
        """
        keys = [digest(tokens, item.media) for tokens in asked if tokens]
        ground_truth = digest([item.ground_truth])
        place = min((self._first[key] for key in keys if key in self._first), default=len(self._rows))
        for key in keys:
            self._first.setdefault(key, place)
        if place == len(self._rows):
            self._rows.append(item.row)
            self._files.append(len(self._names) - 1)
            self._truths.append(ground_truth)
            return
        self._say(item, place, self._truths[place] == ground_truth, findings)

    def _say(self, item: Item, place: int, same_truth: bool, findings: Findings) -> None:
        file = self._names[-1]
        other = self._names[self._files[place]]
        where = f"row {self._rows[place]}" if file == other else f"{other}, row {self._rows[place]}"
        split = self._splits[-1]
        other_split = self._splits[self._files[place]]
        if split != other_split:
            what = f"the question is also in the split '{other_split}' ({where})"
            findings.add("error", "leakage", file, what, item.row, key=other)
        elif same_truth:
            findings.add("warning", "duplicate", file, f"the question is the same as in {where}", item.row)
        else:
            what = f"the question is the same as in {where}, but the ground truth differs"
            findings.add("warning", "contradiction", file, what, item.row)


def check_against(
    item: Item, asked: Sequence[Sequence[str]], file: str, index: EvalIndex, findings: Findings
) -> None:
    """Report the row if it contains a question from the evaluation sets."""
    found = index.find(asked, item.media)
    if found is not None:
        key = found.place.rpartition("[")[0]
        findings.add("error", "leakage", file, found.describe(), item.row, key=key)


def check_near(
    item: Item, asked: Sequence[Sequence[str]], file: str, splits: EvalIndex, findings: Findings
) -> None:
    """Report the row of a train file if it contains most of a question from another split.

    `Repeats` reports equal questions.
    """
    found = splits.find(asked, item.media)
    if found is not None and not found.same:
        what = found.describe(" (another split)")
        findings.add("warning", "leakage", file, what, item.row, key="near")


def file_template(items: Sequence[Item]) -> Template:
    """Return the template that surrounds the questions in the prompts of a file's first rows."""
    some = [item for item in items[:_TEMPLATE_ROWS] if item.question]
    asked = [str(item.extra_info.get("question") or "") for item in some]
    return template_of([item.question for item in some], asked)


def question_tokens(item: Item, template: Template) -> list[list[str]]:
    """Return the tokens of each form of a row's question.

    The first form is the question without the file's template. If the file has a template, the second form is
    the question with the template. The tokens include all turns except system messages, and the responses in
    preferences or demonstrations. Two rows have the same question if any of their forms are equal, since the
    recognised templates may differ between files.
    """
    earlier: list[str] = []
    if isinstance(item.prompt, list) and len(item.prompt) > 2:
        others = [m for m in item.prompt[:-1] if isinstance(m, Mapping) and m.get("role") != "system"]
        earlier = [message_text(m) for m in others]
    later = [_text(item.raw[name]) for name in _LEFT if item.raw.get(name)]
    forms = (template.strip(item.question), item.question) if template else (item.question,)
    return [tokens_of(" ".join([*earlier, form, *later])) for form in forms]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(message_text(m) for m in value if isinstance(m, Mapping))
    return str(value)


def split_of(file: str, items: Sequence[Item]) -> str:
    """Return the split that the rows name or, by default, the file name without the number of a shard."""
    said = items[0].extra_info.get("split") if items else None
    name = PurePosixPath(file).name.partition(".")[0]
    return str(said or re.sub(r"[-_.]?\d+(?:-of-\d+)?$", "", name))
