"""Answers that must never pay and answers that must, by class: (ground truth, answer). Data only."""

from __future__ import annotations

NEVER_PAID: dict[str, list[tuple[str, str]]] = {
    "words before a value that are no name of it": [
        ("5", "\\text{wrong: }5"), ("5", "wrong: 5"), ("5", "\\text{not}=5"), ("70,110", "wrong: 70,110"), ("13", "\\text{anything but: }13"),
    ],
    "a set of one is not its member": [
        ("\\{1,2\\}", "\\{\\{1\\},2\\}"), ("\\{\\{1\\},2\\}", "\\{1,2\\}"), ("\\{\\{1\\},2\\}", "\\{1,\\{2\\}\\}"), ("(1,2)", "(\\{1\\},2)"),
        ("\\{a,b\\}", "\\{\\{a\\},\\{b\\}\\}"), ("a", "\\{\\{a\\}\\}"), ("\\emptyset", "\\{\\emptyset\\}"), ("\\{1,2\\}", "\\{(1,2)\\}"),
    ],
    "words of time and place": [
        ("5\\text{ years ago}", "5\\text{ years from now}"), ("5\\text{ days before}", "5\\text{ days after}"),
        ("5\\text{ dollars spent}", "5\\text{ dollars earned}"), ("5\\text{ apples sold}", "5\\text{ apples left}"),
        ("3\\text{ hours later}", "3\\text{ hours ago}"), ("7\\text{ cakes bought}", "7\\text{ cakes sold}"),
    ],
    "letters whose case counts": [
        ("\\text{CO}", "\\text{Co}"), ("\\text{Hf}", "\\text{HF}"), ("\\text{AaBb}", "\\text{aabb}"), ("\\text{NaCl}", "\\text{NaCL}"),
        ("\\mathrm{CO}_2", "\\mathrm{Co}_2"), ("\\text{Ab}", "\\text{aB}"),
    ],
    "both or one of several": [
        ("A\\text{ or }C", "A\\text{ and }C"), ("p\\text{ and }q", "p\\text{ or }q"), ("A, B, \\text{ or } C", "A, B, \\text{ and } C"),
        ("\\text{A and B}", "\\text{A or B}"), ("AB\\text{ and }CD", "AB\\text{ or }CD"),
    ],
    "a constant far off among several variables": [
        ("x+\\max(x,y,z)", "x+\\max(x,y,z,-12)"), ("\\min(x,y)", "\\min(x,y,50)"), ("\\max(a,b,c,d)", "\\max(a,b,c,d,-100)"),
        ("\\max(x,y)", "\\max(\\max(x,y),-1000)"), ("\\max(x,y,z)", "\\max(x,y,z,-z-40)"), ("x+y", "\\max(x+y,-200)"),
    ],
    "products of vectors and matrices": [
        ("\\mathbf a\\times\\mathbf b", "\\mathbf a\\cdot\\mathbf b"), ("\\mathbf a\\times\\mathbf b", "\\mathbf b\\times\\mathbf a"),
        ("\\mathbf{A}\\mathbf{B}", "\\mathbf{B}\\mathbf{A}"), ("\\mathbf B", "\\mathbf A\\mathbf B\\mathbf A^{-1}"), ("B", "\\mathbf{ABA^{-1}}"),
        ("(\\mathbf{AB})^{-1}", "\\mathbf{A}^{-1}\\mathbf{B}^{-1}"), ("(\\mathbf{A}+\\mathbf{B})^2", "\\mathbf{A}^2+2\\mathbf{AB}+\\mathbf{B}^2"),
        ("\\mathbf a\\times(\\mathbf b\\times\\mathbf c)", "(\\mathbf a\\times\\mathbf b)\\times\\mathbf c"), ("|\\mathbf a|\\mathbf b", "|\\mathbf b|\\mathbf a"),
        ("\\boldsymbol{\\omega}\\times\\mathbf{r}", "\\vec{r}\\times\\vec{\\omega}"), ("\\nabla\\times\\mathbf F", "\\nabla\\cdot\\mathbf F"),
        ("\\langle 2,1\\rangle", "\\mathbf i+2\\mathbf j"), ("(1,2)", "\\mathbf i+2\\mathbf j+3\\mathbf k"), ("\\hat k", "\\hat j\\times\\hat i"),
    ],
    "products of capital letters with an inverse or a transpose": [
        ("B", "ABA^{-1}"), ("ABA^{-1}", "B"), ("D", "PDP^{-1}"), ("ABA^{-1}", "A^{-1}BA"), ("(AB)^{-1}", "A^{-1}B^{-1}"), ("A^TB", "BA^T"),
        ("(AB)^T", "A^{T}B^{T}"), ("X=A^{-1}B", "X=BA^{-1}"), ("A^{-1}(B-C)", "(B-C)A^{-1}"),
    ],
    "a value named by another letter": [("y=8", "h=8"), ("x=3, y=8", "x=3, g=8"), ("(x,y)=(1,2)", "x=1, f=2")],
    "numerals with a prefix": [("0x1EC", "0x1ED"), ("\\mathtt{0x23A}", "0x24A"), ("0b101", "0b110"), ("0", "0x1F"), ("0b101", "5_{8}")],
    "integers between other ends": [("[1,3]", "[1,3]\\cap\\mathbb{Z}"), ("\\{1,2,3\\}", "[1,4)\\cap\\mathbb{R}"), ("\\{1,2\\}", "[1,3]\\cap\\mathbb{Z}")],
    "two lengths are no sum": [("250\\text{ cm}", "2\\text{ m}, 50\\text{ cm}"), ("3\\text{ hours}", "2\\text{ hours}, 60\\text{ minutes}")],
    "grouped digits are one number": [
        ("1,000,000", "1,000,001"), ("20,000", "20,000,000"), ("1,600", "600,001"), ("1,000", "0,1"),
        ("1,000", "1"), ("15,600", "600,15"), ("15,600", "15"), ("61,328", "\\{61,328\\}"),
        ("1{,}234", "1, 234"), ("\\$1,234", "234, 1"), ("-1,250", "250, -1"), ("x = 1,000", "x = 0, 1"), ("1,000 \\text{ cm}", "1, 0 \\text{ cm}"),
    ],
    "a comma between ungrouped digits is a list": [
        ("-5,0", "-5"), ("14,16", "14.16"), ("-5,0", "-5.0"), ("0,1", "0.1"), ("9,-7", "9"), ("1,000,00", "100000"), ("10,00", "1000"),
    ],
    "equations without a solution in common": [
        ("x^2+121=0", "x^2+1=0"), ("x^2+4=0", "x^2+9=0"), ("x^4+1=0", "x^2+1=0"), ("|x|=-1", "|x|=-2"),
        ("e^x=0", "e^{2x}+1=0"), ("x^2+x+1=0", "x^2-x+1=0"), ("x=x+1", "x=x+2"),
        ("\\sin^2 x+\\cos^2 x=1", "x=x"), ("(x+1)^2=x^2+2x+1", "0=0"), ("x^3=1", "x=1"),
    ],
    "statements without an unknown are compared by their sides": [
        ("2+2=4", "2+2=5"), ("\\log_2(32)=5", "1=2"), ("\\log_2(32)=5", "\\log_2(33)=5"), ("3<4", "5<4"),
        ("2^5=32", "2^5=33"), ("1=1", "2=3"), ("3<4", "4<5"), ("\\log_2(32)=5", "1=1"), ("2+3=5", "7-1=6"),
    ],
    "systems keep every member": [
        ("x^2+y^2=4, r=2", "x^2+y^2=9, r=2"), ("x+y=1, z=2", "x+y=2, z=2"), ("x^2+y^2=4, r=2", "r=2"),
        ("x^2+y^2=4, r=2", "x^2+y^2=4, r=3"), ("y=2x+1, m=2", "y=2x+3, m=2"),
        ("x^2=2, y^2=3", "x^2=3, y^2=2"), ("x+y=5, x-y=1", "x+y=5, x-y=2"),
    ],
    "litres are no areas": [
        ("12\\text{ cm}^2", "12\\text{ mL}"), ("12\\text{ cm}^3", "12\\text{ L}"), ("1\\text{ gal}", "1\\text{ L}"),
        ("5\\text{ gal}", "5\\text{ qt}"), ("1\\text{ m}^3", "1\\text{ L}"),
    ],
    "units behind spacing commands": [
        ("4\\mathrm{~km}", "4\\mathrm{~kg}"), ("5 \\mathrm{~cm}^2", "5 \\mathrm{~cm}^3"), ("4\\ \\text{m}", "4\\ \\text{s}"),
        ("4~\\mathrm{m}", "4~\\mathrm{s}"), ("4\\mathrm{\\ km}", "4\\mathrm{\\ kg}"), ("4 \\; \\mathrm{kg}", "4 \\; \\mathrm{km}"),
        ("3\\mathrm{~m/s}", "3\\mathrm{~m/s^2}"), ("4\\,\\text{h}", "4\\,\\text{min}"), ("4~\\text{km}", "4~\\text{m}"),
        ("9.8\\mathrm{~m} / \\mathrm{s}^{2}", "9.8\\mathrm{~m} / \\mathrm{s}"),
    ],
    "words that change a number": [
        ("5", "5\\text{ squared}"), ("5", "5\\text{ and a half}"), ("5", "5\\text{ times two}"), ("5", "5\\text{ factorial}"),
        ("5", "5\\text{ million}"), ("5", "5\\text{ doubled}"), ("5", "5\\text{ dozen}"), ("5", "5\\text{ plus one}"), ("5", "5\\text{ minus}"),
        ("5", "5\\text{ halves}"), ("5", "5\\text{ thirds}"), ("5", "5\\text{ or more}"), ("5", "5\\text{ at least}"),
        ("5", "5\\text{ was ruled out}"), ("5", "5\\text{ seems off}"), ("5", "5\\text{ can be excluded}"),
        ("5", "5 squared"), ("5", "5 and a half"), ("5", "5 million"), ("5", "5\\text{ would be too much}"), ("5", "5\\text{ modulo 3}"),
        ("5", "5\\text{ above zero}"), ("5", "5\\text{ below zero}"), ("5", "5\\text{ to the power of 2}"),
        ("5", "\\text{twice }5"), ("5", "\\text{half of }5"), ("5", "\\text{minus }5"), ("5", "\\text{the square root of }5"),
        ("5", "\\text{not }5"), ("5", "\\text{anything but }5"), ("5", "\\text{almost }5"), ("5", "\\text{over }5"),
        ("25^\\circ\\text{C}", "25^\\circ\\text{F}"), ("25^\\circ C", "25^\\circ F"), ("25\\text{ }^\\circ\\text{C}", "25\\text{ K}"),
        ("5\\text{ red}", "5\\text{ blue}"), ("5\\text{ red apples}", "5\\text{ blue apples}"), ("5\\text{ km}", "5\\text{ red}"),
        ("5\\text{ times}", "5\\text{ apples}"), ("5\\text{ apples per day}", "5\\text{ apples per week}"), ("5 次", "5 瓶"), ("5th", "5\\text{ apples}"),
        ("5\\text{ apples}", "5\\text{ oranges}"), ("5\\text{ million}", "5\\text{ thousand}"),
    ],
    "branches": [
        (
            "f(x)=\\begin{cases} x+1 & x>0 \\\\ x-1 & x \\le 0 \\end{cases}",
            "f(x)=\\begin{cases} x-1 & x>0 \\\\ x+1 & x \\le 0 \\end{cases}",
        ),
        (
            "\\begin{cases} 1 & \\text{if } x>0 \\\\ 2 & \\text{otherwise} \\end{cases}",
            "\\begin{cases} 2 & \\text{if } x>0 \\\\ 1 & \\text{otherwise} \\end{cases}",
        ),
        ("\\begin{cases} 1 & x>0 \\\\ 2 & x\\le 0 \\end{cases}", "\\begin{cases} 1 & x>0 \\\\ 2 & x\\le 1 \\end{cases}"),
        ("\\begin{cases} x=1 \\\\ y=2 \\end{cases}", "\\begin{cases} x=2 \\\\ y=1 \\end{cases}"),
    ],
    "choices": [
        ("C", "(C) or (D)"), ("C", "(C) is wrong"), ("C", "(C) and (D)"), ("C", "C or D"), ("C", "not C"), ("C", "(C) can be ruled out"),
        ("C", "(C) (D)"), ("C", "C. Or maybe D"), ("C", "C, D"), ("C", "(C)?? or (B)"), ("\\text{(C)}", "\\text{(C) or (D)}"),
        ("C", "(C) seems false"), ("C", "either C"), ("C", "C is not it"), ("(B) 12", "(B) 13"), ("(B) 12", "(A) 12"),
        ("C", "neither (C)"), ("C", "(C) unlikely"), ("\\text{C}", "\\text{C is incorrect}"), ("B", "The correct option is A."),
        ("B", "The correct option is not B."),
    ],
    "calls": [
        ("V(0)", "0"), ("P(0)e^{kt}", "P(0)"), ("f(0)", "0"), ("P(0)", "V(0)"), ("P(1)", "P"), ("V(0)", "V"), ("P(2)", "2P"), ("N(t)", "tN"),
        ("f(20)>1000", "f(20)>1001"), ("f(1)+1", "f(1)+2"), ("f(3)=7", "f(4)=7"), ("P(X>1)", "P(X>2)"), ("f(20)=3x", "f(20)=4x"),
        ("y(1)", "y"), ("a(2)", "2a"), ("f'(2)", "2f'"), ("P(A)", "AP"), ("f(x)<5", "f(x)<6"),
    ],
    "defined on different grounds": [
        ("\\frac{n!}{(n-k)!}", "\\frac{k!}{(k-n)!}"), ("a^{bc}", "(a^b)^c"), ("\\frac{n!}{k!(n-k)!}", "\\frac{k!}{n!(k-n)!}"),
        ("\\binom{n}{k}", "\\binom{k}{n}"), ("x^{ab}", "(x^a)^b"), ("\\sqrt{x^2}", "x"), ("(a^{2b})^{\\frac12}", "a^b"),
        ("(n-k)!", "(k-n)!"),
    ],
    "another value at one point alone": [("0^{|x|}", "0"), ("0^{x^2}", "0"), ("x+0^{|x-5|}", "x")],
    "letters with a hyphen are a difference": [("ad-bc", "adbc"), ("ab-c", "abc"), ("ad-bc", "a-dbc"), ("ad-bc", "cd-ab")],
    "plain notation for other values": [
        ("2.5", "2.5 x 10^3"), ("4", "log2(8)"), ("-2", "+-2"), ("5", "3+-2"), ("120", "\\Gamma(6)+1"), ("5\\text{ m}", "\\SI{5}{\\km}"),
        ("\\{2k\\mid k\\in\\mathbb Z\\}", "\\{4n: n\\in\\mathbb Z\\}"), ("\\{2k\\mid k\\in\\mathbb Z\\}", "\\{2k: k\\in\\mathbb N\\}"),
    ],
    "prose is compared whole": [
        ("It is the hyperplane with equation x-2y-3z+2w=0.", "0"), ("It is the hyperplane x-2y-3z+2w=0.", "x-2y-3z+2w=0"),
        ("The function is increasing on the interval and its limit is 5", "5"), ("All matrices whose trace is 0", "0"),
        ("The series converges because the ratio is 1/2", "1/2"), ("Every group of order 15 is cyclic, so the answer is 1", "15"),
        ("The set of all integers n such that n is 3", "3"), ("There is one tangent line and its slope is -2.", "-2"),
        ("The curve is a circle of radius 3", "3"), ("It has a local minimum at x = 2", "2"), ("It has a local minimum at x = 2", "x=2"),
    ],
    "hedges, covers and denials in the slot": [
        ("5", "5 \\text{ or } 6"), ("5", "4 \\text{ or } 5"), ("5", "5 \\lor 6"), ("5", "\\{4,5,6\\}"), ("5", "[4,6]"), ("5", "5 \\pm 1"),
        ("5", "5 \\text{ (this is wrong)}"), ("5", "\\text{not } 5"), ("5", "5?"), ("5", "\\neg 5"), ("5", "\\neq 5"), ("5", "x \\neq 5"),
        ("5", "5 = 6"), ("5", "6 = 5"), ("5", "> 4"), ("5", "5+"), ("5", "5 \\ldots"), ("5", "5 \\to 6"),
        ("5", "5 \\text{ is not correct}"), ("5", "x \\in \\{5,6\\}"), ("5", "5, \\text{ or so}"), ("72", "72!"), ("72", "7,2"), ("5", "5 \\dots 6"),
    ],
    "names and labels": [
        ("x=5", "y=5"), ("2ab", "2"), ("5m", "5"), ("v_0^2", "v_1^2"), ("x_1", "x_2"), ("36^\\circ 52'", "36^\\circ 53'"),
        ("36^\\circ 52'", "36^\\circ"), ("36^\\circ 52'", "36^\\circ 52''"), ("\\frac{a}{b}", "a \\over c"), ("7 goats and 4 helicopters", "4 goats and 7 helicopters"),
        ("25_8 = 21_{10}", "25_8 = 22_{10}"), ("25_8", "21_{10}"), ("4:30\\text{ p.m.}", "4:30\\text{ a.m.}"), ("ab=0", "a=0 \\text{ and } b=0"),
        ("ab=0", "a=0"), ("line segment, circle", "line segment, circle, point"), ("\\begin{aligned}x&=5\\end{aligned}", "6"),
        ("f(x)=1 \\text{ for all } x", "2"), ("\\mho length width", "\\mho length * width"),
    ],
    "relations have a direction": [
        ("p\\to q", "q\\to p"), ("A\\rightarrow B", "B\\rightarrow A"), ("p\\implies q", "q\\implies p"), ("p\\implies q", "p\\iff q"),
        ("a\\subset b", "b\\subset a"), ("a\\subset b", "a\\subseteq b"), ("x\\in A", "A\\in x"), ("x\\mapsto y", "y\\mapsto x"),
        ("x\\in A", "x\\notin A"),
    ],
    "products whose order matters": [
        ("f\\circ g", "g\\circ f"), ("f\\circ g", "fg"), ("\\vec{a}\\times\\vec{b}", "\\vec{b}\\times\\vec{a}"),
        ("\\vec{a}\\times\\vec{b}", "\\vec{a}\\cdot\\vec{b}"),
    ],
    "conditions on another unknown": [
        ("x<3", "x<3,y<3"), ("x<3", "x<3 \\text{ and } y<3"), ("x>1, y>2", "x>1"), ("f(x)=x^2", "f(y)=x^2"), ("f(x)=x^2", "f(x,y)=x^2"),
    ],
    "signs after a number": [
        ("5!", "5!!"), ("5", "5!!"), ("6!", "6!!!"), ("72", "72\\text{M}"), ("72", "72\\text{ G}"), ("72", "72\\text{T}"),
    ],
    "lists of words in another order or with other members": [
        ("\\text{red, green}", "\\text{red or green}"), ("\\text{red, green}", "\\text{red, blue}"), ("\\text{first, second}", "\\text{second, first}"),
    ],
    "another function than the one that was asked for": [
        ("f'(x)=2x", "f(x)=2x"), ("f'(x)=2x", "f''(x)=2x"), ("f(x)=2x", "f'(x)=2x"), ("f(x)=x^2", "g(x)=x^2"),
        ("P(x)=x^2", "Q(x)=x^2"), ("f^{-1}(x)=2x", "f(x)=2x"), ("f'(x)=2x", "y=2x"), ("f(x)=2x, g(x)=3x", "g(x)=2x, f(x)=3x"),
    ],
    "sets of other members under the same condition": [
        ("\\{2k+1 : k\\in\\mathbb Z\\}", "\\{2k : k\\in\\mathbb Z\\}"), ("\\{2k+1 : k\\in\\mathbb Z\\}", "\\mathbb{Z}"),
        ("\\{x\\in\\mathbb{Z} \\mid x>0\\}", "\\{x\\in\\mathbb R\\mid x>0\\}"), ("\\{x\\in\\mathbb{Z} \\mid x>0\\}", "(0,\\infty)"),
        ("\\{x\\in\\mathbb{N} \\mid x<3\\}", "\\{x \\mid x<3\\}"), ("\\{(t,2t) : t\\in\\mathbb R\\}", "\\{(t,3t) : t\\in\\mathbb{R}\\}"),
        ("\\{\\frac{1}{n} : n\\in\\mathbb N\\}", "\\{n : n\\in\\mathbb N\\}"), ("\\{(x,y) : x=2y\\}", "\\{(y,x) : x=2y\\}"),
        ("\\{3k : k\\in\\mathbb Z\\}", "\\{6k : k\\in\\mathbb Z\\}"),
    ],
    "propositions joined by another sign": [
        ("p\\land q", "p\\lor q"), ("p\\lor q", "p, q"), ("(p\\lor q)\\land r", "(p\\land q)\\lor r"), ("p\\lor q\\land r", "(p\\lor q)\\land r"),
    ],
    "other operators, times and brackets": [
        ("\\nabla\\cdot F", "\\nabla\\times F"), ("15:00", "3 AM"), ("3 a.m.", "15:00"), ("0:30", "12:30 p.m."), ("13:05", "1:05 a.m."),
        ("\\neg(p\\land q)", "\\neg p\\land q"), ("33\\frac13\\%", "33"), ("90\\text{ s}", "90 min"),
    ],
    "numbers in words that are others": [
        ("2", "twice 2"), ("2", "twice two"), ("5", "five hundred apples"), ("12\\text{ oranges}", "twelve apples"), ("5", "five or more apples"),
        ("5", "five squared"), ("1", "one in five"), ("2", "two or three apples"), ("\\frac23", "three halves"), ("120", "one hundred two"),
        ("17\\text{ R }3", "17\\text{ R }4"), ("17\\text{ R }3", "17"), ("12:00\\text{ p.m.}", "midnight"), ("[0,\\infty)", "\\mathbb{R}^+"),
        ("]1,2[", "[1,2]"), ("]1,2]", "[1,2["),
    ],
}  # fmt: skip

