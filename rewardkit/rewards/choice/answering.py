"""Which option a response answers with: the last one stated, else the one that stands alone on a line."""

from __future__ import annotations

import re

import msgspec

from rewardkit.rewards.choice.naming import HEDGE, Named, exactly, is_list, mentions, named
from rewardkit.rewards.choice.question import ChoiceList, fold
from rewardkit.rewards.choice.ticks import with_ticks_read
from rewardkit.rewards.choice.weighing import left_in_force, weighed
from rewardkit.rewards.reading.commitment import breaks_off
from rewardkit.rewards.reading.numbered import numbered_apart
from rewardkit.rewards.reading.remarks import DENIES_BELOW
from rewardkit.rewards.reading.stated import (
    Statement,
    first_box,
    last_group,
    retracted,
    statements,
    unboxed,
    value_end,
    value_of_code,
    visible,
)
from rewardkit.rewards.reading.wordings import CONCLUSION, PREDICATE, REST_OF_REASON

ChoiceAnswer = tuple[Named, bool, str]
"""What a response chooses, whether it states so, and why."""

_FULL_WIDTH: dict[int, int | None] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_FULL_WIDTH |= dict.fromkeys(
    (0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)), None
)
"""What stands for other characters, or for none."""
_QUICK = re.compile(r"(?:^|[.\n]\s*(?:So |Thus,? |Therefore,? |Hence,? )?)(?:The (?:correct |final )?answer is:? |Answer: |the answer is )?\(?([A-J])\)?\.?\s*\Z")  # fmt: skip  # noqa: E501
_QUICK_TAIL = 80
_SPEAKS = re.compile(r"\b(?:[Nn]ot|[Ii]f|[A-HJ])\b")
_SPEAKING = ("nswer", "boxed", "n't", "n’t", "ption", "hoice")
"""Parts of words, looked for one by one: as alternatives of a pattern they cost four times as much."""
_SIGN_OFF = 200
"""Characters that may follow a conclusion: what is concluded earlier is a step."""
_LAST = 40
"""Statements that are read, from the end: only the last ones decide."""
_SUBJECT = 300
"""Characters before "is correct" in which its subject stands."""
_SENTENCE_END = re.compile(r"(?<![(\[*_\s][A-J])(?<!^[A-J])[.!?:]\s|\n|[;；。]")
_LEAD_IN = re.compile(
    r"(?:[\s*_#>-]|(?:so|thus|therefore|hence|only|and|but|clearly|in conclusion|here|that|then"
    r"|consequently|accordingly|overall|finally|as such|in short|to conclude"
    r"|from (?:this|here|which)|(?:it|this) (?:follows|means|shows|implies)|I['’]m sure"
    r"|(?:I|we) (?:think|believe|see|find|get|have|know|conclude|am sure|are sure)"
    r"|(?:out of|of|among) (?:the|these|all)(?: options| choices)?)\b[,:]?)*",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:looking at|among|of|based on|given|considering|comparing|from|after|by|with|for|eliminating|as"
    r"|since"
    r"|because|when|while|although|though|even though|whereas|unlike|despite"
    r"|in (?:conclusion|summary|short|this case))\b",
    re.IGNORECASE,
)
"""What a sentence may open with, up to a comma, that claims something."""
_UNSURE = re.compile(
    r"\b(?:if|whether|unless|suppose|assum\w{1,4}|say|says|said|argu\w{1,3}|think|thinks|claims?"
    r"|believes?|according)\b",
    re.IGNORECASE,
)
"""In what a sentence opens with: it claims nothing, or somebody else does."""
_CONDITIONAL = re.compile(
    r"\b(?:if|unless|suppos\w{1,3}|assum\w{1,3}|whether|were|had"
    r"|according to (?:what )?(?:some|many|most|others|him|her|them|people|legend|rumou?rs?))\b[^.!?\n]*$",
    re.IGNORECASE,
)
"""Up to a conclusion: it holds on a condition."""
_LIMITED = re.compile(
    r"\b(?:only|when|who|provided|case|almost|partly|formally|and|so|as well|too|likewise|equally|were)\b",
    re.IGNORECASE,
)
"""After "is correct": only sometimes, or another one too."""


