"""Named values and answers to parts are compared by name, whatever their order, brackets and separators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from name_pairs import ALL, Labelled

from rewardkit.rewards.math import MathOptions, compare

STRICT = MathOptions(preset="strict")


@pytest.mark.parametrize("pairs", ALL)
def test_generated_names_and_parts_are_paid_as_labelled(
    pairs: Callable[[random.Random, int], Iterator[Labelled]],
) -> None:
    for truth, answer, right in pairs(random.Random(52), 60):
        for options in (MathOptions(), STRICT):
            found = compare(truth, answer, options)
            assert found.equal == right, f"{truth!r} <- {answer!r} {options.preset}: {found.reason}"


SAME = [
    ("(x,y)=(1,2)", "y=2, x=1"),
    ("((x,y),z)=((1,2),3)", "((y,x),z)=((2,1),3)"),
    ("(x,y)=(1,2) \\text{ or } (3,4)", "(y,x)=(2,1) \\text{ or } (4,3)"),
    ("(m,n) = (3,4), (5,6)", "m=3,n=4 \\text{ or } m=5,n=6"),
    ("(f(x), g(x)) = (2x, 3x)", "g(t)=3t, f(t)=2t"),
    ("\\begin{pmatrix}x\\\\y\\end{pmatrix}=\\begin{pmatrix}1\\\\2\\end{pmatrix}", "y=2, x=1"),
    ("x=y=z=1", "(1,1,1)"),
    ("x=y=1", "y=1, x=1"),
    ("A(1,2), B(3,4)", "B=(3,4), A=(1,2)"),
    ("x: 1, y: 2", "y=2, x=1"),
    ("\\text{Area: }13, \\text{Perimeter: }12", "\\text{perimeter}=12, \\text{area}=13"),
    ("13", "\\text{Area: }13"),
    ("(a) x=3, y=4; (b) 5", "(b) 5; (a) y=4, x=3"),
    ("(a) True (b) False", "True, False"),
    ("(3, 5)", "(a) 3, (b) 5"),
]
DIFFERENT = [
    ("(x,y)=(1,2)", "y=1, x=2"),
    ("(a,b,c)=(1,2,3)", "a=1, c=2, b=3"),
    ("((x,y),z)=((1,2),3)", "((y,x),z)=((1,2),3)"),
    ("(f(x), g(x)) = (2x, 3x)", "g(x)=2x, f(x)=3x"),
    ("A(1,2), B(3,4)", "B(1,2), A(3,4)"),
    ("x=1 \\land y=2", "y=1 \\land x=2"),
    ("u=1/v, v=2", "v=1/u, u=2"),
    ("(a) 3, (b) 5", "(a) 5, (b) 3"),
    ("（1）3；（2）5", "（1）5；（2）3"),
    ("(A) 3 (B) 5", "(A) 5 (B) 3"),
    ("(a) 3, (b) 5", "5, 3"),
    ("(a) x=3, y=4; (b) 5", "(b) 5; (a) y=3, x=4"),
    ("True, False", "False, True"),
    ("T, F, T", "T, T, F"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_values_under_the_same_names_are_the_same(first: str, second: str) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in (MathOptions(), STRICT):
            assert compare(truth, answer, options).equal, f"{truth!r} <- {answer!r}"


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_values_under_other_names_are_different(first: str, second: str) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in (MathOptions(), STRICT):
            assert not compare(truth, answer, options).equal, f"{truth!r} <- {answer!r}"


@pytest.mark.parametrize("text", ["(2) 5", "(1)(2)", "f(a) + f(b)", "(i) and (ii)", "(a)(b)", "2(1) 3(2)"])
def test_what_does_not_count_from_the_first_has_no_parts(text: str) -> None:
    from rewardkit.rewards.math.reading.parts import parts_of

    assert parts_of(text) == ()
