"""Question answering datasets with short answers, which are all prepared in the same way.

Raw files: the parquet files from the hub, the jsonl files from FlashRAG, or the original files of SQuAD,
HotpotQA, TriviaQA and DROP (one nested JSON file per split).

Raw columns (if several are listed, the first one that exists is used):

    dataset    question             accepted answers                            context
    nq         question             answer, golden_answers                      -
    triviaqa   question, Question   answer {value, aliases}, golden_answers     -
    hotpotqa   question             answer, golden_answers                      -
    squad      question             answers {text}; skipped if empty            context
    drop       question             answers_spans {spans}, answer {number,      passage
                                    spans, date} and validated_answers
    searchr1   question             reward_model.ground_truth.target,           -
                                    golden_answers

The ground truth is a JSON list of accepted answers. An answer that consists of several spans is a list of
these spans. If a dataset's test split has no answers, test.parquet is created from the validation split. With
--agent, the rows have the tool `search`. The data sources in `searchr1` (PeterJinGo/nq_hotpotqa_train) name
the original dataset, for example `searchR1_nq`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rewardkit.datasets_prep.common.layout import ALL_THREE, SplitLayout
from rewardkit.datasets_prep.common.prompts import after
from rewardkit.datasets_prep.common.readers import LeftOutError
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError
from rewardkit.rows import value_at

INSTRUCTION = "Give a short answer between <answer> and </answer>."

AcceptedAnswers = list[Any]
"""Accepted answers. Each answer is a string, or a list of strings if it consists of several spans."""

_NO_ANSWER = "no answer is published"


@dataclass(frozen=True, slots=True)
class QA:
    """Definition of a question answering dataset with short answers."""

    name: str
    hub: Hub
    answers: Callable[[Record], AcceptedAnswers]
    data_source: str = ""
    """Data source of the rows, by default the dataset's name on the hub. `{source}` is replaced by the value
    of the raw column `data_source`."""
    context: str = ""
    """Column with the text to which the question refers, or empty if the dataset has no such column."""
    expand: Callable[[Record], Iterator[Record]] | None = None
    layout: SplitLayout = SplitLayout(ALL_THREE, validation_is_test=True)  # noqa: RUF009  (frozen)
    tool: str = "search"

    @property
    def recipe(self) -> Recipe:
        """Return the dataset's recipe."""
        return Recipe(
            self.name,
            self.hub,
            partial(_to_row, self),
            INSTRUCTION,
            self.layout,
            expand=self.expand,
            tool=self.tool,
        )


def _to_row(published: QA, record: Record, context: RowContext) -> Row:
    name = "question" if "question" in record.values or "Question" not in record.values else "Question"
    question = record.text(name).strip()
    accepted = [answer for answer in published.answers(record) if answer]
    if not accepted:
        raise LeftOutError(_NO_ANSWER)
    asked = f"{record.text(published.context)}\n\n{question}" if published.context else question
    first = accepted[0]
    said = first if isinstance(first, str) else ", ".join(first)
    source = published.data_source or published.hub.name
    return Row(
        data_source=source.format(source=record.values.get("data_source") or "nq"),
        prompt=chat(after(asked, context.instruction)),
        ability="qa",
        ground_truth=json.dumps(accepted, ensure_ascii=False),
        split=context.split,
        index=record.index,
        question=question,
        answer=f"<answer>{said}</answer>",
        metadata={n: record.values[n] for n in ("id", "title", "type", "level") if n in record.values},
    )


def _plain(record: Record) -> AcceptedAnswers:
    """Return the accepted answers in `golden_answers` (FlashRAG) or `answer`. A single string is allowed."""
    value = record.values.get("golden_answers", record.values.get("answer"))
    if value is None:
        record.value("answer")
    return _texts(value, record)


def _triviaqa(record: Record) -> AcceptedAnswers:
    answer = record.values.get("answer", record.values.get("Answer"))
    if not isinstance(answer, dict):
        return _plain(record)
    answer = {name.lower(): value for name, value in answer.items()}
    listed = [answer.get("value"), *(answer.get("aliases") or ())]
    return list(dict.fromkeys(text for text in listed if isinstance(text, str) and text and text != "<unk>"))


def _squad(record: Record) -> AcceptedAnswers:
    answers = record.value("answers")
    texts = answers.get("text") if isinstance(answers, dict) else [item.get("text") for item in answers or ()]
    return list(dict.fromkeys(_texts(texts or [], record)))


