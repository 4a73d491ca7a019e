"""AIME, the American Invitational Mathematics Examination: 30 problems a year, answers from 0 to 999.

Raw columns, in any letter case: `problem` (or `question`) and `answer`; `solution`, `id` and `url` where
there are any. That covers Maxwell-Jia/AIME_2024, the jsonl forms, and the sets of 2025.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.math import INSTRUCTION
from rewardkit.datasets_prep.prepare import Limit, Prepared, Raw, SkipBad, prepare_source, refuse_repeats
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError

HUB = {
    2024: Hub("Maxwell-Jia/AIME_2024", "default", ("train",), "its file"),
    2025: Hub("math-ai/aime25", "default", ("test",), "its file"),
}
"""Where each year lies on the hub."""


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    year: Annotated[int, "2024 or 2025: fetched from the hub, and part of the data source."] = 2024,
    instruction: Annotated[str, "Text after each problem; '' for none."] = INSTRUCTION,
    system: Annotated[str, "System message before each problem; '' for none."] = "",
    limit: Limit = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write one year's problems to `out_dir`, in the split that the raw data calls them.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    if year not in HUB:
        raise InputError(f"no AIME of {year} is known; choose one of {', '.join(map(str, HUB))}")
    source = open_source(raw, HUB[year])

    def to_row(raw_record: Record, split: str) -> Row:
        record = _lower_case(raw_record)
        problem = record.text("question" if "question" in record.values else "problem")
        gold = _answer(record)
        return Row(
            data_source=f"aime{year}",
            prompt=chat(f"{problem} {instruction}".rstrip(), system),
            ability="math",
            ground_truth=gold,
            split=split,
            index=record.index,
            question=problem,
            answer=_as_response(record.values.get("solution"), gold),
            metadata={name: record.values[name] for name in ("id", "url") if name in record.values},
        )

    return prepare_source(
        out_dir,
        "aime",
        source,
        refuse_repeats(to_row),
        limit=limit,
        skip_bad=skip_bad,
        arguments={"year": year, "instruction": instruction, "system": system},
        progress=progress,
    )


def _lower_case(record: Record) -> Record:
    return Record(record.where, record.index, {name.lower(): v for name, v in record.values.items()})


def _answer(record: Record) -> str:
    """The answer as published, `25` or `025`, as a plain integer."""
    value = record.values.get("answer")
    text = str(value) if isinstance(value, int) else record.text("answer").strip()
    if not (text.isascii() and text.isdigit() and int(text) <= 999):
        raise InputError(f"{record.where}: 'answer' must be an integer from 0 to 999, found {text[:40]!r}")
    return str(int(text))


def _as_response(solution: object, gold: str) -> str:
    """The published solution, ending as a response should: many end in a signature or a second solution."""
    final = f"The answer is \\boxed{{{gold}}}."
    return f"{solution.rstrip()}\n\n{final}" if isinstance(solution, str) and solution.strip() else final
