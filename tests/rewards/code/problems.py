"""Forty small problems with solutions, from which the forms of several sets are made; and their mutants.

Everything here is ours, so it may be run in this process: expected results are what the solutions return.
"""

from __future__ import annotations

import ast
import base64
import copy
import json
import pickle
import zlib
from collections.abc import Iterator
from typing import Any

Source = tuple[str, str, list[list[Any]]]

PROBLEMS: list[Source] = [
    ("twoSum", "nums, target", "seen = {}\nfor i, n in enumerate(nums):\n    if target - n in seen: return [seen[target - n], i]\n    seen[n] = i\nreturn []", [[[2, 7, 11, 15], 9], [[3, 2, 4], 6], [[3, 3], 6], [[1, 2], 9]]),
    ("isPalindrome", "x", "return str(x) == str(x)[::-1]", [[121], [-121], [10], [0]]),
    ("romanToInt", "s", "v = {'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100, 'D': 500, 'M': 1000}\nt = 0\nfor a, b in zip(s, s[1:] + 'I'):\n    t += v[a] if v[a] >= v[b] else -v[a]\nreturn t", [["III"], ["LVIII"], ["MCMXCIV"], ["XL"]]),
    ("longestCommonPrefix", "strs", "p = ''\nfor c in zip(*strs):\n    if len(set(c)) > 1: break\n    p += c[0]\nreturn p", [[["flower", "flow", "flight"]], [["dog", "car"]], [["a"]], [["ab", "ab"]]]),
    ("isValid", "s", "stack = []\nfor c in s:\n    if c in '([{': stack.append(')]}'['([{'.index(c)])\n    elif not stack or stack.pop() != c: return False\nreturn not stack", [["()"], ["()[]{}"], ["(]"], ["([)]"], ["(("]]),
    ("searchInsert", "nums, target", "lo, hi = 0, len(nums)\nwhile lo < hi:\n    m = (lo + hi) // 2\n    if nums[m] < target: lo = m + 1\n    else: hi = m\nreturn lo", [[[1, 3, 5, 6], 5], [[1, 3, 5, 6], 2], [[1, 3, 5, 6], 7], [[1], 0]]),
    ("plusOne", "digits", "return [int(c) for c in str(int(''.join(map(str, digits))) + 1)]", [[[1, 2, 3]], [[9, 9]], [[0]]]),
    ("addBinary", "a, b", "return bin(int(a, 2) + int(b, 2))[2:]", [["11", "1"], ["1010", "1011"], ["0", "0"]]),
    ("mySqrt", "x", "r = 0\nwhile (r + 1) * (r + 1) <= x: r += 1\nreturn r", [[4], [8], [0], [99]]),
    ("climbStairs", "n", "a, b = 1, 1\nfor _ in range(n): a, b = b, a + b\nreturn a", [[2], [3], [10], [1]]),
    ("maxProfit", "prices", "best, low = 0, prices[0]\nfor p in prices:\n    low = min(low, p)\n    best = max(best, p - low)\nreturn best", [[[7, 1, 5, 3, 6, 4]], [[7, 6, 4]], [[1, 9]]]),
    ("singleNumber", "nums", "x = 0\nfor n in nums: x ^= n\nreturn x", [[[2, 2, 1]], [[4, 1, 2, 1, 2]], [[7]]]),
    ("majorityElement", "nums", "return max(set(nums), key=nums.count)", [[[3, 2, 3]], [[2, 2, 1, 1, 2]]]),
    ("containsDuplicate", "nums", "return len(set(nums)) < len(nums)", [[[1, 2, 3, 1]], [[1, 2, 3]], [[]]]),
    ("missingNumber", "nums", "n = len(nums)\nreturn n * (n + 1) // 2 - sum(nums)", [[[3, 0, 1]], [[0, 1]], [[1]]]),
    ("moveZeroes", "nums", "return [n for n in nums if n] + [0] * nums.count(0)", [[[0, 1, 0, 3, 12]], [[0]], [[1]]]),
    ("reverseWords", "s", "return ' '.join(reversed(s.split()))", [["the sky is blue"], ["  hello "], ["a"]]),
    ("fizzBuzz", "n", "return ['FizzBuzz' if i % 15 == 0 else 'Fizz' if i % 3 == 0 else 'Buzz' if i % 5 == 0 else str(i) for i in range(1, n + 1)]", [[3], [15], [1]]),
    ("intersection", "a, b", "return sorted(set(a) & set(b))", [[[1, 2, 2, 1], [2, 2]], [[4, 9, 5], [9, 4]], [[1], [2]]]),
    ("hammingDistance", "x, y", "return bin(x ^ y).count('1')", [[1, 4], [3, 1], [0, 0]]),
    ("findMaxAverage", "nums, k", "return max(sum(nums[i:i + k]) for i in range(len(nums) - k + 1)) / k", [[[1, 12, -5, -6, 50, 3], 4], [[5], 1], [[0, 1], 2]]),
    ("transpose", "m", "return [list(row) for row in zip(*m)]", [[[[1, 2], [3, 4], [5, 6]]], [[[1]]]]),
    ("productExceptSelf", "nums", "left, out = 1, []\nfor i in range(len(nums)):\n    right = 1\n    for n in nums[i + 1:]: right *= n\n    out.append(left * right)\n    left *= nums[i]\nreturn out", [[[1, 2, 3, 4]], [[2, 3]], [[0, 4]]]),
    ("maxSubArray", "nums", "best = now = nums[0]\nfor n in nums[1:]:\n    now = max(n, now + n)\n    best = max(best, now)\nreturn best", [[[-2, 1, -3, 4, -1, 2, 1, -5, 4]], [[1]], [[5, 4, -1, 7, 8]], [[-3, -2]]]),
    ("canJump", "nums", "reach = 0\nfor i, n in enumerate(nums):\n    if i > reach: return False\n    reach = max(reach, i + n)\nreturn True", [[[2, 3, 1, 1, 4]], [[3, 2, 1, 0, 4]], [[0]]]),
    ("merge", "intervals", "out = []\nfor a, b in sorted(intervals):\n    if out and a <= out[-1][1]: out[-1][1] = max(out[-1][1], b)\n    else: out.append([a, b])\nreturn out", [[[[1, 3], [2, 6], [8, 10]]], [[[1, 4], [4, 5]]], [[[1, 9], [2, 3]]]]),
    ("uniquePaths", "m, n", "row = [1] * n\nfor _ in range(m - 1):\n    for i in range(1, n): row[i] += row[i - 1]\nreturn row[-1]", [[3, 7], [3, 2], [1, 1]]),
    ("coinChange", "coins, amount", "best = [0] + [10 ** 9] * amount\nfor a in range(1, amount + 1):\n    for c in coins:\n        if c <= a: best[a] = min(best[a], best[a - c] + 1)\nreturn best[amount] if best[amount] < 10 ** 9 else -1", [[[1, 2, 5], 11], [[2], 3], [[1], 0]]),
    ("lengthOfLIS", "nums", "import bisect\nt = []\nfor n in nums:\n    i = bisect.bisect_left(t, n)\n    t[i:i + 1] = [n]\nreturn len(t)", [[[10, 9, 2, 5, 3, 7, 101, 18]], [[7, 7, 7]], [[]]]),
    ("wordBreak", "s, words", "ok = [True] + [False] * len(s)\nfor i in range(len(s)):\n    for w in words:\n        if ok[i] and s.startswith(w, i): ok[i + len(w)] = True\nreturn ok[-1]", [["leetcode", ["leet", "code"]], ["catsandog", ["cats", "dog", "sand", "and", "cat"]]]),
    ("groupSizes", "words", "from collections import Counter\nreturn sorted(Counter(''.join(sorted(w)) for w in words).values())", [[["eat", "tea", "tan", "ate", "nat", "bat"]], [[""]]]),
    ("topK", "nums, k", "from collections import Counter\nreturn sorted(sorted(Counter(nums), key=lambda n: (-nums.count(n), n))[:k])", [[[1, 1, 1, 2, 2, 3], 2], [[1], 1], [[4, 4, 2], 1]]),
    ("evalRPN", "tokens", "st = []\nfor t in tokens:\n    if t in '+-*':\n        b, a = st.pop(), st.pop()\n        st.append(a + b if t == '+' else a - b if t == '-' else a * b)\n    else: st.append(int(t))\nreturn st[0]", [[["2", "1", "+", "3", "*"]], [["4", "13", "-"]], [["7"]]]),
    ("dailyTemperatures", "t", "out, st = [0] * len(t), []\nfor i, x in enumerate(t):\n    while st and t[st[-1]] < x:\n        j = st.pop()\n        out[j] = i - j\n    st.append(i)\nreturn out", [[[73, 74, 75, 71, 69, 72, 76, 73]], [[30, 40]], [[9]]]),
    ("numIslands", "grid", "seen, count = set(), 0\nfor i in range(len(grid)):\n    for j in range(len(grid[0])):\n        if grid[i][j] == '1' and (i, j) not in seen:\n            count += 1\n            todo = [(i, j)]\n            while todo:\n                a, b = todo.pop()\n                if 0 <= a < len(grid) and 0 <= b < len(grid[0]) and grid[a][b] == '1' and (a, b) not in seen:\n                    seen.add((a, b))\n                    todo += [(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)]\nreturn count", [[[["1", "1", "0"], ["0", "0", "1"], ["1", "0", "1"]]], [[["0"]]], [[["1", "1"], ["1", "0"]]]]),
    ("orangesTime", "n, times", "best = [10 ** 9] * (n + 1)\nbest[0] = best[1] = 0\nfor _ in range(n):\n    for a, b, w in times: best[b] = min(best[b], best[a] + w)\nreturn max(best) if max(best) < 10 ** 9 else -1", [[4, [[1, 2, 1], [2, 3, 1], [2, 4, 5]]], [2, [[1, 2, 1]]], [2, []]]),
    ("letterCase", "s", "return ''.join(c.lower() if c.isupper() else c.upper() for c in s)", [["aBc"], ["X"], ["a1B2"]]),
    ("pascal", "n", "row = [1]\nfor _ in range(n): row = [a + b for a, b in zip([0] + row, row + [0])]\nreturn row", [[3], [0], [5]]),
    ("convert", "n", "s = ''\nwhile n > 0:\n    n -= 1\n    s = chr(65 + n % 26) + s\n    n //= 26\nreturn s", [[1], [28], [701], [2147483647]]),
    ("power", "x, n", "return round(x ** n, 5)", [[2.0, 10], [2.1, 3], [2.0, -2]]),
    ("countPrimes", "n", "return sum(all(i % d for d in range(2, int(i ** 0.5) + 1)) for i in range(2, n))", [[10], [0], [30]]),
    ("gcdOfStrings", "a, b", "import math\nreturn a[:math.gcd(len(a), len(b))] if a + b == b + a else ''", [["ABCABC", "ABC"], ["ABABAB", "ABAB"], ["LEET", "CODE"]]),
]  # fmt: skip
"""Name, parameters, body, and the arguments of each test."""


