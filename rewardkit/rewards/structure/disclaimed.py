"""Whether the prose around a code fence says that what stands in it is wrong, or not to be used.

Only a sentence about the block itself counts: "invalid rows were dropped" says nothing of the data.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.own_words import disowned

_BAD = (
    r"(?:wrong|incorrect|invalid|untrue|false|broken|nonsense|mistaken|malformed|a (?:mistake|joke|lie"
    r"|typo|test)"
    r"|an error|made up|(?:an? )?(?:\w{1,12} )?(?:counter-?)?examples? of (?:an? )?(?:what not|how not"
    r"|wrong|incorrect"
    r"|invalid|bad)|(?:not|no longer) (?:the |my |a |an )?(?:\w{1,12} )?(?:right|correct|true|valid"
    r"|answer|it|final"
    r"|solution|result|what))\b"
)
_BLOCK = (
    r"(?:(?:the|this|that|my) )?(?:(?:above|previous|last|first) )?(?:json|yaml|xml|sql|object|block|code"
    r"|data|document"
    r"|query|answer|output|response|reply|snippet|mapping|list|config(?:uration)?|above"
    r"|statement)(?: (?:block|object"
    r"|document|query|answer|code|data|above|i (?:gave|wrote)))?"
)
_BEHIND = lazy_regex(
    rf"(?:\A|[.!?\n,:]\s*|\b(?:wait|no|sorry|but|oops|actually|hmm)[\s,.!:-]+)(?:that|this|it|which|{_BLOCK})"
    rf"(?:(?:['’]s| is| was| are| were)(?: (?:actually|completely|totally|all|clearly|simply))? {_BAD}"
    r"|(?: is| was| are)n['’]t (?:(?:the|my) )?(?:right|correct|true|valid|answer|it)\b)"
    r"|\b(?:do not|don['’]t|never) (?:use|trust|rely on|take|submit) (?:it|that|this|the above)\b"
    r"|\b(?:just|only|i was|i am|i['’]m) (?:kidding|joking)\b"
    r"|\b(?:ignore|disregard|forget|scratch|discard) (?:that|this|it|the above)\b"
    r"|\A\W*(?:wait|no|oops|hmm|actually|correction|sorry)\b[^.!?\n]{0,80}\b(?:should|must|ought to) "
    r"(?:be|have been|read|say)\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?:^\W*(?:wrong|incorrect|invalid|bad|false)(?: \w{1,12})?"
    r"|\b(?:following|this|below)(?: \w{1,12})? is (?:wrong|incorrect|invalid|false|not (?:the|my|an?"
    r"|right|correct))"
    r"[^.\n:]{0,60}"
    r"|\b(?:do not|don['’]t|never) (?:answer|use|write|output|return|reply|give|send)\b[^.\n:]{0,60}"
    r"|\b(?:example|sample)s? of (?:an? |what )?(?:wrong|incorrect|invalid|bad|not)\b[^.\n:]{0,60}"
    r"|\ban? (?:wrong|incorrect|invalid|bad) \w{1,12})\s?:\s*\Z",
    re.IGNORECASE,
)
_LINE = 200
"""Characters of the line before a fence that are looked at."""


def disclaimed(text: str) -> bool:
    """Return whether the line before the last code fence of a text, or what follows it, calls it wrong."""
    marks = text.count("```")
    if not marks:
        return False
    closing = text.rfind("```")
    opening = closing if marks % 2 else text.rfind("```", 0, closing)
    before = text[max(0, opening - _LINE) : opening].rstrip().rpartition("\n")[2]
    behind = "" if marks % 2 else text[closing + 3 :].strip()
    return _BEFORE.search(before) is not None or disowned(behind) or _BEHIND.search(behind) is not None
