"""The comparators: ours by its rules, the others by the table of what those graders say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.code.compare import (
    TEXT,
    same_as_asserted,
    same_number,
    same_value,
    same_value_livecodebench,
    same_value_verl,
    tokens,
)
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.jail.values import Opaque

# got, expected, and who accepts: t(okens), v(erl), l(ivecodebench), a(pps)
TABLE = [
    ("1 2\n", "1 2\n", "tvla"),
    ("1 2", "1 2\n", "tvla"),
    ("a \nb", "a\nb", "tvla"),
    ("a\n\nb", "a\nb", "va"),
    ("1  2", "1 2", "tla"),
    ("yes", "YES", ""),
    ("0.333333", "0.333333333333", "tva"),
    ("0.5000001 1.5", "0.5 1.5", "ta"),
    ("1.0001", "1.0", "a"),
    ("3", "3.0", "tvla"),
    ("+7", "7", "tvla"),
    ("1e3", "1000", "tvla"),
    ("50000000000000001", "50000000000000000", "a"),
    ("5e16", "50000000000000001", "va"),
    ("b\na", "a\nb", "a"),
    ("NO YES YES", "YES NO YES", "a"),
    ("1 2", "1\n2", ""),
    ("a\r\nb\r\n", "a\nb\n", "tvla"),
    ("inf", "Infinity", "vla"),
    ("a\x1cb", "a\nb", "va"),
    ("2.9999999999", "3", "tva"),
    ("", "", "tvla"),
    ("\n\n", "", "tvla"),
    ("x", "", ""),
]


@pytest.mark.parametrize(("got", "expected", "accepted"), TABLE)
def test_a_comparator_says_what_its_grader_says(got: str, expected: str, accepted: str) -> None:
    names = {"t": "tokens", "v": "verl", "l": "livecodebench", "a": "apps"}
    assert {n for n in names.values() if TEXT[n](got, expected)} == {names[c] for c in accepted}


def test_one_float_line_makes_verl_compare_integers_as_floats() -> None:
    assert TEXT["verl"]("50000000000000001\n1.0", "50000000000000000\n1.0")


def test_exact_forgives_only_newlines_at_the_end() -> None:
    assert TEXT["exact"]("a b\n\n", "a b")
    assert not TEXT["exact"]("a b ", "a b")


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("1e999999999", "5"),
        ("9" * 100_000, "9" * 99_999 + "8"),
        ("1e999999999", "1" + "0" * 400),
        ("١", "1"),
        ("1_0", "10"),
        ("0x10", "16"),
        ("nan", "1"),
        ("10", "0010"),
        ("10.0", "0010"),
        ("0", "000"),
        ("+5", "-05"),
        ("1e400", "1e401"),
        ("1e400", "-1e400"),
        ("1e309", "1.5e309"),
    ],
)
def test_odd_numbers_are_not_equal_and_not_slow(got: str, expected: str) -> None:
    assert not same_number(got, expected)


LONG = 300_000
"""Characters: at this size anything but linear work would not end in a minute."""
ADVERSARIAL = {
    "digits": "1" * LONG + "x",
    "digits and an exponent": "1" * LONG + "e",
    "signs": "+-" * LONG,
    "blanks": " " * LONG + "x",
    "separators": "\x0b\x0c\x1c\u2028" * (LONG // 4),
    "many numbers": "1e400 " * (LONG // 6),
    "huge exponents": "1e-999999999 " * (LONG // 13),
    "nans": "nan " * (LONG // 4),
    "surrogates": "\udcff" * LONG,
    "colliding floats": " ".join(str(float(2 ** (61 * i % 960))) for i in range(5000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("comparator", TEXT)
def test_reading_an_output_takes_linear_time(name: str, comparator: str) -> None:
    got = ADVERSARIAL[name]
    for expected in ("12345678901234567890", "1.5", "x" * 10, got[:-1] + "y", got[: LONG // 2]):
        assert TEXT[comparator](got, expected) in (True, False)


NESTED: list[Any] = []
for _ in range(150):
    NESTED = [NESTED]
VALUES_AGAINST_US = [
    {"set": [(k * ((1 << 61) - 1)) for k in range(30_000)]},
    {"dict": [[{"int": hex(k * ((1 << 61) - 1))}, 1] for k in range(30_000)]},
    {"set": [{"tuple": [-1 - (k >> i & 1) for i in range(16)]} for k in range(1 << 15)]},
    {"frozenset": [{"tuple": [-1 - (k >> i & 1) for i in range(16)]} for k in range(1 << 15)]},
    {"Counter": [[{"tuple": [-1 - (k >> i & 1) for i in range(16)]}, 1] for k in range(1 << 15)]},
    {"int": "0x" + "f" * LONG},
    {"float": "1" * LONG},
    {"float": "nan"},
    {"decimal": ["1E+999999999"]},
    {"decimal": ["1" * LONG]},
    {"fraction": [{"int": "0x" + "f" * LONG}, {"int": "0x1" + "0" * LONG}]},
    {"complex": [{"float": "inf"}, {"float": "nan"}]},
    {"range": [0, 1 << 62, 1]},
    {"timedelta": [1 << 62, 0, 0]},
    {"slice": [NESTED, None, None]},
    {"type": "eval"},
    {"type": "__import__"},
    {"name": "exit"},
    {"tuple": [[]] * (LONG // 30)},
    {"dict": [[[], 1]]},
    {"a": 1, "b": 2},
    {"mine": [0, {}, False, []]},
    ["\ud800" * 1000],
    NESTED,
    float("nan"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("data", VALUES_AGAINST_US, ids=range(len(VALUES_AGAINST_US)))
def test_reading_a_returned_value_takes_linear_time_and_runs_nothing(data: Any) -> None:
    try:
        got = values.decode(values.loads(values.line({"value": data}))["value"])
    except ValueError:
        return  # unreadable, so it is wrong
    for expected in (5, 1.5, "x", [1, 2], {"a": 1}, {1, 2}, None, [[[]]]):
        for compare in (same_value, same_as_asserted, same_value_verl, same_value_livecodebench):
            assert compare(got, expected) in (True, False)


@given(st.text(alphabet="01 .e-+\n\tax\r", max_size=40))
def test_every_output_is_itself(text: str) -> None:
    assert all(compare(text, text) for name, compare in TEXT.items())


@given(
    st.lists(
        st.lists(st.text(alphabet="abc019.-", min_size=1, max_size=4), min_size=1, max_size=4), max_size=5
    )
)
def test_spaces_between_tokens_do_not_matter(lines: list[list[str]]) -> None:
    tight = "\n".join(" ".join(line) for line in lines)
    loose = "\n".join("  ".join(line) + " \r" for line in lines) + "\n\n"
    assert tokens(loose, tight) and tokens(tight, loose)


# got, expected, ours, assertion, verl, livecodebench
VALUES = [
    (5, 5, 1, 1, 1, 1),
    (True, 1, 1, 1, 1, 1),
    (1, 1.0, 1, 1, 1, 1),
    (0.1 + 0.2, 0.3, 1, 0, 0, 0),
    ((1, 2), [1, 2], 1, 0, 1, 1),
    ([(1, 2)], [[1, 2]], 1, 0, 0, 0),
    ({1, 2}, [1, 2], 0, 0, 0, 0),
    (5, [5], 0, 0, 1, 0),
    ("5", 5, 0, 0, 0, 0),
    (10**30, 10**30, 1, 1, 1, 1),
    (10**30 + 1, 10**30, 0, 0, 0, 0),
    (None, None, 1, 1, 1, 1),
    ({1: 2}, {"1": 2}, 1, 0, 0, 0),
    (Opaque("<object>"), Opaque("<object>"), 0, 0, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("got", "expected", "ours", "asserted", "verl", "livecodebench"), VALUES)
def test_values_compare_by_each_graders_rule(
    got: object, expected: object, ours: int, asserted: int, verl: int, livecodebench: int
) -> None:
    found = [
        f(got, expected) for f in (same_value, same_as_asserted, same_value_verl, same_value_livecodebench)
    ]
    assert found == [bool(x) for x in (ours, asserted, verl, livecodebench)]


@pytest.mark.parametrize("got", ["sNaN", "1e" + "9" * 30, "nan", "inf", "\udcff", "9" * 10_000])
def test_no_output_breaks_a_comparator(got: str) -> None:
    for compare in TEXT.values():
        assert not compare(got, "12345678901234567890")
