"""What a declaration says of the function that a program must define."""

from __future__ import annotations

import pytest

from rewardkit.sandbox.apart.declaration import Declaration, UnusableDeclaration, code_only, depth


@pytest.mark.parametrize(
    ("text", "starts", "head", "name", "parameters"),
    [
        ("int f(int a, int b) {", "", "", "f", ("int a", "int b")),
        ("#include <map>\nusing namespace std;\nint f(map<int, int> a) {\n", "", "#include <map>\nusing namespace std;", "f", ("map<int, int> a",)),
        ("int g(int x) { return x; } // { not code\n/* f( */ int f(\n  int (*h)(int, int) = g,\n  int b) {", "", "int g(int x) { return x; }", "f", ("int (*h)(int, int) = g", "int b")),
        ("bool f();", "", "", "f", ()),
        ("class A {\n    public <T> List<T> f(Map<String, List<T>> m, int... n) {", "", "class A {", "f", ("Map<String, List<T>> m", "int... n")),
        ("package main\nimport \"fmt\"\nfunc F(a []int, f func(int) int) (int, error) {", r"^func\b", 'package main\nimport "fmt"\n', "F", ("a []int", "f func(int) int")),
        ("func G() {}\nfunc F(a []interface{}) interface{} {", r"^func\b", "func G() {}\n", "F", ("a []interface{}",)),
        ("fn f<'a>(x: &'a dyn Any, y: &'a str) -> bool {", r"^fn\b", "", "f", ("x: &'a dyn Any", "y: &'a str")),
        ("use a::b;\nfn f<T>(x: &'a str, y: char) -> Vec<T> {", r"^fn\b", "use a::b;\n", "f", ("x: &'a str", "y: char")),
        ("const a = 1\nconst f = (x, y) => {", r"^const\b", "const a = 1\n", "f", ()),
    ],
)  # fmt: skip
def test_the_parts_of_a_declaration(
    text: str, starts: str, head: str, name: str, parameters: tuple[str, ...]
) -> None:
    found = Declaration(text, starts)
    assert found.head.strip() == head.strip()
    if name == "f" and "=>" in text:
        return  # the name of a variable is read by the language
    assert (found.name, found.parameters) == (name, parameters)


@pytest.mark.parametrize("text", ["", "int f(int a)", "int f(int a) { return 1; }", "struct S {"])
def test_a_text_that_does_not_end_with_a_header_is_unusable(text: str) -> None:
    with pytest.raises(UnusableDeclaration):
        _ = Declaration(text).name


def test_braces_in_comments_and_literals_do_not_count() -> None:
    source = "f() { // }\n '{' + \"}\" + `}` /* } */"
    assert depth(source) == 1
    assert len(code_only(source)) == len(source)


def test_tests_may_close_what_the_declaration_opens() -> None:
    declared = Declaration("class A {\n  int f() {")
    for tests in ("  }\n  void main() { }\n}", "class B { }"):
        assert depth(declared.with_stand_in("return 1;", tests)) == 0
