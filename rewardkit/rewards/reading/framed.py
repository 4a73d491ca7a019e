"""Forms in which prompts and harnesses ask for an answer: lines that begin and end it, letters, LaTeX's
frames and layout, fields of data beside it. A text with these is read as one that states the answer.

What is of Markdown, HTML and special tokens is in `visible`; brackets and announcements are in `unwrapped`.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.lazy_regex import lazy_regex

_ANSWER = r"(?:OF[ _-])?(?:THE[ _-]|MY[ _-]|YOUR[ _-])?(?:FINAL[ _-])?ANS(?:WER)?"
_OPENS, _CLOSES = r"[\[<#=*~({-]{1,8}[ ]?", r"[ ]?[\]>#=*~)}:-]{0,8}"
_FRAMED = re.compile(
    rf"(?:{_OPENS}(?:BEGIN|START)[ _-]?{_ANSWER}{_CLOSES}|\[ANS\]|<<ANS(?:WER)?>>)(?P<said>[^\[<]{{1,2000}}?)"
    rf"(?:{_OPENS}(?:END|STOP)[ _-]?{_ANSWER}{_CLOSES}|\[/ANS\]|<</ANS(?:WER)?>>|\Z)",
    re.IGNORECASE,
)
_FRAMES = ("BEGIN", "START", "[ANS", "<<ANS", "[Begin", "[begin")

_SIGNATURE = (
    r"(?:(?:(?:your|the|an?|my|helpful|friendly|trusted|humble|virtual|digital|large|language|quiz)\s){0,4}"
    r"(?:(?:ai|assistant|models?|bot|chatbot|team|helper|friend|tutor|teacher|support|master|claude|chatgpt|gpt"
    r"|gemini|llama|qwen|mistral|deepseek|grok|kimi|glm|phi|gemma|copilot)\b[ ,]?){1,3}|\[[^\]\n]{1,30}\])"
)
_SIGN_OFF = lazy_regex(
    r"(?:\n\s*|(?<=[.!?])\s+)[*_]{0,3}(?:(?:with |my )?(?:(?:best|kind|kindest|warm|warmest) )?"
    r"(?:regards|wishes|greetings)|(?:yours |very )?(?:sincerely|faithfully|truly)(?: yours)?|yours|cheers"
    r"|best|respectfully|love|thanks|thank you|many thanks|take care|all the best)[*_]{0,3}[,.!]"
    rf"(?:\s+[*_]{{0,3}}{_SIGNATURE}[.!]?[*_]{{0,3}}){{0,2}}\s*\Z"
    r"|(?:\A|\n)\s*(?:(?:with |my )?(?:best|kind|kindest|warm|warmest) (?:regards|wishes)|regards|best"
    r"|sincerely|yours (?:sincerely|faithfully|truly)),[^\S\n]*\n(?-i:[A-Z])[\w'’-]{0,20}"
    r"(?: (?-i:[A-Z])[\w'’-]{0,20}){0,2}\s*\Z"
    rf"|(?<=[^:\s])[^\S\n]*\n\s*[*_]{{0,3}}(?:[–—]|--)\s?{_SIGNATURE}[.!]?[*_]{{0,3}}\s*\Z",
    re.IGNORECASE,
)
_LAST = 60
"""Characters from a letter's last line on."""
_SALUTATION = re.compile(
    r"\s*(?:Dear|Hello|Hi|Hey|Greetings|Good (?:morning|afternoon|evening|day))(?:[ ](?:there|user|all|friend"
    r"|sir|madam|or|team|everyone|everybody|reader|customer|student|colleague|\[[^\]\n]{1,20}\])(?:/madam)?){0,4}"
    r"[,!]\s+",
    re.IGNORECASE,
)
_GREETINGS = ("Dear ", "Hello", "Hi", "Hey", "Greetings", "Good ")
_STAGED = re.compile(
    r"\A\*(?:thinks?|pauses?|ponders?|clears|adjusts|scratches|smiles|nods|sighs|stands|raises|looks|checks|flips)\b"
    r"[^*\n]{0,60}\*\s+"
)
"""What an actor does before speaking."""
_POSTSCRIPT = re.compile(r"(?:^|(?<=\s))P\.\s?S\.?[:,]?\s", re.MULTILINE)
_FOOTER = re.compile(
    r"\n\s*---+\s*\n[*_(\[]{0,3}(?:Disclaimer|Note|This|Generated|Created|Written|Powered|As an AI|AI)\b"
    r"(?!.*\b(?:wrong|incorrect|false|answer is|correct|actually|not|instead)\b)[^\n]{0,120}"
    r"(?:\bAI\b|generated|verify|double-check|mistakes|inaccura\w+|errors)[^\n]{0,100}\s*\Z",
    re.IGNORECASE,
)
_GLAD = re.compile(
    r"(?<=\w)[*_.!]{0,3}(?:[^\S\n]?[😀-😎🙂🤗🥳🎉🎊✨🌟⭐👍🚀💪🎯📚🏆]\ufe0f?){1,3}[^\S\n]+"
    r"(?=(?:Let me|Feel free|I?[ ]?Hope|Have a|Any|Need|(?:Happy|Glad) to (?:help|assist|explain)|Want|Thanks"
    r"|Enjoy)\b)",
    re.IGNORECASE,
)

