"""What stands around a reply or an answer and says nothing: marks of a solution, environments of LaTeX,
brackets that a form has round the place of its answer, words to readers who have chosen another one."""

from __future__ import annotations

import re

_SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>")
_ENVIRONMENT = re.compile(
    r"\\(?:begin|end)[ ]?\{(?:align(?:ed|at)?|equation|array|gather(?:ed)?|split|multline|center"
    r"|displaymath|math|eqnarray|flalign)\*?\}(?:[ ]?\{[lcr|\d\s]{0,20}\})?"
)
_TEXT = re.compile(r"\\text[ ]?\{([^{}\n]{0,200})\}")
_LABEL = re.compile(
    r"(?P<open>(?:\$\$?|\\\[|\\\()\s?)?\\(?:text|mathrm|textbf|mathbf|textit)[ ]?\{\s?"
    r"(?P<label>(?:(?:the|my|final|correct)\s)*answer(?:\sis)?\s?:)\s?\}",
    re.IGNORECASE,
)
"""What announces an answer, as text within a formula."""
_FIELD = re.compile(r"\[\[ ## (\w{1,30}) ## \]\]")
"""DSPy's name of a field."""
_DONE = "TERMINATE"
"""With which AutoGen's agents end."""
_NEW_LINE = re.compile(r"\\\\(?:\[\d+\w*\])?")

_PLACE = re.compile(
    r"(?P<before>(?:^|\b(?:is|was|answer|choice|option)\b|[:：=])[*_]{0,3}[^\S\n]{0,3}[*_]{0,3})"
    r"(?:<<?|【|《|⟨)[^\S\n]?(?P<own>[A-Z\d][^<>【】《》⟨⟩\n=/]{0,80}?)[^\S\n]?(?:>>?|】|》"
    r"|⟩)(?=[\s*_.。!]{0,6}(?:\n|\Z))",
    re.MULTILINE,
)
_BRACKETS = ("<", "【", "《", "⟨")
_IF_YOU_CHOSE = re.compile(
    r"(?<![^\s*_>\"“(])If (?:you|your (?:answer|choice|pick|guess)) (?:had |have |just )?(?:answered|said"
    r"|thought|picked"
    r"|chose|chosen|guessed|selected|went|put|wrote|got|was|is|were)\b[^.!?:;\n]{1,120}?[,;–—-]\s?(?:then"
    r" )?(?:please )?"
    r"(?:(?:think|look|check|try|read|go|count)(?: (?:it|this|the \w{1,12}|your \w{1,12}|about it))?"
    r" (?:again|twice|once more|back|over)"
    r"|(?:that|this|it|you)(?:['’](?:s|re|d be)| is| are| was| were| would be) (?:wrong|mistaken|incorrect"
    r"|not right)"
    r"|sorry|bad luck|not quite|no luck)\s?[:.!;,–—-]+\s"
)
"""Before the answer, to readers who may have chosen another one: "if you said A, think again"."""


def unwrapped(text: str) -> str:
    """Return a text without what stands around its answer; what stands in environments and brackets stays."""
    if any(map(text.__contains__, _BRACKETS)):
        text = _PLACE.sub(lambda m: m[0] if f"</{m['own']}>" in text else m["before"] + m["own"], text)
    if "If you" in text:
        text = _IF_YOU_CHOSE.sub("", text)
    if "[[ ## " in text:
        text = _FIELD.sub(lambda found: "\n" if found[1] == "completed" else f"\n{found[1]}:\n", text)
    if _DONE in text and (said := text.rstrip(" \t\r\n.!")).endswith(_DONE):
        text = said.removesuffix(_DONE).rstrip()
    if "_of_solution|>" in text:
        text = _SOLUTION.sub("\n", text)
    if "\\begin" in text and _ENVIRONMENT.search(text):
        text = _TEXT.sub(r"\1", _NEW_LINE.sub("\n", _ENVIRONMENT.sub(" ", text))).replace("&", "")
    if "\\" in text and ":" in text and "nswer" in text:
        text = _LABEL.sub(lambda found: f"{found['label']} {found['open'] or ''}", text)
    return text
