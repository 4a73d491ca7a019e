"""A corpus of files of responses in the shapes of trainers, harnesses, APIs and people, in every format.

Each file has four responses to two problems, of which the first of each is right, unless it says otherwise.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.logs import written as logs
from tests.logs.test_reader import write
from tests.logs.written import RIGHT, WRONG, Rows

SIX, FIVE = "so \\boxed{6}", "so \\boxed{5}"


@dataclass(frozen=True)
class CorpusFile:
    """A file, how to read it, and what is in it."""

    name: str
    rows: Rows
    sources: dict[str, int] = field(default_factory=lambda: {"gsm8k": 4})
    """Responses by data source."""
    data_source: str | None = None
    """As the user gives it; None: the file says it."""
    failed: int = 0
    """Responses that have a status other than `ok`."""
    write: Callable[[Path, Rows], Any] = write

    @property
    def responses(self) -> int:
        return sum(self.sources.values())

    def at(self, folder: Path) -> Path:
        """Write the file; return its path."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.write(path, self.rows)
        return path

    def words(self, folder: Path) -> list[str]:
        """Write the file; return the words of a command line that read it."""
        given = ["--data-source", self.data_source] if self.data_source else []
        path = self.at(folder)
        return [str(folder if path.parent != folder else path), *given]


def plain(texts: tuple[str, str] = (RIGHT, WRONG), truth: Any = "7", **more: Any) -> Rows:
    return [
        {"data_source": "gsm8k", "prompt": f"p{p}", "response": text, "ground_truth": truth, **more}
        for p in range(2)
        for text in texts
    ]


def under(names: dict[str, str], rows: Rows) -> Rows:
    """Rows with columns of other names."""
    return [{names.get(name, name): value for name, value in row.items()} for row in rows]


def lists(**names: str) -> Rows:
    """Rows with both responses of a problem in a list."""
    rows = [
        {"data_source": "gsm8k", "prompt": f"p{p}", "responses": [RIGHT, WRONG], "ground_truth": "7"}
        for p in range(2)
    ]
    return under(names, rows)


def episodes() -> Rows:
    """What `generate` writes of episodes, one for each way to end that is a failure or none."""
    ends = [("answered", "ok"), ("tool_failed", "error"), ("seconds", "timeout"), ("done", "ok")]
    return [
        {
            "data_source": "gsm8k",
            "prompt": [{"role": "user", "content": f"p{p}"}],
            "ground_truth": "7",
            "responses": [RIGHT if status == "ok" else "" for _, status in ends],
            "finish_reason": ["stop"] * len(ends),
            "ended": [end for end, _ in ends],
            "episode_status": [status for _, status in ends],
            "turn_rewards": [[0.5]] * len(ends),
        }
        for p in range(2)
    ]


def two_sources() -> Rows:
    return [*plain()[:2], *(row | {"data_source": "math"} for row in plain((SIX, FIVE), "6")[:2])]


def lm_eval(answers: tuple[str, str], truth: str, filters: tuple[str, ...]) -> Rows:
    return [
        {
            "doc_id": p,
            "doc": {"question": f"{p}?"},
            "target": truth,
            "arguments": {"gen_args_0": {"arg_0": f"Q: {truth} {p}", "arg_1": {"until": ["Q:"]}}},
            "resps": [[text]],
            "filtered_resps": [text],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": 0.0,
        }
        for name in filters
        for p, text in enumerate(answers)
    ]


def inspect() -> Rows:
    return [
        {
            "id": p,
            "epoch": epoch,
            "input": f"p{p}",
            "target": "7",
            "output": {
                "choices": [{"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}]
            },
            "scores": {"match": {"value": "I"}},
            "metadata": {"data_source": "gsm8k"},
        }
        for p in range(2)
        for epoch, text in enumerate((RIGHT, WRONG))
    ]


def write_inspect(path: Path, rows: Rows) -> None:
    head = {"version": 2, "status": "success", "eval": {"task": "gsm8k", "dataset": {}}, "plan": {}}
    if path.suffix == ".json":
        path.write_text(json.dumps(head | {"samples": rows}))
        return
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(head))
        for row in rows:
            archive.writestr(f"samples/{row['id']}_epoch_{row['epoch']}.json", json.dumps(row))


def write_tsv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)


