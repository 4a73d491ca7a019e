"""Questions that stand in a file twice, in two splits, or in an evaluation set."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from rewardkit.checks.findings import Findings
from rewardkit.checks.items import Item, content_text
from rewardkit.checks.overlap import EvalIndex
from rewardkit.checks.texts import Template, digest, template_of, tokens_of

_TEMPLATE_ROWS = 256
_LEFT = ("chosen", "rejected", "completion", "response")
"""Columns without which two rows of preferences or demonstrations are not the same."""


class Repeats:
    """All questions so far, with where each was seen first. About 130 bytes for each."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._rows = array("q")
        self._files = array("H")
        self._truths = array("Q")
        self._names: list[str] = []
        self._splits: list[str] = []

    def open(self, file: str, split: str) -> None:
        """The rows that follow are of this file and split."""
        self._names.append(file)
        self._splits.append(split)

    def check(self, item: Item, asked: Sequence[Sequence[str]], findings: Findings) -> None:
        """Compare a row with all before it, and remember it.

        Args:
            asked: what it asks, as `question_tokens` returns it.
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
            what = f"the question is in split '{other_split}' too ({where})"
            findings.add("error", "leakage", file, what, item.row, key=other)
        elif same_truth:
            findings.add("warning", "duplicate", file, f"the same question as {where}", item.row)
        else:
            what = f"the same question as {where}, with another ground truth"
            findings.add("warning", "contradiction", file, what, item.row)


def check_against(
    item: Item, asked: Sequence[Sequence[str]], file: str, index: EvalIndex, findings: Findings
) -> None:
    """Find a row that holds a question of the evaluation sets."""
    found = index.find(asked, item.media)
    if found is not None:
        key = found.place.rpartition("[")[0]
        findings.add("error", "leakage", file, found.describe(), item.row, key=key)


def check_near(
    item: Item, asked: Sequence[Sequence[str]], file: str, splits: EvalIndex, findings: Findings
) -> None:
    """Find a row of train that holds most of a question of another split; `Repeats` finds the same."""
    found = splits.find(asked, item.media)
    if found is not None and not found.same:
        what = found.describe(", which is another split")
        findings.add("warning", "leakage", file, what, item.row, key="near")


def file_template(items: Sequence[Item]) -> Template:
    """Return what the prompts of a file's first rows have around their questions."""
    some = [item for item in items[:_TEMPLATE_ROWS] if item.question]
    asked = [str(item.extra_info.get("question") or "") for item in some]
    return template_of([item.question for item in some], asked)


def question_tokens(item: Item, template: Template) -> list[list[str]]:
    """Return what a row asks, as tokens: its question, and the whole prompt where a template is around it.

    All turns but the system's count, and what follows them where the row has that. Two rows ask the same if
    one of theirs is the same: what is taken to be a template may differ from file to file.
    """
    earlier: list[str] = []
    if isinstance(item.prompt, list) and len(item.prompt) > 2:
        others = [m for m in item.prompt[:-1] if isinstance(m, Mapping) and m.get("role") != "system"]
        earlier = [content_text(m.get("content")) for m in others]
    later = [_text(item.raw[name]) for name in _LEFT if item.raw.get(name)]
    forms = (template.strip(item.question), item.question) if template else (item.question,)
    return [tokens_of(" ".join([*earlier, form, *later])) for form in forms]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(content_text(m.get("content")) for m in value if isinstance(m, Mapping))
    return str(value)


def split_of(file: str, items: Sequence[Item]) -> str:
    """Return which split a file is: what its rows say, else its name less the number of a shard."""
    said = items[0].extra_info.get("split") if items else None
    name = PurePosixPath(file).name.partition(".")[0]
    return str(said or re.sub(r"[-_.]?\d+(?:-of-\d+)?$", "", name))
