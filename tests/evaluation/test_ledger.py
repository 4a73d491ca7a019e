"""The shares of a step's gradient against groups worked by hand."""

from __future__ import annotations

import pytest

from rewardkit.evaluation.ledger import Ledger, ledger
from rewardkit.evaluation.scored import ScoredResponse

KINDS = {"r": (1.0, True), "f": (0.1, False), "n": (0.0, False), "m": (0.5, None), "z": (0.0, None)}


def of(*kinds: str, lengths: str = "", estimator: str = "dr_grpo") -> Ledger:
    """`r`ight, wrong but in `f`ormat, `n`either, `!` failed; `m` and `z`: of a model, which says no verdict."""
    groups = {}
    for prompt, group in enumerate(kinds):
        responses = []
        for i, kind in enumerate(group):
            score, correct = KINDS.get(kind, (None, None))
            status = "error" if kind == "!" else "ok"
            length = int(lengths[i]) if lengths else 5
            responses.append(ScoredResponse("s", str(prompt), status, score, correct, None, {}, length, None))
        groups[str(prompt)] = responses
    return ledger({"s": groups}, estimator)


def test_failures_count_for_what_they_would_do_to_all_of_their_group_as_zeros() -> None:
    assert of("rn", "rr").failures == 0.0
    alone = of("r!!!", "rr")
    assert (alone.failures, alone.failed, alone.equal) == (1.0, 0.5, 1.0)
    # r n !: 1/2 -1/2 without; 2/3 -1/3 -1/3 as zeros. So 1/6 + 1/6 + 1/3 beside 1.
    assert of("rn!").failures == pytest.approx((2 / 3) / (2 / 3 + 1))
    assert of("!!!!", "rn").failures == 0.0, "all zeros teach nothing"
    assert of("rn!", estimator="reinforce_plus_plus").failures > 0.1


def test_format_is_what_lies_between_responses_that_are_equally_right() -> None:
    assert of("rn", "rrnn").format == 0.0
    assert of("fn", "ffnn").format == 1.0
    assert of("fn", "rr").nobody_right == 1.0
    # r f n: 19/30 -8/30 -11/30; the wrong differ from their mean, -9.5/30, by 1.5/30 each.
    assert of("rfn").format == pytest.approx(3 / (3 + 19 + 19))
    assert (of("mz").format, of("mz").nobody_right, of("mz").right) == (None, None, None)


def test_length_counts_where_it_is_paid_and_not_where_wrong_responses_are_longer() -> None:
    assert of("mmzz", lengths="9911").length == pytest.approx(1.0)
    assert of("mmzz", lengths="9191").length == pytest.approx(0.0)
    assert of("rrnn", lengths="1299").length == pytest.approx(0.0)
    assert of("fnfn", lengths="9191").length == pytest.approx(1.0)


def test_nothing_is_said_of_nothing() -> None:
    found = of("!!", "!")
    assert (found.responses, found.failed, found.right, found.equal) == (3, 1.0, None, None)
    assert (found.failures, found.nobody_right, found.format, found.length) == (0.0, None, None, 0.0)
    assert of("r").equal is None and of("r").failures == 0.0