PAID: dict[str, list[tuple[str, str]]] = {
    "products of vectors and matrices": [
        ("\\mathbf a\\times\\mathbf b", "-\\vec b\\times\\vec a"), ("\\mathbf a\\cdot\\mathbf b", "\\mathbf b\\cdot\\mathbf a"), ("AB", "\\mathbf{A}\\mathbf{B}"),
        ("(\\mathbf{A}+\\mathbf{B})^2", "\\mathbf{A}^2+\\mathbf{AB}+\\mathbf{BA}+\\mathbf{B}^2"), ("(\\mathbf{AB})^{-1}", "\\mathbf{B}^{-1}\\mathbf{A}^{-1}"),
        ("(\\mathbf{AB})^T", "\\mathbf{B}^T\\mathbf{A}^T"), ("\\mathbf a\\cdot\\mathbf b\\times\\mathbf c", "\\mathbf c\\cdot(\\mathbf a\\times\\mathbf b)"),
        ("\\mathbf a\\times(\\mathbf b\\times\\mathbf c)", "(\\mathbf a\\cdot\\mathbf c)\\mathbf b-(\\mathbf a\\cdot\\mathbf b)\\mathbf c"),
        ("2\\mathbf a\\times3\\mathbf b", "6(\\mathbf a\\times\\mathbf b)"), ("\\hat k", "\\hat i\\times\\hat j"), ("\\mathbf{p}(1-\\mathbf{q})", "\\mathbf p-\\mathbf p\\mathbf q"),
        ("\\mathbf F\\cdot\\mathbf r", "\\mathbf r\\cdot\\mathbf F"), ("|\\mathbf a|\\mathbf b+\\mathbf a", "\\mathbf a+\\mathbf b|\\mathbf a|"),
    ],
    "products of capital letters with an inverse or a transpose": [
        ("(AB)^{-1}", "B^{-1}A^{-1}"), ("(AB)^T", "B^TA^{\\top}"), ("A^{-1}(B-C)", "A^{-1}B-A^{-1}C"), ("\\frac{PV}{nT}", "PVn^{-1}T^{-1}"),
        ("\\frac{B}{A}", "A^{-1}B"), ("2A^{-1}B", "A^{-1}(2B)"), ("X=A^{-1}B", "A^{-1}B"),
    ],
    "labels in any font": [("(a) 3, (b) 5", "\\mathrm{(a)} 3, \\mathrm{(b)} 5"), ("\\mathbf{(1)}\\ 3\\quad\\mathbf{(2)}\\ x>5", "(i) 3; (ii) x>5")],
    "spacing between a command and a letter": [("x=1, y=2", "x=1,\\quad\\!y=2"), ("2\\pi r", "2\\pi\\!r"), ("\\alpha x", "\\alpha\\!\\!x")],
    "declarations of integers": [
        ("x=7k+3, k\\in\\mathbb{Z}", f"x=7n+3{declared}") for declared in (
            "\\quad(n\\in\\mathbf{Z})", ",\\ n\\in\\mathbb{{Z}}", ",\\; n=0,\\pm1,\\pm2,\\ldots", "\\text{ for all }n\\in\\mathbb{Z}", "\\ \\forall n\\in\\mathbb{Z}",
        )
    ],
    "residues": [("x\\equiv 3\\pmod 7", "x\\equiv 10\\text{ modulo }7"), ("x\\equiv 3\\pmod 7", "x \\equiv 3 modulo 7")],
    "integers between two ends": [("\\{1,2,3\\}", "[1,3]\\cap\\mathbb{Z}"), ("\\{n\\in\\mathbb{Z}:0<n<4\\}", "\\mathbb{Z}\\cap(0,4)"), ("\\{2\\}", "\\mathbb{N}\\cap(1,3)")],
    "numerals of a base": [
        ("1EC_{16}", "0x1ec"), ("0b1010", "1010_2"), ("\\left(2AF\\right)_{16}", "2AF in base 16"), ("EB_{\\text{sixteen}}", "\\text{EB (base 16)}"),
    ],
    "amounts in two units": [
        ("\\text{6 hours, 7 minutes}", "367\\text{ minutes}"), ("5 feet, 3 inches", "63 inches"), ("2 hours, and 5 minutes", "2\\text{ h }5\\text{ min}"),
    ],
    "vectors by components": [
        ("\\langle 1,2\\rangle", "\\mathbf i+2\\mathbf j"), ("\\mathbf i+2\\mathbf j", "(1,2,0)"), ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "\\hat i+2\\hat j"),
        ("(1.5,-0.5)", "\\frac{3\\mathbf i-\\mathbf j}{2}"), ("\\langle t,\\sin t\\rangle", "t\\mathbf i+\\sin t\\,\\mathbf j"), ("(2,0,-2)", "2(\\mathbf i-\\mathbf k)"),
        ("\\mathbf{F} = 3\\hat{i} - 4\\hat{j}", "[3,-4]"),
    ],
    "a name or a sentence in the box": [
        ("\\frac12", "\\text{The answer is }\\frac12"), ("13", "\\text{Area: }13"), ("13", "\\text{Area}=13"),
        ("\\frac72", "\\mathbf{\\frac{7}{2}}"), ("\\ln 2", "\\text{ln}\\,2"), ("x=1, y=2", "x=1 \\quad y=2"),
    ],
    "plain notation": [
        ("2500", "2.5 x 10^3"), ("3", "log2(8)"), ("2", "log10(100)"), ("2x\\cos(x)", "2xcos(x)"), ("x\\ln x", "xln(x)"), ("\\pm 2", "+-2"),
        ("1\\pm 2", "1+/-2"), ("1", "3+-2"), ("\\operatorname{arsinh}x", "\\ln(x+\\sqrt{x^2+1})"), ("\\operatorname{artanh}x", "atanh x"),
        ("\\coth^{-1}x", "acoth(x)"), ("24", "\\Gamma(5)"), ("n!", "\\Gamma(n+1)"), ("\\begin{vmatrix}a&b\\\\c&d\\end{vmatrix}", "ad-bc"),
        ("a-b-c", "a-c-b"), ("5\\text{ km}", "\\qty{5}{\\kilo\\meter}"), ("9.8\\text{ m/s}^2", "\\SI{9.8}{\\meter\\per\\second\\squared}"),
        ("1000", "\\num{1000}"), ("5\\text{ km}", "\\SI[mode=text]{5000}{m}"),
    ],
    "sets of the values of an expression": [
        ("\\{2k+1\\mid k\\in\\mathbb Z\\}", "\\{1+2n : n\\in\\mathbb{Z}\\}"), ("\\{k^2\\mid k\\in\\mathbb Z\\}", "n^2, n\\in\\mathbb Z"),
    ],
    "relations read from the right": [
        ("a\\subset b", "b\\supset a"), ("A\\subseteq B", "B\\supseteq A"), ("AB\\parallel CD", "CD\\parallel AB"), ("p\\iff q", "q\\iff p"),
        ("x<3", "3>x"), ("p\\to q", "p\\rightarrow q"), ("f\\circ g", "f\\circ g"), ("\\vec{a}\\times\\vec{b}", "\\vec a\\times\\vec b"),
        ("f(x)=x^2", "f(t)=t^2"), ("5!!", "15"),
    ],
    "lists of words": [
        ("A,B,D", "\\text{A, B, and D}"), ("\\text{red, green, blue}", "\\text{red, green, and blue}"),
        ("\\text{Red and Blue}", "\\text{red, blue}"),
    ],
    "grouped digits": [
        ("1,000", "1000"), ("1000", "1,000"), ("1{,}234{,}567", "1,234,567"), ("1,234", "1 234"), ("x=1,000", "1000"),
        ("1,234 \\text{ cm}", "1234"), ("\\$32,348", "32,348"), ("1\\,234", "1234"), ("1,2,3", "3,2,1"), ("\\frac{1,000}{3}", "\\frac{1000}{3}"),
        ("10,000,000", "10^7"), ("1,234.5", "1234.5"), ("1000.99", "1000,99"), ("-1,250", "-1250"), ("5,000 \\text{ and } 6,000", "6000, 5000"),
    ],
    "equations": [
        ("x^2+121=0", "121+x^2=0"), ("x^2+121=0", "2x^2+242=0"), ("2+2=4", "2+2=4"), ("x^2+y^2=4, r=2", "r=2, y^2+x^2=4"),
        ("x^2-5x+6=0", "(x-2)(x-3)=0"), ("\\log_2(32)=5", "\\log_2 32 = 5"), ("y=2x+1", "2x-y+1=0"), ("x^2+y^2=4", "2x^2+2y^2-8=0"),
        ("\\sin^2 x+\\cos^2 x=1", "\\cos^2 x+\\sin^2 x=1"), ("x=2", "x-2=0"),
    ],
    "litres are volumes": [
        ("12\\text{ cm}^3", "12\\text{ mL}"), ("1\\text{ L}", "1000\\text{ cm}^3"), ("1\\text{ m}^3", "1000\\text{ liters}"),
        ("2\\text{ gallons}", "8\\text{ quarts}"), ("3\\text{ quarts}", "6\\text{ pints}"),
    ],
    "a currency behind its amount": [
        ("18", "18€"), ("18", "18 €"), ("€18", "18€"), ("£1,000", "1,000 £"),
    ],
    "units": [
        ("5\\text{ red apples}", "5\\text{ apples in all}"), ("5\\text{ apples}", "5\\text{ big apples left}"), ("5\\text{ km}", "5\\text{ in all}"),
        ("4\\mathrm{~km}", "4\\text{ km}"), ("4 km", "4000\\text{ m}"), ("4\\mathrm{~km}", "4000\\text{ m}"), ("4\\mathrm{~km}", "4"), ("5\\mathrm{~cm}^2", "5 \\text{ cm}^2"),
        ("4~\\text{m}", "4\\ \\text{m}"), ("25^\\circ\\text{C}", "25^\\circ C"), ("25^\\circ\\text{C}", "25"), ("72", "72\\text{ apples}"), ("5\\text{ students}", "5 students"),
        ("3\\text{ million}", "3,000,000"), ("3{,}000{,}000", "3 \\text{ million}"), ("2.5\\text{ billion}", "2500000000"), ("\\$3\\text{ million}", "3000000"),
        ("12", "12\\text{ square units}"), ("60", "60\\text{ miles per hour}"), ("5", "5\\text{ ways}"), ("5", "5\\text{ in total}"), ("10", "10\\text{ chocolate chip cookies}"),
        ("9.8\\mathrm{~m} / \\mathrm{s}^{2}", "9.8 \\text{ m/s}^2"), ("18.9", "18.9 \\text{ cm}"), ("7 goats and 4 helicopters", "7\\text{ goats, }4\\text{ helicopters}"),
    ],
    "branches": [
        ("\\begin{cases} 1 & x>0 \\\\ 2 & x\\le 0 \\end{cases}", "\\begin{cases} 2 & x\\le 0 \\\\ 1 & x>0 \\end{cases}"),
        ("\\begin{cases} 1, & x>0 \\\\ 2, & x\\le 0 \\end{cases}", "\\begin{cases} 1 & \\text{if } 0<x \\\\ 2 & \\text{if } x\\le 0 \\end{cases}"),
        ("f(x)=\\begin{cases} x+1 & x>0 \\\\ x-1 & \\text{otherwise} \\end{cases}", "\\begin{cases} 1+x & x>0 \\\\ -1+x & \\text{otherwise} \\end{cases}"),
        ("\\begin{cases} x=1 \\\\ y=2 \\end{cases}", "\\begin{cases} y=2 \\\\ x=1 \\end{cases}"), ("\\begin{cases} x=1 \\\\ y=2 \\end{cases}", "x=1, y=2"),
    ],
    "choices": [
        ("C", "(C)"), ("C", "C."), ("C", "Option C"), ("C", "(C) 12"), ("\\textbf{(B)}\\ 12", "B"), ("\\textbf{(B)}\\ 12", "12"), ("B", "The correct option is B."),
        ("B", "The answer is (B)."), ("C", "\\text{C}"), ("(B) 12", "B. 12"), ("B", "the correct choice is (B)"), ("C", "(C) \\frac{1}{2}"),
    ],
    "calls": [("V(0)", "V(0)"), ("P(0)e^{kt}", "e^{kt}P(0)"), ("a(b+c)", "ab+ac"), ("2\\pi r(h+r)", "2\\pi rh+2\\pi r^2"), ("x(x+1)", "x^2+x"), ("f(20)>1000", "1000<f(20)"),
              ("P(1+r)^t", "P(r+1)^t"), ("\\pi(2)", "2\\pi"), ("2f(x)+f(x)", "3f(x)")],
    "the same ground": [("\\frac{n!}{(n-2)!}", "n(n-1)"), ("\\binom{n}{k}", "\\frac{n!}{k!(n-k)!}"), ("2^{ab}", "(2^a)^b"), ("e^{xy}", "(e^x)^y"), ("\\frac{x^2-1}{x-1}", "x+1"),
                        ("\\frac{n!}{(n-k)!}", "\\frac{n!}{(-k+n)!}"), ("(n+1)!", "(n+1)n!"), ("x^{2a}", "x^{a+a}"), ("\\frac{(2n)!}{n!}", "\\frac{(2n)!}{n!}")],
    "prose": [
        ("It is the hyperplane with equation x-2y-3z+2w=0.", "It is the hyperplane with equation x-2y-3z+2w=0."),
        ("The curve is a circle of radius 3", "the curve is a circle of radius 3"), ("Every group of order 15 is cyclic", "Every group of order $15$ is cyclic."),
        ("line segment, circle", "line segment and circle"), ("x^2+1 is irreducible", "$x^2+1$ is irreducible"),
    ],
    "notation": [
        ("v_0^2", "v^2_0"), ("v_0^2", "v^{2}_{0}"), ("36^\\circ 52'", "36^\\circ52'"), ("36^\\circ 30'", "36.5^\\circ"), ("36^\\circ 52' 12''", "36.87^\\circ"), ("\\frac{a}{b}", "{a \\over b}"), ("\\frac12", "1 \\over 2"),
        ("6\\pi \\text{(about }18.9)", "6\\pi"), ("6\\pi", "6\\pi \\text{ (about }18.8)"), ("f(x)=1 \\text{ for all } x", "f(x)=1"), ("1", "f(x)=1 \\text{ for all } x"), ("2n\\pi, \\text{ where $n\\in\\mathbb N$}", "2n\\pi, n \\in \\mathbb{N}"),
        ("25_8 = 21_{10}", "25_8 = 21_{10}"), ("\\begin{aligned}x&=5\\end{aligned}", "5"), ("5", "\\begin{aligned}x&=5\\end{aligned}"), ("ab=0", "a=0 \\text{ or } b=0"), ("4:30\\text{ p.m.}", "4:30 PM"), ("4:30\\text{ p.m.}", "4{:}30 \\text{ pm}"),
        ("4:30\\text{ p.m.}", "4:30\\ \\text{p.m.}"), ("4:30\\text{ p.m.}", "16:30"), ("4:30\\text{ p.m.}", "4:30"), ("(x-1)(x-2)=0", "x=1 \\text{ or } x=2"), ("\\text{7 goats and 4 helicopters}", "7\\text{ goats and }4\\text{ helicopters}"),
        ("\\begin{align*} y &= 2x+1 \\end{align*}", "y=2x+1"), ("\\pi f'(0)", "\\pi f{\\left(0 \\right)}'"),
    ],
    "functions by name": [
        ("f^{-1}(x)=\\frac{x-1}{2}", "\\frac{x-1}{2}"), ("f'(x)=2x", "2x"), ("f'(x)=2x", "y'=2x"), ("f(x)=2x", "y=2x"), ("f(x)=2x", "f(t)=2t"),
        ("g(x)=2x", "g(x)=x+x"), ("f^{-1}(x)=2x", "y=2x"), ("2\\operatorname{cis}60^\\circ", "1+\\sqrt3 i"),
    ],
    "sets by a condition": [
        ("\\Big\\{x | 2 < x < 3\\Big\\}", "(2,3)"), ("\\{x|-1 < x < 1\\}", "-1<x<1"), ("\\{x\\in\\mathbb{R} \\mid x>0\\}", "(0,\\infty)"),
        ("[0,\\infty)", "\\mathbb{R}_{\\ge 0}"),
        ("(0,\\infty)", "\\mathbb{R}^+"), ("\\mathbb{R}", "all reals"), ("\\mathbb{R}\\setminus\\{0\\}", "all reals except 0"),
        ("(-\\infty, 3]", "]-\\infty, 3]"), ("(1,2)\\cup(3,4]", "]1,2[ \\cup ]3,4]"), ("(1,2)", "x\\in]1,2["),
    ],
    "times and mixed numbers with a sign": [
        ("15:00", "3 PM"), ("3:00 p.m.", "15:00"), ("0:30", "12:30 a.m."), ("33\\frac13\\%", "\\frac13"), ("12\\frac12\\%", "0.125"),
        ("90\\text{ s}", "1.5 min"), ("22\\frac12^\\circ", "\\frac{\\pi}{8}"), ("\\nabla\\times F", "\\nabla \\times F"),
    ],
    "propositions": [("p\\land q", "q\\land p"), ("(p\\lor q)\\land r", "r\\land(q\\lor p)"), ("x=1\\lor x=2", "x=2 \\text{ or } x=1"), ("1\\lor 2", "1, 2")],
    "values in words": [
        ("120", "one hundred twenty"), ("105", "one hundred and five"), ("\\frac23", "two thirds"), ("0.75", "three quarters"), ("12", "a dozen"),
        ("2000000", "two million"), ("\\frac12", "half"), ("5/2", "two and a half"), ("5", "\\text{Five apples}"), ("-\\frac12", "negative one half"),
        ("12:00\\text{ p.m.}", "noon"), ("12:00 a.m.", "midnight"), ("17\\text{ R }3", "17\\text{ remainder }3"), ("\\text{(A) and (D)}", "A, D"),
        ("-5", "\\$-5"), ("3 : 4", "3\\colon 4"),
    ],
    "decimals that are exact": [("\\cos\\frac{\\pi}{3}", "0.5"), ("\\sin 30^\\circ", "0.5"), ("\\sqrt{2.25}", "1.5"), ("\\log_4 8", "1.5")],
}  # fmt: skip