_UNDECIDED = ("choosing: no single choice", "marker: one after another", "taken back afterwards")
"""What may have been read too narrowly."""


def read_answer(response: str, choices: ChoiceList) -> ChoiceAnswer:
    """Return what the response chooses, whether it states so, and why."""
    quick = _quick(response, choices)
    if quick is not None:
        return quick
    text, code = visible(response)
    if numbered_apart(text):
        return "several", True, "several numbered answers"
    if not text.isascii():
        text = text.translate(_FULL_WIDTH)
    if (five := text.rstrip(_CLOSING)[-5:]) in _FIVES and fold(five) not in choices.texts:
        text = _once(text)
    text = with_ticks_read(text, choices)
    found = (
        _stated(text, choices)
        or _stated(code, choices, response.rpartition("```")[2])
        or _of_entries(*((code, text) if code.strip() else (text, "")), choices)
        or _on_a_line(text if text.strip() else value_of_code(code), choices)
    )
    if found[0] is None or not found[1] or found[2].endswith(_UNDECIDED):
        one = weighed(text, choices)
        if one is not None:
            return one, False, "what is committed to in the end"
        if not found[1] and (one := _opening_label(text, choices)) is not None:
            return one, False, "the label that opens the response"
    return found


def _once(text: str) -> str:
    """A text whose answer is a letter five times, as LiveBench asks for it, with such letters once."""
    end = len(text.rstrip(_CLOSING)) - 5
    before = "\n" * (end < _READ_BEFORE) + text[max(0, end - _READ_BEFORE) : end]
    return _FIVE.sub(r"\1", text) if _ANNOUNCED.search(before) else text


_CLOSING = " \t\r\n.!*_)]}$\"'`”’"
_FIVES = frozenset(letter * 5 for letter in "ABCDEFGHIJ")
_FIVE = re.compile(r"(?<!\w)([A-J])\1{4}(?!\w)")
_ANNOUNCED = re.compile(
    r"(?:(?:[.!?:]\s|\n)\s*|\b(?:answer|choice|option|letter|choose|pick|select|go with)\b[^.\n]{0,40}?\W)"
    r"[*_(\[\"'`]{0,4}\Z"
)
_READ_BEFORE = 60


def _quick(response: str, choices: ChoiceList) -> ChoiceAnswer | None:
    """What most responses are: one letter, or "The answer is B." as the last sentence."""
    tail = response[-_QUICK_TAIL:]
    match = _QUICK.search(tail)
    if match is None or "<" in response or "```" in response or match[1] not in choices.labels:
        return None
    stated = match.end(1) - match.start() > 12
    if not stated and (len(response) > _QUICK_TAIL or match.start() > 0):
        return None  # a bare letter after other text: the slower rules say what else there is
    before = tail[: match.start()]
    if stated and (_speaks(before) or (match.start() < 12 and len(response) > _QUICK_TAIL)):
        return None
    return frozenset((choices.labels.index(match[1]),)), stated, "the last sentence"


def _speaks(text: str) -> bool:
    """Whether a text may say something about options, or on what condition."""
    return any(map(text.__contains__, _SPEAKING)) or _SPEAKS.search(text) is not None