def _drop(record: Record) -> AcceptedAnswers:
    if "answers_spans" in record.values:
        spans = (record.values["answers_spans"] or {}).get("spans") or []
        distinct = list(dict.fromkeys(spans))
        return [distinct[0] if len(distinct) == 1 else distinct] if distinct else []
    found = [_drop_answer(answer) for answer in _drop_answers(record)]
    kept = [answer for answer in found if answer]
    return [answer for place, answer in enumerate(kept) if answer not in kept[:place]]


def _drop_answers(record: Record) -> list[Any]:
    """Return the answer and the validated answers, which the hub stores as a single object of lists."""
    validated = record.values.get("validated_answers") or []
    if isinstance(validated, dict):
        names = list(validated)
        validated = [dict(zip(names, row, strict=True)) for row in zip(*validated.values(), strict=False)]
    return [record.value("answer"), *validated]


def _drop_answer(answer: Any) -> Any:
    """Return the number in an answer, or its spans if it has no number, or its date if it has neither."""
    if not isinstance(answer, dict):
        return None
    if str(answer.get("number") or "").strip():
        return str(answer["number"]).strip()
    spans = [span for span in answer.get("spans") or () if span]
    if spans:
        return spans[0] if len(spans) == 1 else spans
    date = answer.get("date") or {}
    return " ".join(part for name in ("day", "month", "year") if (part := str(date.get(name) or "").strip()))


def _searchr1(record: Record) -> AcceptedAnswers:
    target = value_at(record.values, "reward_model.ground_truth.target")
    return _texts(target, record) if target is not None else _plain(record)


def _texts(value: Any, record: Record) -> AcceptedAnswers:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{record.where}: the answers must be strings, found {str(value)[:60]!r}")
    return texts


def _nested(record: Record) -> Iterator[Record]:
    """Yield the questions nested in a record from an original SQuAD or DROP file, or a flat record itself."""
    values = record.values
    if isinstance(values.get("paragraphs"), list):
        yield from _numbered(record, _squad_questions(values))
    elif values and all(isinstance(v, dict) and "qa_pairs" in v for v in values.values()):
        pairs = ({**qa, "passage": v["passage"]} for v in values.values() for qa in v["qa_pairs"])
        yield from _numbered(record, pairs)
    else:
        yield record


def _squad_questions(article: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for paragraph in article["paragraphs"]:
        for qa in paragraph.get("qas", ()):
            yield {**qa, "context": paragraph.get("context"), "title": article.get("title")}


def _numbered(record: Record, rows: Iterator[dict[str, Any]]) -> Iterator[Record]:
    for index, values in enumerate(rows):
        yield Record(f"{record.where} question {index + 1}", index, values)


_VALIDATED = SplitLayout(
    {name: split for name, split in ALL_THREE.items() if split != "test"},
    ignore=("test",),
    validation_is_test=True,
)

SETS = (
    QA(
        "nq",
        Hub("google-research-datasets/nq_open", None, ("train", "validation"), "the parquet files"),
        _plain,
    ),
    QA(
        "triviaqa",
        Hub("mandarjoshi/trivia_qa", "rc.nocontext", ("train", "validation"), "rc.nocontext/"),
        _triviaqa,
        layout=replace(_VALIDATED, prefer=("rc.nocontext", "unfiltered-web")),
    ),
    QA(
        "hotpotqa",
        Hub(
            "hotpotqa/hotpot_qa",
            "distractor",
            ("train", "validation"),
            "the files of distractor/",
            script=True,
        ),
        _plain,
        layout=SplitLayout(ALL_THREE, prefer=("distractor/",), ignore=("fullwiki",), validation_is_test=True),
    ),
    QA(
        "squad",
        Hub("rajpurkar/squad", "plain_text", ("train", "validation"), "the parquet files of plain_text/"),
        _squad,
        context="context",
        expand=_nested,
        layout=_VALIDATED,
    ),
    QA(
        "drop",
        Hub("ucinlp/drop", None, ("train", "validation"), "the parquet files of data/"),
        _drop,
        context="passage",
        expand=_nested,
        layout=_VALIDATED,
    ),
    QA(
        "searchr1",
        Hub("PeterJinGo/nq_hotpotqa_train", None, ("train", "test"), "train.parquet and test.parquet"),
        _searchr1,
        data_source="searchR1_{source}",
    ),
)

RECIPES = {published.name: published.recipe for published in SETS}
