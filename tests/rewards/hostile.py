"""Hostile text and programs, made from pieces, and a question to every reward that ships with rewardkit."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from rewardkit.types import Sample

PIECES = (
    *"()[]{}<>$^_\\=+-/,.:;!?'\"`*#|&~%@\n\t\r \x00",
    *("((", "\\(", "\\[", "$$", "\\boxed{", "\\boxed{1}", "\\frac{", "\\frac", "\\text{", "\\sqrt", "^{", "\\\\"),
    *("\\left(", "\\begin{matrix}", "&1", "\\cup", "\\in", "\\sin", "\\sum_{", "5!", "1(", "f(", "\\tanh^{-1}(2)"),
    *("<answer>", "</answer>", "<answer>1</answer>", "<think>", "</think>", "<tool_call>", "</tool_call>", "</", "<a"),
    *("<a>", "<!--", "&amp;", "<|im_end|>", "<|im_start|>", "<unk>", "<function="),
    *("#### ", "#### 1\n", "the answer is ", "the answer is 1. ", "Answer: ", "answer: 1\n", "not ", "or ", "no, "),
    *("A", "A ", "(A) ", "A. ", "A, ", "1", "1 ", "1,", "1.", "12 ", "1/", "1e9 ", "- ", "= ", "a", "a ", "ab ", "* "),
    *("```", "```\n", "```python\n", "~~~\n", "```json\n{", '{"answer": ', '{"answer": "\\ud800"}', '{"a":', "```go\n"),
    *('{"name": "f", "arguments": {', '{"name": "\\ud800", "arguments": {}}', "SELECT 1;", "(SELECT ", "def f():\n"),
    *("ß", "中", "中 ", "٣", "\u200b", "\ud800", "😀", "e\u0301", "user: ", "\n\n", "Wait, ", "| ", "_a_ "),
)  # fmt: skip
"""What patterns and parsers look for, in many forms, whole and begun."""

PROGRAMS = (
    "from decimal import Decimal\ndef f(x): return Decimal('sNaN')",
    "from decimal import Decimal\ndef f(x): return [Decimal('sNaN')]",
    "def f(x): return 10 ** 3000",
    "def f(x): raise ValueError('\\ud800')",
    "def f(x):\n    r = []\n    r.append(r)\n    return r",
    "class E(Exception):\n    def __str__(self): raise self\ndef f(x): raise E",
    "class A:\n    def __eq__(self, other): raise KeyError\n    __hash__ = None\ndef f(x): return A()",
    "import sys\nprint('\\ud800')\nsys.exit(7)\ndef f(x): return x",
    "import os\nos.kill(os.getpid(), 9)",
    "def f(x): return f(x)",
    "def f(x): return bytes(5_000_000)",
    "raise SystemExit",
    "def f(",
)
_CHOICES = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
_FIELDS = '{"value": {"a": 1}}'
_LENGTH = {"response_tokens": 90, "max_response_length": 100, "budget": 100}

ARGUMENTS = (
    *("", "0", "-1", "2", "1/2", "x", "i", "e", "\\pi", "\\infty", "-\\infty", "10^{400}", "x,y", "1,2,3", ",", "=", "\\pm 1"),
    *("\\emptyset", "\\mathbb{Z}", "[1,2]", "\\{1,2\\}", "(1,2)", "90^\\circ", "5\\%", "5\\text{ m}", "1010_2", "\\text{no}"),
    *("x=1", "x<1", "1:2", "|x|", "x!", "(-1)!", "0^0", "1/0", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\frac{x}{0}", "2n\\pi"),
)  # fmt: skip
"""Values of every kind, and what is none."""
_SHAPES = (
    *("\\N{A}", "\\N(A)", "\\N{A}{B}", "\\N^{-1}(A)", "\\N_{A}{B}", "\\N_A^B C", "\\N A", "N(A)", "N(A, B)", "A \\N B"),
    *("\\N", "N", "x\\N[A]{B}", "\\N\\N{A}", "\\frac{\\N{A}}{\\N{B}}", "\\{x : \\N{A}\\}", "A, \\N{B}", "(\\N{A}, B)"),
    *("\\begin{N}A\\\\B\\end{N}", "\\text{N}A", "A\\text{ N }B", "A^{\\N{B}}", "|\\N{A}|", "\\lim_{x\\to A}\\N{x}"),
)  # fmt: skip
"""Where a name may stand: N, beside the values A, B and C."""


def known_names() -> list[str]:
    """Every name that the readers of maths give a meaning to."""
    from rewardkit.rewards.math import unit_table
    from rewardkit.rewards.math.reading import macros, normalise, nouns, tokens, words

    tables = (vars(module) for module in (macros, normalise, nouns, tokens, words, unit_table))
    units = set(unit_table.UNITS.replace("|", " ").split())
    found = {name for table in tables for value in (*table.values(), units) for name in _names_in(value)}
    return sorted(found)


def _names_in(table: object) -> list[str]:
    names = table if isinstance(table, dict | set | frozenset) else ()
    return [name.lstrip("\\") for name in names if isinstance(name, str) and 1 < len(name) < 20]


def formulas(count: int, seed: int) -> Iterator[str]:
    """Yield names that the readers know with odd arguments, in odd places."""
    draw = random.Random(seed)
    names = known_names()
    for _ in range(count):
        text = draw.choice(_SHAPES).replace("N", draw.choice(names), 1)
        for letter in "ABC":
            text = text.replace(letter, draw.choice(ARGUMENTS), 1)
        yield text


QUESTIONS: dict[str, tuple[tuple[str, dict[str, object]], ...]] = {
    "gsm8k": (("72", {}),),
    "math": ((r"\frac{1}{2}", {}), ("x^2+1", {}), ("(1,2)", {}), (r"\text{Evelyn}", {})),
    "math_dapo": (("34", {}),),
    "geometry3k": (("5", {}),),
    "choice": (("C", _CHOICES), ('["A", "C"]', _CHOICES)),
    "qa": (('["Paris"]', {}), ("12 May 1999", {}), ('{"target": ["5"]}', {})),
    "exact": (("Paris", {}),),
    "contains": (("zebra", {}),),
    "regex": (("Par[i]s", {}),),
    "number": (("72", {}),),
    "json": ((_FIELDS, {}),),
    "yaml": ((_FIELDS, {}),),
    "xml": (('["think", "answer"]', {}),),
    "bleu": (("zebras graze", {}),),
    "rouge_l": (("zebras graze", {}),),
    "chrf": (("zebras graze", {}),),
    "instructions": (
        ('{"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["zebra"]}]}', {}),
        ('{"instruction_id_list": ["detectable_format:json_format"], "kwargs": [{}]}', {}),
    ),
    "tool_call": (('[{"name": "f", "arguments": {"a": 1}}]', {}),),
    "think_format": (("", {}),),
    "length_overlong": (("", _LENGTH),),
    "length_cosine": (("", _LENGTH),),
    "length_budget": (("", _LENGTH),),
    "repetition": (("", {}),),
    "language": (("", {"language": "en"}),),
    "refusal": (("", {}),),
    "code": (
        (json.dumps({"inputs": ["1"], "outputs": ["1"]}), {}),
        (json.dumps({"fn_name": "f", "inputs": [[1]], "outputs": [1]}), {}),
    ),
    "sql": (("SELECT 1 FROM t", {"schema": "CREATE TABLE t (a); INSERT INTO t VALUES (1)"}),),
    "rank": (("72", {}),),
    "diversity": (("", {}),),
}
"""Ground truths and `extra_info` of each reward that needs neither a model nor a package of its own."""


def samples(reward: str, response: str) -> list[Sample]:
    """A response, as an answer to each question of a reward."""
    return [Sample(reward, response, truth, "What is it?", dict(info)) for truth, info in QUESTIONS[reward]]


def texts(size: int, count: int, seed: int = 0) -> Iterator[str]:
    """`count` texts of `size` characters: a piece or a few, over and over; one after the other; or a mix."""
    rng = random.Random(seed)
    for _ in range(count):
        pieces = rng.sample(PIECES, rng.randint(1, 3))
        match rng.randrange(6):
            case 0:
                text = "".join(rng.choice(PIECES) for _ in range(size // 2))
            case 1:
                text = "".join(piece * (size // len(pieces) // len(piece)) for piece in pieces)
            case 2:
                text = "#### 72 " + "".join(pieces) * size
            case _:
                text = "".join(pieces) * (size // len("".join(pieces)) + 1)
        yield text[:size]


def repeated(size: int) -> Iterator[str]:
    """Each piece over and over, and behind a right answer."""
    for piece in PIECES:
        yield (piece * (size // len(piece) + 1))[:size]
        yield ("#### 72 " + piece * (size // len(piece)))[:size]


def programs() -> Iterator[str]:
    """Programs that a reward of programs may find in a response."""
    for program in PROGRAMS:
        yield f"```python\n{program}\n```"
    yield "```go\npackage main\nfunc main() {}\n```"
    yield "```php\n<?php echo 1;\n```"
    yield "```sql\nSELECT printf('%.*c', 1000000000, 'x')\n```"