_LAID_OUT = re.compile(
    r"\\(?:item|qed|noind|hfill|cent|blacks|squ|begin\s?\{[qiedftmas]|docu|usep|frameb|ovalb|doubleb|shadowb|tcb"
    r"|f?color|bbox|encl|text(?:c|t|s|n)|mbox|bf|large|Large|huge|(?:sub)*sect|parag|it\b|em\b|rm\b)"
)
_LAYOUT = re.compile(
    r"\\(?:begin|end)\s?\{(?:quote|quotation|itemize|enumerate|document|flushleft|tcolorbox|mdframed|framed|answer"
    r"|solution)\}(?:\[[^\]\n]{0,80}\])?|\\(?:documentclass|usepackage)(?:\[[^\]\n]{0,80}\])?\{[^{}\n]{0,80}\}"
    r"|\\(?:noindent|hfill|centering|qed|blacksquare)(?![a-zA-Z])|\$\\(?:black)?square\$"
)
_ITEM = re.compile(r"\\item(?![a-zA-Z])[^\S\n]?")
_FRAME = re.compile(
    r"\\(?:framebox|ovalbox|doublebox|shadowbox|tcbox(?:math)?"
    r"|bbox\s?\[[^\]\n]{0,80}\]|enclose\s?\{[^{}\n]{0,20}box[^{}\n]{0,20}\})(?=\s?\{)"
)
_TYPE = re.compile(
    r"\\(?:(?:text)?color|colorbox|fcolorbox\s?\{[^{}]{1,30}\})\s?\{[^{}]{1,30}\}\s?\{(?P<coloured>[^{}\n]{0,300})\}"
    r"|\\(?:texttt|textsf|textsc|textnormal|mbox)\s?\{(?P<set>[^{}\n]{0,300})\}"
    r"|\{\\(?:bf|it|em|rm|bfseries|large|Large|huge|Huge)\s(?P<switched>[^{}\n]{0,300})\}"
)
_TITLE = re.compile(
    r"\\(?:(?:sub)*section|paragraph)\*?\s?\{(?:(?:the|my|final)\s)*(?:answer|solution)[.:]?\}", re.IGNORECASE
)

_WITHIN = re.compile(
    r"(?P<key>[\"'](?:final_?)?answer[\"']\s*:\s*)\{\s*[\"'](?:value|text|letter|label|option|choice|content|answer)"
    r"[\"']\s*:\s*",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r",\s*[\"'](?:is_?)?(?:correct|confident|certain|sure|verified|valid|final|done|complete|success|answered"
    r"|supported|grounded)[\"']\s*:\s*true\b"
    r"|,\s*[\"'](?:(?:answer|data)_?)?(?:type|format)[\"']\s*:\s*[\"'](?:str(?:ing)?|text|number"
    r"|numeric|int(?:eger)?|float|bool(?:ean)?|short|span|letter|label|option|name|entity|person|place|location|date"
    r"|year|list|factoid|json)[\"']"
    r"|,\s*[\"'](?:(?:is|has|needs)_?)?(?:error|errors|refusal|refused|uncertain|guess|review|ambiguous|hedged"
    r"|warnings?|unanswerable)[\"']\s*:\s*(?:false|null|none|\[\]|\"\")(?=\s*[,}])",
    re.IGNORECASE,
)
"""Keys beside an answer that say that it is one."""
_MESSAGE = re.compile(
    r"\A\s*(?:\{\s*\"choices\"\s*:\s*\[\s*\{\s*(?:\"index\"\s*:\s*0\s*,\s*)?\"message\"\s*:\s*)?"
    r"\{\s*\"role\"\s*:\s*\"(?P<role>\w{1,20})\"\s*,\s*\"content\"\s*:\s*\"(?P<said>[^\"\\]{1,2000})\"\s*\}"
    r"(?:\s*\}\s*\]\s*\})?\s*\Z"
)
"""A chat's message, whole, as an interface gives it."""
_SURE = re.compile(
    r"[^\S\n]?(?:\((?P<open>)|[|,;][^\S\n])(?:confidence|certainty|probability)(?: level| score)?\s?[:=]?\s?"
    r"(?:(?:[5-9]\d|100)(?:\.\d+)?\s?%|0?\.[5-9]\d*|1(?:\.0+)?(?![\d%/])|(?:very )?high"
    r"|(?:[5-9]|10)\s?/\s?10)"
    r"(?(open)\)|(?=[.!]?[^\S\n]*(?:\n|\Z)))",
    re.IGNORECASE,
)
"""Beside an answer, that somebody is rather sure of it."""
_ONE_ROW = re.compile(
    r"^[ \t]*\|(?P<head>[^\n]*answer[^\n]*)\|[ \t]*\n[ \t]*\|[-:| \t]+\|[ \t]*\n[ \t]*\|"
    r"(?P<row>[^\n]+)\|[ \t]*(?:\n(?![ \t]*\|)|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_COMMAS = re.compile(r"\s*(?P<head>\w+(?:,\w+){1,6})[ \t]*\n(?P<row>[^\n]+)\s*\Z")
_ANSWERS = re.compile(r"(?:(?:the|final|my|correct|short|predicted)[\s_])*answer", re.IGNORECASE)
_SIBLING = re.compile(
    r"(?:confidence|certainty|sources?|explanation|reason(?:ing)?|rationale|score|evidence|notes?|\#|id|no\.?|step"
    r"|unit|justification|thought|citation|probability)(?:[ _](?:level|score))?",
    re.IGNORECASE,
)
"""What other columns may say without being another answer."""
_MEASURE = re.compile(
    r"(?:confidence|certainty|score|probability|\#|id|no\.?|step|unit|sources?)(?:[ _](?:level|score))?",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:not?|none|nothing|never|low|little|wrong|incorrect|false|unsure|guess\w*|but|or|actually|instead)\b"
    r"|n['’]t\b|\?|(?<![\d.])0(?:[.,]0+|[.,][0-4]\d*)?(?![\d.,])|(?<![\d.])[0-4]?\d(?:\.\d+)?\s?%",
    re.IGNORECASE,
)
"""In another column: it may deny the answer, or is not sure of it."""