def write_csv_with_json(path: Path, rows: Rows) -> None:
    """As tools write csv that hold lists and objects."""
    write(path, [{k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows])


def chat(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def api_answer(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": chat(text)[0], "finish_reason": "stop"}]}


FAILED = {"error": "rate limit", "response": None}
FORMATS = (".jsonl", ".parquet", ".csv", ".json", ".jsonl.gz", ".jsonl.zst", ".arrow", ".feather")


def _files() -> Iterator[CorpusFile]:
    for suffix in FORMATS:
        yield CorpusFile(f"plain{suffix}", plain())
    yield CorpusFile("plain.tsv", plain(), write=write_tsv)
    for suffix in (".jsonl", ".parquet"):
        yield CorpusFile(f"lists{suffix}", lists())
        yield CorpusFile(f"generations{suffix}", lists(responses="generations"))
        yield CorpusFile(f"verl{suffix}", logs.verl_dump(), data_source="gsm8k")
        yield CorpusFile(f"episodes{suffix}", episodes(), {"gsm8k": 8}, failed=4)
    yield CorpusFile("lists.csv", lists(), write=write_csv_with_json)
    yield CorpusFile("completions.csv", lists(responses="completions"), write=write_csv_with_json)
    yield CorpusFile("two_sources.jsonl", two_sources(), {"gsm8k": 2, "math": 2})
    yield CorpusFile("two_sources.parquet", two_sources(), {"gsm8k": 2, "math": 2})
    yield CorpusFile("output.jsonl", under({"response": "output", "ground_truth": "answer"}, plain()))
    yield CorpusFile("model_output.csv", under({"response": "model_output", "ground_truth": "gold"}, plain()))
    yield CorpusFile("verl_rows.jsonl", [row | {"reward_model": {"ground_truth": "7"}} for row in plain()])
    nested = [
        {**row, "reward_model": {"style": "rule", "ground_truth": row.pop("ground_truth")}} for row in plain()
    ]
    yield CorpusFile("verl_nested.jsonl", nested)
    yield CorpusFile("verl_nested.parquet", nested)
    yield CorpusFile("given.jsonl", [row | {"data_source": "mine"} for row in plain()], data_source="gsm8k")
    yield CorpusFile("own_score.jsonl", plain(score=0.0, status="completed"))
    yield CorpusFile("own_reward.parquet", plain(reward=0.25, correct=False))
    yield CorpusFile("chat.jsonl", [row | {"response": chat(row["response"])} for row in plain()])
    yield CorpusFile("chat.parquet", [row | {"response": chat(row["response"])} for row in plain()])
    yield CorpusFile("answers.jsonl", [row | {"response": api_answer(row["response"])} for row in plain()])
    yield CorpusFile(
        "messages.jsonl", [row | {"prompt": [{"role": "user", "content": "p"}]} for row in plain()]
    )
    yield CorpusFile(
        "prompt_ids.jsonl", [row | {"prompt_id": i // 2, "prompt": "p"} for i, row in enumerate(plain())]
    )
    yield CorpusFile("numbers.jsonl", plain(truth=7))
    yield CorpusFile("failed.jsonl", [*plain()[:3], plain()[3] | FAILED], failed=1)
    yield CorpusFile(
        "aborted.parquet",
        [r | {"status": s} for r, s in zip(plain(), ["completed"] * 3 + ["aborted"], strict=True)],
        failed=1,
    )
    yield CorpusFile("masked.jsonl", [r | {"response_mask": [i, 0]} for i, r in enumerate(plain())], failed=1)
    yield CorpusFile(
        "filtered.jsonl",
        [r | {"finish_reason": "stop" if i else "content_filter"} for i, r in enumerate(plain())],
        failed=1,
    )
    yield CorpusFile("no_prompt.jsonl", [{k: v for k, v in row.items() if k != "prompt"} for row in plain()])
    yield CorpusFile(
        "data_source=gsm8k/part.jsonl",
        [{k: v for k, v in row.items() if k != "data_source"} for row in plain()],
    )
    yield CorpusFile("samples_gsm8k_2026-11-01T00-00-00.jsonl", logs.lm_eval())
    yield CorpusFile("one_lm_eval.jsonl", lm_eval((RIGHT, WRONG), "7", ("none",)), {"gsm8k": 2}, "gsm8k")
    yield CorpusFile("completions_3.parquet", logs.trl_completions(), data_source="gsm8k")
    yield CorpusFile("chats_3.parquet", logs.trl_completions(chat=True), data_source="gsm8k")
    yield CorpusFile("rollouts.jsonl", logs.nemo_gym())
    yield CorpusFile("results.jsonl", logs.verifiers())
    yield CorpusFile("results.parquet", [row | {"info": {"a": 1}} for row in logs.verifiers()])
    yield CorpusFile("log.json", inspect(), write=write_inspect)
    yield CorpusFile("log.eval", inspect(), write=write_inspect)
    slime = [
        {"prompt": r["prompt"], "response": r["response"], "label": "7", "status": "completed"}
        for r in plain()
    ]
    yield CorpusFile("slime.jsonl", slime, data_source="gsm8k")
    yield CorpusFile(
        "slime_aborted.jsonl", [*slime[:3], slime[3] | {"status": "aborted"}], data_source="gsm8k", failed=1
    )
    batch = {
        "data_source": ["gsm8k"] * 2,
        "prompt": ["p0", "p1"],
        "response": [RIGHT, WRONG],
        "ground_truth": ["7", "7"],
    }
    yield CorpusFile("ms_swift.jsonl", [batch, batch])


CORPUS = {one.name: one for one in _files()}

assert len(CORPUS) >= 40
