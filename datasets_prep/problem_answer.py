"""Maths datasets with a problem and an answer per row, which are all prepared in the same way.

Raw files: the published parquet, jsonl or json files, with their original names.

Raw columns (if several are listed, the first one that exists is used):

    dataset     question                answer                       also kept
    dapo-math   prompt (chat or text)   reward_model.ground_truth, solution
    numina      problem                 answer, box in solution      source, problem_type, ...
    deepscaler  problem                 answer
    bigmath     problem, prompt         answer, solution             source, domain, llama8b_solve_rate
    skywork     prompt (chat)           reward_model.ground_truth    extra_info
    open-r1     problem                 answer                       source, problem_type, uuid
    amc         problem, question       answer (142.0 is 142)        id, url
    olympiad    context and question    final_answer (list of one)   subfield, answer_type, unit, ...
    minerva     problem, question       answer, box in solution      type, idx

If there is a column `solution`, it is used as the reference solution. Rows without an answer, such as proofs
and rows with the answer `notfound`, are skipped and counted. DAPO contains each row about a hundred times.
Duplicates are dropped. Chat prompts are not changed unless you pass --instruction or --template.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rewardkit.datasets_prep.aime import as_response
from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.prompts import after, published_chat
from rewardkit.datasets_prep.common.readers import LeftOutError
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.datasets_prep.math import INSTRUCTION, boxed_answer
from rewardkit.rows import ground_truth_text, value_at

_NO_ANSWER = ("proof", "notfound", "not found", "none", "n/a")


@dataclass(frozen=True, slots=True)
class Family:
    """Definition of a dataset with a problem and an answer per row."""

    name: str
    hub: Hub
    data_source: str
    """Data source of the rows. `{source}` is replaced by the value of the column `source`."""
    question: tuple[str, ...] = ("problem", "question")
    answer: tuple[str, ...] = ("answer",)
    """Columns that may contain the answer. The first nonempty column is used. `boxed` refers to the last box
    in the solution."""
    metadata: tuple[str, ...] = ()
    instruction: str = INSTRUCTION
    layout: SplitLayout = field(default_factory=SplitLayout)
    repeated: bool = False

    @property
    def recipe(self) -> Recipe:
        """Return the dataset's recipe."""
        return Recipe(
            self.name,
            self.hub,
            partial(_to_row, self),
            self.instruction,
            self.layout,
            repeated=self.repeated,
        )


def _to_row(family: Family, record: Record, context: RowContext) -> Row:
    question, published = _question(family, record)
    answer = _answer(family, record)
    asked = chat(after(question, context.instruction))
    return Row(
        data_source=family.data_source.format(source=record.values.get("source") or "other"),
        prompt=asked if published is None or context.instruction else published,
        ability="math",
        ground_truth=answer,
        split=context.split,
        index=record.index,
        question=question,
        answer=as_response(_solution(record, answer), answer),
        metadata={name: record.values[name] for name in family.metadata if name in record.values},
    )


def _question(family: Family, record: Record) -> tuple[str, tuple[dict[str, str], ...] | None]:
    """Return the problem and its chat. The chat is None if the problem is published as text."""
    name = next((name for name in family.question if name in record.values), family.question[0])
    if isinstance(record.value(name), list):
        return published_chat(record, name)
    question = record.text(name).strip()
    context = record.values.get("context")
    told = f"{context.strip()}\n\n" if isinstance(context, str) and context.strip() else ""
    return f"{told}{question}", None


def _answer(family: Family, record: Record) -> str:
    for name in family.answer:
        if name == "boxed":
            if isinstance(record.values.get("solution"), str) and "boxed" in record.values["solution"]:
                return boxed_answer(record.values["solution"], record.where)
            continue
        text = _plain(value_at(record.values, name))
        if text and text.casefold() not in _NO_ANSWER:
            return text
    columns = ("solution" if name == "boxed" else name.split(".")[0] for name in family.answer)
    if not any(name in record.values for name in columns):
        record.value(family.answer[0])  # raises an error that lists the existing columns
    raise LeftOutError("no answer found")