NEVER_PAID_RESPONSES: dict[str, list[tuple[str, str]]] = {
    "side by side": [
        ("72", "\\boxed{72} \\boxed{73}"), ("72", "\\boxed{73} or \\boxed{72}"), ("72", "The answer is 72. The answer is 73."),
    ],
    "denied within": [("72", "The answer is never 72"), ("72", "\\boxed{\\text{not }72}")],
    "hidden": [
        ("72", "\\boxed{73} <!-- \\boxed{72} -->"), ("72", "\\boxed{73}\n[//]: # (\\boxed{72})"),
        ("72", "```\n<answer>72</answer>\n```\n\\boxed{73}"), ("72", "\\boxed{73}\n```\n<answer>72</answer>\n```"),
        ("72", "\\boxed{73}<|im_end|>\\boxed{72}"), ("72", "\\boxed{73}<think>\\boxed{72}"), ("72", "<think>\\boxed{72}"), ("72", "<think>\\boxed{72}</think>"),
        ("72", "\\boxed{73}<|endoftext|>The answer is 72"), ("72", "The answer is 73. <!-- The answer is 72"),
    ],
    "cut short": [
        ("\\frac32", "<answer>\\left[\\frac{1}{2}, \\frac{3}{2}\\right]</answer>"), ("72", "<answer>\\begin{pmatrix}1&2\\\\3&72\\end{pmatrix}</answer>"),
        ("5", "Answer: \\sin x + \\cos x + \\tan x + \\cot x + 5"), ("3", "<answer>\\frac{\\sqrt{2}\\cdot\\sqrt{5}}{3}</answer>"), ("4", "Answer: \\left(1,2\\right)\\cup\\left(3,4\\right)"),
        ("72", "<answer>the sum of 71 and 72</answer>"), ("5", "Answer: sqrt(2) + sqrt(3) + cos(4) + sin(1) + 5"), ("2", "The answer is \\begin{cases} 1 & x>0 \\\\ 2 & x<0 \\end{cases}"),
        ("72", "In the end they made 72 million dollars altogether"),
    ],
}  # fmt: skip

