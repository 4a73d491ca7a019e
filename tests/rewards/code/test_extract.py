"""Where the program stands in a response: the table of shapes, and that hostile ones cost little."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.code.extract import extract, extract_like_verl

CODE = "print(int(input()) + 1)\n"
DOCSTRING = 'def f(x):\n    """Adds one.\n\n    ```\n    f(1)\n    ```\n    """\n    return x + 1\n'
DOCSTRING_PY = '"""Use:\n```python\nf(1)\n```\n"""\n' + CODE
SEPARATORS = "s = 'a\x0cb\u2028c\x85d\x1ce'\nprint(len(s.split()))\n"


def parses(code: str) -> bool:
    """The tests' own texts are safe to parse here."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


SHAPES: dict[str, tuple[str, str | None]] = {
    "a block": (f"Here:\n```python\n{CODE}```\nDone.", CODE),
    "Python3": (f"```Python3\n{CODE}```", CODE),
    "attributes behind the language": (f'```python title="a.py"\n{CODE}```', CODE),
    "braces": (f"```{{.python}}\n{CODE}```", CODE),
    "no language": (f"```\n{CODE}```", CODE),
    "carriage returns": ("```python\r\nprint(1)\r\n```\r\n", "print(1)\r\n"),
    "left open to the end": (f"So:\n```python\n{CODE}", CODE),
    "left open within thoughts": (f"<think>\nMaybe\n```python\nprint(\n</think>\nSo:\n```python\n{CODE}```", CODE),
    "left open before another": (f"First\n```python\nprint(\nNo.\n\n```python\n{CODE}```", CODE),
    "thoughts hold a block": (f"<think>\n```python\nx = 1\n```\n</think>\n```\n{CODE}```", CODE),
    "behind thoughts that end within a line": (f"<think>```python\n{CODE}```</think>So.\n```\nx = 1\n```", "x = 1\n"),
    "between thoughts": (
        f"<think>\na\n</think>\n```python\n{CODE}```\n<think>\n```python\nx = 1\n```\n</think>\nThat is it.",
        CODE,
    ),
    "only thoughts hold a block": (f"<think>\n```python\n{CODE}```\n</think>\nThat is it.", CODE),
    "closing with an end token": (f"```python\n{CODE}```<|im_end|>", CODE),
    "closing with text": (f"```python\n{CODE}``` This works.", CODE),
    "closing behind code": ("```python\nprint(1)```\nDone", "print(1)\n"),
    "end token instead of a closing": (f"```python\n{CODE}<|im_end|>", CODE),
    "tag instead of a closing": (f"<answer>\n```python\n{CODE}</answer>\nBye", CODE),
    "opening behind text": (f"Here: ```python\n{CODE}```", CODE),
    "four around three": (f"````markdown\nText\n```python\n{CODE}```\n````", CODE),
    "tildes": (f"~~~python\n{CODE}~~~", CODE),
    "tildes within code": ("```python\nprint(~~~1)\n```", "print(~~~1)\n"),
    "indented in a list": ("1. So:\n   ```python\n   for i in range(2):\n       print(i)\n   ```\n", "for i in range(2):\n    print(i)\n"),
    "behind a bullet": ("- ```python\n  print(1)\n  ```", "print(1)\n"),
    "fence indented, code not": ("   ```python\nif 1:\n    print(1)\n   ```", "if 1:\n    print(1)\n"),
    "quoted": ("> ```python\n> if 1:\n>     print(1)\n> ```\n", "if 1:\n    print(1)\n"),
    "a body keeps its indentation": ("```python\n    return 3\n```", "    return 3\n"),
    "other line separators": (f"```python\n{SEPARATORS}```", SEPARATORS),
    "a docstring with backticks": (f"```python\n{DOCSTRING}```\nBye", DOCSTRING),
    "a docstring with a marked block": (f"```python\n{DOCSTRING_PY}```\nBye", DOCSTRING_PY),
    "a docstring left open before another block": (f'```python\ndef f():\n    """Doc\n```\nNo:\n```python\n{CODE}```', CODE),
    "a string with backticks": ("```python\nprint('```')\n```", "print('```')\n"),
    "a comment with backticks": ("```python\n# as in ``` fences\nprint(1)\n```", "# as in ``` fences\nprint(1)\n"),
    "several: the last": (f"```python\nx = 1\n```\nBetter:\n```python\n{CODE}```", CODE),
    "sample output behind it, both unmarked": (f"```\n{CODE}```\nOutput:\n```\n42\n```", CODE),
    "other languages": (f"```bash\npip install x\n```\n```python\n{CODE}```\n```json\n{{}}\n```", CODE),
    "only another language": ("```cpp\nint main() {}\n```", None),
    "an empty block behind it": (f"```python\n{CODE}```\n```python\n```", CODE),
    "code on the fence's line": ("```import sys\nprint(sys.argv)\n```", "import sys\nprint(sys.argv)\n"),
    "code behind the language": ("```python import sys\nprint(sys.argv)\n```", "import sys\nprint(sys.argv)\n"),
    "within a line": ("The answer is ```print(1)```.", "print(1)\n"),
    "unfenced": (CODE, CODE),
    "unfenced behind thoughts": (f"<think>\nAdd one.\n</think>\n{CODE}<|im_end|>", "\n" + CODE),
    "in the tags of CodeLlama's prompt": (f"Sure!\n[PYTHON]\n{CODE}[/PYTHON]\nIt adds one.", "\n" + CODE),
    "in the tags of MBPP's prompt": (f"[BEGIN]\n{CODE}[DONE]\nTask: next", "\n" + CODE),
    "up to the tag that ends MBPP's examples": (f"{CODE}[DONE]\n\nYou are an expert, here is", CODE),
    "in answer tags, behind words": (f"I add one.\n<answer>\n{CODE}</answer>", "\n" + CODE),
    "in tags, the last of two": (f"[PYTHON]\nx = 1\n[/PYTHON]\nBetter:\n[PYTHON]\n{CODE}[/PYTHON]", "\n" + CODE),
    "in tags, names of variables behind it": (f"[PYTHON]\n{CODE}[/PYTHON] Here <code>n</code> is read.", "\n" + CODE),
    "tags within a block are its own": ("```python\nprint('<code>x = 1</code>')\n```", "print('<code>x = 1</code>')\n"),
    "text in tags": ("<answer>The sum is = 42, isn't it?</answer>", None),
    "in JSON": (json.dumps({"code": CODE}), CODE),
    "in JSON in a fence": (f"Here:\n```json\n{json.dumps({'python': CODE}, indent=1)}\n```\nDone.", CODE),
    "in JSON in a fence without a mark": (f"```\n{json.dumps({'code': CODE})}\n```", CODE),
    "in JSON with line breaks as they are": ('{"code": "x = 1\nprint(x)"}', "x = 1\nprint(x)"),
    "in JSON, fenced": (json.dumps({"explanation": "x", "code": f"```python\n{CODE}```"}), CODE),
    "in JSON, two that may be meant": (json.dumps({"code": CODE, "solution": "x = 1"}), json.dumps({"code": CODE, "solution": "x = 1"})),
    "between lines of prose": (f"The program reads a number:\n\nimport sys\n{CODE}\nIt adds one to it.", f"import sys\n{CODE}"),
    "a definition between lines of prose": ("So I write:\ndef f(x):\n    y = x\n\n    return y + 1\n\nThat is all.", "def f(x):\n    y = x\n\n    return y + 1\n"),
    "between lines of prose, in two pieces": ("First:\ndef f(x):\n    return x\nThen it is called:\nprint(f(1))\nDone.", None),
    "a byte order mark": ("\ufeff" + CODE, CODE),
    "text": ("The answer is 42, isn't it?", None),
    "nothing": ("", None),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_program_of_a_response_is_found(name: str) -> None:
    response, wanted = SHAPES[name]
    assert extract(response, parses=parses) == wanted


def test_an_option_chooses_among_blocks() -> None:
    response = "```python\na = 1\n```\n```python\nprint(a)\nprint(a)\n```\n```python\nb = 2\n```"
    assert extract(response, "first") == "a = 1\n"
    assert extract(response, "longest") == "print(a)\nprint(a)\n"
    assert extract(response, "joined") == "a = 1\n\nprint(a)\nprint(a)\n\nb = 2\n"
    assert extract(CODE, "whole") == CODE


def test_unfenced_code_needs_to_be_asked_about() -> None:
    assert extract(CODE) is None


def test_verl_takes_the_whole_without_a_fence() -> None:
    assert extract_like_verl("print(1)") == "print(1)"


HOSTILE = [
    "```python\n" * 20_000,
    "```json\n{" * 20_000,
    '{"code": ' * 20_000,
    "def f(\nx\n" * 20_000,
    '```python\n"""\n```\n' * 10_001,
    "`" * 200_000,
    "`" * 100_000 + "x`",
    "\n".join("`" * n + "markdown" for n in range(400, 3, -1)),
    "'" * 200_001,
    '"\\' * 100_000,
    "> " * 100_000 + "```python",
    "</think>\n" * 20_000,
    "```" + "a" * 200_000,
    "````markdown\n```python\n" * 10_000,
    "```x```" * 30_000,
    "#" * 100_000 + "\n```",
    "<|" * 100_000,
    "[PYTHON]" * 20_000,
    "<code>x = 1" * 20_000,
]


@pytest.mark.slow
@pytest.mark.parametrize("response", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.timeout(20)
def test_a_hostile_response_is_read_in_a_moment_and_few_programs_in_it_are_parsed(response: str) -> None:
    asked: list[str] = []
    extract(response, parses=lambda code: bool(asked.append(code)))
    assert len(asked) <= 4


@given(
    st.lists(
        st.sampled_from(["```", "```python", "~~~", "'''", '"', "\n", "print(1)", "</think>", "> ", "\\"])
    )
)
def test_no_response_breaks_it(pieces: list[str]) -> None:
    response = "".join(pieces)
    found = extract(response, parses=parses)
    assert found is None or found.strip()


DEFINES = "```python\ndef add(a, b):\n    return a + b\n```\n"


def test_the_last_block_that_defines_what_is_called_is_the_program() -> None:
    later = "class Solution:\n    def add(self, a, b):\n        return b + a\n"
    found = extract(f"{DEFINES}Better:\n```python\n{later}```\n", called=frozenset({"add"}))
    assert found == later


def test_without_a_definition_the_last_block_is_the_program() -> None:
    assert extract(f"{DEFINES}```python\nprint(1)\n```", called=frozenset({"other"})) == "print(1)\n"