def _stated(text: str, choices: ChoiceList, after: str = "") -> ChoiceAnswer | None:
    """The last statement that speaks of options, with those beside it; None when there is none.

    `after` is what follows the text.
    """
    said: list[tuple[Statement, Named]]
    said = [(s, r) for s in statements(text)[-_LAST:] if (r := _read_statement(s, choices)) is not None]
    said += _verdicts(text, choices, [s for s, _ in said])
    said += _conclusions(text, choices, [s for s, _ in said])
    if not said:
        return None
    said.sort(key=lambda pair: pair[0].start)
    group = last_group([s for s, _ in said], text)
    reads = {read for s, read in said[-len(group) :]}
    last = group[-1]
    if len(reads) > 1 or reads == {"several"}:
        why = "no single choice" if "several" in reads else "one after another"
        return "several", True, f"{last.kind}: {why}"
    read = reads.pop()
    tail = text[last.end :] + "\n" + after
    if retracted(text, last.end) or _continued(tail, {read}, choices) or not _in_force(read, tail, choices):
        return "several", True, f"{last.kind}: taken back afterwards"
    return read, True, last.kind


def _in_force(read: Named, rest: str, choices: ChoiceList) -> bool:
    """Whether what follows an answer leaves it in force."""
    return not isinstance(read, frozenset) or left_in_force(read, rest, choices)


def _continued(text: str, reads: set[Named], choices: ChoiceList) -> bool:
    """Whether the first line after an answer is another option and nothing else."""
    line = next((line for line in text.splitlines() if line.strip(" .*_}$\\)]")), "")
    return exactly(line, choices) not in {None, *reads}


def _read_statement(statement: Statement, choices: ChoiceList) -> Named:
    if statement.text.strip(" .\"'").casefold() in _NOTHING:
        return "several"
    former = _UNTIL.match(statement.text) if "till" in statement.text or "until" in statement.text else None
    if former and exactly(former["what"], choices):
        return None
    inner = _LIKELY.sub("", _ONE_OF_LIST.sub(r"\1", unboxed(statement.text)))
    if statement.kind == "choosing":
        exact = exactly(REST_OF_REASON.sub("", inner), choices)
        return exact or _sentence_within(inner, choices)
    claim = _CONCESSION.sub("", inner) if len(inner) <= _SUBJECT else inner
    read = named(claim if claim == inner or not mentions(inner[len(claim) :], choices) else inner, choices)
    if read != "several" or statement.kind == "boxed":
        return read
    box = first_box(statement.text)
    in_box = named(box, choices) if box and not HEDGE.search(statement.text) else None
    if isinstance(in_box, frozenset) and not mentions(statement.text.replace(box or "", " "), choices):
        return in_box
    return _sentence_within(inner, choices)


_NOTHING = frozenset(("null", "n/a", "unknown", "undecided"))
"""What stands in the place of an answer where there is none."""
_UNTIL = re.compile(r"(?P<what>[^,;.\n]{1,80}?)\s(?:until|till)\s")
"""What was the answer once: "B until yesterday"."""
_LIKELY = re.compile(r"\s*(?:most |very |quite )?(?:probably|likely)\s", re.IGNORECASE)
_ONE_OF_LIST = re.compile(r"^\s*\[\s*\"([^\"]*)\"\s*\]\s*$")
_CONCESSION = re.compile(
    r",?\s(?:although|though|even though|but)\s(?:I(?:['’]m|\sam)\snot\s(?:(?:100\s?%|completely|entirely"
    r"|absolutely|totally|fully|quite|a hundred percent)\s)?(?:sure|certain|positive)"
    r"(?:\s(?:about|of)\s(?:it|this|that))?[\s.!]*$|(?!.*\b(?:not|wrong|incorrect|could|might|may|or|maybe"
    r"|no|never|doubts?|misgivings|qualms|if"
    r"|false|mistaken|unsure|also|other|another|else|only|changed|differs?|disagrees?|anymore)\b"
    r"|.*n['’]t\b|.*\?).*$)",
    re.IGNORECASE | re.DOTALL,
)
"""After an answer: "though I would like to check it", "although I'm not 100% sure"."""