def function(problem: Source) -> str:
    """The solution as a function."""
    name, parameters, body, _ = problem
    return f"def {name}({parameters}):\n" + "\n".join("    " + line for line in body.split("\n"))


def solve(source: str, name: str, arguments: list[Any]) -> Any:
    """Run a solution of ours."""
    names: dict[str, Any] = {}
    exec(source, names)
    return names[name](*copy.deepcopy(arguments))


def as_class(source: str) -> str:
    """A function as the method of a Solution."""
    lines = source.replace("(", "(self, ", 1).split("\n")
    return "class Solution:\n" + "\n".join("    " + line for line in lines)


def as_program(source: str, name: str) -> str:
    """A function as a program that reads one JSON value a line and prints what it returns as JSON."""
    return f"import json, sys\n{source}\nprint(json.dumps({name}(*map(json.loads, sys.stdin.read().split(chr(10))))))"


def mutants(problem: Source, most: int = 6) -> Iterator[str]:
    """Solutions with one change each, that return something else on a test (or nothing at all)."""
    name, _, _, tests = problem
    source = function(problem)
    expected = [solve(source, name, case) for case in tests]
    found = 0
    for position in range(10**6):
        changed = _Change(position)
        tree = changed.visit(ast.parse(source))
        if changed.left >= 0 or found == most:
            return
        mutant = ast.unparse(ast.fix_missing_locations(tree))
        if _differs(mutant, name, tests, expected):
            found += 1
            yield mutant


