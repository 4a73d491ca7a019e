"""Scores the same rows through every API: Python, files, HTTP, trainers' functions and protocols, the
trainer.

    PYTHONPATH=. python benchmarks/entrances.py [--rows 200] [--only REWARD ...]

For every registered reward without a model, `--rows` rows: right, wrong and malformed responses in several
formats, and ground truths as texts and as the lists, objects and numbers found in tables. Each API is
compared with `Scorer.score_batch`, except for rows that it cannot express (verl has no groups).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fastapi.testclient import TestClient

from rewardkit.adapters import backend, ms_swift, trl, verl
from rewardkit.adapters.callable import make_reward
from rewardkit.cli import run
from rewardkit.rows import to_sample
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.app import create_app
from rewardkit.trainer.data import read_rows
from rewardkit.types import Sample, Score
from tests.rewards.code.problems import PROBLEMS, function, mutants, solve

Row = dict[str, Any]
Paid = list[float | None]

DRESSINGS = (
    "%s", "<think>so</think>\n%s", "%s<|im_end|>", "\n\n%s\n", "<think>%s", "Well: %s", "%s\r\n", "**%s**",
    "<answer>%s</answer>", "```\n%s\n```", "日本語 %s 🙂", "%s\u2028", "%s\x00", "\ufeff%s",
    "%s &amp; <b>x</b>", "$%s$",
)  # fmt: skip
FEW = ("", " ", "no", "again " * 120, "I cannot help with that.", "<think>a</think><answer>b</answer>")
SCHEMA = "CREATE TABLE t(name TEXT, n INT); INSERT INTO t VALUES('a',1),('b',2),('c',3);"
QUERY = {"query": "SELECT name FROM t WHERE n > 1", "schema": SCHEMA}
CALL = [{"weather": {"city": ["Paris"], "days": [3]}}]
KEPT = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
FORMS: dict[str, tuple[list[Any], list[str]]] = {
    "openai/gsm8k": (["72", 72, "1,000", 72.0], ["#### 72", "72", "#### 7", "#### 1000", "#### 72 or 7"]),
    "math": (["1/2", "\\frac{1}{2}", 5, ["5", "6"], 0.5], ["\\boxed{1/2}", "\\boxed{5}", "It is 0.5."]),
    "math_dapo": (["34", 34, "-1"], ["Answer: 34", "\\boxed{34}", "Answer: -1", "34"]),
    "hiyouga/geometry3k": (["5", 5, "3\\sqrt{2}"], ["<think>x</think>\\boxed{5}", "\\boxed{3\\sqrt{2}}"]),
    "cais/mmlu": (["B", 1, ["B"]], ["B", "The answer is B.", "A", "A or B"]),
    "searchR1_nq": (["Paris", {"target": ["Paris", "Lutetia"]}, ["Paris"]], ["Paris", "Rome", "not Paris"]),
    "ifeval": ([KEPT, json.dumps(KEPT), [KEPT], str(KEPT)], ["a b", "a, b", "---"]),
    "exact": (["Paris", ["Paris", "Rome"], 5, True], ["Paris", "Rome", "5", "true", "True"]),
    "contains": (["Paris", ["Paris", "Rome"], 5], ["in Paris", "Paris and Rome", "5", "55"]),
    "regex": (["a+b", "[0-9]{2}", 12], ["aab", "12", "ab!"]),
    "number": (["5", 5, 5.0, ["5", "6"], 1e-7], ["5", "5.0", "0.0000001", "5 or 6", "five"]),
    "json": ([{"value": {"a": 1}}, '{"value": [1, 2]}', {"a": 1}], ['{"a": 1}', "[1, 2]", '{"a": true}']),
    "yaml": ([{"value": {"a": 1}}, {"a": [1, None]}], ["a: 1", "a: [1, null]", "a: yes"]),
    "xml": ([["a", "b"], {"a": "x", "b": "1"}], ["<a>x</a><b>1</b>", "<a>x</a><b></b>"]),
    "bleu": (["the cat sat here", ["a dog ran", "the cat sat here"]], ["the cat sat here", "the cat ran"]),
    "rouge_l": (["the cat sat here", ["it is -5", "it is 5"]], ["the cat sat here", "it is 5"]),
    "chrf": (["the cat sat here"], ["the cat sat here", "the bat"]),
    "sql": ([QUERY, json.dumps(QUERY)], ["SELECT name FROM t WHERE n > 1", "SELECT name FROM t", "x"]),
    "bfcl": ([CALL, json.dumps(CALL)], ["[weather(city='Paris', days=3)]", "[weather(city='Rome')]"]),
    "think_format": (["x"], ["<think>a</think>b", "<think></think>b"]),
    "length_overlong": (["x"], ["a b c"]),
    "length_cosine": (["x"], ["a b c", "word " * 500]),
    "length_budget": (["x"], ["a b c"]),
    "repetition": (["x"], ["a b c a b c a b c"]),
    "language": (["x"], ["This is a sentence in English.", "Das ist ein deutscher Satz."]),
    "refusal": (["x"], ["I'm sorry, but I can't help with that.", "Sure."]),
    "diversity": (["x"], ["a b c d", "a b c d e", "something else altogether"]),
    "rank": (["72"], ["#### 72", "#### 7", "72"]),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {"rank": {"reward": "gsm8k"}}
GROUPED = ("diversity", "rank")


def rows_of(source: str, n: int) -> list[Row]:
    """Return `n` rows; rows of a group share a prompt."""
    truths, responses = FORMS[source]
    said = [*(d.replace("%s", r) for r in responses for d in DRESSINGS), *FEW]
    return [
        _row(source, response, truth, i)
        for i, (response, truth) in enumerate(islice(zip(cycle(said), _repeated(truths, len(said))), n))
    ]


def _repeated(truths: list[Any], times: int) -> Iterator[Any]:
    """Yield each ground truth for all responses, repeatedly."""
    return (truth for truth in cycle(truths) for _ in range(times // len(truths) + 1))


def _row(source: str, response: str, truth: Any, i: int) -> Row:
    prompt = [{"role": "user", "content": f"Question {i // 4 if source in GROUPED else i}?"}]
    extra = {"index": i, "max_length": 50, "budget": 40, "response_tokens": len(response.split())}
    return {
        "data_source": source,
        "prompt": prompt,
        "response": response,
        "ground_truth": truth,
        "extra_info": extra,
    }


def code_rows(n: int) -> list[Row]:
    """Return functions and mutants of them with their tests, as text and as an object."""
    found = []
    for problem in PROBLEMS:
        name, _, _, cases = problem
        right = function(problem)
        expected = [json.dumps(solve(right, name, case)) for case in cases]
        tests = {
            "inputs": ["\n".join(map(json.dumps, case)) for case in cases],
            "outputs": expected,
            "fn_name": name,
        }
        for program in (right, *mutants(problem, 1)):
            for truth in (tests, json.dumps(tests)):
                found.append((f"```python\n{program}\n```", truth))
    return [_row("apps", *found[i % len(found)], i) for i in range(n)]


def reasoning_rows(n: int) -> list[Row]:
    """Return entries of reasoning_gym with their own answers and others."""
    import reasoning_gym

    entries = [
        json.loads(json.dumps(reasoning_gym.create_dataset("leg_counting", size=5, seed=7)[i]))
        for i in range(5)
    ]
    found = []
    for i in range(n):
        entry = entries[i % 5]
        said = ("<answer>%s</answer>" % (entry["answer"] if i % 3 else "7"), entry["answer"], "")[i % 7 % 3]
        found.append(_row("reasoning_gym", said, entry if i % 2 else json.dumps(entry), i))
    return found


def in_python(rows: list[Row], options: Any) -> list[Score]:
    with Scorer(workers=1, options=options) as scorer:
        return scorer.score_batch([_sample(row) for row in rows])


def _sample(row: Row) -> Sample:
    return to_sample(*(row[k] for k in ("data_source", "response", "ground_truth", "prompt", "extra_info")))


def paid(scores: list[Score]) -> Paid:
    return [score.score if score.ok else None for score in scores]


def files(rows: list[Row], options: dict[str, Any], kind: str) -> Paid:
    """Score with `rewardkit score` on jsonl, or on parquet, where all ground truths are texts."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / f"in.{kind}", Path(folder) / "out.jsonl"
        if kind == "jsonl":
            given.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            pq.write_table(_table(rows), given)
        flags = [x for s, o in options.items() for k, v in o.items() for x in ("--option", f"{s}:{k}={v}")]
        with contextlib.redirect_stdout(io.StringIO()):
            assert run(["score", str(given), "--out", str(out), "--workers", "1", *flags]) == 0
        found = [json.loads(line) for line in out.read_text().rstrip("\n").split("\n")]  # U+2028 ends no line
        return [row["score"] if row["status"] == "ok" else None for row in found]


