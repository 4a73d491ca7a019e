"""The calculator: exact, and bounded whatever it is given."""

from __future__ import annotations

import ast
import asyncio
import operator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.agents.loading import open_tools
from rewardkit.arithmetic import MAX_CHARS, BadExpression, calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(12 + 3) * 4", "60"),
        ("0.1 + 0.2", "0.3"),
        ("1/3 + 1/3 + 1/3", "1"),
        ("-2^2", "-4"),
        ("2 ** -1", "0.5"),
        ("2**3**2", "512"),
        ("7 // 2 + -7 % 3", "5"),
        ("1,234 + $1 =", "1235"),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("5!", "120"),
        ("sqrt(16) + max(1, 2, 3) + min(3)", "10"),
        ("round(2.567, 2)", "2.57"),
        ("2*pi", "6.28318530718"),
        ("1**99999999 + (-1)**99999999", "0"),
    ],
)
def test_values_are_exact(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("9**9**9**9", "too large"),
        ("1e9999", "too large"),
        ("*".join(["9" * 100] * 9) + "**99", "too large"),
        ("501!", "factorial"),
        ("(" * 400 + "1" + ")" * 400, "nested"),
        ("1" * (MAX_CHARS + 1), "longer than"),
        ("1/0", "division by zero"),
        ("sqrt(-1)", "not real"),
        ("exp(1000)", "too large"),
        ("", "empty"),
        ("(1 + 2", "')' is missing"),
        ("__import__('os').system('ls')", "cannot be read"),
        ("round(1, 2, 3)", "does not take 3"),
    ],
)
def test_what_cannot_be_calculated_says_why(expression: str, why: str) -> None:
    with pytest.raises(BadExpression, match=why.replace("(", r"\(").replace(")", r"\)")):
        calculate(expression)


_PYTHONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def _by_python(node: ast.expr) -> Fraction:
    """The value by the standard library's own syntax tree."""
    if isinstance(node, ast.BinOp):
        found: Fraction = _PYTHONS[type(node.op)](_by_python(node.left), _by_python(node.right))
        return found
    if isinstance(node, ast.UnaryOp):
        return -_by_python(node.operand)
    assert isinstance(node, ast.Constant)
    return Fraction(node.value)


_expressions = st.recursive(
    st.integers(0, 999).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-({})".format),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(_expressions)
def test_precedence_is_pythons(expression: str) -> None:
    try:
        wanted = _by_python(ast.parse(expression, mode="eval").body)
    except ZeroDivisionError:
        with pytest.raises(BadExpression):
            calculate(expression)
        return
    assert float(calculate(expression)) == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)


@settings(max_examples=150, deadline=None)
@given(st.text("0123456789.+-*/^%!(),eE sqrtpi√", max_size=60) | st.text(max_size=20))
def test_any_text_has_a_value_or_a_reason(expression: str) -> None:
    try:
        assert calculate(expression)
    except BadExpression as error:
        assert str(error)


def test_as_a_tool_a_bad_expression_is_a_bad_call() -> None:
    (calculator,) = open_tools("calculator")

    async def use() -> None:
        await calculator.create(ground_truth="60", question=None)
        good = await calculator.execute({"expression": "(12 + 3) * 4"})
        assert (good.text, good.status, good.reward) == ("60", "ok", None)
        bad = await calculator.execute({"expression": "1/0"})
        assert bad.status == "bad_call" and "calculator: division by zero" in bad.text
        await calculator.release()

    asyncio.run(use())
