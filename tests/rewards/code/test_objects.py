"""Tests on objects: what the program makes stays with it, and the assertions see it as if it were theirs."""

from __future__ import annotations

import pytest

from tests.rewards.code.conftest import ScoredBy

STACK = """
class Stack:
    made = 0
    def __init__(self, items=()):
        self._items = list(items)
        Stack.made += 1
    def push(self, x): self._items.append(x); return self
    def pop(self):
        if not self._items: raise IndexError('pop from an empty stack')
        return self._items.pop()
    def __len__(self): return len(self._items)
    def __iter__(self): return iter(self._items)
    def __contains__(self, x): return x in self._items
    def __getitem__(self, i): return self._items[i]
    def __setitem__(self, i, x): self._items[i] = x
    def __repr__(self): return f'Stack({self._items})'
    def __enter__(self): return self
    def __exit__(self, *a): self._items.clear()
    @property
    def top(self): return self._items[-1]
    @classmethod
    def of(cls, *xs): return cls(xs)
    @staticmethod
    def name(): return 'stack'
"""
VECTOR = """
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, o): return Vector(self.x + o.x, self.y + o.y)
    def __sub__(self, o): return Vector(self.x - o.x, self.y - o.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __neg__(self): return Vector(-self.x, -self.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
    def __eq__(self, o): return isinstance(o, Vector) and (self.x, self.y) == (o.x, o.y)
    def __lt__(self, o): return abs(self) < abs(o)
    def __hash__(self): return hash((self.x, self.y))
    def __bool__(self): return bool(self.x or self.y)
    def __call__(self, k): return self.x * k
    def unit(self): return Vector(self.x / abs(self), self.y / abs(self))
"""
TREE = """
class TreeNode:
    def __init__(self, val=0, left=None, right=None): self.val, self.left, self.right = val, left, right
def tree(values):
    if not values: return None
    nodes = [None if v is None else TreeNode(v) for v in values]
    rest = nodes[1:]
    for node in nodes:
        if node and rest: node.left = rest.pop(0)
        if node and rest: node.right = rest.pop(0)
    return nodes[0]
def same(a, b):
    if not a or not b: return a is b
    return a.val == b.val and same(a.left, b.left) and same(a.right, b.right)
"""

