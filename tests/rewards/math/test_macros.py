"""Macros of layout and fonts change nothing, around any expression and within one another."""

from __future__ import annotations

import itertools

import pytest

from rewardkit.math import verify
from rewardkit.rewards.math.reading.prepared import prepare
from rewardkit.rewards.math.reading.words import table

INNER = (r"\frac{7}{2}", r"\sqrt{2}", "x^{2}+1", r"\frac{\pi}{6}", "12", r"\{1,2\}", "(1,2)")
WRAPPERS = (
    "{{{0}}}", r"\mathbf{{{0}}}", r"\mathit{{{0}}}", r"\mathsf{{{0}}}", r"\mathrm{{{0}}}", r"\boldsymbol{{{0}}}",
    r"\textstyle {0}", r"{{\displaystyle {0}}}", r"\underline{{{0}}}", r"\color{{red}}{{{0}}}", r"\textcolor{{blue}}{{{0}}}",
    r"\colorbox{{yellow}}{{{0}}}", r"{0}\,", r"\;{0}\;", r"{0}{{}}", r"\ensuremath{{{0}}}", r"{0}\tag{{1}}", r"{0}\label{{e}}",
    r"\hspace{{2pt}}{0}", r"\phantom{{x}}{0}", r"{0}\ \checkmark", r"{0}\quad\blacksquare", "${0}$", r"\( {0} \)",
)  # fmt: skip


SWITCHES = sorted(
    table("""
tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge displaystyle textstyle scriptstyle
scriptscriptstyle nonumber notag mathstrut strut noindent hfill allowbreak nobreak relax null bigskip protect
leavevmode rmfamily bfseries itshape sffamily ttfamily hss break nolinebreak boldmath rm bf it sf tt centering
par newline medspace enskip nobreakspace negthinspace quad qquad enspace thinspace selectfont indent qed
""")
)
GROUPS = sorted(
    table("""
smash mathclap mathllap mathrlap llap rlap vcenter boxed fbox mathord mathop mathopen mathclose mathinner mathbin
mathrel mathsfit bold mathbfit mathup symbf symrm mathnormal underbrace overbrace underbracket ensuremath bm pmb
""")
)
MATRIX = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"
CASES = r"\begin{cases}x&x>0\\0&x\le0\end{cases}"
OPERATIONS = sorted(
    table("oplus ominus otimes odot star diamond ltimes rtimes uplus sqcup wr amalg dagger boxtimes")
)
RELATIONS = sorted(
    table("""
= ne < le in notin subset subseteq subsetneq supset nsubseteq parallel nparallel perp prec succ preceq asymp models
vdash leftarrow Leftarrow to Rightarrow iff mid nmid ni propto equiv
""")
)
SYMBOLS = sorted(
    table("clubsuit heartsuit spadesuit flat sharp natural aleph beth wp eth mho complement nabla ell hbar")
)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_command_without_a_meaning_changes_nothing(name: str) -> None:
    for inner in ("12", r"\frac{7}{2}", "x^{2}+1"):
        assert verify(inner, f"\\{name} {inner}")
        assert verify(inner, f"{{\\{name} {inner}}}")
        assert not verify("13", f"\\{name} {inner}")


@pytest.mark.parametrize("name", GROUPS)
def test_a_command_around_a_formula_changes_nothing(name: str) -> None:
    for inner in ("12", r"\frac{7}{2}", r"2\sqrt{3}", "(1,2)"):
        assert verify(inner, f"\\{name}{{{inner}}}")
        assert not verify("13", f"\\{name}{{{inner}}}")


@pytest.mark.parametrize("signs", [OPERATIONS, RELATIONS], ids=["operations", "relations"])
def test_signs_without_a_known_meaning_are_read_and_equal_themselves_alone(signs: list[str]) -> None:
    texts = [f"A {sign if sign in '=<' else chr(92) + sign} B" for sign in signs]
    for text in texts:
        assert prepare(text).reading is not None, text
    for one, other in itertools.product(texts, repeat=2):
        assert verify(one, other) is (one == other), (one, other)


def test_operations_without_a_known_meaning_do_not_commute() -> None:
    for name in OPERATIONS:
        assert not verify(f"A \\{name} B", f"B \\{name} A")


