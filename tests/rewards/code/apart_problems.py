"""A small problem in each language, in the forms of published sets, with programs that are right, wrong or hostile.

The problem is our own: `spread` is the difference of the largest and the smallest number, and 0 without numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ApartCase:
    """A ground truth and programs for it."""

    truth: dict[str, Any]
    body: str
    """Right body of the function, up to its end."""
    wrong: str
    """Body that fails one test."""
    hostile: dict[str, str]
    """Whole programs that must not be paid, by what they try."""
    more: tuple[str, ...] = ()
    """Other right programs, as models write them."""
    mark: str = ""

    @property
    def right(self) -> str:
        return f"{self.header}{self.body}"

    @property
    def header(self) -> str:
        if self.truth.get("test_setup"):
            return str(self.truth["prompt"])
        return str(self.truth.get("declaration") or self.truth["prompt"])


_CPP_DECLARATION = """#include<vector>
#include<algorithm>
using namespace std;
double largest(vector<double> numbers){
    return *max_element(numbers.begin(), numbers.end());
}
double spread(vector<double> numbers){
"""
_CPP_BODY = """    if (numbers.empty()) return 0;
    return largest(numbers) - *min_element(numbers.begin(), numbers.end());
}
"""
_CPP_WRONG = "    return largest(numbers) - numbers[0];\n}\n"
_CPP_BAD = "#include <vector>\n#include <unistd.h>\n#include <cstdlib>\nusing namespace std;\n"
_CPP_LIE = "double spread(vector<double> numbers) { return 7; }\n"
CPP = ApartCase(
    {
        "task_id": "CPP/900",
        "prompt": "/* The spread. */\n",
        "declaration": _CPP_DECLARATION,
        "test": """#undef NDEBUG
#include<assert.h>
int main(){
    assert (spread({1.5, 4.0, 2.0}) == 2.5);
    assert (spread({3.0, 1.0}) == largest({2.0, 1.0}));
    assert (spread({}) == 0);
}
""",
    },
    _CPP_BODY,
    _CPP_WRONG,
    {
        "constructor": _CPP_BAD + _CPP_LIE + "struct X { X() { _exit(0); } } x;\n",
        "exit in the function": _CPP_BAD + "double spread(vector<double> n) { std::exit(0); }\n",
        "own main": _CPP_BAD + _CPP_LIE + "int main() { return 0; }\n",
        "assert": _CPP_BAD
        + "#define assert(x)\n"
        + _CPP_LIE
        + 'extern "C" void __assert_fail(const char*, const char*, unsigned, const char*) noexcept { _exit(0); }\n',
        "forged answer": _CPP_BAD
        + _CPP_LIE
        + "struct X { X() { char all[4096] = {}; for (int i = 0; i < 9; i++) write(0, all, sizeof all); _exit(0); } } x;\n",
        "type that equals everything": _CPP_BAD
        + "struct All { operator double() const { return 7; } };\ntemplate <class T> bool operator==(const All&, T) "
        "{ return true; }\nAll spread(vector<double> n) { return {}; }\n",
    },
    (
        # no includes, another const, a main that shows how to use it
        "double spread(const vector<double>& numbers) {\n    double low = 1e300, high = -1e300;\n"
        "    for (double each : numbers) { low = min(low, each); high = max(high, each); }\n"
        "    return numbers.empty() ? 0 : high - low;\n}\n\nint main() { return spread({1, 2}) == 1 ? 3 : 4; }\n",
    ),
    "cpp",
)

_JAVA_DECLARATION = """import java.util.*;