def framed(text: str) -> str:
    """Return a text with what stands in a frame of its answer as that answer, and without a letter's form."""
    if any(map(text.__contains__, _FRAMES)):
        text = _FRAMED.sub(lambda found: f"<answer>{found['said'].strip()}</answer>\n", text)
    if text.startswith(_GREETINGS) and (greeting := _SALUTATION.match(text)):
        text = text[greeting.end() :]
    elif text.startswith("*"):
        text = _STAGED.sub("", text, count=1)
    if text.find("\n", max(0, len(text) - _LAST)) >= 0 or "P.S" in text:
        text = _without_end(text)
    if not text.isascii():
        text = _GLAD.sub(". ", text)
    if "\\" in text and _LAID_OUT.search(text):
        text = _plainly_set(text)
    if '":' in text or "':" in text:
        text = _FLAG.sub("", _WITHIN.sub(r"\g<key>", text))
        if message := _MESSAGE.match(text):
            text = message["said"] if message["role"] == "assistant" else ""
    if "onfidence" in text:
        text = _SURE.sub("", text)
    return text


def _without_end(text: str) -> str:
    """A text without the words that end a letter and the note that an AI wrote it."""
    if "P.S" in text or "P. S" in text:
        text = _POSTSCRIPT.sub("", text)
    if "---" in text:
        text = _FOOTER.sub("", text)
    end = text[-2 * _LAST :]
    if not any(map(end.__contains__, _FORMULAS)):
        return text
    found = _SIGN_OFF.search(text, max(0, len(text) - 2 * _LAST))
    return text if found is None else text[: found.start()]


_FORMULAS = (
    *("egards", "ishes", "reetings", "ncerely", "aithfully", "ours", "heers", "est,", "Best", "ove,"),
    *("hanks", "hank you", "ake care", "espectfully", "—", "–", "--"),
)
"""A part of each formula and sign with which a letter ends."""


def _plainly_set(text: str) -> str:
    """A text without LaTeX's layout, its frames as boxes."""
    text = _ITEM.sub("\n- ", _FRAME.sub(r"\\fbox", _LAYOUT.sub(" ", text)))
    text = _TYPE.sub(lambda found: found["coloured"] or found["set"] or found["switched"] or "", text)
    return _TITLE.sub("\nAnswer: ", text)


def of_columns(text: str) -> str:
    """Return a text with each table of one row that has a column of the answer as that answer."""
    return _ONE_ROW.sub(lambda found: _in_column(found, "|"), text)


def of_commas(text: str) -> str:
    """Return a text of two lines, names of columns and values, as the answer that it gives."""
    found = _COMMAS.fullmatch(text)
    return text if found is None else _in_column(found, ",")


def _in_column(found: re.Match[str], separator: str) -> str:
    """The value under the one column that is called answer, where the others say something of it."""
    head = [cell.strip(" \t*_`") for cell in found["head"].split(separator)]
    row = [cell.strip(' \t*_`"') for cell in found["row"].split(separator)]
    called = [at for at, name in enumerate(head) if _ANSWERS.fullmatch(name)]
    if len(head) != len(row) or len(called) != 1:
        return found[0]
    others = [(name, row[at]) for at, name in enumerate(head) if at != called[0]]
    if not all(_SIBLING.fullmatch(name) for name, _ in others) or any(
        _AGAINST.search(cell) for _, cell in others
    ):
        return found[0]
    said = [f"{cell}." for name, cell in others if cell and not _MEASURE.fullmatch(name)]
    return "\n".join(["", f"Answer: {row[called[0]]}", *said, ""])
