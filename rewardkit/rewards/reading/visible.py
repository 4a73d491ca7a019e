"""What a reader sees of a response: after the reasoning, before any end-of-text token, nothing hidden.

Rewards that look for an answer look only there. Everything is `str.find` or a regex without nested
repetition, so a response of 10 MB costs no more than a few passes of C code.
"""

from __future__ import annotations

import html
import re
import unicodedata

from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.hidden_latex import without_hidden_latex
from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.special_tokens import END_OF_TEXT, strip_end
from rewardkit.types import Message

_DRAWN_AS_NOTHING = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and pictures that are not seen; controls and characters of no width are none."""
_LETTER_OR_DIGIT = lazy_regex(rf"[^\W_{''.join(_DRAWN_AS_NOTHING)}]")
_SHORT = 20
"""Characters of a question that may as well be an answer."""
_THOUGHT_TAG = lazy_regex(r"<(/?)think>")
_OPENING_TOKENS = lazy_regex(
    r"\s*(?:(?:<s>|<bos>|<seed:bos>|\[gMASK\]\s?(?:<sop>|sop\b)?|<\|(?:START_OF_TURN_TOKEN|bom)\|>)\s*)*"
    r"(?:<\|(?:assistant|ASSISTANT|CHATBOT_TOKEN|hy_Assistant|assistant_start)\|>|<｜(?:hy_)?Assistant｜>"
    r"|\[/INST\]|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|<\|header_start\|>assistant<\|header_end\|>|<\|start_of_role\|>assistant<\|end_of_role\|>"
    r"|<\|im_start\|>assistant(?:<\|im_sep\|>)?|<\|im_assistant\|>assistant<\|im_middle\|>"
    r"|<\|BOT\|>assistant|<start_of_turn>model\b|<(?:SPECIAL_\d{1,3}|extra_id_1)>Assistant\b"
    r"|(?<=<seed:bos>)assistant\b|<role>ASSISTANT</role>)?\s*"
)
"""With which a response opens that repeats the end of its prompt."""
_OPENING_BRACKETS = lazy_regex(r"\s*(?:\[\|assistant\|\]|\]~b\]ai\n)\s*")
_TOKEN_IN_BRACKETS = lazy_regex(r"\[(?:/?INST\]|EOS\]|\||e|THINK\])")
_CLOSED_BEFORE = lazy_regex(r"\][(:]")
"""What stands in each definition, comment, image and link."""
_FINAL = "<|channel|>final<|message|>"
_SPOKEN = "assistantfinal"
_CHANNEL_NAME = lazy_regex(r"analysis(?=[A-Z\d\"'(\[*`\\$])")
_CUT = (
    ("<!--", "-->"), ("<\\!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", "?>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"), ("<|thinking|>", "<|/thinking|>"),
)  # fmt: skip
"""Comments, escaped ones too, declarations, instructions to programs, and thoughts."""
_COMMENTS = (*_CUT[:2], ("&lt;!--", "--&gt;"))
_has_tag = lazy_regex(r"<[/|｜!?\\a-zA-Z]").search
_ATTRIBUTE = (
    r"\s{1,20}[\w:@.-]{1,40}(?:\s{0,3}=\s{0,3}(?:\"[^\"]{0,2000}\"|'[^']{0,2000}'|[^\s\"'<>=]{1,500}))?"
)
_ELEMENT = lazy_regex(
    rf"<(?P<name>[a-zA-Z][\w:-]{{0,30}})(?P<attributes>(?:{_ATTRIBUTE}){{0,20}}(?=\s{{0,20}}/?>)"
    rf"|\s[^<>]{{0,300}})"
    r"\s{0,20}/?>"
)
"""An element's beginning, with what stands in it: attributes, whose values may hold signs of elements."""
_FOLDED = table(
    "details script style template noscript title textarea del strike dialog datalist object canvas audio "
    "video head rp annotation defs desc metadata noframes noembed select comment spoiler"
)
"""Elements whose content a browser does not show, folds away, or strikes out."""
_REASONING = table(
    "thinking thought thoughts reasoning scratchpad reflection draft seed:think example wrong incorrect"
)
"""Elements in which models think and give examples."""
_VOID = table("input img meta link source embed param area iframe")
"""Elements without content: what their attributes say is not on the page."""
_HIDING = lazy_regex(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}(?:hidden|collapse)|\shidden\b"
    r"|font-size\s{0,3}:\s{0,3}0"
    r"|opacity\s{0,3}:\s{0,3}0(?!\.\d{0,3}[1-9])|(?<![\w-])(?:max-)?(?:width"
    r"|height)\s{0,3}:\s{0,3}0(?![.\d]*[1-9])"
    r"|(?<!-)color\s{0,3}[:=]\s{0,3}[\"']?(?:white|transparent|\#f{3}"
    r"|rgba?\(\s{0,3}255\s{0,3},\s{0,3}255\s{0,3},\s{0,3}255"
    r"|rgba\([^()]{1,40},\s{0,3}0\s{0,3}\))|(?:left|top|right|bottom|indent)\s{0,3}:\s{0,3}-\d{3}"
    r"|(?<![\w-])clip(?:-path)?\s{0,3}:|scale\(\s{0,3}0\s{0,3}[,)]"
    r"|class\s{0,3}=\s{0,3}[\"']?(?:[\w -]{0,80}\s)?(?:hidden|d-none|sr-only|visually-hidden|invisible)\b",
    re.IGNORECASE,
)
"""Attributes of an element that is not seen."""
_QUOTED = ('"', "'", "boxed", "####")
"""What marks attributes: a formula such as `1 < x and y > 2` is no element."""
_STRUCK_OUT = lazy_regex(r"(?:(?<=\s)|^)~~(?=\S)[^~\n]{1,500}(?<=\S)~~(?=[\s.,;:!?)]|$)")
_TILDE_FENCE = lazy_regex(r"^\s{0,3}~{3,}", re.MULTILINE)
_MARKDOWN_COMMENT = lazy_regex(r"^\s{0,3}\[(?://|comment)\]:\s.*$", re.MULTILINE | re.IGNORECASE)
_DEFINITION = lazy_regex(
    r"^[^\S\n]{0,3}\[(?!\^|[^\]\n]{0,60}(?:answer|result|solution|final|step|part|答案))[^\]\n]{1,60}\]:"
    r"\s{0,3}\S{1,500}(?:\s{1,3}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|\([^()\n]{0,500}\)))?"
    r"[^\S\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""Markdown's definition of a link: `[x]: destination "title"`. A label such as [Answer] states something."""
_IMAGE = lazy_regex(r"(?<!\w)!\[[^\[\]\n]{0,500}\]\([^()\n]{0,500}(?:\([^()\n]{0,100}\)[^()\n]{0,100})?\)")
_LINK = lazy_regex(
    r"(?<![\w\\\])}])\[(?=[^\[\]\n]{0,200}[a-zA-Z])([\w\s.,:'’-]{1,200})\]"
    r"\((?:[#/][^()\n]{0,500}|[^()\n]{0,300}(?:://|boxed|####|[\"<])[^()\n]{0,500})\)"
)
"""Only its text is seen, not where it leads."""
_INLINE_CODE = lazy_regex(
    r"(?<![`\\])(`{1,2})(?![\s`])[^`\n]{0,500}?(?:boxed|####|nswer)[^`\n]{0,500}(?<!\s)\1(?![`\w'])"
)
"""Code within a line that states an answer."""
_LATEX_COMMENT = lazy_regex(r"(^|[^\d\s$)\\])[^\S\n]{1,20}%[^\n]*|^%[^\n]*", re.MULTILINE)
"""A percent sign that no number, formula or letter stands before."""


def visible(response: str) -> str:
    """Return the part of a response that counts: "" when it is all reasoning that never ended."""
    text = response
    if "analysis" <= text < "analysit":  # begins with the first: thrice as fast as `startswith`
        text = _without_channels(text)
    if "<" in text and _has_tag(text):
        text = _without_markup(text)
    if "[" in text:
        text = _without_bracketed(text)
    if "◁" in text:
        text = text.rpartition("◁/think▷")[2] if "◁/think▷" in text else text.partition("◁think▷")[0]
    if "%" in text and _may_be_comment(text):
        text = _LATEX_COMMENT.sub(r"\1", text)
    if "\\" in text:
        text = without_hidden_latex(text)
    if "&" in text and "&lt;!--" in text:
        text = _cut(text, *_COMMENTS[-1])
    if "~" in text and "~~" in text:  # one sign is found far faster than two
        text = _STRUCK_OUT.sub("", _TILDE_FENCE.sub("```", text))
    return text


def _without_bracketed(text: str) -> str:
    """The text without Markdown's comments, images and targets, and before the end of a turn in brackets."""
    text = strip_end(text)
    if _CLOSED_BEFORE.search(text):
        if "]:" in text:
            text = _DEFINITION.sub("", _MARKDOWN_COMMENT.sub("", text))
        if "](" in text:
            text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    if _TOKEN_IN_BRACKETS.search(text):
        opening = _OPENING_BRACKETS.match(text)
        text = _before_end(text[opening.end() :] if opening else text)
        text = _cut(text, "[THINK]", "[/THINK]")
    return text


def _may_be_comment(text: str) -> bool:
    """Whether a percent sign stands after space or at the very beginning: the others are found fast."""
    at = text.find("%")
    while at > 0 and not text[at - 1].isspace():
        at = text.find("%", at + 1)
    return at >= 0


def without_comments(text: str) -> str:
    """Return a text without HTML's and Markdown's comments, in which no call and no answer stands."""
    for opening, closing in _COMMENTS:
        text = _cut(text, opening, closing) if opening in text else text
    return _MARKDOWN_COMMENT.sub("", text) if "]:" in text else text


def without_question(response: str, prompt: str | list[Message] | None) -> str:
    """Return a response without the question, where it repeats it: what is asked is no answer."""
    question = question_of(prompt).strip()
    return response.replace(question, " ") if len(question) > _SHORT else response


def question_of(prompt: str | list[Message] | None) -> str:
    """Return the text of a prompt: of its last message where it is a list of them."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return str(prompt[-1].get("content", "")) if prompt else ""


def outside_code(text: str) -> str:
    """Return a text without its fenced code blocks, of which one that never closes runs to the end, and
    without answers in code within a line."""
    pieces = text.split("```")
    return _INLINE_CODE.sub(" ", "\n".join(pieces[::2]))


def without_code_comments(text: str) -> str:
    """Return a text without the comments in its fences of code: what code says beside its work is no answer.

    A fence with nothing but comments, and one of text, stay as they are.
    """
    return _FENCE.sub(_without_comments_of_fence, text) if "```" in text else text


def _without_comments_of_fence(fence: re.Match[str]) -> str:
    code = fence["code"]
    unnamed = "code" if not fence["language"] and _CODE_LINE.search(code) else "slashes"
    comment = _COMMENT_IN[_FAMILY.get(fence["language"].casefold(), unnamed)]
    bare = comment.sub(lambda m: m["text"] or "", code)
    return fence["head"] + (bare if _SAYS.search(bare) else code)


_SAYS = lazy_regex(r"\w")
_FENCE = lazy_regex(
    r"(?P<head>```[ \t]*(?P<language>[\w+#.-]{0,20})[^\n`]*\n)(?P<code>.*?)(?=```|\Z)", re.DOTALL
)
_FAMILY = {
    **dict.fromkeys(
        ("python", "python3", "py", "py3", "pypy", "ruby", "rb", "r", "perl", "sh", "bash"), "hashes"
    ),
    **dict.fromkeys(("sql", "sqlite", "mysql", "postgresql", "lua", "haskell", "hs", "ada"), "dashes"),
}
"""Languages by what begins a comment; in all others slashes do."""
_TEXT = r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_COMMENT_IN = {
    "hashes": lazy_regex(
        rf"^[ \t]*(?:\"{{3}}.*?(?:\"{{3}}|\Z)|'{{3}}.*?(?:'{{3}}|\Z))|{_TEXT}|(?:(?<=\s)|^)\#[^\n]*",
        re.DOTALL | re.M,
    ),
    "dashes": lazy_regex(rf"{_TEXT}|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL),
    "slashes": lazy_regex(rf"{_TEXT}|(?:(?<=\s)|^)//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL | re.M),
    "code": lazy_regex(rf"{_TEXT}|(?:(?<=\s)|^)(?:\#|//)[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL | re.M),
}
"""Texts, which are kept, and comments."""
_CODE_LINE = lazy_regex(
    r"^[ \t]*(?:(?:print|console\.log|printf)\s?\(|(?:return|import|from|def|class|elif)\b[^.\n]*$"
    r"|(?:const|let|var|int|float|double|final|auto|my|local)\s\w{1,30}\s?=|(?:for|while"
    r"|if)\b[^\n]*[:{][ \t]*$"
    r"|(?:\w{0,20}_)?(?:answer|result|ans|choice|solution)\s?=\s?(?:[\"']|-?\d|None\b|null\b))",
    re.M,
)
"""A line that can only be code, where no language is named."""


def seen(text: str) -> bool:
    """Return True when a text has more than blanks, controls and characters that are not seen."""
    shown = html.unescape(text)
    return any(char.isprintable() and not char.isspace() and char not in _DRAWN_AS_NOTHING for char in shown)


def says(text: str) -> bool:
    """Return True when a text has a letter, a digit or a symbol such as an emoji; `{}` and `[]` are data.

    Blanks, punctuation, Markdown's marks and what is not seen say nothing by themselves.
    """
    shown = html.unescape(text)
    if _LETTER_OR_DIGIT.search(shown) is not None or text.strip() in ("{}", "[]"):
        return True
    return not shown.isascii() and any(
        unicodedata.category(char)[0] == "S" and not char.isascii() and char not in _DRAWN_AS_NOTHING
        for char in shown
    )


def reply(response: str) -> str:
    """Return what follows the reasoning and precedes any end-of-text token, with all its markup.

    For what is read as it stands: calls, data, texts that follow instructions.
    """
    response = _without_channels(response) if response.startswith("analysis") else response
    return _reply(response) if "<" in response or "[" in response else response


def outside_thoughts(text: str) -> str:
    """Return what stands outside of `<think>...</think>`, which may come several times.

    A thought that never ends runs to the end; one that only ends was opened by the prompt, so that all before
    it is thought. A tag within a thought is a part of it.
    """
    kept: list[str] = []
    position = 0
    thinks = False
    for tag in _THOUGHT_TAG.finditer(text):
        if tag[1]:
            kept = kept if thinks else []
            position = tag.end()
            thinks = False
        elif not thinks:
            kept.append(text[position : tag.start()])
            thinks = True
    kept += [] if thinks else [text[position:]]
    return "\n".join(piece for piece in kept if piece.strip())


def _without_channels(text: str) -> str:
    """What stands in the final channel of OpenAI's harmony where its special tokens were not decoded.

    `analysisWe add.assistantfinal72` was `<|channel|>analysis<|message|>We add...`; calls stay as they are.
    """
    if _CHANNEL_NAME.match(text) is None or "assistantcommentary to=" in text:
        return text
    return text.rpartition(_SPOKEN)[2] if _SPOKEN in text else ""


def _reply(text: str) -> str:
    text = strip_end(text)
    if "think>" in text:
        text = outside_thoughts(text)
    opening = _OPENING_TOKENS.match(text)
    if opening and not opening[0].isspace():
        text = text[opening.end() :]
    if "<|channel|>" in text:
        text = text.rpartition(_FINAL)[2] if _FINAL in text else ""
    return _before_end(text)


def _without_markup(text: str) -> str:
    text = _reply(text)
    for opening, closing in _CUT:
        text = _cut(text, opening, closing) if opening in text else text
    if "<|" in text:
        text = _BOX_TOKEN.sub("", _BOX_OF_TOKENS.sub(_boxed, text))
        text = _ANSWER_TOKEN.sub(lambda found: "Answer: " if found["opens"] else "\n", text)
    return _without_elements(text) if "<" in text else text


_BOX_OF_TOKENS = lazy_regex(r"<\|begin_of_box\|>(?P<said>[^|]{0,2000})<\|end_of_box\|>")
_BOX_TOKEN = lazy_regex(r"<\|(?:begin|end)_of_box\|>")
_ANSWER_TOKEN = lazy_regex(
    r"<\|(?:(?P<opens>answer|(?:begin|start)_of_answer|answer_start)|/answer|end_of_answer|answer_end"
    r"|START_RESPONSE|START_TEXT|response)\|>"
)
"""Tokens round an answer, and what announces a response behind its thoughts."""


def _boxed(found: re.Match[str]) -> str:
    """The box that GLM's tokens stand for, in LaTeX."""
    said = found["said"].strip()
    return said if "boxed" in said or said.count("{") != said.count("}") else f"\\boxed{{{said}}}"


def _before_end(text: str) -> str:
    ended = END_OF_TEXT.search(text)
    return text[: ended.start()] if ended else text


def _cut(text: str, opening: str, closing: str) -> str:
    """The text without what stands between the two marks, to its end where the second is missing."""
    kept = []
    position = 0
    while (start := text.find(opening, position)) >= 0:
        kept.append(text[position:start])
        end = text.find(closing, start)
        if end < 0:
            return "".join(kept)
        position = end + len(closing)
    return "".join([*kept, text[position:]])


def _without_elements(text: str) -> str:
    """The text without attributes, and without elements that a browser folds away or does not show."""
    kept: list[str] = []
    position = 0
    while (found := _ELEMENT.search(text, position)) is not None:
        name = found["name"].lower()
        attributes = found["attributes"]
        kept.append(text[position : found.start()])
        position = found.end()
        if name in _FOLDED or name in _REASONING or (name not in _VOID and _HIDING.search(attributes)):
            position = _end_of_element(text, name, position)
        elif name not in _VOID:
            kept.append(f"<{found['name']}>" if any(map(attributes.__contains__, _QUOTED)) else found[0])
    return "".join([*kept, text[position:]])


def _end_of_element(text: str, name: str, start: int) -> int:
    """Where the element of that name ends whose content begins at `start`: with the text if it never does."""
    depth = 1
    for found in lazy_regex(rf"<(/?){re.escape(name)}(?![\w:-])[^<>]{{0,300}}>", re.IGNORECASE).finditer(
        text, start
    ):
        depth += -1 if found[1] else 1
        if depth == 0:
            return found.end()
    return len(text)
