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
_HIGHLIGHTED = re.compile(r"(?<![=\w])==(?=[^\s=])([^=\n]{1,200})(?<=[^\s=])==(?![=\w])")
_DONE = "TERMINATE"
"""With which AutoGen's agents end."""
_NEW_LINE = re.compile(r"\\\\(?:\[\d+\w*\])?")

_PLACE = re.compile(
    r"(?P<before>(?:^|\b(?:is|was|answer|choice|option)\b|[:：=])[*_]{0,3}[^\S\n]{0,3}[*_]{0,3})"
    r"(?:<<?|【|《|⟨)[^\S\n]?(?P<own>[A-Z\d(][^<>【】《》⟨⟩\n=/]{0,80}?)[^\S\n]?(?:>>?|】|》"
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
_SAYING = (
    r"(?:say|state|tell you|affirm|assert|declare|confirm|conclude|report|assure you|attest|maintain|answer)"
)
_CONFIDENTLY = re.compile(
    rf"(?P<before>(?:^|[.!?:;,]\s|\b(?:and|so|thus|therefore|hence)\s)[\s*_>#]{{0,4}})"
    r"(?:I|[Ww]e) (?:(?:can|am able to|are able to) (?:now |therefore |thus |safely )?)?"
    rf"(?:(?:confidently|assuredly) {_SAYING}|{_SAYING} (?:to you )?with "
    r"(?:(?:full|complete|absolute|total|great|high|utmost|every|perfect) )?"
    r"(?:confidence|certainty|conviction|assurance)) that ",
    re.MULTILINE,
)
"""Before the answer: "I can say with confidence that"."""
_SURE_WORDS = ("onfiden", "ertainty", "onviction", "ssurance", "ssuredly")
_QUOTED_ANSWER = re.compile(
    r"[\"“`](?=[^\"“”`\n]{0,60}(?:nswer|ption|hoice|orrect|boxed|####))[^\"“”`\n]{1,120}[\"”`]"
    r"|(?<=\s)'(?=[^'\n]{0,60}(?:nswer|ption|hoice|orrect|boxed|####))[^'\n]{1,120}'(?!\w)"
)
_QUOTES = ('"', "“", "`", " '")
_OF_FORMAT = re.compile(
    r"\b(?:such as|(?:something|(?:look|sound|read)s?|line|sentence|phrase) like"
    r"|(?:in|of|has|have) the (?:form|format|shape|style|type|kind)(?: of)?"
    r"|(?:format|template|form|wording) (?:[a-z]+ ){0,3}?"
    r"(?:is|was|(?:should|must|has to|would) be)"
    r"|(?:told|asked|supposed|instructed|required|expected|meant|ordered|requested)"
    r" to (?:write|say|end|finish|close|conclude|reply|respond|output|state|type|begin|start)"
    r"(?: [a-z]+){0,5})[:,]?\s$",
    re.IGNORECASE,
)
"""Before a quotation: it shows how an answer is to be put, and is none."""


def _unless_of_format(found: re.Match[str]) -> str:
    is_format = _OF_FORMAT.search(found.string, max(0, found.start() - _BEFORE), found.start())
    return "" if is_format else found[0]


_BEFORE = 80


def unwrapped(text: str) -> str:
    """Return a text without what stands around its answer; what stands in environments and brackets stays."""
    if any(map(text.__contains__, _QUOTES)):
        text = _QUOTED_ANSWER.sub(_unless_of_format, text)
    if " that " in text and any(map(text.__contains__, _SURE_WORDS)):
        text = _CONFIDENTLY.sub(r"\g<before>", text)
    if any(map(text.__contains__, _BRACKETS)):
        text = _PLACE.sub(lambda m: m[0] if f"</{m['own']}>" in text else m["before"] + m["own"], text)
    if "If you" in text:
        text = _IF_YOU_CHOSE.sub("", text)
    if "==" in text:
        text = _HIGHLIGHTED.sub(r"\1", text)
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