PAID_RESPONSES: dict[str, list[tuple[str, str]]] = {
    "slots": [
        ("[\\frac12,\\frac32]", "<answer>\\left[\\frac{1}{2}, \\frac{3}{2}\\right]</answer>"),
        ("\\begin{pmatrix}1&2\\\\3&72\\end{pmatrix}", "<answer>\\begin{pmatrix}1&2\\\\3&72\\end{pmatrix}</answer>"),
        ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "Answer: \\begin{pmatrix} 1 \\\\\n 2 \\end{pmatrix}\nThat is it."),
        ("72000000", "In the end they made 72 million dollars altogether"), ("72", "In the end she sold 72 clips altogether"),
    ],
    "corrections": [
        ("73", "\\boxed{72} is wrong. The correct answer is 73."), ("73", "not \\boxed{72} but \\boxed{73}"),
        ("73", "\\boxed{72}. Wait, no: \\boxed{73}"), ("73", "It is not 72. The answer is 73."),
    ],
    "company": [
        ("72", "\\boxed{72}. It is not hard to check."), ("72", "x cannot be negative, so \\boxed{72}"), ("72", "As 3 is not a root, the answer is \\boxed{72}."),
        ("72", "\\boxed{72}\n```python\nprint(73)\n```"), ("72", "<details>71</details> \\boxed{72}"), ("72", "```\nThe answer is \\boxed{72}\n```"), ("50", "That is 50 % of them, so \\boxed{50}"),
        ("72", "<think>not 71?</think>\\boxed{72}<|im_end|>"), ("72", "\\boxed{72}, as wanted. I hope it helps!"),
    ],
    "lists": [("4, 5", "\\boxed{4} and \\boxed{5}"), ("\\{4,5\\}", "\\boxed{5}, \\boxed{4}")],
}  # fmt: skip
