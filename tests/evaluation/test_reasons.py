"""Details that differ only in their values are one reason; the most frequent reason comes first."""

from __future__ import annotations

from rewardkit.evaluation.reasons import frequent_reasons, reason_of


def test_quotations_and_numbers_do_not_make_a_reason_of_their_own() -> None:
    details = [
        'no "#### NUMBER"; the last number is 12, which method=flexible reads',
        'no "#### NUMBER"; the last number is 7, which method=flexible reads',
        "after ####: 3 is not 4",
        None,
    ]
    found = frequent_reasons(enumerate(details))
    assert [(one.count, one.row) for one in found] == [(2, 0), (1, 3), (1, 2)]
    assert found[0].example == details[0] and "12" not in found[0].text
    assert len(frequent_reasons(enumerate(details), 1)) == 1


def test_a_long_detail_is_shortened() -> None:
    assert len(reason_of("x" * 10_000)) < 300
