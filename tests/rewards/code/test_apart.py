"""Tests in C++, Go, Java, JavaScript and Rust run apart from the program, as Python's do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.sandbox.languages import find
from rewardkit.sandbox.levels import why_not
from rewardkit.types import Sample, Score
from tests.rewards.code.apart_problems import CASES, MULTIPL_E
from tests.sandbox.toolchains import needs

HOSTILE = [
    pytest.param(name, what, marks=() if name == "javascript" or not place else pytest.mark.slow)
    for name, case in CASES.items()
    for place, what in enumerate(case.hostile)
]


pytestmark = pytest.mark.usefixtures("isolation")


def scored(program: str, truth: dict[str, Any], mark: str, **options: Any) -> Score:
    response = f"Here it is:\n```{mark}\n{program}\n```\n"
    return score(Sample("code", response, json.dumps(truth)), CodeOptions(**options))


def verdict(found: Score) -> tuple[str, float]:
    return found.status, found.score


@pytest.mark.parametrize("name", CASES)
def test_a_right_program_is_paid_and_a_wrong_one_is_not(name: str) -> None:
    needs(name)
    case = CASES[name]
    right = scored(case.right, case.truth, case.mark)
    assert verdict(right) == ("ok", 1.0), right.detail
    assert verdict(scored(f"{case.header}{case.wrong}", case.truth, case.mark)) == ("ok", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_body_and_programs_as_models_write_them_are_paid(name: str) -> None:
    needs(name)
    case = CASES[name]
    for program in (case.body, *case.more):
        found = scored(program, case.truth, case.mark)
        assert verdict(found) == ("ok", 1.0), (program, found.detail)


@pytest.mark.parametrize(("name", "what"), HOSTILE)
def test_no_program_is_paid_for_ending_or_fooling_its_tests(name: str, what: str) -> None:
    needs(name)
    case = CASES[name]
    found = scored(case.hostile[what], case.truth, case.mark)
    assert verdict(found) == ("ok", 0.0), found.detail


@pytest.mark.slow
@pytest.mark.parametrize("name", MULTIPL_E)
def test_the_form_of_multipl_e_is_scored_with_and_without_a_fence(name: str) -> None:
    language = find("go" if name == "go_test.go" else name)
    assert language is not None
    needs(language)
    prompt, tests, body = MULTIPL_E[name]
    truth = {
        "name": "HumanEval_900_twice",
        "language": name,
        "prompt": prompt,
        "tests": tests,
        "stop_tokens": [],
    }
    assert verdict(score(Sample("code", body, json.dumps(truth)), CodeOptions())) == ("ok", 1.0)
    wrong = scored(f"{prompt}{body.replace('2', '3')}", truth, language)
    assert verdict(wrong) == ("ok", 0.0)


def test_tests_that_no_program_could_pass_are_invalid_and_say_why() -> None:
    needs("javascript")
    truth = CASES["javascript"].truth
    for change in ({"declaration": "no function", "prompt": ""}, {"declaration": "", "prompt": ""}):
        assert scored("x", {**truth, **change}, "js").status == "invalid"
    needs("cpp")
    cpp = CASES["cpp"]
    lacking = {**cpp.truth, "test": "int main() { return missing(spread({})); }"}
    found = scored(cpp.right, lacking, "cpp")
    assert found.status == "invalid" and "missing" in str(found.detail)


@pytest.mark.parametrize("level", ["warm", "guard"])
def test_tests_run_apart_at_every_level(level: Any) -> None:
    needs("javascript")
    if reason := why_not(level):
        pytest.skip(reason)
    case = CASES["javascript"]
    for program, expected in ((case.right, 1.0), (case.hostile["exit"], 0.0)):
        assert verdict(scored(program, case.truth, "js", level=level)) == ("ok", expected)


def test_the_last_block_that_defines_the_function_is_the_program() -> None:
    needs("javascript")
    case = CASES["javascript"]
    response = f"```js\n{case.right}```\nUse it so:\n```js\nconsole.log(spread([1, 2]))\n```\n"
    assert verdict(score(Sample("code", response, json.dumps(case.truth)), CodeOptions())) == ("ok", 1.0)


def test_a_language_without_stand_ins_and_another_language_are_invalid() -> None:
    case = CASES["javascript"]
    asked = {"language": "bash", "declaration": "f() {", "test": "f"}
    assert scored("f() { :; }", asked, "bash").status == "invalid"
    assert scored(case.right, case.truth, "js", language="python").status == "invalid"


@pytest.mark.parametrize(
    ("waits", "status"),
    [
        ("for (;;);", "cpu_timeout"),
        ("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000)", "idle_timeout"),
    ],
)
def test_a_function_that_does_not_end_is_stopped(waits: str, status: str) -> None:
    needs("javascript")
    case = CASES["javascript"]
    found = scored(f"const spread = (n) => {{ {waits} }}", case.truth, "js", cpu_s=0.3)
    assert status in str(found.detail)
    assert verdict(found) == ("ok", 0.0) and found.parts["timed_out"] == 1.0


JS = {"language": "javascript", "declaration": "async function f(a) {"}


@pytest.mark.parametrize(
    ("program", "test", "expected"),
    [
        ("async function f(a) { return a + 1 }", "f(1).then((x) => console.assert(x === 2))", 1.0),
        ("async function f(a) { return a }", "f(1).then((x) => console.assert(x === 2))", 0.0),
        ("function f(a) { a.push(1) }", "const a = []; f(a); console.assert(a.length === 1)", 1.0),
        ("function f(a) { throw new RangeError('no') }", "require('assert').throws(() => f(1), RangeError)", 1.0),
        ("function f(a) { return a }", "require('assert').throws(() => f(1), RangeError)", 0.0),
        ("function f(a) { process.exit() }", "require('assert').throws(() => f(1))", 0.0),
        ("function f(a) { return new Map([[a, undefined]]) }",
         "require('assert').deepStrictEqual(f(NaN), new Map([[NaN, undefined]]))", 1.0),
    ],
)  # fmt: skip
def test_promises_changed_arguments_exceptions_and_values_arrive(
    program: str, test: str, expected: float
) -> None:
    needs("javascript")
    found = scored(program, {**JS, "test": test}, "js")
    assert verdict(found) == ("ok", expected), found.detail


JEST_TESTS = """const { deepEqual } = require('assert')
describe('f', () => {
  it('doubles', () => { expect(f([1, { a: 2 }])).toStrictEqual([1, { a: 2 }]); deepEqual(f(1), 1) })
  test('throws', () => { expect(() => f(null)).toThrow(TypeError) })
})
"""


@pytest.mark.slow
def test_a_runner_of_tests_in_javascript_is_used_where_it_is_installed() -> None:
    needs("jest")
    truth = {"language": "javascript", "declaration": "function f(a) {", "test": JEST_TESTS}
    right = "function f(a) { if (a === null) throw new TypeError('no'); return a }"
    found = scored(right, truth, "js")
    assert verdict(found) == ("ok", 1.0), found.detail
    for wrong in (
        "function f(a) { return a }",
        "function f(a) { process.exit(0) }",
        f"{right}\nprocess.exit(0)",
    ):
        assert verdict(scored(wrong, truth, "js")) == ("ok", 0.0)


JUNIT_TESTS = """import org.junit.jupiter.api.*;
import static org.junit.jupiter.api.Assertions.*;
class SolutionTest {
    @Test void sorts() { assertEquals(java.util.List.of(1, 2), new Solution().f(java.util.List.of(2, 1))); }
    @Test void refuses() { assertThrows(IllegalArgumentException.class, () -> new Solution().f(null)); }
}
"""


@pytest.mark.slow
def test_a_runner_of_tests_in_java_is_used_where_it_is_installed() -> None:
    needs("junit")
    header = "import java.util.*;\nclass Solution {\n    public List<Integer> f(List<Integer> all) {"
    truth = {"language": "java", "declaration": header, "test": JUNIT_TESTS}
    right = (
        f"{header}\n        if (all == null) throw new IllegalArgumentException();\n"
        "        List<Integer> found = new ArrayList<>(all);\n        Collections.sort(found);\n"
        "        return found;\n    }\n}"
    )
    found = scored(right, truth, "java")
    assert verdict(found) == ("ok", 1.0), found.detail
    without = {**truth, "test": JUNIT_TESTS.replace("@Test", "")}
    assert verdict(scored(right, without, "java")) != ("ok", 1.0)
    for wrong in (
        right.replace("Collections.sort(found);", ""),
        right.replace("return found", "System.exit(0); return all"),
    ):
        assert verdict(scored(wrong, truth, "java")) == ("ok", 0.0)


GO_TESTS = """package main
import "testing"
func TestF(t *testing.T) {
    got, err := F([]interface{}{1, "a", nil}, map[string]int{"a": 1})
    if len(got) != 2 || got[0] != 1 || got[1] != "a" || err == nil || err.Error() != "no" { t.Fatal(got, err) }
}
"""


def test_values_of_interfaces_errors_and_several_results_arrive_in_go() -> None:
    needs("go")
    header = "package main\nfunc F(all []interface{}, m map[string]int) ([]interface{}, error) {"
    truth = {"language": "go", "declaration": header, "test": GO_TESTS}
    right = 'func F(all []interface{}, m map[string]int) ([]interface{}, error) { return all[:2], errors.New("no") }'
    found = scored(right, truth, "go")
    assert verdict(found) == ("ok", 1.0), found.detail
    assert verdict(scored(right.replace('"no"', '"yes"'), truth, "go")) == ("ok", 0.0)


VALUES = {
    "cpp": (
        """#include <bits/stdc++.h>