def _differs(mutant: str, name: str, tests: list[list[Any]], expected: list[Any]) -> bool:
    if "while" in mutant:  # it may never end; what ends is enough
        return False
    try:
        return [solve(mutant, name, case) for case in tests] != expected
    except Exception:
        return True


class _Change(ast.NodeTransformer):
    """Changes the n-th place that can be changed."""

    def __init__(self, position: int) -> None:
        self.left = position

    def _here(self) -> bool:
        self.left -= 1
        return self.left == -1

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and self._here():
            return ast.Constant(node.value + 1)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        swapped = {ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.In: ast.NotIn}
        if type(node.ops[0]) in swapped and self._here():
            node.ops[0] = swapped[type(node.ops[0])]()  # type: ignore[index]
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        return ast.Return(ast.Constant(None)) if self._here() else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.Sub) and self._here():
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return node


def forms(problem: Source) -> dict[str, tuple[Any, Any]]:
    """For each form of a set: the ground truth, and what makes the answer of it from a solution."""
    name, parameters, _, tests = problem
    source = function(problem)
    expected = [solve(source, name, case) for case in tests]
    names = [p.strip() for p in parameters.split(",")]
    contest = "\nmy_solution = Solution()\n\n" + "\n".join(
        f"test_input = {dict(zip(names, case, strict=True))!r}\nassert my_solution.{name}(**test_input) == {wanted!r}\n"
        for case, wanted in zip(tests, expected, strict=True)
    )
    check = "def check(candidate):\n" + "\n".join(
        f"    assert candidate({', '.join(f'{n} = {v!r}' for n, v in zip(names, case, strict=True))}) == {wanted!r}"
        for case, wanted in zip(tests, expected, strict=True)
    )
    prompt = "import random\nimport collections\nfrom typing import *\ninf = float('inf')\n"
    texts = ["\n".join(map(json.dumps, case)) for case in tests]
    cases = [
        {"input": text, "output": json.dumps(wanted), "testtype": "functional"}
        for text, wanted in zip(texts, expected, strict=True)
    ]
    stdin = [{**case, "testtype": "stdin"} for case in cases]
    packed = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(stdin[1:])))).decode()
    return {
        "LeetCode contest": ({"prompt": f"class Solution:\n    def {name}", "test": contest}, as_class),
        "LeetCodeDataset": (
            {"prompt": prompt, "entry_point": f"Solution().{name}", "test": check, "starter_code": ""},
            as_class,
        ),
        "LiveCodeBench functional": (
            {"public_test_cases": json.dumps(cases), "metadata": json.dumps({"func_name": name})},
            as_class,
        ),
        "LiveCodeBench stdin": (
            {"public_test_cases": json.dumps(stdin[:1]), "private_test_cases": packed, "metadata": "{}"},
            lambda text: as_program(text, name),
        ),
    }
