"""Labelled pairs of answers by topic: `(one, other, whether they are the same)`. Our own, no benchmark's."""

from __future__ import annotations

Examples = list[tuple[str, str, bool]]

EXAMPLES: dict[str, Examples] = {
    "ordinals": [
        ("12^{th}", "12", True),
        ("12th", "12", True),
        ("21st", "21", True),
        ("11th", "11", True),
        ("1/5th", "1/5", True),
        ("5\\text{ th}", "5", False),
        ("5st", "5", False),
        ("11^{\\text{st}}", "11", False),
        ("5.5th", "5.5", False),
        ("x^{\\text{max}}", "x", False),
    ],
    "letters in order": [
        ("\\text{VI}", "VI", True),
        ("VI", "IV", False),
        ("VI", "I V", False),
        ("CD", "DC", True),
        ("HTH", "HHT", False),
        ("A'", "A", False),
        ("'A'", "A", True),
        ("`A'", "A", True),
    ],
    "brackets that say something": [
        ("[1,3]", "1,3", False),
        ("[1,3]", "1\\text{ and }3", False),
        ("[1,3)", "1,3", False),
        ("[3,1]", "3,1", True),
        ("[1,2,3]", "1,2,3", True),
    ],
    "signs of size": [
        ("90^\\circ", "90\\%", False),
        ("90^\\circ", "90", True),
        ("90\\%", "90", True),
    ],
    "labelled values": [
        ("w=16, d=3", "16, 3", True),
        ("w=16,d=3", "d=3,w=16", True),
    ],
    "families": [
        ("x=\\pi n", "x=2\\pi n", False),
        ("x=\\pi n", "x=\\pi k", True),
        ("P=\\pi n", "P=-\\pi n", False),
        ("2n", "2k", False),
        ("x=\\pm\\frac{\\pi}{3}+2\\pi k", "x=\\pm\\frac{\\pi}{3}+2\\pi n", True),
        ("x=\\pm\\frac{\\pi}{3}+2\\pi k", "x=\\pm\\frac{\\pi}{3}+\\pi n", False),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=2\\pi n, x=\\pi+4\\pi n, n\\in\\mathbb{Z}", False),
        ("x=k, k\\in\\mathbb{Z}", "x=n\\sqrt2, n\\in\\mathbb{Z}", False),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=\\pi n\\text{, where }n\\text{ is an integer}", True),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=\\pi n\\text{ for any integer }n", True),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=\\pi n\\quad(n\\in\\mathbb{Z})", True),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=2\\pi n\\text{ for any integer }n", False),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=\\pi n\\text{ for positive integer }n", False),
        ("x=\\pi k, k\\in\\mathbb{Z}", "x=\\pi n, n\\text{ is an even integer}", False),
    ],
    "signs in tuples": [
        ("(\\pm a, 0, \\pm b)", "(a,0,b),(-a,0,b),(a,0,-b),(-a,0,-b)", True),
    ],
    "circled choices": [
        ("②③", "②, ③", True),
        ("②③", "②④", False),
    ],
    "unions": [
        ("(-∞, 2)∪(5, +∞)", "(-\\infty,2)\\cup(5,\\infty)", True),
    ],
    "vectors": [
        ("\\mathbf{i}+2\\mathbf{j}", "\\hat{\\imath}+2\\hat{\\jmath}", True),
        ("\\mathbf{i}+2\\mathbf{j}", "\\vec{i}+2\\vec j", True),
        ("\\mathbf{i}+2\\mathbf{j}", "{\\bf i}+2{\\bf j}", True),
        ("\\mathbf{i}+2\\mathbf{j}", "\\langle 2,1\\rangle", False),
        ("\\mathbf{i}+2\\mathbf{j}", "1+2i", False),
        ("2\\mathbf{i}", "2i", False),
        ("2\\mathrm{i}", "2i", True),
        ("(1,2)", "\\langle 1,2\\rangle", True),
        ("\\begin{pmatrix} 3 \\\\ -1 \\\\ 2\\end{pmatrix}", "(3,-1,2)", True),
    ],
    "inverse trigonometry": [
        ("\\arccos\\frac{1}{2}", "60^\\circ", True),
        ("\\arccos\\frac{1}{2}", "30^\\circ", False),
        ("\\arctan\\frac{3}{4}", "\\arcsin\\frac{3}{5}", True),
        ("\\arctan\\frac{3}{4}", "\\arccos\\frac{3}{5}", False),
    ],
    "set builder": [
        ("\\Big\\{x \\mid 2 < x \\le 7\\Big\\}", "(2,7]", True),
        ("\\{x | x > 4\\}", "x>4", True),
    ],
    "intervals and angles": [
        ("[4, +\\infty)", "x \\geq 4", True),
        ("a \\leqslant 2", "(-\\infty,2]", True),
    ],
    "excluded points": [
        ("x \\neq 3", "(-\\infty,3)\\cup(3,\\infty)", True),
        ("\\mathbb{R}\\setminus\\{3\\}", "x\\ne 3", True),
        ("\\mathbb{R}", "(-\\infty,\\infty)", True),
    ],
    "integer families": [
        ("x=k\\pi, k\\in\\mathbb{Z}", "x=n\\pi, n \\in \\mathbb{Z}", True),
        ("\\{x|x=2k\\pi, k\\in Z\\}", "x=2k\\pi, k\\in Z", True),
    ],
    "lines": [
        ("y=2x+1", "2x-y-1=0", False),
    ],
    "conics": [
        ("\\frac{x^2}{4}+\\frac{y^2}{3}=1", "3x^2+4y^2=12", True),
        ("(x-2)^2+(y+1)^2=9", "x^2+y^2-4x+2y-4=0", True),
    ],
    "indexed solutions": [
        ("x_1=2, x_2=-3", "2,-3", True),
        ("x=2 or x=-3", "x_1=-3,x_2=2", True),
        ("x=2 \\text{ or } x=-3", "\\{2,-3\\}", True),
    ],
    "several answers": [
        ("2 or 3", "2", False),
        ("\\{1,2,3\\}", "\\{1,2\\}", False),
    ],
    "ratios": [
        ("1:2:3", "2:4:6", True),
        ("1:2:3", "1:3:2", False),
    ],
    "percent": [
        ("25\\%", "\\frac14", True),
        ("0.25", "25%", True),
        ("25\\%", "2.5", False),
    ],
    "currency": [
        ("\\$1,250.50", "1250.5", True),
        ("￥12", "12", True),
        ("12元", "12.00元", True),
        ("12 dollars", "\\$12", True),
    ],
    "measured units": [
        ("3\\text{ hours}", "180\\text{ minutes}", True),
        ("3 hours", "3 minutes", False),
        ("5\\text{ cm}^2", "5\\text{ cm}", False),
    ],
    "speeds": [
        ("60\\text{ mph}", "60", True),
        ("2.5\\times 10^{8}\\text{ m/s}", "2.5\\times10^8", True),
    ],
    "scientific notation": [
        ("1.2\\times 10^{-5}", "0.000012", True),
        ("1.2e-5", "1.2 \\times 10^{-5}", True),
        ("1.2e-5", "1.2e-6", False),
    ],
    "bases": [
        ("72", "72_2", False),
        ("72_2", "72_2", True),
        ("19_9", "19", False),
        ("3", "3 \\pmod{5}", True),
        ("72", "72 \\pmod{5}", False),
        ("72", "72 \\bmod 5", False),
        ("50", "50\\%\\%", False),
        ("1234_5", "1234_{5}", True),
        ("1234_5", "1234", True),
        ("1234_5", "1234_6", False),
    ],
    "complex numbers": [
        ("3+4i", "4i+3", True),
        ("3+4i", "3-4i", False),
        ("2e^{i\\pi/3}", "1+\\sqrt3 i", True),
        ("\\frac{1+i}{1-i}", "i", True),
    ],
    "radicals": [
        ("\\sqrt{12}", "2\\sqrt3", True),
        ("\\sqrt{12}", "3\\sqrt2", False),
        ("\\frac{1}{\\sqrt2+1}", "\\sqrt2-1", True),
    ],
    "trigonometry": [
        ("\\sin^2 x", "1-\\cos^2 x", True),
        ("\\sin 2x", "2\\sin x\\cos x", True),
        ("\\sin 2x", "2 \\sin x", False),
    ],
    "logarithms": [
        ("\\log_2 8", "3", True),
        ("\\ln 4", "2\\ln 2", True),
        ("\\log_3 5", "\\frac{\\ln 5}{\\ln 3}", True),
        ("\\lg 100", "2", True),
    ],
    "factorials and binomials": [
        ("5!", "120", True),
        ("\\binom{10}{3}", "120", True),
        ("C(10,3)", "120", False),
    ],
    "polynomials": [
        ("x^3-1", "(x-1)(x^2+x+1)", True),
        ("x^3-1", "(x-1)(x^2-x+1)", False),
    ],
    "sums and integrals": [
        ("\\sum_{k=1}^{10} k", "55", True),
        ("\\sum_{k=0}^{\\infty}\\frac{1}{2^k}", "2", True),
        ("\\int_0^1 2x\\,dx", "1", True),
    ],
    "determinants": [
        ("\\begin{vmatrix}1&2\\\\3&4\\end{vmatrix}", "-2", True),
    ],
    "matrices": [
        ("\\begin{bmatrix}1&0\\\\0&1\\end{bmatrix}", "\\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}", True),
        ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}", False),
    ],
    "scalar matrices": [
        (
            "\\frac12\\begin{pmatrix}2&4\\\\6&8\\end{pmatrix}",
            "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
            True,
        ),
    ],
    "nested lists": [
        ("[[1,2],[3,4]]", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", True),
    ],
    "no solution": [
        ("\\text{no solution}", "\\emptyset", True),
        ("无解", "no solution", True),
        ("\\text{None}", "\\varnothing", True),
    ],
    "infinity": [
        ("\\infty", "+\\infty", True),
        ("-\\infty", "\\infty", False),
        ("\\text{DNE}", "does not exist", True),
    ],
    "weekdays": [
        ("\\text{Tuesday}", "tuesday", True),
        ("Tuesday", "星期二", True),
        ("Tuesday", "Wednesday", False),
    ],
    "yes and no": [
        ("正确", "true", True),
        ("yes", "是", True),
        ("yes", "no", False),
    ],
    "times": [
        ("10:30 \\text{ a.m.}", "10:30", True),
        ("10:30 am", "10:30 pm", False),
        ("3:45", "3:54", False),
    ],
    "dates": [
        ("March 5, 2020", "5 March 2020", True),
        ("March 5, 2020", "March 6, 2020", False),
        ("2020-03-05", "March 5, 2020", True),
        ("2020-03-05", "2020-3-5", True),
        ("March 5", "3-5", False),
        ("March 5", "-2", False),
        ("March 5", "March 5, 2020", False),
        ("2000/40/5", "10", True),
    ],
    "choices": [
        ("(A)", "A", True),
        ("A", "B", False),
        ("\\text{(C)}", "C. 12", True),
        ("\\textbf{(D) } 15", "15", True),
        ("\\textbf{(D)}\\ 15", "D", True),
        ("D", "(D) 15", True),
    ],
    "several choices": [
        ("A, C", "C, A", True),
        ("AC", "A, C", True),
        ("ABD", "A,B", False),
        ("A,C", "A", False),
    ],
    "spelled numbers": [
        ("7", "seven", True),
        ("seventy-two", "72", True),
        ("十二", "12", True),
        ("三分之一", "1/3", True),
    ],
    "congruences": [
        ("x \\equiv 3 \\pmod{7}", "x\\equiv 10 \\pmod 7", True),
        ("x \\equiv 3 \\pmod{7}", "x\\equiv 4 \\pmod 7", False),
    ],
    "mixed numbers": [
        ("1\\frac{3}{4}", "\\frac{7}{4}", True),
        ("-1\\frac{1}{2}", "-1.5", True),
        ("2 3/4", "11/4", True),
        ("3\\frac{1}{3}", "1", False),
    ],
    "repeating decimals": [
        ("0.\\overline{3}", "\\frac13", True),
        ("0.1\\overline{6}", "1/6", True),
        ("0.333...", "\\frac13", True),
        ("0.1666...", "\\frac16", True),
        ("1.2727...", "\\frac{14}{11}", True),
        ("0.33...", "\\frac13", False),
        ("1.414...", "\\sqrt2", True),
    ],
    "tuples": [
        ("\\left(\\frac{1}{2}, -3\\right)", "(0.5,-3)", True),
        ("(1,2)", "(2,1)", False),
    ],
    "lists of tuples": [
        ("(1,2),(3,4)", "(3,4),(1,2)", True),
        ("(x,y)=(1,2)", "x=1,y=2", True),
        ("(1,2)", "x=1, y=2", True),
    ],
    "definitions": [
        ("f(x)=x^2+1", "x^2+1", True),
        ("f(x)=x^2+1", "f(t)=t^2+1", True),
        ("f(x)=x^2+1", "f(x)=x^2-1", False),
    ],
    "sequences": [
        ("a_n=2n-1", "2n-1", True),
    ],
    "values with units": [
        ("2\\sqrt{3} \\text{ cm}", "2\\sqrt3", True),
        ("\\frac{\\pi}{2} \\text{ radians}", "\\frac{\\pi}{2}", True),
    ],
    "denials and hedges": [
        ("72", "72 (this is wrong)", False),
        ("72", "not 72", False),
        ("72", "70 = 72", False),
        ("72", "72 = 70", False),
        ("72", "[60,80]", False),
        ("72", "72 \\pm 5", False),
        ("72", "x\\in\\mathbb{R}", False),
    ],
    "hedges and digits": [
        ("72", "70 or 72", False),
        ("72", "172", False),
        ("72", "-72", False),
        ("72", "72.4", False),
        ("72", "７２", True),
        ("72", "٧٢", True),
        ("72", "NaN", False),
    ],
    "unknown commands": [
        ("4\\sqrt{2}", "4\\sqrt(2)", True),
        ("4\\sqrt{2}", "4 \\foo{2}", False),
    ],
    "formulas": [
        ("\\frac{a+b}{2}", "(a+b)/2", True),
        ("x^{-1}", "1/x", True),
        ("e^{x+1}", "e\\cdot e^x", True),
    ],
    "powers": [
        ("2^{10}", "1024", True),
        ("2^{100}", "1267650600228229401496703205376", True),
        ("2^{100}", "1267650600228229401496703205377", False),
    ],
    "large powers": [
        ("10^{100}+1", "10^{100}", False),
        ("\\sqrt[3]{-8}", "-2", True),
        ("|{-5}|", "5", True),
        ("\\lfloor 3.7 \\rfloor", "3", True),
    ],
    "integer functions": [
        ("\\gcd(12,18)", "6", True),
        ("100!/98!", "9900", True),
        ("\\pi", "3.14", False),
        ("\\pi", "3.142", True),
        ("\\pi", "3.15", False),
        ("2.718", "e", True),
    ],
    "irrational against rational": [
        ("\\frac{22}{7}", "\\pi", False),
        ("\\frac{1}{3}", "0.3333", True),
        ("\\frac{2}{3}", "0.6666", False),
        ("\\frac23", "0.667", False),
        ("5", "4.9999", False),
    ],
    "strict and weak inequalities": [
        ("x>3", "x\\geq 3", False),
        ("x>3", "(3,\\infty)", True),
        ("-1 \\le x < 4", "[-1,4)", True),
        ("x<-1 \\text{ or } x>1", "|x|>1", True),
        ("(-2,2)", "|x|<2", True),
        ("x^2<4", "(-2,2)", True),
    ],
    "plus or minus": [
        ("\\pm\\sqrt{3}", "\\sqrt3,-\\sqrt3", True),
        ("x=\\pm 3", "x=3 \\text{ or } x=-3", True),
        ("\\pm 3", "3", False),
        ("1\\pm i", "1+i, 1-i", True),
    ],
    "quadratic formula": [
        (
            "\\frac{-b\\pm\\sqrt{b^2-4ac}}{2a}",
            "\\frac{-b+\\sqrt{b^2-4ac}}{2a},\\frac{-b-\\sqrt{b^2-4ac}}{2a}",
            True,
        ),
    ],
    "lists in words": [
        ("10\\text{ or }11", "11, 10", True),
        ("1,2,...,10", "1,2,\\ldots,10", True),
    ],
    "named geometry": [
        ("\\angle ABC = 40^\\circ", "40", True),
        ("AB = 5", "5", True),
    ],
    "identities in integers": [
        ("(-1)^n", "\\cos(n\\pi)", True),
        ("n!", "n(n-1)!", True),
        ("\\binom{n}{2}", "\\frac{n(n-1)}{2}", True),
    ],
    "letters": [
        ("5x", "5y", False),
        ("5x", "5X", False),
        ("ab", "ba", True),
        ("2ab", "2a", False),
        ("C", "c", True),
    ],
    "square units": [
        ("120", "120 \\text{ square units}", True),
        ("17\\text{ apples}", "17", True),
        ("\\text{about }17", "17", False),
    ],
    "qualifiers": [
        ("\\frac{3}{4}\\text{ of the total}", "3/4", True),
        ("6 \\text{ or more}", "6", False),
        ("\\text{at least }6", "6", False),
    ],
    "systems": [
        ("x=1,y=2,z=3", "(1,2,3)", True),
        ("x=1,y=2", "x=2,y=1", False),
    ],
    "function identities": [
        ("\\sqrt{x^2+1}", "(x^2+1)^{1/2}", True),
        ("\\tan x", "\\frac{\\sin x}{\\cos x}", True),
    ],
    "argument forms": [
        ("2\\cos\\frac{x}{2}", "2\\cos(x/2)", True),
        ("\\cos x/2", "\\frac{\\cos x}{2}", True),
    ],
    "decimals of pi": [
        ("8\\pi", "8π", True),
        ("8\\pi", "25.13", True),
        ("8\\pi", "25.1", False),
    ],
    "notation": [
        ("\\dfrac{3}{8}", "3 \\div 8", True),
        ("1,000,000", "10^6", True),
        ("12 345", "12345", True),
    ],
    "plain numbers": [
        ("3.0", "3", True),
        (".5", "0.5", True),
        ("-.5", "-1/2", True),
        ("+7", "7", True),
        ("007", "7", True),
        ("-0", "0", True),
    ],
    "conditions and solutions": [
        ("x=1 \\text{ or } x=2", "x=2 \\text{ or } x=1", True),
        ("x^2-5x+6=0", "x=2 \\text{ or } x=3", True),
        ("x^2-5x+6=0", "x=2 \\text{ or } x=4", False),
    ],
    "square roots of squares": [
        ("\\sqrt{x^2}", "|x|", True),
        ("(x^2)^{1/2}", "|x|", True),
        ("\\frac{1}{a-b}-\\frac{1}{b-a}", "\\frac{1}{a-b}+\\frac{1}{b-a}", False),
    ],
    "logarithm rules": [
        ("\\ln(a^2 b)", "2\\ln a+\\ln b", True),
        ("(-1)^n \\cos^n(x)", "(-\\cos x)^n", True),
        ("\\cos(x)^2", "\\cos^2 x", True),
    ],
    "conjunctions": [
        ("x>1 \\text{ and } x<5", "1<x<5", True),
        ("x>1 \\land x<5", "1<x \\text{ and } x<5", True),
        ("x>1 \\text{ and } x<5", "x>1 \\text{ or } x<5", False),
    ],
    "kinds of brackets": [
        ("\\{1,2,3\\}", "\\{3,2,1\\}", True),
        ("\\{1,2\\}", "[1,2]", False),
        ("[1,2,3]", "[3,2,1]", False),
        ("\\{(1,2),(3,4)\\}", "\\{(3,4),(1,2)\\}", True),
    ],
    "exponents": [
        ("a^2 b", "ab^2", False),
        ("x^{1/2}", "\\sqrt{x}", True),
        ("e^{i\\pi}", "-1", True),
        ("\\sqrt{-4}", "2i", True),
        ("i^2", "-1", True),
    ],
    "equations and their solutions": [
        ("y=x^2-2x+1", "y=(x-1)^2", True),
        ("x^2+y^2=4", "y^2=4-x^2", True),
        ("x=y+1", "y=x-1", True),
        ("2x=4", "x=2", True),
        ("x^2=4", "x=2", False),
    ],
    "linear inequalities": [
        ("x<2", "2x<4", True),
        ("x<2", "-x>-2", True),
        ("-x<2", "x<-2", False),
        ("1\\le x \\le 3", "x\\in[1,3]", True),
        ("x^2-1>0", "x>1 \\text{ or } x<-1", True),
        ("x^2-1>0", "x>1", False),
    ],
    "rational functions": [
        ("\\frac{1}{x}+\\frac{1}{y}", "\\frac{x+y}{xy}", True),
    ],
    "hyperbolic functions": [
        ("\\sinh x", "\\frac{e^x-e^{-x}}{2}", True),
        ("\\sec^2x-1", "\\tan^2 x", True),
        ("\\sin^{-1}x", "\\arcsin x", True),
        ("\\sin^{-1}x", "\\frac{1}{\\sin x}", False),
    ],
    "logarithm bases": [
        ("\\log_{10} x", "\\frac{\\ln x}{\\ln 10}", True),
    ],
    "closed forms": [
        ("n(n+1)/2", "\\sum_{k=1}^n k", True),
        ("2^n\\cdot 2", "2^{n+1}", True),
    ],
    "systems of equations": [
        ("\\begin{cases} x=1 \\\\ y=2 \\end{cases}", "(1,2)", True),
    ],
    "fractions": [
        ("\\frac{-1}{2}", "\\frac{1}{-2}", True),
        ("-\\frac{3}{4}x + 2", "2 - 0.75x", True),
    ],
    "names": [
        ("\\text{Yes, it is}", "yes", False),
        ("\\text{Alice}", "Alice", True),
        ("\\text{Alice}", "Bob", False),
        ("\\text{red and blue}", "blue and red", False),
    ],
    "calendar words": [
        ("\\text{June 20}", "20 June", True),
        ("\\text{Friday}", "\\text{Fri}", True),
    ],
    "rational powers": [
        ("\\sqrt[4]{16}", "2", True),
        ("4^{3/2}", "8", True),
        ("8^{-1/3}", "0.5", True),
    ],
    "degrees in functions": [
        ("\\frac{\\sqrt{6}-\\sqrt{2}}{4}", "\\sin 15^\\circ", True),
        ("\\cos 60^{\\circ}", "\\frac12", True),
    ],
    "combinatorics": [
        ("{10 \\choose 3}", "120", True),
        ("_{10}C_3", "120", False),
        ("\\dbinom{5}{2}", "10", True),
        ("P_5^2", "20", False),
    ],
    "ratios in words": [
        ("5:3", "\\frac53", True),
        ("5 \\text{ to } 3", "5:3", True),
        ("3/5", "0.6", True),
    ],
    "sets of reals": [
        ("\\{x \\mid x \\neq 0\\}", "(-\\infty,0)\\cup(0,\\infty)", True),
        ("(0,1)\\cup(1,2)", "(0,2)\\setminus\\{1\\}", True),
        ("[0,1]\\cup[1,2]", "[0,2]", True),
        ("(0,1)\\cup(2,3)", "(2,3)\\cup(0,1)", True),
    ],
    "endpoint sets": [
        ("x\\in(-\\infty,-3]\\cup[3,\\infty)", "|x|\\ge 3", True),
    ],
    "products": [
        ("2\\pi r h", "2\\pi h r", True),
        ("\\pi r^2", "\\pi R^2", False),
    ],
    "powers of ten": [
        ("4.5E-3", "0.0045", True),
        ("10^{-3}", "0.001", True),
    ],
    "percent and currency": [
        ("\\$5", "€5", False),
        ("5 \\%", "5", True),
    ],
    "radians": [
        ("90^{\\circ}", "\\pi/2", True),
        ("\\frac{\\pi}{3}", "60^\\circ", True),
        ("\\frac{\\pi}{3}", "60", False),
    ],
    "conversions": [
        ("5 \\text{ km}", "5000 \\text{ m}", True),
        ("2\\text{ ft}", "24\\text{ inches}", True),
        ("1 \\text{ hour } 30 \\text{ minutes}", "90 \\text{ minutes}", True),
    ],
    "named quantities": [
        ("20\\text{ m}^2", "20\\text{ square meters}", True),
        ("20\\text{ m}^2", "20\\text{ m}", False),
        ("9.8\\text{ m/s}^2", "9.8", True),
    ],
    "named functions and measures": [
        ("f(x) = \\sin x", "y=\\sin x", True),
        ("\\frac{dy}{dx}=2x", "2x", True),
        ("P(A)=\\frac{1}{3}", "\\frac13", True),
        ("\\sin A=\\frac35", "\\frac{3}{5}", True),
        ("|AB|=5", "5", True),
        ("S_{\\triangle ABC}=6", "6", True),
        ("m\\angle A=30^\\circ", "30", True),
    ],
    "congruences without a subject": [
        ("n \\equiv 1 \\pmod 4", "1 \\pmod 4", True),
        ("4k+1", "4k+3", False),
    ],
    "ordered values": [
        ("a=1, b=2, c=3", "1, 2, 3", True),
        ("a=1,b=2,c=3", "3,2,1", False),
        ("a=b=1", "1", True),
        ("x=y=z=1", "(1,1,1)", True),
    ],
    "golden ratio and nested radicals": [
        ("\\sqrt{2}+\\sqrt{3}", "\\sqrt{5+2\\sqrt{6}}", True),
        ("\\sqrt{2}+\\sqrt{3}", "\\sqrt{5}", False),
        ("\\frac{1+\\sqrt5}{2}", "1.618", True),
    ],
    "near zero and one": [
        ("0", "0.0", True),
        ("0", "10^{-10}", False),
        ("1", "0.999999", False),
        ("1", "0.\\overline{9}", True),
    ],
    "fractions as percentages": [
        ("\\frac{5}{6}", "\\frac{10}{12}", True),
        ("\\frac56", "0.8333", True),
        ("\\frac56", "83.33\\%", True),
    ],
    "expanded products": [
        ("x(x+1)", "x^2+1", False),
    ],
    "multiple choice": [
        ("A", "\\boxed{A}", True),
        ("(B)", "\\text{B}", True),
        ("E", "e", True),
        ("D", "Option D", True),
        ("C", "The answer is C", True),
    ],
    "words": [
        ("\\text{increasing}", "decreasing", False),
        ("\\text{both}", "neither", False),
        ("(\\text{A})", "A", True),
    ],
    "Chinese": [
        ("\\mathrm{True}", "True", True),
        ("大于", "小于", False),
        ("12平方厘米", "12", True),
        ("5个", "5", True),
        ("3分米", "30厘米", True),
        ("x＝５", "5", True),
        ("［1，2］", "[1,2]", True),
        ("｛1，2｝", "\\{1,2\\}", True),
        ("3或5", "5,3", True),
        ("3和5", "3,5", True),
        ("第5个", "5", False),
        ("60度", "60^\\circ", True),
        ("50％", "1/2", True),
    ],
    "Chinese times": [
        ("2023年", "2023", True),
        ("上午9时", "9", False),
    ],
    "limits and integrals": [
        ("\\lim_{x\\to 0}\\frac{\\sin 3x}{x}", "3", True),
        ("\\prod_{k=1}^{5} k", "120", True),
        ("\\int x\\,dx", "\\frac{x^2}{2}", True),
    ],
    "determinants and unit vectors": [
        ("\\det\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "-2", True),
        ("2\\hat{i}+3\\hat{j}", "3\\hat{j}+2\\hat{i}", True),
    ],
    "names and bases": [
        ("1011_2", "1011_{\\text{two}}", True),
    ],
    "open systems": [
        ("\\left\\{\\begin{array}{l}x=1\\\\y=2\\end{array}\\right.", "x=1,y=2", True),
    ],
    "approximations": [
        ("\\frac{3}{7} \\approx 0.4286", "\\frac37", True),
        ("\\approx 3.14", "3.14", True),
        ("3.142", "\\pi \\approx 3.14", True),
        ("3.14", "\\pi \\approx 3.14", False),
    ],
    "large integers": [
        ("1000000007", "10^9+7", True),
    ],
    "complex letters": [
        ("\\text{i}", "i", True),
        ("2+i", "2+j", False),
        ("1+2i,1-2i", "1\\pm 2i", True),
    ],
    "half-open intervals": [
        ("\\left(0,\\frac{1}{e}\\right]", "0<x\\le \\frac1e", True),
        ("a\\le 0", "b \\le 0", False),
    ],
    "implications and pairs": [
        ("\\text{(2, 3)}", "(2,3)", True),
        ("13 \\text{ and } 7", "7,13", True),
        ("13 & 7", "13,7", True),
    ],
    "sets of integers": [
        ("\\mathbb{Z}", "\\text{all integers}", True),
        ("\\mathbb{R}", "\\text{all real numbers}", True),
        ("\\emptyset", "\\{\\}", True),
        ("0", "\\emptyset", False),
    ],
    "functions and families of pairs": [
        ("f(n)=n", "f(n) = n \\text{ for all } n", True),
        ("f(x)=x \\text{ and } f(x)=-x", "f(x)=\\pm x", True),
        ("f(x)=cx", "f(x) = kx", False),
    ],
    "pairs and assignments": [
        ("(n,m)=(2,3),(3,2)", "(2,3),(3,2)", True),
        ("(a,b)=(1,2) \\text{ or } (2,1)", "(1,2),(2,1)", True),
        ("\\{(1,2),(2,1)\\}", "(1,2),(2,1)", True),
    ],
    "members": [
        ("n=2^k", "2^k", True),
        ("n = 1, 2, 4", "\\{1,2,4\\}", True),
        ("n\\in\\{1,2,4\\}", "1,2,4", True),
        ("x \\in \\{1, 2\\}", "x=1 \\text{ or } x=2", True),
        ("x\\in\\{3\\}", "3", True),
    ],
    "words, once more": [
        ("\\text{no such } n \\text{ exists}", "no such n exists", True),
    ],
    "integer functions, once more": [
        ("\\left\\lfloor \\frac{n}{2} \\right\\rfloor", "\\lfloor n/2 \\rfloor", True),
        ("\\left\\lceil\\frac{n}{2}\\right\\rceil", "\\lfloor (n+1)/2 \\rfloor", True),
    ],
    "lists with signs": [
        ("\\frac{1}{2}, -\\frac{3}{4}", "-0.75, 0.5", True),
        ("-1, 0, 1", "0, \\pm 1", True),
        ("\\{-1,0,1\\}", "0,1,-1", True),
    ],
    "surds": [
        ("3\\sqrt{2}/2", "\\frac{3}{\\sqrt{2}}", True),
    ],
    "exponentials and logarithms": [
        ("\\ln(1.5)", "\\ln\\frac32", True),
        ("\\log 2", "\\ln 2", True),
    ],
    "angles": [
        ("\\tan^{-1}(1)", "\\frac{\\pi}{4}", True),
    ],
    "mixed numbers, once more": [
        ("\\frac{11}{2}", "1\\frac12", False),
    ],
    "money": [
        ("\\$1{,}200", "1200", True),
        ("£5", "5", True),
        ("75 \\text{ cents}", "\\$0.75", True),
    ],
    "clock times": [
        ("8:15 \\text{ AM}", "8:15 a.m.", True),
        ("08:15", "8:15", True),
        ("3 \\text{ PM}", "3:00 p.m.", True),
    ],
    "inequalities as unions": [
        ("x\\le-2 \\text{ or } x\\ge3", "x \\in (-\\infty,-2]\\cup[3,+\\infty)", True),
        ("x<1, x>2", "(-\\infty,1)\\cup(2,\\infty)", True),
    ],
    "the line without points": [
        ("(-\\infty,1)\\cup(1,\\infty)", "x \\in \\mathbb{R}, x \\neq 1", True),
        ("all real numbers except 1", "x\\neq 1", True),
    ],
    "strict and weak bounds": [
        ("0 \\leqslant x \\leqslant 1", "0<=x<=1", True),
    ],
    "bounds on parameters": [
        ("k<0 \\text{ or } k=1", "(-\\infty,0)\\cup\\{1\\}", True),
    ],
    "lines and conics": [
        ("3x-4y+5=0", "4y-3x-5=0", True),
        ("3x-4y+5=0", "y=\\frac34x+\\frac54", True),
    ],
    "circles and pairs of lines": [
        ("x-2y+3=0 \\text{ or } x=1", "x=1 \\text{ or } x-2y+3=0", True),
        ("y=x+1, y=-x", "y=-x, y=x+1", True),
    ],
    "points": [
        ("(3, 120^\\circ)", "(3, \\frac{2\\pi}{3})", True),
    ],
    "spelled numbers, once more": [
        ("10", "10.", True),
        ("100", "one hundred", True),
        ("-7", "negative seven", True),
        ("-7", "negative 7", True),
    ],
    "products of primes": [
        ("2\\times 3\\times 5", "30", True),
        ("3 \\cdot 10^8", "3e8", True),
    ],
    "antiderivatives": [
        ("\\frac{1}{x+1}+C", "C+\\frac{1}{1+x}", True),
        ("\\frac{x^3}{3}+C", "\\frac{x^3}{3}+c", False),
    ],
    "row and column vectors": [
        ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "[1,2]", True),
        ("\\begin{bmatrix}1&2\\end{bmatrix}", "(1,2)", True),
        ("(1,2,3)^T", "\\begin{pmatrix}1\\\\2\\\\3\\end{pmatrix}", True),
        ("\\langle 1,2\\rangle", "\\begin{pmatrix}1\\\\2\\end{pmatrix}", True),
    ],
    "matrix notations": [
        (
            "\\left[\\begin{array}{cc}1&2\\\\3&4\\end{array}\\right]",
            "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
            True,
        ),
    ],
    "volumes": [
        ("36pi", "36\\pi", True),
    ],
    "plain text formulas": [
        ("sqrt(3)/2", "\\frac{\\sqrt3}{2}", True),
        ("√3/2", "\\frac{\\sqrt{3}}{2}", True),
        ("x**2+1", "x^2+1", True),
        ("2*x", "2x", True),
        ("x²", "x^2", True),
        ("cos(pi/3)", "1/2", True),
        ("exp(2)", "e^2", True),
        ("pi/2", "\\frac{\\pi}{2}", True),
        ("2^(1/3)", "\\sqrt[3]{2}", True),
        ("binomial(5,2)", "10", True),
        ("abs(-3)", "3", True),
        ("5!", "5*4*3*2*1", True),
        ("inf", "\\infty", True),
        ("-oo", "-\\infty", True),
    ],
    "named pairs": [
        ("A=2, B=3", "A = 2 \\text{ and } B = 3", True),
        ("x = 2; y = -1", "x=2,y=-1", True),
    ],
    "numbered parts": [
        ("\\text{(i) } 5, \\text{ (ii) } 7", "5, 7", True),
        ("(1) 5; (2) 7", "5; 7", True),
        ("\\text{(1) } x=5 \\text{ (2) } y=7", "x=5, y=7", True),
    ],
    "choices with content": [
        ("\\text{B}", "B. 正确", True),
        ("B", "choice (B)", True),
        ("B", "选B", True),
    ],
    "shapes": [
        ("\\text{a circle}", "circle", True),
        ("a line", "line", True),
        ("\\text{isosceles triangle}", "isosceles", False),
        ("\\text{Not possible}", "impossible", False),
    ],
    "vector names": [
        ("\\overrightarrow{AB}", "\\vec{AB}", True),
        ("\\vec{a}", "\\vec{b}", False),
    ],
    "powers of fractions": [
        ("\\frac{\\sqrt[3]{4}}{2}", "2^{-1/3}", True),
        ("(\\sqrt{2})^4", "4", True),
        ("|x-1|", "|1-x|", True),
        ("\\max(a,b)", "\\max(b,a)", True),
    ],
    "ratios with surds": [
        ("1:\\sqrt{3}:2", "1:\\sqrt3:2", True),
        ("1:2", "1/2", True),
    ],
    "decimals of surds": [
        ("3.14159", "\\pi", True),
        ("1.414", "\\sqrt{2}", True),
        ("1.4143", "\\sqrt{2}", False),
        ("66.67\\%", "2/3", True),
        ("66.7\\%", "2/3", False),
    ],
    "units in words": [
        ("24\\text{ units}^2", "24", True),
        ("24 square cm", "24", True),
        ("7 \\text{ feet } 6 \\text{ inches}", "7.5 \\text{ feet}", True),
    ],
}