using namespace std;
vector<bool> f(map<char,int> a, set<string>& b, pair<int,double> c, tuple<int,optional<string>> d, any e){""",
        '    b.insert("z");\n    return {a.at(\'x\') == 1, c.second > 1, get<1>(d) == "q", any_cast<int>(e) == 3};\n',
        """#include <cassert>
int main() {
    set<string> b;
    assert((f({{'x', 1}}, b, {1, 2.5}, {1, "q"}, 3) == vector<bool>{1, 1, 1, 1}));
    assert(b.count("z"));
    try { f({}, b, {1, 1}, {1, ""}, 3); assert(false); } catch (out_of_range&) {}
}""",
    ),
    "java": (
        """import java.util.*;
class Solution {
    public static Map<String, int[]> f(int[][] g, Set<Character> s, Optional<Long> o, char c) {""",
        """        g[0][0] = 9;
        return new TreeMap<>(Map.of("" + c + s.size() + o.get(), g[0]));
""",
        """class Main {
    public static void main(String[] arguments) {
        int[][] g = {{1, 2}};
        assert Arrays.equals(Solution.f(g, Set.of('x'), Optional.of(5L), 'q').get("q15"), new int[] {9, 2});
        assert g[0][0] == 9;
    }
}""",
    ),
    "go": (
        "package main\ntype P struct { n int; S string }\nfunc F(p *P, m map[string][]int, xs ...int) (int, P) {",
        '    p.n++\n    m["b"] = xs\n    return len(xs), *p\n',
        """import "testing"
func TestF(t *testing.T) {
    p, m := &P{1, "s"}, map[string][]int{}
    n, q := F(p, m, 4, 5)
    if n != 2 || q != (P{2, "s"}) || p.n != 2 || len(m["b"]) != 2 { t.Fatal(n, q, p, m) }
}""",
    ),
    "rust": (
        """use std::collections::HashMap;
fn f(a: &str, b: &[i32], c: &mut Vec<String>, d: (i64, char), e: Option<&str>) -> Result<HashMap<String, u8>, String> {""",
        """    c.push(a.to_string());
    if b.is_empty() { return Err(format!("{:?}", d)) }
    Ok(HashMap::from([(e.unwrap_or("no").to_string(), b[0] as u8)]))
""",
        """#[test]
fn arrives() {
    let (mut c, k) = (vec![], String::from("k"));
    assert_eq!(f("a", &[7], &mut c, (1, 'x'), Some(&k)), Ok(HashMap::from([(k.clone(), 7)])));
    assert_eq!(c, vec!["a"]);
    assert!(f("a", &[], &mut c, (1, 'x'), None).is_err());
}""",
    ),
}
"""Declaration, right body and tests for each language, with many types of values."""


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_values_of_many_types_are_sent_and_changed_arguments_come_back(name: str) -> None:
    needs(name)
    declaration, body, tests = VALUES[name]
    found = scored(body, {"language": name, "declaration": declaration, "test": tests}, name)
    assert verdict(found) == ("ok", 1.0), found.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "declaration", "body", "tests"),
    [
        ("rust", "fn result(message: i32, answer: i32, asked: i32) -> i32 {", " message - answer + asked }",
         "#[test]\nfn t() { assert_eq!(result(5, 2, 1), 4); }"),
        ("cpp", "int argument(int message, int answer) {", " return message - answer; }",
         "#include <cassert>\nint main() { assert(argument(5, 2) == 3); }"),
        ("go", "package main\nfunc Result(message, answer int) (asked int) {", " asked = message - answer; return }",
         'import "testing"\nfunc TestT(t *testing.T) { if Result(5, 2) != 3 { t.Fail() } }'),
        ("java", "class Solution { static int result(int[] arguments, int out) {", " return arguments[0] - out; } }",
         "class Main { public static void main(String[] a) { assert Solution.result(new int[] {5}, 2) == 3; } }"),
    ],
)  # fmt: skip
def test_a_function_may_use_the_names_of_the_stand_in(
    name: str, declaration: str, body: str, tests: str
) -> None:
    needs(name)
    truth = {"language": name, "declaration": declaration, "test": tests}
    found = scored(f"{declaration}{body}", truth, name)
    assert verdict(found) == ("ok", 1.0), found.detail