def _plain(value: Any) -> str:
    """Return an answer as text, without enclosing dollar signs. The items of a list are joined with commas.

    Skywork encodes the list as JSON.
    """
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        try:
            inner = json.loads(value)
        except ValueError:
            inner = None
        value = inner if isinstance(inner, list) and all(isinstance(item, str) for item in inner) else value
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else ", ".join(map(str, value))
    text = (ground_truth_text(value) or "").strip()
    inner_text = text.strip("$")
    return inner_text.strip() if text.count("$") == 2 and text == f"${inner_text}$" else text


def _solution(record: Record, answer: str) -> object:
    """Return the worked solution, or None if the column contains only the answer.

    In open-r1's version of DAPO, the column contains only the answer.
    """
    value = record.values.get("solution")
    value = value[0] if isinstance(value, list) and value else value
    return None if isinstance(value, str) and value.strip() == answer else value


_TEST = SplitLayout(TEST_ONLY, "test")
_SOURCES = ("source", "problem_type", "question_type", "problem_is_valid", "synthetic", "uuid")

FAMILIES = (
    Family(
        "dapo-math",
        Hub("BytedTsinghua-SIA/DAPO-Math-17k", "default", ("train",), "data/dapo-math-17k.parquet"),
        "math_dapo",
        question=("prompt",),
        answer=("reward_model.ground_truth", "solution"),
        instruction="",
        layout=SplitLayout(prefer=("all/",)),
        repeated=True,
    ),
    Family(
        "numina",
        Hub("AI-MO/NuminaMath-1.5", "default", ("train",), "the parquet files of data/"),
        "numina_{source}",
        answer=("answer", "boxed"),
        metadata=_SOURCES,
    ),
    Family(
        "deepscaler",
        Hub("agentica-org/DeepScaleR-Preview-Dataset", "default", ("train",), "deepscaler.json"),
        "deepscaler",
    ),
    Family(
        "bigmath",
        Hub("SynthLabsAI/Big-Math-RL-Verified", "default", ("train",), "the parquet files of data/"),
        "SynthLabsAI/Big-Math-RL-Verified",
        question=("problem", "prompt"),
        answer=("answer", "solution"),
        metadata=("source", "domain", "llama8b_solve_rate"),
    ),
    Family(
        "skywork",
        Hub("Skywork/Skywork-OR1-RL-Data", "default", ("math",), "the files math-*.parquet of data/"),
        "Skywork/Skywork-OR1-RL-Data",
        question=("prompt",),
        answer=("reward_model.ground_truth",),
        metadata=("extra_info",),
        instruction="",
        layout=SplitLayout({"math": "train", "train": "train"}, ignore=("code",)),
    ),
    Family(
        "open-r1",
        Hub("open-r1/OpenR1-Math-220k", "default", ("train",), "the files train-*.parquet of data/"),
        "open-r1/OpenR1-Math-220k",
        metadata=_SOURCES,
        layout=SplitLayout(
            {"train": "train", "default": "train", "extended": "train"}, prefer=("data/", "default")
        ),
    ),
    Family(
        "amc",
        Hub("AI-MO/aimo-validation-amc", "default", ("train",), "its parquet file"),
        "amc",
        metadata=("id", "url"),
        layout=_TEST,
    ),
    Family(
        "olympiad",
        Hub("Hothan/OlympiadBench", "OE_TO_maths_en_COMP", ("train",), "the files of OE_TO_maths_en_COMP/"),
        "olympiadbench",
        question=("question", "problem"),
        answer=("final_answer", "answer"),
        metadata=("id", "subfield", "answer_type", "is_multiple_answer", "unit", "error"),
        layout=SplitLayout(TEST_ONLY, "test", prefer=("oe_to_maths_en_comp",)),
    ),
    Family(
        "minerva",
        Hub("math-ai/minervamath", "default", ("test",), "test.jsonl"),
        "minerva_math",
        answer=("answer", "boxed"),
        metadata=("type", "idx"),
        layout=_TEST,
    ),
)

RECIPES = {family.name: family.recipe for family in FAMILIES}
