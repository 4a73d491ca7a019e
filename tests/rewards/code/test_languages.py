"""Answers in other languages: which one is decided, what is taken from the response, and the scores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rewardkit.rewards.code.code_reward import CodeOptions, _rules, explain, score
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.languages import Program, take
from rewardkit.sandbox.languages import LANGUAGES, RUNNERS, LanguageUnavailable, Toolchain, find
from rewardkit.types import Sample, Score
from tests.sandbox.toolchains import needs

TESTS = [{"input": "1 2\n", "output": "3\n"}, {"input": "40 2\n", "output": "42\n"}]
SUM_C = '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); return 0; }'
SUM_CPP = (
    '#include <cstdio>\nint main() { int a, b; std::scanf("%d %d", &a, &b); std::printf("%d\\n", a + b); }'
)
SUM_JS = "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\nconsole.log(a + b);"
SUM_PY = "print(sum(map(int, input().split())))"


pytestmark = pytest.mark.usefixtures("isolation")


def scored(response: str, truth: Any, **options: Any) -> Score:
    return score(Sample("code", response, json.dumps(truth)), CodeOptions(**options))


def fenced(mark: str, code: str) -> str:
    return f"Here it is:\n```{mark}\n{code}\n```\nIt runs in linear time."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mark", "code", "language"),
    [("c", SUM_C, "c"), ("cpp", SUM_CPP, "cpp"), ("C++17", SUM_CPP, "cpp"), ("js", SUM_JS, "javascript")],
)
def test_the_fence_decides_where_nothing_else_does(mark: str, code: str, language: str) -> None:
    needs(language)
    found = scored(fenced(mark, code), {"tests": TESTS})
    assert (found.status, found.score, found.correct) == ("ok", 1.0, True), found.detail
    assert found.extracted is not None and found.extracted.strip() == code
    assert found.detail is not None and f"; {language}, level " in found.detail
    wrong = scored(fenced(mark, code.replace("a + b", "a - b")), {"tests": TESTS})
    assert (wrong.status, wrong.score) == ("ok", 0.0)


def test_the_ground_truth_decides_before_the_fence_and_an_option_before_both() -> None:
    needs("c")
    both = fenced("python", SUM_PY) + "\n\n" + fenced("c", SUM_C)
    assert "; level" in (scored(both, {"tests": TESTS}).detail or "")
    in_c = scored(both, {"tests": TESTS, "language": "C"})
    assert in_c.score == 1.0 and "; c, level" in (in_c.detail or "")
    assert scored(fenced("c", SUM_C), {"tests": TESTS, "language": "python3"}).score == 0.0
    assert scored(fenced("c", SUM_C), {"tests": TESTS, "language": "python"}, language="c").score == 1.0
    assert scored(fenced("", SUM_C), {"tests": TESTS}, language="c").score == 1.0  # a block without a mark


def test_a_block_of_the_family_will_do_and_one_of_another_language_will_not() -> None:
    needs("cpp")
    truth = {"tests": TESTS, "language": "cpp"}
    assert scored(fenced("c++17", SUM_CPP), truth).score == 1.0
    other = scored(fenced("python", SUM_PY), truth)
    assert (other.status, other.score) == ("ok", 0.0) and "code block" in str(other.detail)


@pytest.mark.parametrize("mark", ["TypeScript", "ruby"])
def test_a_program_in_a_language_that_is_not_run_here_says_so(mark: str) -> None:
    found = scored(fenced(mark, "const n: number = 3;\nconsole.log(n);"), {"tests": TESTS})
    assert (found.status, found.score) == ("ok", 0.0)
    assert found.detail is not None and f"only in {mark.casefold()}; supported: python, " in found.detail
    beside = scored(fenced("python", SUM_PY) + "\n\n" + fenced(mark, "x"), {"tests": TESTS})
    assert beside.score == 1.0


def test_what_does_not_compile_is_scored_with_the_compilers_first_message() -> None:
    needs("c")
    found = scored(fenced("c", "int main(void) { return nothing; }"), {"tests": TESTS})
    assert (found.status, found.score) == ("ok", 0.0)
    assert found.detail is not None and "compile_error" in found.detail and "undeclared" in found.detail


def test_a_language_that_is_not_here_is_an_error_only_where_it_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> Toolchain:
        raise LanguageUnavailable("'go' is not on PATH; install it (Debian: apt-get install golang-go)")

    monkeypatch.setitem(RUNNERS.rows, "go", replace(LANGUAGES["go"], discover=absent))
    chosen = scored(fenced("go", "package main"), {"tests": TESTS})
    assert (chosen.status, chosen.score, chosen.correct) == ("ok", 0.0, False)
    for asked in (
        scored(fenced("go", "package main"), {"tests": TESTS, "language": "go"}),
        scored(fenced("go", "package main"), {"tests": TESTS}, language="go"),
    ):
        assert asked.status == "error"
        assert "apt-get install golang-go" in (asked.detail or "")


def test_a_language_that_nobody_runs_is_no_candidate_by_its_fence_and_invalid_by_name() -> None:
    found = scored(fenced("haskell", "main = print 3"), {"tests": TESTS})
    assert (found.status, found.score) == ("ok", 0.0)
    asked = scored(fenced("haskell", "main = print 3"), {"tests": TESTS, "language": "haskell"})
    assert asked.status == "invalid" and "python, c, cpp" in (asked.detail or "")
    odd = scored(fenced("c", SUM_C), {"tests": TESTS, "language": ["c"]})
    assert odd.status == "invalid"


def test_tests_of_functions_are_for_python() -> None:
    truth = {"tests": [{"input": [1, 2], "output": 3}], "fn_name": "add"}
    assert scored(fenced("python", "def add(a, b): return a + b"), truth).score == 1.0
    assert scored(fenced("c", SUM_C), truth).score == 0.0
    asked = scored(fenced("c", SUM_C), {**truth, "language": "c"})
    assert asked.status == "invalid" and "programs in Python" in (asked.detail or "")


def test_a_problems_limit_of_time_is_for_the_language() -> None:
    problem = read(json.dumps({"tests": TESTS, "time_limit": 2.0}))
    limits = {name: _rules(problem, CodeOptions(), name).limits.cpu_s for name in ("python", "cpp", "java")}
    assert limits == {"python": 10.0, "cpp": 2.0, "java": 4.5}


@pytest.mark.parametrize("name", ["cpp17", "cpp20"])
def test_an_old_name_of_cpp_is_refused_with_the_option_that_replaces_it(name: str) -> None:
    option = f"cpp_standard={name[3:]}"
    with pytest.raises(ValueError, match=option):
        CodeOptions(language=name)
    asked = scored(fenced("cpp", SUM_CPP), {"tests": TESTS, "language": name})
    assert asked.status == "invalid" and option in str(asked.detail)
    marked = {"tests": TESTS, "language": "cpp"}
    assert scored(fenced(name, SUM_CPP), marked, cpp_standard=name[3:]).score == 1.0


def test_every_test_of_another_language_is_explained() -> None:
    needs("c")
    found = explain(json.dumps({"tests": TESTS}), fenced("c", SUM_C.replace("a + b", "3")))
    assert [test.status for test in found.tests] == ["passed", "wrong"]


@pytest.mark.parametrize(
    ("response", "language", "last"),
    [
        ("```cpp\nint main(){}\n```", "cpp", "int main(){}"),
        ("```c++20\nA\n```\ntext\n```cpp\nB\n```", "cpp", "B"),
        ("```java\nclass A {}\n```\n```bash\njava A\n```", "java", "class A {}"),
        ("```rust\nfn main() {}\n```\n```text\nout\n```", "rust", "fn main() {}"),
        ("```cpp\n// don't \"stop\nchar c = '\"';\n```\nThat's it.", "cpp", "// don't \"stop\nchar c = '\"';"),
        ("```go\nvar s = `raw`\n```", "go", "var s = `raw`"),
        ("<think>```python\nprint(1)\n```</think>\n```cpp\nint main(){}\n```", "cpp", "int main(){}"),
        ("```python\nprint(1)\n```\n```cpp\nA\n```", "python", "print(1)"),
        ("```cpp title=\"a.cpp\"\nA\n```", "cpp", "A"),
        ("1. Do this:\n   ```cpp\n   A\n   ```\n", "cpp", "A"),
        ("```css\nA\n```", None, None),
    ],
)  # fmt: skip
def test_the_program_is_taken_with_its_language(
    response: str, language: str | None, last: str | None
) -> None:
    found = take(response, "last", None, lambda code: False)
    if language is None:
        assert found is None
    else:
        assert found == Program(f"{last}\n", language)


def test_every_alias_marks_a_block() -> None:
    for language in LANGUAGES.values():
        for name in (language.name, *language.aliases):
            found = take(f"```{name}\nx = don't \"\"\" '''\n```\nText.\n", "last", None, None)
            assert found == Program("x = don't \"\"\" '''\n", find(name) or ""), name


@pytest.mark.parametrize(("language", "source"), [("cpp", SUM_CPP), ("cpp", SUM_C)])
def test_a_block_without_a_mark_is_in_the_language_that_its_text_tells(language: str, source: str) -> None:
    needs(language)
    result = scored(f"```\n{source}\n```", {"tests": TESTS})
    assert (result.score, result.status) == (1.0, "ok"), result
    assert scored(f"```\n{source.replace('a + b', 'a - b')}\n```", {"tests": TESTS}).score == 0.0


def test_a_python_block_without_a_mark_may_speak_of_other_languages() -> None:
    source = f"# main() of the C version: #include <stdio.h>\n{SUM_PY}\n"
    assert take(f"```\n{source}```", "last", None, None) == Program(source)


@pytest.mark.parametrize(
    "truth",
    [
        {"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"},
        {"test_list": ["assert add(1, 2) == 3"]},
        {
            "prompt": "def add(a, b):\n",
            "entry_point": "add",
            "test": "def check(f):\n    x = f(1, 2)\n    assert x == 3\n",
        },
    ],
)
def test_a_usage_example_after_the_solution_costs_nothing(truth: Any) -> None:
    solution = "```python\ndef add(a, b):\n    return a + b\n```"
    usage = "Usage:\n```python\nprint(add(1, 2))\n```"
    assert scored(f"{solution}\n{usage}", truth).score == 1.0
    assert scored(f"{solution.replace('+', '-')}\n{usage}", truth).score == 0.0
