"""Finds the names of vectors and matrices: bold letters, letters under an arrow, and hatted i, j and k.

Capital letters in a product with an inverse or transpose of one of them, as in `ABA^{-1}`, are matrices too.

Products of vectors and matrices do not commute.
"""

from __future__ import annotations

import re

from rewardkit.rewards.math.reading.tokens import unit_vector
from rewardkit.rewards.math.tree.nodes import (
    MINUS_ONE,
    Add,
    Div,
    Fn,
    Linear,
    Mul,
    Node,
    Pow,
    Sym,
    children,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import rebuild

_BOLD = re.compile(
    r"\\(?P<mark>mathbf|vec|hat) ?"
    r"(?:\{(?P<group>[^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|(?P<letter>\\?[a-zA-Z]))"
)
_LETTER = re.compile(r"\\?[a-zA-Z]+|[a-zA-Z]")
_INVERTED = re.compile(r"[A-Z)][\s}]*\^[\s{]*(?:- ?1|T)")
_HINTS = ("\\mathbf", "\\vec", "\\overright", "\\nabla", "hat")
"""Parts of commands. Every text that names a vector or matrix contains at least one of them."""


def names_in_bold(text: str) -> frozenset[str]:
    """Return the names of the vectors and matrices in an answer, which must be in canonical spelling."""
    found: set[str] = set()
    if not any(map(text.__contains__, _HINTS)):
        return frozenset()
    if "\\nabla" in text:
        found.add("nabla")
    for one in _BOLD.finditer(text):
        inner = (one["group"] or one["letter"] or "").strip()
        if (vector := unit_vector(inner)) is not None:
            found.add(vector)
        elif one["mark"].endswith("hat"):
            continue
        elif one["mark"] == "mathbf":
            for word in _LETTER.findall(inner):
                found |= {word[1:]} if word.startswith("\\") else set(word)
        else:
            found.add(inner.removeprefix("\\"))
    return frozenset(found)


def inverted(text: str, node: Node) -> frozenset[str]:
    """Return the names of capital letters in products with an inverse or transpose of one of them."""
    if "^" not in text or _INVERTED.search(text) is None:
        return frozenset()
    products = (part for part in walk(node) if isinstance(part, Mul) and any(map(_is_inverted, part.factors)))
    return frozenset().union(*map(_capitals, products))


def _is_inverted(factor: Node) -> bool:
    match factor:
        case Pow(base=inner, exponent=exponent):
            return exponent in (MINUS_ONE, Sym("T")) and bool(_capitals(inner))
    return False


def _capitals(node: Node) -> frozenset[str]:
    """Return the capital letters in a formula, without those in exponents."""
    if isinstance(node, Sym):
        return frozenset({base(node.name)} if len(base(node.name)) == 1 and node.name[0].isupper() else ())
    below = children(node)
    return frozenset().union(*map(_capitals, below[:1] if isinstance(node, Pow) else below))


def is_vector(node: Node, bold: frozenset[str]) -> bool:
    """Return True if a factor contains the name of a vector or matrix."""
    return any(isinstance(part, Sym) and base(part.name) in bold for part in walk(node))


def base(name: str) -> str:
    r"""Return a name without its index. `\mathbf{a}_1` is a vector if `\mathbf{a}` is."""
    return name.partition("_")[0]


def with_products(node: Node, bold: frozenset[str]) -> Node:
    """Return the tree with a `Linear` node around each product of several vectors or matrices."""
    if isinstance(node, (Add, Mul, Div, Pow, Fn)):
        parts = list(walk(node))
        names = sorted({part.name for part in parts if isinstance(part, Sym) and base(part.name) in bold})
        multiplied = any(isinstance(part, (Mul, Fn)) for part in parts)
        return Linear(node, tuple(names)) if len(names) > 1 and multiplied else node
    below = children(node)
    return rebuild(node, tuple(with_products(child, bold) for child in below)) if below else node
