"""Data for the report page. It is packed in blocks, and the browser decompresses only the blocks that it
shows.

One block contains the numbers of all rows. Texts are in blocks of a thousand rows, and each prompt is stored
only once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from rewardkit import types
from rewardkit.evaluation.chat import headings, is_chat
from rewardkit.evaluation.html.page import facts_list, pack
from rewardkit.evaluation.pictures import PromptPictures
from rewardkit.evaluation.scored import ScoredResponse, ScoredRow, scored_response

BLOCK = 1_000
"""Number of rows or prompts in one block of texts."""
LONGEST = 20_000
"""Maximum number of characters of a response on the page. The middle of longer responses is omitted."""
BUDGET = 28_000_000
"""Size of the packed texts in bytes. Above this size, further responses are shortened to `SHORT`
characters."""
SHORT = 400
"""Maximum number of characters of a response after `BUDGET` is reached."""
NAMED = 10
"""Maximum number of models or rewards listed in the head of a page."""
STATUSES = (*types.STATUSES, "unscored")


class Payload:
    """Data of all rows for the page. Texts are packed as rows are added, to save memory."""

    def __init__(self, rows: Iterable[ScoredRow]) -> None:
        self.responses: list[ScoredResponse] = []
        """All rows without their texts, from which the figures are computed."""
        self.sources: dict[str, int] = {}
        """Index of each data source."""
        self.shortened = 0
        """Number of texts that were shortened."""
        self._named: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._columns: defaultdict[str, list[Any]] = defaultdict(list)
        self._prompts: dict[tuple[str, str, str], int] = {}
        self._pictures = PromptPictures()
        self._texts = _Blocks("t")
        self._prompt_texts = _Blocks("p")
        for row in rows:
            self._add(row)

    def head(self, facts: Sequence[tuple[str, str]] = ()) -> str:
        """Return the markup of the facts and of the models and rewards that the rows name."""
        known = {name for name, _ in facts}
        named = [(name, ", ".join([*values][:NAMED])) for name, values in self._named.items()]
        return facts_list([*facts, *(one for one in named if one[0] not in known)])

    def packed(self) -> dict[str, str]:
        """Return the packed blocks by the ids that the script uses.

        `numbers` contains a list for each column, with one value per row. `t0`, `t1`, ... contain the
        response, extracted answer, detail, parts and turns of each row. `p0`, `p1`, ... contain the prompts
        with their ground truths.
        """
        return {"numbers": pack(self._columns), **self._texts.finished(), **self._prompt_texts.finished()}

    def _add(self, row: ScoredRow) -> None:
        one = scored_response(row)
        self.responses.append(one)
        for name, value in (("model", one.model), ("reward", row.get("scorer"))):
            if value:
                self._named[name][str(value)] = None
        source = self.sources.setdefault(one.data_source, len(self.sources))
        key = (one.data_source, one.prompt, one.ground_truth)
        prompt = self._prompts.get(key)
        if prompt is None:
            prompt = self._prompts[key] = len(self._prompts)
            self._prompt_texts.add([self._pictures.prompt(row), row.get("ground_truth")])
        values = {
            "source": source,
            "prompt": prompt,
            "score": None if one.score is None else round(one.score, 6),
            "status": STATUSES.index(one.status) if one.status in STATUSES else 2,
            "correct": -1 if one.correct is None else int(one.correct),
            "length": one.length,
        }
        for name, value in values.items():
            self._columns[name].append(value)
        response = self._fitting(row.get("response") or "")
        self._texts.add([response, one.extracted, row.get("detail"), one.parts or None, self._turns(row)])

    def _turns(self, row: ScoredRow) -> list[tuple[str, str, bool]] | None:
        """Return the heading and the text of each turn, and True if it is the model's turn.

        Return None if the row has fewer than two turns.
        """
        turns = row.get("turns")
        if not is_chat(turns) or len(turns) < 2:
            return None
        return [
            (head, self._fitting(str(turn["text"])), turn["role"] == "assistant")
            for head, turn in zip(headings(turns), turns, strict=True)
        ]

    def _fitting(self, response: str) -> str:
        longest = LONGEST if self._texts.size < BUDGET else SHORT
        if len(response) <= longest:
            return response
        self.shortened += 1
        half = longest // 2
        left_out = len(response) - 2 * half
        return f"{response[:half]}\n[... {left_out:,} characters left out ...]\n{response[-half:]}"


class _Blocks:
    """Packer that compresses texts one block at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._packed: dict[str, str] = {}
        self._open: list[Sequence[Any]] = []
        self.size = 0
        """Size of the blocks packed so far, in bytes."""

    def add(self, texts: Sequence[Any]) -> None:
        self._open.append(texts)
        if len(self._open) == BLOCK:
            self._pack()

    def finished(self) -> dict[str, str]:
        if self._open:
            self._pack()
        return self._packed

    def _pack(self) -> None:
        packed = pack(self._open)
        self._packed[f"{self._name}{len(self._packed)}"] = packed
        self.size += len(packed)
        self._open = []
