"""What a judge's answer says: never a number or a word that it does not say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import NoVerdictError, read_verdict

FORMS: dict[str, dict[str, Any]] = {
    "numbers": {},
    "words": {"verdicts": {"yes": 1.0, "no": 0.0, "not sure": 0.5}},
    "json": {"score_field": "score"},
}


def options(**changes: Any) -> JudgeOptions:
    return JudgeOptions(**{"url": "http://localhost/v1", "model": "m", **changes})


def read(answer: str, marker: str = "V:", **changes: Any) -> float | None:
    """The verdict, or None where there is none."""
    try:
        return read_verdict(answer, marker, options(**changes)).value
    except NoVerdictError:
        return None


def labelled() -> list[tuple[str, str, float | None]]:
    """Form, text and verdict of each of the labelled texts."""
    found = []
    form = ""
    for line in (Path(__file__).parent / "verdict_texts.tsv").read_text().splitlines():
        if line.startswith("# "):
            form = line[2:]
        elif line:
            label, text = line.split("\t")
            text = text.replace("\\n", "\n").replace("\\\\", "\\")
            found.append((form, text, None if label == "-" else float(label)))
    return found


def test_of_three_hundred_labelled_texts_none_is_read_wrongly() -> None:
    texts = labelled()
    assert len({(form, text) for form, text, _ in texts}) == len(texts) >= 300
    found = {(form, text): read(text, **FORMS[form]) for form, text, _ in texts}
    differ = [(form, text, value) for form, text, value in texts if found[form, text] != value]
    assert not differ


READ = [
    "{n}", " {n}", "**{n}**", "`{n}`", "\"{n}\"", "({n})", "[{n}]", "[[{n}]]", "*{n}*.", "{n}.", "{n}!", "{n} ", "\n{n}",
    "\n\n**{n}**\n", "{n}/10", "{n} / 10", "**{n}/10**", "**{n}**/10", "{n} out of 10", "{n} of 10", "{n}/10.0", "({n}/10)",
    "{n} von 10", "{n} sur 10", "{n} из 10", "\\boxed{{{n}}}", "{n}</verdict>", "{n}\n```",
    "{n} points", "{n} out of 10 points", "{n} points out of 10", "{n}分", "<b>{n}</b>", "{n}<|im_end|>", "{n}<|eot_id|>\n",
    "**{n}** points", "{n} (out of 10)", "\\textbf{{{n}}}", "| {n} |", "{n}<br>", "{n}\nReason: it is short.", '{{"score": {n}}}',
    "{n}\n\n**Explanation:**\nThe tone is right,\nthe dates are not.", "{n}\n## Reasons\n- tone\n- dates", "`{{\"score\": {n}}}`",
    "{n}\n\n**Reason:** the dates are missing.", "{n}. The response is good but short.", "**{n}**. Good.", "{n}\n\nI hope this helps!",
    "{n}/10. It was written in 1987.", "{n}。回答很好", "{n}\nA {n} is fair.", "{n}\nThe term x² is missing.",
    '```json\n{{"reason": "short", "score": {n}}}\n```', "\n```json\n{{\"score\": {n}}}\n```\n", "{n}!\n",
]  # fmt: skip
"""What may stand behind the marker where {n} is the verdict."""

UNREADABLE = [
    "", "good", "about {n}", "score {n}", "~{n}", "≈{n}", "{n}/5", "{n}/100", "{n}/10/10", "{n} out of 5", "{n} of 20",
    "{n}-3", "{n} - 4", "{n} to 9", "3 or {n}", "{n} or 5", "{n}, or rather 2", "{n} (10 = perfect)", "{n}, because step 9 is missing",
    "{n} out of a possible 100", "10点満点で{n}点", "满分10分，{n}分", "{n}½", "{n} + ½", "{n}²", "{n}、満足", "{n}?", "{n}, a good one",
    "{n}e1", "{n}k", "{n}th", "{n}x", "{n}_", "{n},5", "1.{n}.2", "{n} %", "{n}%", "between {n} and 9", "x{n}", "-{n}1", "N/A, else {n}",
    "{n} on style, 2 on content", "2 + {n}", "{n}/ten 4", "VIII or {n}", "{n}\nNo: six.", "{n}\nConfidence: 9",
    "{n}. No, six.", "{n}. Nein, sechs.", "{n}.\nNon, six.", "{n} (or 4)", "{n} - or eight", "{n}\n\nOn reflection, 5.", "{n}\nИли шесть.",
    "{n} (good)", "{n} - a step is missing", "{n} - one", "{n} (minus one)", "{n} (out of 20)", "{n}. 25", "{n}\nMaybe 7-8.",
    "{n}\nBesser 8,75.", "\n{n}. Accurate\n{n}. Clear", "{n}. of mistakes", "{n}\nRather 7½.", '{{"score": "6/10", "confidence": {n}}}',
    '{{"score": null, "confidence": {n}}}', '{{"score": "5", "max": {n}}}',
    '{{"score": {n}, "style": 2}}', '{{"score": {n}}} 4', '{{"scores": [{n}]}}', "{n}.. ", "{n}. 4", "{n}; 6", "{n} 分、または六", "{n} maybe",
    "{n}\nFinal V: changed", "~~{n}~~", "<strike>{n}</strike>", "<del>{n}", "{n}</del>", "\\cancel{{{n}}}", "{n} <or 6>",
]  # fmt: skip
"""What no number can be read from, whatever {n} is."""


def test_more_than_five_hundred_endings_are_read_rightly_or_not_at_all() -> None:
    befores = [
        "It lacks 2 of 4 facts.",
        "",
        "I end with V: and a number.",
        "<think>9?</think>",
        "<|channel|>analysis<|message|>V: 9?<|end|><|start|>assistant<|channel|>final<|message|>",
    ]
    tried = [
        (f"{before}\nV: {ending.format(n=n)}", n if ending in READ else None)
        for before in befores
        for n in (0, 3, 7.5, 10)
        for ending in (*READ, *UNREADABLE)
    ]
    assert len(tried) > 500
    assert not [(text, value) for text, value in tried if read(text) != value]


@pytest.mark.parametrize("marks", [
    "{}", "**{}**", "- {}", "* **{}**", "3. {}", "a) {}", "### {}", "→ {}", "✅ {}", "| {} |", "({})", "[{}]", "`{}`", "$\\boxed{{{}}}$",
    "<b>{}</b>", '<p class="x">{}</p>', "<verdict>{}</verdict>", "```\n{}\n```", "---\n{}\n---", "## V\n{}",
    "It lacks two facts. {}", "Is it right? No! **{}**", "回答很好。{}", "It says:\n{}", "~~V: 3~~\n{}", "<del>V: 3</del>\n\n{}",
])  # fmt: skip
def test_marks_and_whole_sentences_may_stand_before_the_marker(marks: str) -> None:
    assert read(marks.format("V: 7")) == 7.0


@pytest.mark.parametrize("words", [
    "Example: {}", "**Example:** {}", "Use the form {}", "Max {}", "Max. {}", "**Max** {}", "e.g. {}", "(such as {})", "At most {}",
    "He wrote: {}", 'It says "{}"', '"{}"', "It ends with `{}`", "> {}", "If so, {}", "Not {}", "1. Example: {}", "<i>Max</i> {}",
    "~~{}~~", "<del>{}</del>", "<del>{}", "<strike>\n{}\n</strike>", "<blockquote>{}</blockquote>", "<example>{}</example>", "<!-- {} -->", "\\sout{{{}}}",
])  # fmt: skip
def test_other_text_on_the_markers_line_leaves_no_verdict(words: str) -> None:
    assert read(words.format("V: 7")) is None
    assert read("It is good.\n" + words.format("V: yes"), **FORMS["words"]) is None


def test_an_object_has_lines_of_its_own_and_ends_the_answer() -> None:
    for text in (
        "Good.\n{}",
        "Good.\n```json\n{}\n```\n",
        "**V:** {}",
        "V:\n```\n{}\n```",
        "{}\nReason: it is short.",
        "```\n{}\n```\nI hope this helps!",
    ):
        assert read(text.format('{"score": 7}'), **FORMS["json"]) == 7.0, text
    for text in (
        "He wrote {}",
        "{} is my verdict.",
        "{} 4",
        "{}\nIt is 4 of 10.",
        "~~{}~~",
        "<del>{}</del>",
        "Example: {}",
        "[{}]",
        "> {}",
    ):
        assert read(text.format('{"score": 7}'), **FORMS["json"]) is None, text
    assert read('{"reason": "short", "V": 7}') == 7.0
    assert read('```json\n{"V": 7}\n```') == 7.0
    assert read('{"V": 7, "confidence": 3}') is None


@pytest.mark.parametrize(
    "answer", ["**V**: 7", "`V`: 7", "__V__: 7", "<b>V</b>: 7", "V： 7", "<b>V:</b> 7", "_V:_ 7"]
)
def test_the_marker_may_be_marked_up(answer: str) -> None:
    assert read(answer) == 7.0


def test_without_a_marker_the_verdict_is_the_last_line_or_the_first() -> None:
    assert read("It lacks 2 of 4 facts.\n6/10\n", "") == 6.0
    assert read("<think>9 or 10?</think>2", "") == 2.0
    assert read("6/10\n\nReason: it is short.", "") == 6.0
    assert read("6/10\n\nI hope this helps!", "") == 6.0
    for text in ("Score: 6/10", "It lacks 2 of 4 facts: 6", "It has 2/4 facts"):
        assert read(text, "") is None
    assert read("Reasons.\nFinal Score: 6/10", "Final Score:") == 6.0


def test_two_verdicts_are_none() -> None:
    with pytest.raises(NoVerdictError, match="another verdict before '3'"):
        read_verdict("V: 9, I mean\nV: 3", "V:", options())
    assert read("V: 3, I mean\nV: 3") == 3.0
    assert read("I will end with V: and a number.\nV: 3") == 3.0


def test_a_pattern_of_ones_own_must_always_find_the_same() -> None:
    pattern = {"score_pattern": r"grade (?P<score>\S+)"}
    assert read("A grade 7 so V: grade 7", "", **pattern) == 7.0
    for text in ("A grade 3, V: grade 7", "grade 11", "grade -1", "grade good", "grade nan", "7"):
        assert read(text, "", **pattern) is None


def test_a_field_of_an_object_may_lie_deeper() -> None:
    deep = {"score_field": "verdict.score"}
    assert read('{"verdict": {"score": 6}}', **deep) == 6.0
    for text in (
        '{"verdict": 6}',
        '{"verdict.score": 6}',
        '{"score": 6}',
        '{"verdict": {"score": 1, "score": 6}}',
    ):
        assert read(text, **deep) is None
    assert read('{"ok": true}', score_field="ok", verdicts={"true": 1.0, "false": 0.0}) == 1.0


@given(st.text(alphabet='{}[]"score:0123456789eE.-+ \nV'), st.booleans())
def test_any_answer_is_a_verdict_on_the_scale_or_none(answer: str, as_json: bool) -> None:
    found = read(answer, "V:" if "V" in answer else "", **(FORMS["json"] if as_json else {}))
    assert found is None or 0.0 <= found <= 10.0


def test_a_long_answer_is_read_quickly() -> None:
    for text in ("V: 7" + " *" * 100_000 + "x", "V:" * 20_000 + " 7", "(" * 200_000, "{" * 200_000):
        assert read(text) in (None, 7.0)
        assert read(text, **FORMS["json"]) is None


def test_what_is_no_verdict_says_why() -> None:
    for form, text, value in labelled():
        if value is None:
            with pytest.raises(NoVerdictError) as caught:
                read_verdict(text, "V:", options(**FORMS[form]))
            assert re.search(r"\w", str(caught.value)) and "\n" not in str(caught.value)


def test_an_earlier_verdict_in_another_form_is_seen() -> None:
    for answer in ('V: {"score": 3}\nV: 7', "V: three\nV: 7", "V: <3>\nV: 7", "V: <3>\n7", "V: 3/10\nV: 7"):
        assert read(answer) is None, answer
    for answer in (
        'V: {"verdict": "no"}\nV: yes',
        "V: <no>\nyes",
        "V: no\n_Yes_, I mean.",
        'V: {"verdict": "no, it differs", "formatted": "yes"}',
        'V: {"correct": false, "clear": "yes"}',
        "V: yes (not really)",
        "V: yes - not!",
        "V: No. of mistakes: 3",
    ):
        assert read(answer, **FORMS["words"]) is None, answer


@pytest.mark.parametrize("answer", ["__V: 7__", "V: __7__", "__V:__ 7", "Subscore: 4\nV: 7"])
def test_underscores_are_marks_as_stars_are(answer: str) -> None:
    assert read(answer) == 7.0


def test_a_marker_within_a_word_is_none() -> None:
    assert read("score: 7\nSubscore: high", "score:") == 7.0
    assert read("Underscore: 4", "score:") is None
    assert read("最终评分：7", "评分：") is None
    assert read("回答很好。评分：7", "评分：") == 7.0
    assert read("Score: 7, then VI.", "Score:") is None


def test_a_roman_numeral_behind_a_verdict_is_another_verdict() -> None:
    assert read("V: 7. On reflection, IV.") is None
    assert read("V: 7. Part VII is clear.") == 7.0
    assert read("V: 7\nReason: part IV is missing.") is None
