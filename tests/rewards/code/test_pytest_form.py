"""Tests written for pytest or unittest, as KodCode has them: each function is one test."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.sandbox.levels import why_not
from tests.rewards.code.conftest import ScoredBy

CASES: dict[str, tuple[str, str, list[str]]] = {
    "functions": (
        "def add(a, b): return a + b",
        "from solution import add\n\ndef test_small():\n    assert add(1, 2) == 3\n\ndef test_negative():\n    assert add(-1, 1) == 0\n",
        ["def add(a, b): return 3", "def sub(a, b): return a + b"],
    ),
    "the module itself": ("def f(): return 1\nX = 2", "import solution\ndef test_a():\n    assert solution.f() == 1 and solution.X == 2\n", ["def f(): return 2"]),
    "raises": (
        "def root(x):\n    if x < 0: raise ValueError('negative number')\n    return x ** 0.5",
        "import pytest\nfrom solution import root\ndef test_r():\n    with pytest.raises(ValueError, match='negative'):\n        root(-1)\n    with pytest.raises(ValueError) as e: root(-2)\n    assert 'number' in str(e.value)\n    assert root(4) == pytest.approx(2.0)\n",
        ["def root(x): return x ** 0.5", "def root(x): raise ValueError('negative number')", "def root(x): raise TypeError('negative number')", "import os\ndef root(x): os._exit(0)"],
    ),
    "parametrized": (
        "def double(x): return 2 * x",
        "import pytest\nfrom solution import *\nfrom solution import double\n@pytest.mark.parametrize('x, y', [(1, 2), (3, 6), pytest.param(0, 0)])\n@pytest.mark.parametrize('z', [1, 2])\ndef test_d(x, y, z):\n    assert double(x) == y and double(z) == 2 * z\n",
        ["def double(x): return 2", "def double(x): return 2 * x if x < 3 else 0"],
    ),
    "classes and fixtures": (
        "class Box:\n    def __init__(self): self.items = []\n    def put(self, x): self.items.append(x)",
        "import pytest\nfrom solution import Box\n@pytest.fixture\ndef box():\n    b = Box()\n    b.put(1)\n    yield b\nclass TestBox:\n    def setup_method(self): self.extra = 2\n    def test_one(self, box): assert box.items == [1]\n    def test_two(self, box):\n        box.put(self.extra)\n        assert box.items == [1, 2]\n",
        ["class Box:\n    items = []\n    def put(self, x): self.items.append(x)"],
    ),
    "unittest": (
        "def f(x):\n    if x is None: raise TypeError('no')\n    return [x]",
        "import unittest\nfrom solution import f\nclass TestF(unittest.TestCase):\n    def setUp(self): self.x = 4\n    def test_list(self): self.assertEqual(f(self.x), [4]); self.assertIsInstance(f(1), list)\n    def test_none(self):\n        with self.assertRaises(TypeError): f(None)\nif __name__ == '__main__':\n    unittest.main()\n",
        ["def f(x): return x", "def f(x): return [x]"],
    ),
    "printed": ("def hi(): print('hi')", "from solution import hi\ndef test_hi(capsys):\n    hi()\n    assert capsys.readouterr().out == 'hi\\n'\n", ["def hi(): print('ho')", "def hi(): return 'hi'"]),
    "input given": ("def ask(): return input() + '!'", "from solution import ask\ndef test_ask(monkeypatch):\n    monkeypatch.setattr('builtins.input', lambda *a: 'a')\n    assert ask() == 'a!'\n", ["def ask(): return 'a'"]),
    "a stopped iteration expected": ("def first(xs): return next(iter(xs))", "import pytest\nfrom solution import first\ndef test_f():\n    assert first([1]) == 1\n    with pytest.raises(StopIteration): first([])\n", ["def first(xs): return 1"]),
    "what pytest has besides": (
        "def add(a, b): return a + b\ndef hi(): print('hi')",
        "import pytest\nfrom solution import add, hi\nmade = []\ndef setup_module(module): made.append('module')\n"
        "pytestmark = pytest.mark.usefixtures('ready')\n@pytest.fixture\ndef ready(): made.append('ready')\n"
        "@pytest.fixture(scope='module')\ndef once():\n    made.append('once')\n    return made.count('once')\n"
        "@pytest.fixture(params=[1, 2])\ndef n(request): return request.param\n"
        "@pytest.fixture\ndef twice(request): return 2 * request.param\n"
        "def test_made(once): assert made == ['module', 'once', 'ready'] and add(once, 1) == 2\n"
        "def test_again(once): assert add(once, 1) == 2\ndef test_params(n): assert add(n, 1) == n + 1\n"
        "@pytest.mark.parametrize('twice', [1, 2], indirect=True)\ndef test_indirect(twice): assert add(twice, 0) in (2, 4)\n"
        "@pytest.mark.parametrize('a,', [(1,), (2,)])\ndef test_comma(a): assert add(a, 1) == a + 1\n"
        "@pytest.mark.skipif(False, reason='no')\ndef test_raised():\n    with pytest.raises(TypeError) as e: add(1, 'a')\n    assert e.typename == 'TypeError' and e.errisinstance(Exception)\n"
        "class TestIn:\n    @pytest.fixture(autouse=True)\n    def prepare(self): self.x = 1\n    @pytest.fixture\n    def y(self): return 2\n    def test_y(self, y): assert add(self.x, y) == 3\n"
        "def test_patch(monkeypatch, capfd):\n    with monkeypatch.context() as m: m.setenv('A', '1')\n    monkeypatch.delitem({'a': 1}, 'a')\n    hi()\n    assert capfd.readouterr().out == 'hi\\n'\n",
        ["def add(a, b): return 2\ndef hi(): print('hi')", "def add(a, b): return a + b\ndef hi(): print('ho')"],
    ),
    "subtests": ("def f(x): return x", "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_f(self):\n        for i in range(3):\n            with self.subTest(i=i): self.assertEqual(f(i), i)\n", ["def f(x): return 1", "def f(x): return x if x < 2 else 0"]),
    "a coroutine": ("async def f(): return 1", "import pytest\nfrom solution import f\n@pytest.mark.asyncio\nasync def test_f():\n    assert await f() == 1\n", ["async def f(): return 2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_right_program_passes_and_wrong_ones_do_not(name: str, scored: ScoredBy) -> None:
    right, tests, wrong = CASES[name]
    found = scored(right, {"test": tests})
    assert found.score == 1.0, found.detail
    for program in wrong:
        failed = scored(program, {"test": tests})
        assert (failed.status, failed.score) == ("ok", 0.0), (program, failed.detail)


@pytest.mark.parametrize("level", ["warm", "guard"])
def test_pytest_runs_at_every_level(level: Any, scored: ScoredBy) -> None:
    if why := why_not(level):
        pytest.skip(why)
    right, tests, wrong = CASES["parametrized"]
    assert scored(right, {"test": tests}, level=level).score == 1.0
    assert scored(wrong[0], {"test": tests}, level=level).score == 0.0


def test_a_unittest_with_an_entry_point_needs_no_check(scored: ScoredBy) -> None:
    """As BigCodeBench has them."""
    right, tests, wrong = CASES["unittest"]
    truth = {
        "test": tests.replace("from solution import f\n", ""),
        "entry_point": "f",
        "prompt": "import math\n",
    }
    assert scored(right, truth).score == 1.0
    assert [scored(program, truth).score for program in wrong] == [0.0, 0.0]


def test_each_function_is_a_test(scored: ScoredBy) -> None:
    tests = "from solution import f\ndef test_a(): assert f(1) == 1\ndef test_b(): assert f(2) == 1\n"
    assert scored("def f(x): return x", {"test": tests}, continuous=True).score == 0.5


LEAVING = [
    "import pytest\ndef f(x): pytest.skip('no')",
    "import pytest\ndef f(x): pytest.xfail('no')",
    "import pytest\ndef f(x): pytest.exit('no', 0)",
    "import pytest\npytest.skip('no', allow_module_level=True)",
    "import unittest\ndef f(x): raise unittest.SkipTest('no')",
    "def f(x): raise KeyboardInterrupt",
    "def f(x): raise SystemExit(0)",
    "def f(x): raise GeneratorExit",
    "def f(x):\n    import os\n    os.environ['PYTEST_CURRENT_TEST'] = ''\n    os._exit(0)",
]
"""Programs that would have their test skipped, or the run of pytest ended."""


def test_no_program_leaves_its_tests(scored: ScoredBy) -> None:
    plain = "import pytest\nfrom solution import f\n@pytest.mark.skipif(False, reason='no')\ndef test_f(): assert f(1) == 1\n"
    case = "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(1), 1)\n"
    for tests in (plain, case):
        for program in LEAVING:
            found = scored(program, {"test": tests})
            assert (found.status, found.score) == ("ok", 0.0), (program, found.detail)


def test_tests_that_do_not_run_or_are_to_fail_make_the_sample_invalid(scored: ScoredBy) -> None:
    head = "import pytest, unittest\nfrom solution import f\ndef test_a(): assert f(1) == 1\n"
    for tests in (
        "@pytest.mark.skip\ndef test_b(): pass",
        "@pytest.mark.skipif(True, reason='no')\ndef test_b(): pass",
        "@pytest.mark.xfail\ndef test_b(): assert f(1) == 2",
        "def test_b(): pytest.skip('no')",
        "class T(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_b(self): self.assertEqual(f(1), 2)",
        "class TestB:\n    def __init__(self): pass\n    def test_b(self): pass",
        "def test_b(tmp_path): pass",
        "nowhere = pytest.importorskip('nowhere_at_all')",
    ):
        found = scored("def f(x): return x", {"test": head + tests})
        assert found.status == "invalid", (tests, found.detail)


def test_the_program_is_not_told_which_test_runs(scored: ScoredBy) -> None:
    program = "import os\ndef f(): return [name for name in os.environ if 'PYTEST' in name]"
    assert scored(program, {"test": "from solution import f\ndef test_f(): assert f() == []\n"}).score == 1.0