def _table(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([{**row, "ground_truth": _sample(row).ground_truth} for row in rows])


def trained(rows: list[Row], options: Any) -> Paid:
    """Score the rows as the trainer reads them from its parquet, each with its response."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.parquet"
        pq.write_table(_table(rows), path)
        read = read_rows(path, "prompt")
    names = ("ground_truth", "prompt", "extra_info")
    with Scorer(workers=1, options=options) as scorer:
        return paid(
            scorer.score_batch(
                [
                    Sample(row["data_source"], given["response"], *(row[name] for name in names))
                    for row, given in zip(read, rows, strict=True)
                ]
            )
        )


def columns_of(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in ("data_source", "ground_truth", "extra_info")}


def functions(rows: list[Row]) -> dict[str, Paid]:
    """Score with the functions for verl, TRL, ms-swift and other trainers."""
    said, prompts, columns = [r["response"] for r in rows], [r["prompt"] for r in rows], columns_of(rows)
    messages = [[{"role": "assistant", "content": text}] for text in said]
    found = {
        "TRL": asyncio.run(trl.make_reward()(messages, prompts=prompts, **columns)),
        "ms-swift": ms_swift.RewardkitORM()(said, messages=prompts, **columns),
        "callable": make_reward()(said, prompts=prompts, **columns),
    }
    if rows[0]["data_source"] not in GROUPED:
        names = ("data_source", "response", "ground_truth", "extra_info")
        answers = [verl.compute_score(*(row[name] for name in names)) for row in rows]
        found["verl"] = [None if answer["failed"] else answer["score"] for answer in answers]
    return found


def over_http(rows: list[Row], client: TestClient) -> dict[str, Paid]:
    """Score with `/score` and the protocols of slime, OpenRLHF and NeMo-Gym, one response per request."""
    whole = client.post("/score", json=rows).json()
    found = {"HTTP": [one["score"] if one["status"] == "ok" else None for one in whole]}
    if rows[0]["data_source"] in GROUPED:
        return found
    slime, openrlhf, nemo = [], [], []
    for row in rows:
        label = {name: row[name] for name in ("data_source", "ground_truth", "extra_info")}
        question = row["prompt"][0]["content"]
        body = {"prompt": row["prompt"], "response": row["response"], "label": label}
        answer = client.post("/slime_dict", json=body).json()
        slime.append(answer["score"] if answer["status"] == "ok" else None)
        body = {"query": [question + row["response"]], "prompts": [question], "labels": [label]}
        answer = client.post(f"/openrlhf/{row['data_source']}", json=body).json()
        openrlhf.append(None if answer["extra_logs"]["failed"] else answer["rewards"][0])
        written = {"type": "message", "role": "assistant"}
        written["content"] = [{"type": "output_text", "text": row["response"]}]
        asked = {"responses_create_params": {"input": row["prompt"]}, "response": {"output": [written]}}
        nemo.append(client.post("/verify", json={**asked, **label}).json()["reward"])
    return {**found, "slime": slime, "OpenRLHF": openrlhf, "NeMo-Gym": nemo}


def entrances(source: str, rows: list[Row]) -> tuple[list[Score], dict[str, Paid]]:
    """Return the scores of Python, and the scores of each other API."""
    options = {source: OPTIONS[source]} if source in OPTIONS else {}
    wanted = in_python(rows, options or None)
    found: dict[str, Paid] = {
        "jsonl": files(rows, options, "jsonl"),
        "parquet": files(rows, options, "parquet"),
    }
    found["trainer"] = trained(rows, options or None)
    with Scorer(workers=1, options=options or None) as scorer, TestClient(create_app(scorer)) as client:
        found |= over_http(rows, client)
    if not options:  # the functions only take options from compositions
        found |= functions(rows)
    return wanted, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--show", type=int, default=5)
    args = parser.parse_args()
    makers: dict[str, Callable[[int], list[Row]]] = {source: partial(rows_of, source) for source in FORMS}
    makers |= {"apps": code_rows, "reasoning_gym": reasoning_rows}
    for source in args.only or makers:
        rows = makers[source](args.rows)
        wanted, found = entrances(source, rows)
        different: Counter[str] = Counter()
        for entrance, given in found.items():
            for row, one, we in zip(rows, wanted, given, strict=True):
                same = (we is None) == (not one.ok) and (we is None or abs(we - one.score) < 1e-9)
                different[entrance] += not same
                if not same and different[entrance] <= args.show:
                    shown = f"{row['response'][:80]!r}, ground truth {row['ground_truth']!r:.80}"
                    print(f"  {entrance}: {we}, Python {one.score} {one.status} {one.detail}: {shown}")
        statuses = dict(Counter(one.status for one in wanted))
        print(f"{source}: {len(rows)} rows, {statuses}, {len(found)} entrances", end=", ")
        print(f"{different.total()} differences", flush=True)
    backend.close()


if __name__ == "__main__":
    main()