def _sentence_within(text: str, choices: ChoiceList) -> Named:
    """What the one statement within a statement says, where nothing else there speaks of options."""
    if len(text) > _SUBJECT:
        return "several"
    found = statements(text)
    if not found and not mentions(text, choices):
        return None
    if len(found) != 1 or mentions(text[: found[0].start] + " " + text[found[0].end :], choices):
        return "several"
    return named(found[0].text, choices)


def _verdicts(text: str, choices: ChoiceList, others: list[Statement]) -> list[tuple[Statement, Named]]:
    """`B is correct`, `Paris is the answer`; `B is wrong` commits to nothing."""
    found: list[tuple[Statement, Named]] = []
    for match in list(PREDICATE.finditer(text))[-_LAST:]:
        start, end = match.span()
        if any(s.start <= start < s.end for s in others) or _asked(text, end):
            continue
        denies = match["not"] or "n" in match["is"] or match["word"] in ("wrong", "incorrect", "false")
        tail = REST_OF_REASON.sub("", text[end : value_end(text, end)])
        if denies or HEDGE.search(tail) or _LIMITED.search(tail) or mentions(tail, choices):
            continue
        subject = _subject(text, start, choices)
        if subject is not None:
            found.append((Statement("marker", text[start:end], start, end), subject))
    return found


def _subject(text: str, end: int, choices: ChoiceList) -> frozenset[int] | None:
    """The one option of which a verdict that begins at `end` speaks."""
    clause = text[max(0, end - _SUBJECT) : end]
    for sentence_end in _SENTENCE_END.finditer(text[max(0, end - _SUBJECT) : end]):
        clause = text[max(0, end - _SUBJECT) : end][sentence_end.end() :]
    whole = exactly(_after_lead_in(clause), choices)
    opening, comma, rest = clause.lstrip(" *_#>-").rpartition(", ")
    if whole is None and comma and _ASIDE.match(opening) and not _UNSURE.search(opening):
        return exactly(_after_lead_in(rest), choices)
    return whole


def _after_lead_in(clause: str) -> str:
    return clause[len(_LEAD_IN.match(clause)[0]) :]  # type: ignore[index]  # it matches nothing, too


def _asked(text: str, end: int) -> bool:
    return re.match(r"[^.\n]{0,60}[?？]", text[end : end + 80]) is not None


def _conclusions(text: str, choices: ChoiceList, others: list[Statement]) -> list[tuple[Statement, Named]]:
    """`So it must be B`, `That leaves B`, `Therefore, Paris`: one option and no more, at the very end."""
    found: list[tuple[Statement, Named]] = []
    offset = max(0, len(text) - 2 * _SUBJECT - _SIGN_OFF)
    for match in CONCLUSION.finditer(text, offset):
        if not (match["so"] or match["it"]) or any(s.start <= match.end() < s.end for s in others):
            continue
        end = value_end(text, match.end())
        value = text[match.end() : end]
        read = exactly(value, choices)
        if read is None or text[end : end + 1] in ("?", "？") or len(text) - end > _SIGN_OFF:
            continue
        if _CONDITIONAL.search(text, max(0, match.start() - _SUBJECT), match.start()):
            continue
        of_much = not match["so"] and fold(value) in choices.texts  # "it is blue" is said of much
        if of_much or mentions(text[end:], choices):
            continue
        found.append((Statement("marker", value, match.start(), end), read))
    return found


def _on_a_line(text: str, choices: ChoiceList) -> ChoiceAnswer:
    """ChoiceList that stand alone on lines: one, or the same one again, is an answer."""
    lines = text.splitlines()
    reads = {i: read for i, line in enumerate(lines) if (read := _read_line(line, choices)) is not None}
    if not reads:
        return None, False, "no answer stated"
    read = reads[max(reads)]
    if len(set(reads.values())) > 1 or read == "several" or retracted(text, max(0, len(text) - 2_000)):
        return "several", False, "no single choice"
    above = next((line for line in reversed(lines[: max(reads)]) if line.strip()), "")
    if above and DENIES_BELOW.search(above):
        return None, False, "said to be wrong"
    rest = "\n".join(lines[max(reads) + 1 :])
    if breaks_off(rest) and any(line.strip() for line in lines[: max(reads)]):
        return None, False, "the heading of what breaks off"
    if not _in_force(read, rest, choices):
        return "several", False, "taken back afterwards"
    return read, False, "alone on a line"


