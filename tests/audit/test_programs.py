"""Weak tests are named with a wrong program that passes them, and an input that shows it is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.audit.inputs import Arguments, new_inputs
from rewardkit.audit.mutants import changed
from rewardkit.audit.programs import WeakTests, find_weak_tests
from tests.conftest import EXCERPTS


def row(code: str, *tests: str, **more: object) -> Sample:
    return Sample("mbpp", f"```python\n{code}\n```", json.dumps({"test_list": tests} | more))


EVEN = "def even(n):\n    return n % 2 == 0"
LARGER = "def larger(a, b):\n    return a if a > b else b"
WEAK = {
    "only one answer is tested": row(EVEN, "assert even(2) == True", "assert even(8) == True"),
    "the tests are assertions of another form": row(EVEN, "assert even(2)", "assert even(8) is True"),
    "an edge is not tested": row(
        "def late(hour):\n    return hour > 12", "assert late(20) == True", "assert late(3) == False"
    ),
    "the method of a class": row(
        "class Solution:\n    def even(self, n):\n        return n % 2 == 0",
        *("assert Solution().even(2) == True", "assert Solution().even(8) == True"),
    ),
}
STRONG = {
    "every change is noticed": row(
        LARGER, "assert larger(1, 2) == 2", "assert larger(2, 1) == 2", "assert larger(3, 3) == 3"
    ),
    "a change that passes changes nothing": row(
        "def top(items):\n    return sorted(set(items))[-1]",
        "assert top([1, 5, 2]) == 5",
        "assert top([9, 9, 4]) == 9",
    ),
    "the reference answers at random": row(
        "import random\ndef roll(n):\n    return random.randint(1, n) if n > 3 else n",
        *("assert roll(1) == 1", "assert roll(3) == 3", "assert roll(9) > 0"),
    ),
}


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(options={"mbpp": {"cpu_s": 0.5}}) as one:
        yield one


@pytest.fixture(scope="module")
def audited(scorer: Scorer) -> WeakTests:
    return find_weak_tests([*WEAK.values(), *STRONG.values()], scorer)


@pytest.mark.parametrize("name", WEAK)
def test_a_row_whose_tests_a_wrong_program_passes_is_weak(name: str, audited: WeakTests) -> None:
    assert list(WEAK).index(name) in [weak.row for weak in audited.weak]


def test_a_row_with_good_tests_or_without_a_witness_is_not_weak(audited: WeakTests) -> None:
    assert audited.rows == len(WEAK) + len(STRONG)
    assert [weak.row for weak in audited.weak if weak.row >= len(WEAK)] == []


def _confirmed(rows: list[Sample], audit: WeakTests, scorer: Scorer) -> None:
    """Check with the reward itself that each wrong program passes, and fails with the witness as a test."""
    for weak in audit.weak:
        sample = rows[weak.row]
        truth = json.loads(sample.ground_truth)
        more = json.dumps(
            truth | {"test_list": [*truth["test_list"], f"assert {weak.witness} == {weak.expected}"]}
        )
        wrong = f"```python\n{weak.mutant}\n```"
        scores = scorer.score_batch(
            [
                Sample("mbpp", wrong, sample.ground_truth),
                Sample("mbpp", sample.response, more),
                Sample("mbpp", wrong, more),
            ]
        )
        assert [score.correct for score in scores] == [True, True, False], weak


def test_rows_of_mbpp_are_weak_with_a_test_that_would_have_noticed(scorer: Scorer) -> None:
    lines = (EXCERPTS / "mbpp" / "mbpp.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines][:16]
    rows = [row(one["code"], *one["test_list"], test_setup_code=one["test_setup_code"]) for one in records]
    found = find_weak_tests(rows, scorer)
    assert found.rows + found.left_out.total() == len(rows)
    assert found.rows >= 14
    assert found.weak
    _confirmed(rows, found, scorer)


def test_rows_that_cannot_be_examined_are_counted_by_reason(scorer: Scorer) -> None:
    rows = [
        row("def f(n):\n    return n", "assert f(1) == 2"),
        Sample(
            "mbpp", "```python\nprint(input())\n```", json.dumps({"tests": [{"input": "1", "output": "1"}]})
        ),
        Sample("mbpp", "I do not know", json.dumps({"test_list": ["assert f(1) == 1"]})),
    ]
    found = find_weak_tests(rows, scorer)
    late = find_weak_tests(rows, scorer, seconds=-1.0)
    assert (found.rows, sorted(found.left_out.values())) == (0, [1, 2])
    assert (late.rows, late.left_out.total()) == (0, 3)


def test_no_reference_program_runs_outside_of_the_sandbox(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = f"try:\n    open({str(mark)!r}, 'w')\nexcept OSError:\n    pass\n{EVEN}"
    with Scorer() as plain:  # its programs get less time than it would give them
        found = find_weak_tests([row(code, "assert even(2) == True", "assert even(8) == True")], plain)
    assert [weak.row for weak in found.weak] == [0]
    assert not mark.exists()


@pytest.mark.parametrize("source", ["def f(:", "x = " + "(" * 5_000, "x" * 30_000, "", "\0"])
def test_a_program_that_cannot_be_parsed_has_no_changed_copies(source: str) -> None:
    assert changed(source, 8) == []


def test_changed_copies_differ_from_the_program_and_from_each_other() -> None:
    source = "def f(a):\n    total = 0\n    for x in a[1:]:\n        if x > 3 and x != 7:\n            total += x * 2\n    return total"
    found = [one.source for one in changed(source, 30)]
    assert len(found) == len(set(found)) > 12
    assert source not in found
    assert changed(source, 5) == changed(source, 30)[:5]


DOMAINS: dict[str, tuple[list[Arguments], object]] = {
    "a length stays a length": ([[[1, 2, 3], 3], [[4, 5], 2]], lambda a, n: n == len(a)),
    "an index stays inside": ([[[1, 2, 3], 2], [[4, 5, 9], 0]], lambda a, i: 0 <= i < len(a)),
    "an item stays an item": ([[[1, 2, 3], 2], [[4, 5, 9], 9]], lambda a, x: x in a),
    "numbers stay in their range": ([[3], [12], [7]], lambda n: 3 <= n <= 12),
    "an order of numbers stays": ([[1, 5], [2, 9]], lambda a, b: a < b),
    "sorted lists stay sorted": ([[[1, 2, 9]], [[3, 4]]], lambda a: a == sorted(a)),
    "distinct items stay distinct": ([[[5, 2, 9]], [[3, 4, 1]]], lambda a: len(set(a)) == len(a)),
    "lists stay as long": ([[[1, 2], [3, 4]], [[5, 2, 1], [6, 7, 8]]], lambda a, b: len(a) == len(b)),
    "rows of a matrix stay as long": ([[[[1, 2], [3, 4]]], [[[5, 6, 7], [7, 8, 9]]]], lambda m: len({*map(len, m)}) == 1),
    "texts are never empty if none was": ([["ab"], ["cde"]], lambda t: t.isalpha() and 2 <= len(t) <= 3),
    "texts keep their form": ([["ab_c"], ["cd_e"]], lambda t: [*map(str.isalpha, t.split("_"))] == [True, True]),
    "types of two arguments stay alike": (
        [[[2, 1, 1], [3, 4, 4]], [["a", "b", "a"], ["d", "c", "c"]]],
        lambda a, b: {*map(type, a)} == {*map(type, b)},
    ),
    "types stay": ([[[1, "a"], None], [[2, "b"], 1.5]], lambda a, x: {*map(type, a)} <= {int, str}),
    "keys stay keys": ([[{"a": 1}], [{"b": 2, "c": 3}]], lambda d: all(type(k) is str and type(v) is int for k, v in d.items())),
}  # fmt: skip


@pytest.mark.parametrize("name", DOMAINS)
def test_inputs_stay_in_the_domain_that_the_tests_show(name: str) -> None:
    observed, holds = DOMAINS[name]
    found = new_inputs(observed, 60)
    assert found
    assert all(holds(*arguments) for arguments in found)  # type: ignore[operator]
    assert not {*map(repr, found)} & {*map(repr, observed)}
    assert found == new_inputs(observed, 60)


@pytest.mark.parametrize("observed", [[], [[]], [[1], [1, 2]]])
def test_calls_without_a_common_form_give_no_inputs(observed: list[Arguments]) -> None:
    assert new_inputs(observed, 60) == []