# name: (a right program, the tests, programs that are wrong)
CASES: dict[str, tuple[str, str, list[str]]] = {
    "the LeetCode contest set": (
        "class Solution:\n    def add(self, a: int, b: int) -> int: return a + b",
        "my_solution = Solution()\n\ntest_input = { 'a': 1, 'b': 2 }\nassert my_solution.add(**test_input) == 3\n\n"
        "test_input = { 'a': 5, 'b': 2 }\nassert my_solution.add(**test_input) == 7\n",
        ["class Solution:\n    def add(self, a, b): return 3", "class Solution: pass", "x = 1"],
    ),
    "a bound method for check": (
        "class Solution:\n    def f(self, x): return [x, x]",
        "def check(candidate):\n    assert candidate(1) == [1, 1]\n    assert candidate(x=2) == [2, 2]\n"
        "    for i in range(3): assert candidate(i)[0] == i\ncheck(Solution().f)",
        ["class Solution:\n    def f(self, x): return [1, 1]"],
    ),
    "methods and properties": (
        STACK,
        "s = Stack()\ns.push(1).push(2)\nassert len(s) == 2 and s.top == 2\nassert s.pop() == 2\nassert list(s) == [1]",
        [STACK.replace("self._items.append(x)", "self._items.insert(0, x)"), STACK.replace("[-1]", "[0]")],
    ),
    "containers": (
        STACK,
        "s = Stack([1, 2, 3])\nassert 2 in s and 5 not in s\nassert s[0] == 1 and s[1:] == [2, 3]\ns[0] = 9\nassert s[0] == 9\n"
        "assert [x * 2 for x in s] == [18, 4, 6]\nassert sorted(s, reverse=True) == [9, 3, 2]",
        [STACK.replace("return x in self._items", "return True"), STACK.replace("self._items[i] = x", "pass")],
    ),
    "classes": (
        STACK,
        "assert Stack.name() == 'stack'\nassert isinstance(Stack.of(1, 2), Stack)\nassert type(Stack()) is Stack\n"
        "assert type(Stack()).__name__ == 'Stack'\nassert Stack.made == 3\nStack.made = 0\nStack()\nassert Stack.made == 1",
        [STACK.replace("'stack'", "''"), STACK.replace("Stack.made += 1", "pass")],
    ),
    "contexts": (STACK, "with Stack([1]) as s:\n    assert len(s) == 1\nassert len(s) == 0", [STACK.replace("self._items.clear()", "pass")]),
    "exceptions of the language": (
        STACK,
        "try:\n    Stack().pop()\n    assert False\nexcept IndexError as e:\n    assert 'empty' in str(e)",
        [STACK.replace("raise IndexError", "raise KeyError"), STACK.replace("'pop from an empty stack'", "''")],
    ),
    "exceptions of its own": (
        "class Broke(ValueError):\n    def __init__(self, need): super().__init__(f'need {need}'); self.need = need\n"
        "def pay(x): raise Broke(x)",
        "try:\n    pay(5)\n    assert False, 'not raised'\nexcept Broke as e:\n    assert e.need == 5 and str(e) == 'need 5'\n    assert isinstance(e, ValueError)",
        ["class Broke(ValueError): pass\ndef pay(x): pass", "class Broke(Exception): pass\ndef pay(x): raise Broke(x)"],
    ),
    "operators": (
        VECTOR,
        "a, b = Vector(3, 4), Vector(1, 1)\nassert a + b == Vector(4, 5)\nassert a - b != a\nassert 2 * a == a * 2 == Vector(6, 8)\n"
        "assert abs(a) == 5.0 and -a == Vector(-3, -4)\nassert b < a and not Vector(0, 0)\nassert a(2) == 6\n"
        "assert len({a, Vector(3, 4), b}) == 2\nassert sorted([a, b])[0].x == 1\nassert abs(a.unit().x - 0.6) < 1e-9",
        [VECTOR.replace("self.x + o.x", "self.x"), VECTOR.replace("x / abs", "x * abs"), VECTOR.replace("(self.x, self.y) == (o.x, o.y)", "True")],
    ),
    "generators": (
        "def count(n):\n    i = 0\n    while i < n:\n        got = yield i\n        i = i + 1 if got is None else got",
        "g = count(5)\nassert next(g) == 0 and next(g) == 1\nassert g.send(3) == 3\nassert list(g) == [4]\n"
        "assert list(count(3)) == [0, 1, 2]\ntry:\n    next(g)\n    assert False\nexcept StopIteration: pass",
        ["def count(n): return iter(range(n))", "def count(n): yield from range(n + 1)"],
    ),
    "closures": (
        "def adder(n):\n    def add(x): return x + n\n    return add\ndef counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n    return step",
        "add5 = adder(5)\nassert add5(3) == 8\nassert list(map(add5, [1, 2])) == [6, 7]\nc, d = counter(), counter()\nassert [c(), c(), d()] == [1, 2, 1]\nassert callable(c)",
        ["def adder(n): return lambda x: x\ndef counter(): return lambda: 1"],
    ),
    "callbacks": (
        "def twice(f, x): return f(f(x))\ndef each(f, xs):\n    for x in xs: f(x)\ndef by(key, xs): return sorted(xs, key=key)",
        "assert twice(lambda x: x * 3, 2) == 18\nseen = []\neach(seen.append, [1, 2])\nassert seen == [1, 2]\nassert by(len, ['aaa', 'b']) == ['b', 'aaa']\n"
        "assert by(str.lower, ['b', 'A']) == ['A', 'b']\nimport operator\nassert twice(operator.neg, 1) == 1",
        ["def twice(f, x): return f(x)\ndef each(f, xs): pass\ndef by(key, xs): return xs"],
    ),
    "a callback that raises": (
        "def safe(f):\n    try: return f()\n    except ZeroDivisionError: return None",
        "assert safe(lambda: 1 / 0) is None and safe(lambda: 2) == 2",
        ["def safe(f): return 2", "def safe(f): return f()"],
    ),
    "decorators": (
        "import functools\ndef memo(f):\n    cache = {}\n    @functools.wraps(f)\n    def g(*a):\n        if a not in cache: cache[a] = f(*a)\n        return cache[a]\n    return g",
        "calls = []\n@memo\ndef square(x):\n    calls.append(x)\n    return x * x\nassert square(3) == 9 == square(3)\nassert calls == [3]\nassert square.__name__ == 'square'",
        ["def memo(f): return f", "def memo(f): return lambda x: 9"],
    ),
    "constants of the module": ("LIMIT = 10\nNAMES = ['a', 'b']\nTABLE = {1: (2, 3)}", "assert LIMIT == 10 and NAMES[1] == 'b' and TABLE[1] == (2, 3)", ["LIMIT = 9\nNAMES = ['a', 'b']\nTABLE = {1: (2, 3)}", ""]),
    "namedtuples": (
        "from collections import namedtuple\nfrom typing import NamedTuple\nP = namedtuple('P', 'x y')\nclass Q(NamedTuple):\n    a: int\n    def double(self): return self.a * 2\ndef f(): return P(1, 2)\ndef g(): return Q(4)",
        "p = f()\nassert p.x == 1 and p.y == 2 and p == (1, 2) and p[0] == 1\nx, y = p\nassert g().double() == 8\nassert P(3, 4).y == 4",
        ["from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(): return P(2, 1)", "def f(): return (1, 2)"],
    ),
    "data classes": (
        "from dataclasses import dataclass, field\n@dataclass(order=True)\nclass Card:\n    rank: int\n    suit: str = 's'\n    tags: list = field(default_factory=list)",
        "a, b = Card(2), Card(3, 'h')\nassert a == Card(2, 's') and a < b and a != b\na.rank = 7\nassert a.rank == 7 and a.tags == []\nassert repr(b) == \"Card(rank=3, suit='h', tags=[])\"",
        ["class Card:\n    def __init__(self, rank, suit='s'): self.rank = rank"],
    ),
    "enumerations": (
        "from enum import Enum, IntEnum\nclass Color(Enum):\n    RED = 1\n    BLUE = 2\nclass Level(IntEnum):\n    LOW = 1\n    HIGH = 2\ndef mix(): return Color.RED",
        "assert mix() is Color.RED and mix() == Color.RED and Color.RED.value == 1 and Color.RED.name == 'RED'\nassert Color(2) is Color.BLUE and Color['BLUE'].value == 2\n"
        "assert [c.name for c in Color] == ['RED', 'BLUE'] and len(Color) == 2\nassert Level.HIGH > Level.LOW and Level.HIGH == 2",
        ["from enum import Enum, IntEnum\nclass Color(Enum):\n    RED = 1\n    BLUE = 2\nclass Level(IntEnum):\n    LOW = 1\n    HIGH = 2\ndef mix(): return Color.BLUE", "class Color: RED = 1"],
    ),
    "chains of identities": (
        "class Node:\n    def __init__(self): self.me = self\n    def same(self): return self\n    def other(self): return Node()",
        "n = Node()\nassert n is n.me is n.same()\nassert n.me is n.same() is not n.other()\nassert not (n is n.me is n.other())\nassert n is n.same() != None",
        ["class Node:\n    def __init__(self): self.me = self\n    def same(self): return Node()\n    def other(self): return Node()"],
    ),
    "fractions and decimals": (
        "from fractions import Fraction\nfrom decimal import Decimal\ndef half(x): return Fraction(x, 2)\ndef cents(x): return Decimal(x) / 100",
        "from fractions import Fraction\nfrom decimal import Decimal\nassert half(3) == Fraction(3, 2) and half(3) + 1 == Fraction(5, 2) and half(3).numerator == 3\nassert cents(5) == Decimal('0.05')",
        ["from decimal import Decimal\ndef half(x): return x / 2 + .25\ndef cents(x): return Decimal(x)"],
    ),
    "complex, bytes, sets, ranges": ("def f(): return 1 + 2j\ndef g(): return b'ab'\ndef h(): return {1, (2, 3)}\ndef r(): return range(3)", "assert f().imag == 2 and abs(f() - (1 + 2j)) < 1e-9\nassert g() == b'ab' and g()[0] == 97\nassert h() == {1, (2, 3)}\nassert r() == range(3) and list(r()) == [0, 1, 2]", ["def f(): return 1\ndef g(): return 'ab'\ndef h(): return [1]\ndef r(): return [0]"]),
    "counters and ordered dicts": ("from collections import Counter, OrderedDict, defaultdict, deque\ndef c(s): return Counter(s)\ndef o(): return OrderedDict(a=1)\ndef q(): return deque([1, 2])", "from collections import Counter, deque\nassert c('aab') == Counter('aab') and c('aab').most_common(1) == [('a', 2)]\nassert o() == {'a': 1} and q() == deque([1, 2])", ["def c(s): return {}\ndef o(): return {}\ndef q(): return [1, 2]"]),
    "derived containers": ("class Bag(list):\n    def total(self): return sum(self)\ndef bag(): return Bag([1, 2])", "b = bag()\nassert b == [1, 2] and b.total() == 3 and len(b) == 2 and b[0] == 1", ["class Bag(list):\n    def total(self): return 3\ndef bag(): return Bag([2, 1])", "class Bag(list):\n    def __eq__(self, o): return True\n    def total(self): return 3\ndef bag(): return Bag([9])"]),
    "captured print": (
        "def hello(n): print(f'Hello {n}')",
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    hello('you')\nassert out.getvalue() == 'Hello you\\n'",
        ["def hello(n): print('Hello')", "def hello(n): return f'Hello {n}'"],
    ),
    "input that the test gives": (
        "def ask(): return int(input('n? ')) + 1",
        "import builtins, io, sys\nfrom unittest.mock import patch\nwith patch('builtins.input', return_value='4'):\n    assert ask() == 5\nsys.stdin = io.StringIO('7\\n')\nassert ask() == 8",
        ["def ask(): return 5"],
    ),
    "nodes that the tests make": (
        TREE.split("def tree")[0] + "def invert(n):\n    if n: n.left, n.right = invert(n.right), invert(n.left)\n    return n",
        TREE + "assert same(invert(tree([1, 2, 3, 4])), tree([1, 3, 2, None, None, None, 4]))\nassert invert(None) is None\nr = tree([1, 2])\nassert invert(r) is r and r.right.val == 2",
        [TREE.split("def tree")[0] + "def invert(n): return n", "def same(a, b): return True\ndef invert(n): return n"],
    ),
    "nodes that the program makes": (
        TREE.split("def tree")[0] + "def build(xs):\n    root = None\n    for x in xs:\n        root = TreeNode(x, root)\n    return root\ndef add(n, x):\n    n.right = TreeNode(x)",
        TREE + "n = build(range(200))\ndepth = 0\nwhile n:\n    depth, n = depth + 1, n.left\nassert depth == 200\nr = tree([1])\nadd(r, 5)\nassert r.right.val == 5 and same(r, tree([1, None, 5]))",
        [TREE.split("def tree")[0] + "def build(xs): return TreeNode(1)\ndef add(n, x): pass"],
    ),
    "an interface that the tests give": (
        "def search(a, x):\n    for i in range(a.length()):\n        if a.get(i) == x: return i\n    return -1",
        "class Mountain:\n    def __init__(self, xs): self._xs, self.asked = xs, 0\n    def get(self, i):\n        self.asked += 1\n        return self._xs[i]\n    def length(self): return len(self._xs)\nm = Mountain([5, 7])\nassert search(m, 7) == 1 and m.asked == 2",
        ["def search(a, x): return 1", "def search(a, x): return a._xs.index(x)"],
    ),
    "coroutines": ("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1", "import asyncio\nassert asyncio.run(f(1)) == 2\nasync def main(): return [await f(1), await f(2)]\nassert asyncio.run(main()) == [2, 3]", ["async def f(x): return x", "def f(x): return x + 1"]),
    "arguments changed in place": ("def fill(xs, d, s):\n    xs.append(1)\n    xs[0][0] = 7\n    d['a'] = 1\n    s.add(2)", "xs, d, s = [[0]], {}, set()\nfill(xs, d, s)\nassert xs == [[7], 1] and d == {'a': 1} and s == {2}", ["def fill(xs, d, s): pass"]),
    "a name of the prelude": ("def gcd(a, b): return a if not b else gcd(b, a % b)", "assert abs(gcd(12, 18)) == 6", ["def gcd(a, b): return 1"]),
    "numpy": ("import numpy as np\ndef f(n): return np.arange(n) * 2", "import numpy as np\nassert np.array_equal(f(3), np.array([0, 2, 4]))\nassert f(3).shape == (3,) and (f(2) == np.array([0, 2])).all()", ["import numpy as np\ndef f(n): return np.arange(n)"]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_right_program_passes_tests_on_objects_and_wrong_ones_do_not(name: str, scored: ScoredBy) -> None:
    right, tests, wrong = CASES[name]
    found = scored(right, {"test": tests})
    assert found.score == 1.0, found.detail
    for program in wrong:
        failed = scored(program, {"test": tests})
        assert (failed.status, failed.score) == ("ok", 0.0), (program, failed.detail)


YES = """
class Yes:
    def __eq__(self, o): return True
    def __ne__(self, o): return False
    def __lt__(self, o): return True
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    def __sub__(self, o): return 0.0
    __rsub__ = __add__ = __mul__ = __abs__ = __float__ = __sub__
    def __bool__(self): return True
    def __hash__(self): return 1
    def __iter__(self): return iter([])
    def __getitem__(self, i): return self
    def __len__(self): return 0
    def __getattr__(self, name):
        if name.startswith('_'): raise AttributeError(name)
        return self
    def __call__(self, *a, **k): return self
"""
CHEATS: dict[str, tuple[str, str]] = {
    "equal to anything": (YES + "def f(x): return Yes()", "y = f(3)\nassert y == 9"),
    "not unequal": (YES + "def f(x): return Yes()", "y = f(3)\nassert not (y != 9)"),
    "equal to each other": (YES + "f = Yes\nV = Yes", "assert f(1) == V(2)"),
    "within any tolerance": (YES + "def f(x): return Yes()", "y = f(3)\nassert abs(y - 3.14) < 0.01"),
    "in any bounds": (YES + "def f(x): return Yes()", "y = f(3)\nassert 3.1 < y < 3.2"),
    "holds everything": (YES + "def f(x): return Yes()", "y = f(3)\nassert 5 in y"),
    "is in anything": (YES + "def f(x): return Yes()", "y = f(3)\nassert y in [5, 6]"),
    "from a method": (YES + "class Circle(Yes):\n    def __init__(self, r): pass\n    def area(self): return self", "c = Circle(2)\nassert abs(c.area() - 12.566) < 0.01"),
    "in a list": (YES + "def f(x): return [Yes(), Yes()]", "y = f(3)\nassert y == [1, 2]"),
    "a list that is equal": ("class L(list):\n    def __eq__(self, o): return True\n    def __len__(self): return 2\ndef f(x): return L()", "y = f(3)\nassert y == [1, 2]"),
    "an int that is equal": ("class I(int):\n    def __eq__(self, o): return True\n    def __sub__(self, o): return 0\n    __hash__ = int.__hash__\ndef f(x): return I(7)", "y = f(3)\nassert y == 9 or abs(y - 9) < 1"),
    "an iteration that is ended": ("def f(x): raise StopIteration", "assert all(map(f, [1, 2, 3]))"),
    "a comparison that is ended": ("class V:\n    def __eq__(self, o): raise StopIteration\ndef f(x): return V()", "y = f(1)\nz = f(2)\nassert all(map(y.__eq__, [z]))"),
    "generator closed": ("def f(x): raise GeneratorExit", "assert all(map(f, [1]))"),
    "death taken for an exception": ("import os\ndef f(x): os._exit(0)", "try:\n    f(1)\n    assert False\nexcept Exception: pass"),
    "a module of the prelude": ("class math:\n    isclose = lambda *a, **k: True\ndef f(x): return 1", "y = f(3)\nassert math.isclose(y, 9)"),
    "a helper of the tests": ("def same(a, b): return True\ndef f(x): return 1", "def same(a, b): return a == b\nassert same(f(3), 9)"),
    "the globals behind a callback": ("def f(g):\n    for name in ('__globals__', 'func_globals', '__self__', '__func__', 'gi_frame', '__code__'):\n        try: getattr(g, name)['same'] = lambda a, b: True\n        except Exception: pass\n    return 1", "def same(a, b): return a == b\nassert same(f(lambda: 1), 9)"),
    "frames behind a generator": ("def f(g):\n    g.gi_frame.f_globals['same'] = lambda a, b: True\n    return 1", "def same(a, b): return a == b\nassert same(f(x for x in [1]), 9)"),
    "made-up requests": ("import json, os\ndef frame(m):\n    b = json.dumps(m).encode()\n    os.write(3, len(b).to_bytes(4, 'big') + b)\ndef f(x):\n    for t in ({'type': 'type'}, {'yours': 0}, {'global': ['os', '_exit']}, {'mine': [0, {'kind': 'x'}, False, []]}):\n        frame({'op': 'call', 'args': [t, 0]})\n        frame({'op': 'getattr', 'args': [t, '__globals__']})\n    frame({'value': 3})\n    return 1", "assert f(3) == 9 or f(4) == 9"),
    "answers without end": ("import os\ndef f(x):\n    while True: os.write(3, b'\\0\\0\\0\\x15{\"op\": \"x\", \"args\": []}'[:25])", "assert f(3) == 9 or f(3)"),
    "a huge answer": ("import os\ndef f(x): os.write(3, b'\\xff\\xff\\xff\\xff' + b'x' * 100000); return 1", "y = f(3)\nassert y == 9"),
    "colliding answers": ("def f(x): return {k * ((1 << 61) - 1) for k in range(2000)}", "y = f(3)\nassert y == {1}"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_no_object_passes_for_an_answer(name: str, scored: ScoredBy) -> None:
    program, tests = CHEATS[name]
    found = scored(program, {"test": tests}, cpu_s=0.5)
    assert (found.status, found.score) == ("ok", 0.0), found.detail


def test_what_cannot_be_carried_is_invalid_with_the_reason(scored: ScoredBy) -> None:
    derived = scored("class Base: pass", {"test": "class Mine(Base): pass\nassert Mine()"})
    assert derived.status == "invalid" and "derives the class Mine" in str(derived.detail)
    missing = scored("def f(): pass", {"test": "import no_such_module\nassert f() is None"})
    assert missing.status == "invalid" and "no_such_module" in str(missing.detail)
    claimed = scored("def f(): import no_such_module", {"test": "y = f()\nassert y is None"})
    assert (claimed.status, claimed.score) == ("ok", 0.0)


def test_a_test_that_ends_the_program_leaves_what_the_others_need(scored: ScoredBy) -> None:
    program = "import os\nclass S:\n    def f(self, x): return os._exit(0) if x == 1 else x"
    tests = "s = S()\nassert s.f(0) == 0\nx = 1\nassert s.f(x) == 1\ny = 2\nassert s.f(y) == 2 and x == 1"
    found = scored(program, {"test": tests}, continuous=True)
    assert found.parts["passed"] == 2.0 and found.parts["tests"] == 3.0, found.detail
