"""Inputs that make mathematical graders hang, crash or execute: `(name, gold, answer)`, for the tests of
time and work. Rebuilt from their descriptions; the answers are compared as they stand or as whole responses.
"""

from __future__ import annotations

from collections.abc import Sequence

Case = tuple[str, str, str]


def pathological() -> list[Case]:
    """Return the inputs; the gold is `1` unless the case is about two hostile sides."""
    return [(name, "1", answer) for name, answer in (*_PLAIN, *_long())] + _both_sides()


_PLAIN: list[tuple[str, str]] = [
    ("tower", "9^{9^{9^9}}"),
    ("2^2^2^49", "2^{2^{2^{49}}}"),
    ("five fives", "5^(5^(5^(5^5)))"),
    ("7^10^8", "7^{10^8}"),
    ("factorial of 10^9", "1000000000!"),
    ("factorial thrice", "((10!)!)!"),
    ("binomial of 10^9", "\\binom{1000000000}{500000000}"),
    ("sum to 10^9", "\\sum_{k=1}^{1000000000}\\frac{1}{k}"),
    ("product to 10^8", "\\prod_{k=1}^{100000000} k"),
    ("infinite sum", "\\sum_{n=1}^{\\infty}\\frac{1}{n^3+\\sin n}"),
    ("integral of a tower", "\\int_0^1 x^{x^x} dx"),
    ("integral without closed form", "\\int_0^1 \\sin(x^3)e^{-x^2} dx"),
    ("limit of a factorial", "\\lim_{x\\to\\infty} (x!)^{1/x}"),
    ("5000 brackets", "(" * 5000 + "1" + ")" * 5000),
    ("20000 braces", "{" * 20000),
    ("40 sines", "\\sin(" * 40 + "1" + ")" * 40),
    ("10^6 digits", "7" * 1_000_000),
    ("power 5000", "(x+1)^{5000}"),
    ("trig powers", "(\\sin(x)^{12}+\\cos(x)^{12})^{7}-(\\tan(x)+\\cot(x))^{9}"),
    ("tower of x", "x^{x^{x^{x^x}}}"),
    ("matrix power", "\\begin{pmatrix}1&1\\\\1&0\\end{pmatrix}^{1000000}"),
    ("infinite matrix", "\\begin{pmatrix}1&\\cdots\\\\\\vdots&\\ddots\\end{pmatrix}"),
    ("inequality of degree 12", "x^{12}-3x^{11}+x^5-7x+1>0"),
    ("inequality with sines", "|\\sin(x)+x^2|<|\\cos(3x)-x|"),
    ("trig equation", "\\sin(x)+\\cos(3x)\\tan(x)=x^2"),
    ("1/0", "\\frac{1}{0}"),
    ("inf - inf", "\\infty-\\infty"),
    ("1e1000000000", "1e1000000000"),
    ("gamma of 10^300", "\\gamma(10^{300})"),
    ("tangent of a huge number", "\\tan(10^{10^8})"),
    ("log of a tower", "\\log(9^{9^{9^9}})"),
    ("floor of a tower", "\\lfloor 9^{9^{9^9}}/7\\rfloor"),
    ("remainder of a power", "7^{10^{8}} \\bmod 13"),
    ("2000 open boxes", "\\boxed{" * 2000),
    ("5000 dollars", "$" * 5000),
    ("3000 answers", "the answer is " * 3000),
    ("50000 spaces", "\\boxed{" + " " * 50_000 + "2}"),
    ("20000 digit groups", "1,234," * 20_000),
    ("1 MB of prose", "word " * 200_000 + "\\boxed{1}"),
    ("200 KB of maths", "$x^2+\\frac{1}{2}$ " * 12_000 + "\\boxed{1}"),
    ("10 MB of x", "x" * 10_000_000),
    ("garbage", "\\frac\\sqrt^{_{}}{{)]\\left\\right&&%%##" * 50),
    ("null bytes and surrogates", "\x00\ud800\udfff\\boxed{1\x00}"),
    ("os.system", "__import__('os').system('touch PWNED')"),
    ("call in a matrix", "\\begin{pmatrix}open('PWNED','w')\\end{pmatrix}"),
    ("call beside pi", "exec(\"open('PWNED','w')\") or 3*\\pi"),
]


def _long() -> list[tuple[str, str]]:
    """Answers that are long or deep by repetition of what depends on its place."""
    frac = "1"
    nested_symbols = "x"
    nested_roots = "2"
    for _ in range(400):
        frac = f"\\frac{{1}}{{1+{frac}}}"
    for _ in range(60):
        nested_symbols = f"\\frac{{x}}{{1+{nested_symbols}}}"
    for _ in range(150):
        nested_roots = f"\\sqrt{{2+{nested_roots}}}"
    cells = " \\\\ ".join(" & ".join(f"x_{{{i}}}^{{{j}}}" for j in range(30)) for i in range(30))
    small_cells = " \\\\ ".join(" & ".join(f"a_{{{i}{j}}}" for j in range(8)) for i in range(8))
    geometric = "+".join(f"x^{{{k}}}" for k in range(800))
    many = ",".join(str(k) for k in range(3000))
    polynomial = "+".join(f"{k}x^{{{k}}}" for k in range(1, 31))
    return [
        ("400 fractions", frac),
        ("60 symbolic fractions", nested_symbols),
        ("150 roots", nested_roots),
        ("3000 terms", "+".join(str(k) for k in range(3000))),
        ("geometric series", f"({geometric})(x-1)"),
        ("matrix 30x30", f"\\begin{{pmatrix}}{cells}\\end{{pmatrix}}"),
        ("determinant 8x8", f"\\det\\begin{{pmatrix}}{small_cells}\\end{{pmatrix}}"),
        ("set of 3000", f"\\{{{many}\\}}"),
        ("degree 30", f"{polynomial}=0"),
    ]