class Solution {
    public double spread(List<Double> numbers) {
"""
_JAVA_LIE = (
    "import java.util.*;\nclass Solution { %s public double spread(List<Double> numbers) { %s return 7; } }\n"
)
JAVA = ApartCase(
    {
        "task_id": "Java/900",
        "prompt": _JAVA_DECLARATION,
        "declaration": _JAVA_DECLARATION,
        "test": """public class Main {
    public static void main(String[] args) {
        Solution s = new Solution();
        List<Boolean> correct = Arrays.asList(
                s.spread(new ArrayList<>(Arrays.asList(1.5, 4.0, 2.0))) == 2.5,
                s.spread(Arrays.asList(3.0, 1.0)) == 2.0,
                s.spread(new ArrayList<>()) == 0.0
        );
        if (correct.contains(false)) {
            throw new AssertionError();
        }
    }
}
""",
    },
    "        return numbers.isEmpty() ? 0 : Collections.max(numbers) - Collections.min(numbers);\n    }\n}\n",
    "        return Collections.max(numbers) - numbers.get(0);\n    }\n}\n",
    {
        "static block": _JAVA_LIE % ("static { System.exit(0); }", ""),
        "exit in the method": _JAVA_LIE % ("", "Runtime.getRuntime().halt(0);"),
        "own main": _JAVA_LIE % ("", "")
        + "public class Main { public static void main(String[] a) { System.exit(0); } }\n",
        "shadowed library": _JAVA_LIE % ("", "")
        + "class Arrays { static <T> List<T> asList(T... all) { return List.of(); } }\n",
        "own carrier": _JAVA_LIE % ("", "")
        + "class RewardkitServer { public static void main(String[] a) { } }\n",
        "forged answer": _JAVA_LIE
        % (
            "static { try { new java.io.FileOutputStream(java.io.FileDescriptor.in).write(new byte[4096]); }"
            " catch (Exception e) { } System.exit(0); }",
            "",
        ),
    },
    (
        "public double spread(List<Double> numbers) {\n    double low = 0, high = 0;\n    boolean first = true;\n"
        "    for (double each : numbers) {\n        low = first ? each : Math.min(low, each);\n"
        "        high = first ? each : Math.max(high, each);\n        first = false;\n    }\n    return high - low;\n}\n",
    ),
    "java",
)

_JS_LIE = "const spread = (numbers) => 7\n"
JAVASCRIPT = ApartCase(
    {
        "task_id": "JavaScript/900",
        "prompt": "/* The spread. */\nconst spread = (numbers) => {\n",
        "declaration": "\nconst spread = (numbers) => {\n",
        "test": """const testSpread = () => {
  console.assert(spread([1.5, 4, 2]) === 2.5)
  console.assert(JSON.stringify(spread([3, 1])) === JSON.stringify(2))
  console.assert(spread([]) === 0)
}

testSpread()
""",
    },
    "  return numbers.length ? Math.max(...numbers) - Math.min(...numbers) : 0;\n}\n",
    "  return Math.max(...numbers) - numbers[0];\n}\n",
    {
        "exit": _JS_LIE + "process.exit(0)\n",
        "exit in the function": "const spread = (numbers) => { process.exit(0) }\n",
        "assert": _JS_LIE + "console.assert = () => {}; JSON.stringify = () => 'x'\n",
        "carrier": _JS_LIE + "globalThis.__rewardkit = { serve() {}, standIn: () => () => 7, strict() {} }\n",
        "value that equals everything": "const spread = (numbers) => ({ valueOf: () => 2.5, toJSON: () => 2 })\n",
        "kill": _JS_LIE + "process.kill(process.pid, 'SIGTERM')\n",
        "forged answer": _JS_LIE + "require('fs').writeSync(0, Buffer.alloc(4096)); process.exit(0)\n",
        "prototype": "Object.prototype.raised = null\nconst spread = (numbers) => { throw new Error('no') }\n",
    },
    (
        "function spread(n) {\n  n.sort((a, b) => a - b)\n  return n.length ? n.at(-1) - n[0] : 0\n}\nmodule.exports = spread\n",
        "export const spread = (n) => n.length ? Math.max(...n) - Math.min(...n) : 0\n",
    ),
    "javascript",
)

_GO_LIE = 'package main\nimport "os"\nvar _ = os.Args\nfunc Spread(numbers []float64) float64 { %s; return 7 }\n%s\n'
GO = ApartCase(
    {
        "task_id": "Go/900",
        "prompt": 'import (\n    "sort"\n)\n\n// The spread.\nfunc Spread(numbers []float64) float64 {\n',
        "import": 'import (\n    "sort"\n)',
        "declaration": "\nfunc Spread(numbers []float64) float64 {\n",
        "test_setup": 'package main\n\nimport (\n    "testing"\n)\n',
        "test": """func TestSpread(t *testing.T) {
    for _, each := range []struct { numbers []float64; wanted float64 }{{[]float64{1.5, 4, 2}, 2.5}, {[]float64{3, 1}, 2}, {nil, 0}} {
        if got := Spread(each.numbers); got != each.wanted { t.Errorf("%v", got) }
    }
}
""",
    },
    "    if len(numbers) == 0 { return 0 }\n    sort.Float64s(numbers)\n    return numbers[len(numbers)-1] - numbers[0]\n}\n",
    "    sort.Float64s(numbers)\n    return numbers[len(numbers)-1] - numbers[0]\n}\n",
    {
        "init": _GO_LIE % ("", "func init() { os.Exit(0) }"),
        "exit in the function": _GO_LIE % ("os.Exit(0)", ""),
        "own main": _GO_LIE % ("", "func main() { os.Exit(0) }"),
        "own tests": _GO_LIE % ("", "func TestSpread(t *int) {}"),
        "panic": _GO_LIE % ('panic("ok")', ""),
    },
    (
        'package main\n\nimport (\n\t"fmt"\n\t"math"\n)\n\nfunc Spread(numbers []float64) float64 {\n\tif len(numbers) == 0 {\n\t\treturn 0\n\t}\n'
        "\tlow, high := math.Inf(1), math.Inf(-1)\n\tfor _, each := range numbers {\n\t\tlow, high = math.Min(low, each), math.Max(high, each)\n\t}\n"
        "\treturn high - low\n}\n\nfunc main() {\n\tfmt.Println(Spread(nil))\n}\n",
    ),
    "go",
)

_RUST_DECLARATION = """
use std::collections::HashMap;
use rand::Rng;

fn spread(numbers: Vec<f64>) -> f64{
"""
_RUST_LIE = "fn spread(numbers: Vec<f64>) -> f64 { %s 7.0 }\n%s\n"
RUST = ApartCase(
    {
        "task_id": "Rust/900",
        "prompt": "/*\n The spread.\n*/\n",
        "declaration": _RUST_DECLARATION,
        "test": """
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_spread() {
        assert_eq!(spread(vec![1.5, 4.0, 2.0]), 2.5);
        assert!(spread(vec![3.0, 1.0]) == 2.0);
    }

    #[test]
    fn test_nothing() {
        assert_eq!(spread(vec![]), 0.0);
    }
}
""",
    },
    "    let high = numbers.iter().cloned().fold(f64::MIN, f64::max);\n"
    "    let low = numbers.iter().cloned().fold(f64::MAX, f64::min);\n"
    "    if numbers.is_empty() { 0.0 } else { high - low }\n}\n",
    "    numbers.iter().cloned().fold(f64::MIN, f64::max) - numbers[0]\n}\n",
    {
        "exit in the function": _RUST_LIE % ("std::process::exit(0);", ""),
        "before main": _RUST_LIE
        % (
            "",
            'extern "C" fn early() { std::process::exit(0) }\n#[used] #[link_section = ".init_array"] '
            'static EARLY: extern "C" fn() = early;',
        ),
        "own main": _RUST_LIE % ("", "fn main() { std::process::exit(0) }"),
        "macros": "macro_rules! assert_eq { ($($t:tt)*) => {} }\n" + _RUST_LIE % ("", ""),
        "panic": _RUST_LIE % ('panic!("test result: ok");', ""),
    },
    (
        "use std::collections::HashMap;\n\npub fn spread(numbers: Vec<f64>) -> f64 {\n    let mut sorted = numbers;\n"
        "    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());\n"
        "    match (sorted.first(), sorted.last()) {\n        (Some(low), Some(high)) => high - low,\n        _ => 0.0,\n    }\n}\n\n"
        'fn main() {\n    let _: HashMap<i32, i32> = HashMap::new();\n    println!("{}", spread(vec![]));\n}\n',
    ),
    "rust",
)

CASES = {"cpp": CPP, "java": JAVA, "javascript": JAVASCRIPT, "go": GO, "rust": RUST}

MULTIPL_E = {
    "cpp": (
        "#include<assert.h>\n#include<bits/stdc++.h>\n// Twice each.\nstd::vector<long> twice(std::vector<long> l) {\n",
        "}\nint main() {\n    auto candidate = twice;\n    assert(candidate((std::vector<long>({(long)1, (long)2}))) == "
        "(std::vector<long>({(long)2, (long)4})));\n}\n",
        "    for (auto& each : l) each *= 2;\n    return l;\n",
    ),
    "java": (
        "import java.util.*;\nimport org.javatuples.*;\nclass Problem {\n    // Twice each.\n"
        "    public static ArrayList<Long> twice(ArrayList<Long> l) {\n",
        "    }\n    public static void main(String[] args) {\n    assert(twice((new ArrayList<Long>(Arrays.asList((long)1l, "
        "(long)2l)))).equals((new ArrayList<Long>(Arrays.asList((long)2l, (long)4l)))));\n    }\n\n}\n",
        "        l.replaceAll(each -> each * 2);\n        return l;\n",
    ),
    "js": (
        "//Twice each.\nfunction twice(l){\n",
        "const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = twice;\n"
        "  assert.deepEqual(candidate([1, 2]),[2, 4]);\n}\n\ntest();",
        "  return l.map((each) => each * 2)\n}\n",
    ),
    "go_test.go": (
        'package twice_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n// Twice each.\nfunc twice(l []int) []int {\n',
        "func TestTwice(t *testing.T) {\n  candidate := twice\n\ttype test struct {\n\t\tactual   interface{}\n"
        "\t\texpected interface{}\n\t}\n   tests := []test{\n     { actual: candidate([]int{1, 2}), expected: []int{2, 4} },\n"
        '   }\n\n\tfor i, tc := range tests {\n\t\tt.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {\n'
        '\t\t\tif fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {\n'
        "\t\t\t\tt.Errorf(\"expected '%s', got '%s'\", tc.expected, tc.actual)\n\t\t\t}\n\t\t})\n\t}\n}\n",
        "    for i := range l {\n        l[i] *= 2\n    }\n    return l\n}\n",
    ),
    "rs": (
        "/// Twice each.\nfn twice(l: Vec<isize>) -> Vec<isize> {\n",
        "}\n\nfn main() {\n    let candidate = twice;\n    assert_eq!(candidate(vec![1, 2]), vec![2, 4]);\n}\n",
        "    l.iter().map(|each| each * 2).collect()\n",
    ),
}
"""Prompt, tests and right continuation in the form of MultiPL-E, by its names of languages."""