def test_symbols_are_read_and_equal_themselves_alone() -> None:
    for one, other in itertools.product(SYMBOLS, repeat=2):
        assert verify(f"2\\{one}", f"2\\{other}") is (one == other), (one, other)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_macro_of_layout_changes_nothing(wrapper: str) -> None:
    for inner, other in itertools.product(INNER, ("{0}", r"\mathbf{{{0}}}", r"\textcolor{{red}}{{{0}}}")):
        answer = wrapper.format(other.format(inner))
        assert verify(inner, answer), answer
        wrong = next(one for one in INNER if one != inner)
        assert not verify(wrong, answer), answer


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\[4pt]2\end{pmatrix}"),
        (r"\begin{cases}x&x>0\\0&x\le0\end{cases}", r"\begin{cases}x&x>0\\[6pt]0&x\le0\end{cases}"),
        (r"A \cup B", r"A \bigcup B"),
        (r"A\cap B", r"A\bigcap B"),
        (r"\sqrt3", r"\surd 3"),
        (r"\mathbb{R}", r"\R"),
        ("x^{2}", r"x\textsuperscript{2}"),
        (r"\frac12", r"\nicefrac{1}{2}"),
        (r"\frac12", r"\cfrac[l]{1}{2}"),
        (r"\frac12", r"\genfrac{}{}{}{}{1}{2}"),
        (r"\binom52", r"\genfrac(){0pt}{}{5}{2}"),
        ("12", r"\underbrace{12}_{\text{total}}"),
        ("12", r"\overbrace{12}^{n}"),
        ("x=12", r"x\overset{!}{=}12"),
        ("x=12", r"x\stackrel{\text{def}}{=}12"),
        ("12", r"\begin{equation*}\boxed{12}\end{equation*}"),
        ("x=12", r"\begin{align*}x&=12\end{align*}"),
        (MATRIX, r"\left(\begin{array}{c|c}1&2\\3&4\end{array}\right)"),
        (MATRIX, r"\begin{pmatrix*}[r]1&2\\3&4\end{pmatrix*}"),
        (MATRIX, r"\pmatrix{1&2\cr3&4}"),
        (MATRIX, r"\begin{psmallmatrix}1&2\\3&4\end{psmallmatrix}"),
        (CASES, r"\begin{dcases}x&x>0\\0&x\le0\end{dcases}"),
        (CASES, r"\left\{\begin{aligned}x&\quad x>0\\0&\quad x\le0\end{aligned}\right."),
        (r"x\ne2", r"x\not=2"),
        (r"x\notin A", r"x\not\in A"),
        (r"A\nsubseteq B", r"A\not\subseteq B"),
        (r"\|x\|", r"\norm{x}"),
        ("|x|", r"\abs{x}"),
        (r"\{1,2\}", r"\Set{1,2}"),
        ("60^\\circ", r"60\textdegree"),
        ("60^\\circ", r"\ang{60}"),
        (r"\max(a,b)", r"\mathop{\mathrm{max}}(a,b)"),
        ("x+1", "x{+}1"),
        ("1000", r"1\text{,}000"),
        ("0.5", "0{.}5"),
        (r"\$12", r"\text{\$}12"),
        ("A^T", r"A^{\top}"),
        (r"2\mathbf{i}+\mathbf{j}", r"2\hat{\mathbf{i}}+\vec{j}"),
        (r"f(x)=\sin\frac{\pi}{2}", r"f(x)=\\sin\\frac{\\pi}{2}"),
        (r"\binom52", r"{5\choose2}"),
    ],
)
def test_spellings_of_one_macro(gold: str, answer: str) -> None:
    assert verify(gold, answer)


def test_hostile_nesting_of_layout_is_read_quickly() -> None:
    for text in (
        *(r"\color{" * 2_000, r"\textcolor{red}{" * 500 + "5" + "}" * 500, r"\\[4pt]" * 2_000),
        *(
            r"\abs{" * 3_000 + "x" + "}" * 3_000,
            r"\not" * 4_000,
            r"\underbrace{" * 1_300 + "x" + "}_{a}" * 1_300,
        ),
        *(r"A \oplus " * 400 + "B", r"\textbf{" * 2_000 + "x" + "}" * 2_000, "{" * 8_000),
    ):
        assert not verify("34", text)