def _both_sides() -> list[Case]:
    """Cases in which both sides are hostile."""
    surds = ",".join(f"\\sqrt{{{k}}}" for k in range(2, 302))
    shifted = ",".join(f"\\sqrt{{{k + 1}}}" for k in range(2, 302))
    polynomial = "+".join(f"{k}x^{{{k}}}" for k in range(1, 31))
    other = "+".join(f"{k + 1}x^{{{k}}}" for k in range(1, 31))
    return [
        ("power 5000, split", "(x+1)^{5000}", "(x+1)^{4999}(x+1)"),
        ("trinomial power", "(x+y+z)^{40}", "(z+y+x)^{39}(x+y+z)"),
        (
            "nested radicals",
            "96-10\\sqrt{21}",
            "\\frac{6\\sqrt{1789-240\\sqrt{21}}+8\\sqrt{1236-240\\sqrt{21}}}{5}",
        ),
        ("unequal nested radicals", "\\sqrt{2+\\sqrt{3+\\sqrt{5}}}", "\\sqrt{2+\\sqrt{3+\\sqrt{6}}}"),
        ("300 surds, shifted", f"\\{{{surds}\\}}", f"\\{{{shifted}\\}}"),
        ("degree 30 twice", f"{polynomial}=0", f"{other}=0"),
        ("2^10^7 and one more", "2^{10^7}", "2^{10^7}+1"),
        ("1/2004! and 1/2006!", "\\frac{1}{2004!}", "\\frac{1}{2006!}"),
    ]


CONSTRUCTORS = (
    "\\frac{H}{2}", "\\frac{1}{H}", "\\frac{H}{H}", "\\sqrt{H}", "\\sqrt[3]{H}", "H^2", "2^{H}", "{H}^{H}",
    "\\{H\\}", "\\{H, 1\\}", "\\{H, H\\}", "(H, 1)", "(H, H)", "[H,2)", "H \\cup (1,2)", "H \\cap H",
    "H \\setminus H", "|H|", "\\left(H\\right)", "\\sin(H)", "\\ln H", "\\log_{H} 3", "H!", "\\binom{H}{2}",
    "\\sum_{k=1}^{H} k", "\\sum_{k=1}^{9} H", "\\prod_{k=1}^{20} (H+k)", "\\int_0^1 H dx",
    "\\lim_{x \\to 0} H", "\\begin{pmatrix} H & 1 \\\\ 2 & H \\end{pmatrix}",
    "\\begin{pmatrix} H & 1 \\\\ 2 & 3 \\end{pmatrix}^{12}",
    "\\begin{vmatrix} H & 1 \\\\ 2 & H \\end{vmatrix}", "\\pm H", "H \\pm 1", "\\{H \\pm 1, H\\}", "H\\%",
    "H^\\circ", "H_2", "H \\text{ cm}", "x = H", "H < x", "H = H", "x < H < y",
    "\\begin{cases} H & x<0 \\\\ 1 & x>0 \\end{cases}", "H:H", "f(H)", "H \\pmod 5", "\\lfloor H \\rfloor",
    "\\overline{H}", "\\{x : H\\}", "H \\text{ or } H", "H \\text{ and } H", "$H$", "\\boxed{H}",
    "\\text{H}", "H, H", "H; H", "-H", "+H", "H + 1", "H \\cdot H", "HH", "H/2", "1,H", "\\mathrm{H}",
    "\\left\\{H\\right\\}", "x \\in H", "\\forall x H", "H' ", "\\gcd(H, 6)", "\\max(H, 2)", "H \\bmod 7",
    "(A) H", "H because H", "not H", "x_{H}", "\\mathbb{R} \\setminus \\{H\\}", "\\text{the answer is } H",
    "H \\approx 3", "1e H", "H\\,000", "\\begin{aligned} x &= H \\end{aligned}", "H \\Rightarrow H",
    "\\angle H", "\\vec{H}", "|H| + |H|", "H \\text{ if } x > 0",
)  # fmt: skip
"""Everything that the grammar, or what reads around it, takes something into; `H` is what it takes."""


def nested(constructors: Sequence[str], depth: int, leaf: str, limit: int = 10_000) -> str:
    """Return a leaf within that many constructors, taken in turn, of at most `limit` characters."""
    text = leaf
    for level in range(depth):
        larger = constructors[level % len(constructors)].replace("H", text)
        if len(larger) > limit:
            break
        text = larger
    return text
