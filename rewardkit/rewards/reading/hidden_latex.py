"""LaTeX that does not show: comments, conditions, white text, phantoms, what is struck out or printed over
its neighbour, definitions, targets and numbers of references, verbatim text.

One pass from left to right; every piece is left where it ends, so the cost is linear in the text.
HTML, Markdown and special tokens are in `visible.py`.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.lazy_regex import lazy_regex

_WHITE = (
    r"(?:\[[a-zA-Z]{1,8}\])?\s?\{\s{0,3}(?:[wW]hite(?:!100)?|transparent|\#?[fF]{3}(?:[fF]{3})?"
    r"|1(?:,\s?1){0,2}"
    r"|255(?:,\s?255){2}|0(?:,\s?0){3})\s{0,3}\}"
)
_COMMAND = r"\s{0,3}(?:\{\\[a-zA-Z]{1,20}\}|\\[a-zA-Z]{1,20})"
_GROUP = (
    r"(?:math|[hv])?phantom|hide|invisible|ignore|@?gobble|comment|index|typeout|message|special"
    r"|pdfcomment|todo"
    r"|label|tag\*?|ref|eqref|cite|hypertarget|href|(?:math)?[lrc]lap|[bxh]?cancel"
    r"|cancelto\s?\{[^{}]{0,200}\}|[sx]out|st"
    rf"|strike|mintinline\s?\{{[^{{}}]{{0,40}}\}}|textcolor\s?{_WHITE}|(?:texttransparent|opacity"
    rf"|scalebox)\s?\{{0(?:\.0+)?\}}"
    r"|resizebox\s?\{0[a-z]{0,2}\}\s?\{[^{}]{0,20}\}"
    rf"|(?:set|save|s)box(?:\s?\d|{_COMMAND})(?:\s?=\s?\\hbox)?"
    rf"|(?:(?:re)?new|provide)command\*?{_COMMAND}(?:\[[^\]]{{0,20}}\]){{0,2}}"
    rf"|DeclareMathOperator\*?{_COMMAND}"
    rf"|(?:re)?newenvironment\*?\s?\{{[^{{}}]{{0,40}}\}}(?:\[[^\]]{{0,20}}\]){{0,2}}"
    r"|[egx]?def\s?\\[a-zA-Z]{1,20}[#\d]{0,9}"
)
"""Commands, and what may stand before the group in which nothing shows, or not in its place: what is
printed over its neighbour, numbers of equations, targets of links, definitions."""
_HIDING = lazy_regex(
    r"\\(?:"
    r"(?P<never>iffalse(?![a-zA-Z])|if0)"
    r"|(?P<test>if(?:true|mmode|x|num|odd|dim|case|cat)(?![a-zA-Z])|if\d)"
    r"|begin\s?\{(?P<block>comment\*?|[vV]erbatim\*?|lstlisting|minted|filecontents\*?|lrbox)\}"
    r"|(?:[vV]erb\*?|lstinline)(?P<verb>[^a-zA-Z\s*])"
    rf"|(?P<group>(?:{_GROUP})\s{{0,3}}\{{)"
    rf"|(?P<switch>color\s?{_WHITE}|(?:transparent|pgfsetfillopacity|fontsize)\s?\{{0(?:\.0+)?(?:pt)?\}})"
    r"|(?P<last>endinput(?![a-zA-Z])|end\s?\{document\}))"
)
_may_hide = re.compile(
    r"\\(?![\\\[\](){},;!:| LGq]|fr|le|ri|sq|bo|text\{|cd|tim)"
    r"(?:b(?:egin\s?\{[cvVlmf]|c)|c(?:[iaol]|omm)|d(?:ef)|e(?:def|nd(?:i|\s?\{d)|qref)|fonts|g(?:def"
    r"|ob)|h(?:[priy]|ca)"
    r"|i(?:f|gn|nd|nv)|l(?:st|ab|lap)|m(?:ath[prlc]|ess|int)|n(?:ewc|ewe)|o(?:pac)|p(?:h|df|gf|ro)"
    r"|r(?:e[nfs]|lap)"
    r"|s(?:[aobcext]|pec)|t(?:ag|exttr|extc|ypeo|odo|ransp)|v(?:[ep])|x(?:[co]|def)|Ve|Decl|@gob)"
).search
"""How all of them begin, without groups, and the commonest others first: several times as fast, and most
texts have none."""
_CONDITION = re.compile(r"\\(?:(?P<fi>fi)|if(?!f(?![a-zA-Z])|then)[a-zA-Z\d]\w*)(?![a-zA-Z])")
_BRACE = re.compile(r"\\color(?![a-zA-Z])|\\.|[{}]", re.DOTALL)


def without_hidden_latex(text: str) -> str:
    """Return a text without the LaTeX in it that a page would not show."""
    found = _HIDING.search(text) if _may_hide(text) else None
    if found is None:
        return text
    kept = []
    position = 0
    while found is not None:
        kept.append(text[position : found.start()])
        position = _end_of(found, text)
        found = _HIDING.search(text, position)
    return "".join([*kept, text[position:]])


def _end_of(found: re.Match[str], text: str) -> int:
    """Where what is hidden ends: at its closing mark, or with the text where that is missing."""
    if found["block"]:
        return _after(text, f"\\end{{{found['block']}}}", found.end())
    if found["verb"]:
        return _after(text, found["verb"], found.end())
    if found["never"] or found["test"]:
        return _end_of_condition(text, found)
    if found["last"]:
        return len(text)
    return _end_of_group(text, found.end(), bool(found["switch"]))


def _end_of_condition(text: str, found: re.Match[str]) -> int:
    """Where a TeX condition ends, whichever of its branches is taken: a test that no `\\fi` ends is none."""
    depth = 1
    for mark in _CONDITION.finditer(text, found.end()):
        depth += -1 if mark["fi"] else 1
        if depth == 0:
            return mark.end()
    return len(text) if found["never"] else found.end()


def _after(text: str, closing: str, start: int) -> int:
    end = text.find(closing, start)
    return len(text) if end < 0 else end + len(closing)


def _end_of_group(text: str, start: int, is_switch: bool) -> int:
    """Where the group around a place ends; a switch of colour holds to there or the next switch."""
    depth = 1
    for brace in _BRACE.finditer(text, start):
        sign = brace.group()
        if sign == "\\color" and is_switch and depth == 1:
            return brace.start()
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return brace.start() if is_switch else brace.end()
    return len(text)
