"""Converts LaTeX to plain text in the same way as mathruler and prm800k.

Symbols become characters, fractions become `a/b`, roots become `√(a)`, and other commands are removed. This
code reproduces their converter exactly, including its errors, and must not be improved. Accents, environments
and text that is nested more deeply than `_MAX_NESTING` are not reproduced.
"""

from __future__ import annotations

import re

_MAX_NESTING = 20
_TABLE = """
    alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ
    lambda=λ mu=μ nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω
    Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω pm=± mp=∓ times=×
    div=÷ ast=∗ star=⋆ circ=∘ bullet=∙ cdot=· cap=∩ cup=∪ vee=∨ wedge=∧ setminus=∖ oplus=⊕ otimes=⊗
    leq=≤ le=≤ geq=≥ ge=≥ neq=≠ leqslant=⩽ geqslant=⩾ ll=≪ gg=≫ equiv=≡ sim=∼ simeq=≃ approx=≈ cong=≅
    propto=∝ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇ in=∈ ni=∋ notin=∉ perp=⊥ parallel=∥ mid=| angle=∠
    measuredangle=∡ sphericalangle=∢ infty=∞ partial=∂ nabla=∇ forall=∀ exists=∃ emptyset=∅ varnothing=∅
    to=→ rightarrow=→ leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ mapsto=↦
    longrightarrow=⟶ Longrightarrow=⟹ therefore=∴ because=∵ ldots=… dots=… cdots=⋯ vdots=⋮ prime='
    hbar=ħ ell=ℓ aleph=ℵ sum=∑ prod=∏ int=∫ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ vert=|
    Vert=‖ square=□ blacksquare=▪ diamond=♢ lozenge=◊ textdegree=° lnot=¬ sin=sin cos=cos tan=tan
    log=log ln=ln exp=exp lim=lim max=max min=min sup=sup inf=inf sinh=sinh cosh=cosh tanh=tanh
    arcsin=arcsin arccos=arccos arctan=arctan
    """
_SYMBOLS = dict(pair.split("=") for pair in _TABLE.split()) | {"quad": "  ", "qquad": "    "}
_SIGNS = {",": " ", ";": " ", ":": " ", " ": " ", "\\": "\n"} | dict(zip("%$&#_", "%$&#_", strict=True))
_WITH_ARGUMENTS = frozenset({"frac", "sqrt", "mbox", "color", "hspace", "mathbf", "mathit", "mathsf"})
_MACRO = re.compile(r"\\(?:([a-zA-Z]+)[^\S\n]*|(.)|\Z)", re.DOTALL)
_ARGUMENT = r"\s*(?:\{([^{}]*)\}|([^\s{}\\]))"
_FRACTION = re.compile(rf"\\frac{_ARGUMENT}{_ARGUMENT}")
_ROOT = re.compile(rf"\\sqrt\s*(?:\[[^\[\]]*\])?{_ARGUMENT}")
_DROPPED = re.compile(rf"\\(?:mbox|color|hspace){_ARGUMENT}")
_STYLED = re.compile(rf"\\(mathbf|mathit|mathsf){_ARGUMENT}")
_CAPITAL_A = {"mathbf": 0x1D400, "mathit": 0x1D434, "mathsf": 0x1D5A0}
_GROUP = re.compile(r"(\\[a-zA-Z]+\s*|\}\s*)?\{([^{}]*)\}")


def latex_text(text: str) -> str:
    """Convert LaTeX to plain text."""
    text = _balanced(_MACRO.sub(_macro, text.replace("~", "\xa0")))
    for _ in range(_MAX_NESTING):
        shorter = _FRACTION.sub(lambda m: f"{_first(m, 1)}/{_first(m, 3)}", text)
        shorter = _ROOT.sub(lambda m: f"√({_first(m, 1)})", shorter)
        shorter = _STYLED.sub(_styled, _DROPPED.sub("", shorter))
        shorter = _GROUP.sub(lambda m: m[0] if m[1] else m[2], shorter)
        if shorter == text:
            break
        text = shorter
    return text.replace("---", "—").replace("--", "–")


def _balanced(text: str) -> str:
    """Remove closing braces that have no opening brace, and add missing closing braces at the end."""
    kept = []
    depth = 0
    for piece in re.split(r"([{}])", text):
        if piece == "}" and depth == 0:
            continue
        depth += (piece == "{") - (piece == "}")
        kept.append(piece)
    return "".join(kept) + "}" * depth


def _macro(found: re.Match[str]) -> str:
    """Return the symbol for a macro, a macro with arguments unchanged, or "" for any other macro."""
    if found[1] is None:
        return _SIGNS.get(found[2] or "", "")
    if found[1] in _WITH_ARGUMENTS:
        return f"\\{found[1]}" + ("" if found[0][-1].isalpha() else " ")
    return _SYMBOLS.get(found[1], "")


def _first(found: re.Match[str], group: int) -> str:
    """Return an argument of a macro, which is the text in braces or a single character."""
    braced: str | None = found[group]
    return found[group + 1] if braced is None else braced


def _styled(found: re.Match[str]) -> str:
    """Return the letters of an argument in the alphabet of their style."""
    start = _CAPITAL_A[found[1]]
    return "".join(
        chr(start + ord(c.upper()) - ord("A") + 26 * c.islower()) if c.isascii() and c.isalpha() else c
        for c in _first(found, 2)
    )
