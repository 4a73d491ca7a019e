"""Tests that change what is around the program: it meets that as in one process, or no program is scored."""

from __future__ import annotations

import pytest

from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.problem import GroundTruthError
from tests.rewards.code.conftest import ScoredBy

_HEAD = "import io, os, random, sys, threading, unittest\nfrom unittest.mock import patch\nclass TestF(unittest.TestCase):\n"

CARRIED: dict[str, tuple[str, str, str]] = {
    "print": (
        "@patch('builtins.print')\ndef test_a(self, said):\n    f()\n    said.assert_called_with('hi')",
        "def f(): print('hi')",
        "def f(): print('ho')",
    ),
    "environment": (
        "def test_a(self):\n    with patch.dict(os.environ, {'A': '5'}):\n        self.assertEqual(f(), '5')\n    self.assertIsNone(f())",
        "import os\ndef f(): return os.environ.get('A')",
        "def f(): return None",
    ),
    "a function of the program": (
        "@patch('solution.helper', return_value=3)\ndef test_a(self, helper):\n    self.assertEqual(f(), 3)",
        "def helper(): return 1\ndef f(): return helper()",
        "def helper(): return 1\ndef f(): return 1",
    ),
    "seeds": (
        "def test_a(self):\n    random.seed(7)\n    wanted = random.randint(1, 10**9)\n    random.seed(7)\n    self.assertEqual(f(), wanted)\n    random.seed(7)\n    self.assertEqual(f(), wanted)",
        "import random\ndef f(): return random.randint(1, 10**9)",
        "import random\ndef f(): return random.randint(1, 10**8)",
    ),
    "a docstring": (
        "def test_a(self):\n    self.assertIn('adds', f.__doc__)",
        "def f():\n    'adds'",
        "def f():\n    'takes'",
    ),
    "threads": (
        "def test_a(self):\n    found = []\n    threads = [threading.Thread(target=lambda: found.append(f())) for _ in range(8)]\n    [t.start() for t in threads]\n    [t.join() for t in threads]\n    self.assertEqual(found, [1] * 8)",
        "def f(): return 1",
        "def f(): return 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIED)
def test_the_program_meets_what_the_test_has_changed(name: str, scored: ScoredBy) -> None:
    test, right, wrong = CARRIED[name]
    tests = _HEAD + "".join(f"    {line}\n" for line in test.split("\n"))
    found = scored(right, {"test": tests})
    assert found.score == 1.0, found.detail
    failed = scored(wrong, {"test": tests})
    assert (failed.status, failed.score) == ("ok", 0.0), failed.detail


UNCARRIED = {
    "a module's function": "from unittest.mock import patch\ndef test_a():\n    with patch('requests.get'): f()",
    "a module's attribute": "import time\nfrom unittest import mock\ndef test_a():\n    with mock.patch.object(time, 'time'): f()",
    "by monkeypatch": "import random\ndef test_a(monkeypatch):\n    monkeypatch.setattr(random, 'random', lambda: 1)\n    f()",
    "open": "from unittest.mock import mock_open, patch\ndef test_a():\n    with patch('builtins.open', mock_open()): f()",
    "a file": "def test_a():\n    f()\n    assert open('a.txt').read() == 'a'",
    "a folder": "import tempfile\ndef test_a():\n    assert f(tempfile.mkdtemp()) == []",
    "a folder of pytest's": "def test_a(tmp_path):\n    assert f(tmp_path) == []",
    "logs": "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        with self.assertLogs(): f()",
    "warnings": "import pytest\ndef test_a():\n    with pytest.warns(UserWarning): f()",
    "a fixture of a plugin": "def test_a(mocker):\n    f()",
    "frames": "import pandas as pd\ndef test_a():\n    pd.testing.assert_frame_equal(f(), pd.DataFrame())",
    "a signature": "import inspect\ndef test_a():\n    assert len(inspect.signature(f).parameters) == 1",
}  # fmt: skip


@pytest.mark.parametrize("name", UNCARRIED)
def test_what_no_program_could_pass_is_refused_as_it_is_read(name: str) -> None:
    with pytest.raises(GroundTruthError, match="separate processes"):
        read(UNCARRIED[name])


@pytest.mark.parametrize(
    "test",
    [
        "def test_a():\n    fs = FileSystem()\n    fs.mkdir('/a')\n    fs.open('b')\n    assert fs.read_text('b') == ''",
        "from unittest.mock import MagicMock, patch\nfrom solution import Bank\ndef test_a():\n    with patch.object(Bank, 'now', return_value=1): assert Bank().age() == 1\n    assert f(MagicMock()) == 1",
        "import pytest\n@pytest.fixture\ndef box(): return 1\n@pytest.mark.parametrize('x, y', [(1, 2)])\ndef test_a(box, x, y, capsys): assert f(x) == y",
        "def test_pair(x, y):\n    assert f(x) == y\nfor pair in [(1, 2)]:\n    test_pair(*pair)\nassert f(1) == 2",
        "import os, random\ndef test_a():\n    random.seed(0)\n    assert os.path.join('a', 'b') == f('a', 'b')",
    ],
)
def test_names_alone_are_no_reason_to_refuse(test: str) -> None:
    assert read(test).tests