def _of_entries(text: str, after: str, choices: ChoiceList) -> ChoiceAnswer | None:
    """The option that a JSON object, the whole response, gives under a key that chooses, where none of its
    values names another."""
    found = None if _SAYS.search(after) else _object(text)
    if found is None or any(_DENYING_KEY.search(key) for key in found):
        return None
    said = [(key, value) for key, value in found.items() if isinstance(value, str)]
    reads = [exactly(value, choices) for _, value in said]
    chosen = {read for read, (key, _) in zip(reads, said, strict=True) if _CHOOSING_KEY.search(key)} - {None}
    rest = [value for read, (_, value) in zip(reads, said, strict=True) if read is None]
    if len(chosen) != 1 or {*reads} - {None} != chosen or len(said) < len(found) - 1:
        return None
    one = next(iter(chosen))
    kept = all(not mentions(value, choices) and _in_force(one, value, choices) for value in rest)
    return (one, True, "an entry that chooses") if kept else None


def _object(text: str) -> dict[str, object] | None:
    """The JSON object that a text is, None where it is anything else."""
    plain = text.strip().removeprefix("json").strip()
    if not plain.startswith("{") or not plain.endswith("}") or len(plain) > _LONGEST_OBJECT:
        return None
    try:
        return msgspec.json.decode(plain.encode(), type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


_SAYS = re.compile(r"\w")
_LONGEST_OBJECT = 2_000
_CHOOSING_KEY = re.compile(r"select|chosen|choice|pick|predict|verdict|decision|decided", re.IGNORECASE)
_DENYING_KEY = re.compile(
    r"reject|wrong|elimin|exclu|discard|altern|second|other|not|dis|incorrect|confus|previous|first|revis"
    r"|correct|status|valid|user|student|human|their|people|common|old|example",
    re.IGNORECASE,
)


def _opening_label(text: str, choices: ChoiceList) -> frozenset[int] | None:
    """The option whose label opens a response of one line that speaks of no other: "B: It is heavy"."""
    found = _OPENING.fullmatch(text.strip())
    if found is None or found["label"] not in choices.labels or _OF_OPTIONS.search(found["rest"]):
        return None
    one = frozenset((choices.labels.index(found["label"]),))
    if HEDGE.search(found["rest"]) or mentions(found["rest"], choices):
        return None
    rest = found["rest"]
    first = rest.split()[0]
    said = (
        f"it {rest}" if first.islower() or first.endswith("s") else rest
    )  # a verb: the option is its subject
    return one if _in_force(one, said, choices) and _in_force(one, rest, choices) else None


_OPENING = re.compile(
    r"(?!A\s?:)[*_]{0,2}[(\[]?(?P<label>[A-J])[)\]]?[*_]{0,2}\s?(?:[:.|–—-]|(?<=[)\]])"
    r"|(?<=[)\]][*_]{2}))\s{1,3}"
    r"(?P<rest>\S+\s[^\n]{8,300})"
)
_OF_OPTIONS = re.compile(
    r"\b(?:only (?:because|if|when|as)|options?|choices?|statements?|terms?|refers?|describes?|means"
    r"|defin\w+|says|first|next|step"
    r"|consider|let)\b|\?",
    re.IGNORECASE,
)
"""What begins an analysis of an option."""


def _read_line(line: str, choices: ChoiceList) -> Named:
    if len(line) > 400 or not line.strip():
        return None
    read = named(line, choices, alone=True)
    if read == "several" and not is_list(line):
        return None  # a sentence that mentions options
    return read
