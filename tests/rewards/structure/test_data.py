"""json, yaml and xml: well-formed, fitting a schema, holding values; hostile data is only wrong."""

from __future__ import annotations

import json as jsonlib
from typing import Any

import pytest

from rewardkit.rewards.structure import data
from rewardkit.rewards.structure.data import DataOptions
from rewardkit.types import Sample, Score

pytest.importorskip("jsonschema", reason="the extra 'structure' is not installed")

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def scored(kind: str, response: str, truth: Any = "", **options: Any) -> Score:
    text = truth if isinstance(truth, str) else jsonlib.dumps(truth)
    score: Score = getattr(data, kind)(Sample(kind, response, text), DataOptions(**options))
    return score


def test_json_is_well_formed_strict_and_alone() -> None:
    for right in (
        '{"a": 1}',
        "[]",
        '```json\n{"a": 1}\n```',
        "Here:\n```\n[1]\n```\nDone.",
        "<think>x</think>3",
    ):
        assert scored("json", right).correct, right
    for wrong in (
        "",
        "{a: 1}",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": 1} x',
        "[1,]",
        "[" * 50_000,
        "1" * 200_000,
        "```json\n{\n```",
    ):
        found = scored("json", wrong)
        assert (found.status, found.score) == ("ok", 0.0), wrong[:20]


def test_numbers_that_no_float_holds_equal_none() -> None:
    for kind, truth, response in (
        ("json", "1", "1e400"), ("json", "0", "1e-400"), ("json", "0", "-0.0001e-400"), ("json", {"value": {"a": 0}}, '{"a": 1E-999}'),
        ("yaml", {"value": {"a": 0}}, "a: 1e-400"), ("yaml", {"value": {"a": 1}}, "a: 1e400"),
    ):  # fmt: skip
        found = scored(kind, response, truth)
        assert (found.status, found.score) == ("ok", 0.0), found
    for truth in ("1e400", "-1e-400"):
        assert scored("json", truth, truth).status == "invalid"
    assert scored("json", "0.0e-5", "0").score == scored("json", "1e-300", "1e-300").score == 1.0
    assert scored("yaml", "a: -0.0e-500", {"value": {"a": 0}}).score == 1.0


def test_json_fits_a_schema() -> None:
    truth = {"schema": PERSON}
    assert scored("json", '{"name": "Ann", "age": 3}', truth).correct
    for wrong in (
        '{"name": "Ann"}',
        '{"name": "ann", "age": 3}',
        '{"name": "Ann", "age": "3"}',
        '{"name": "Ann", "age": 3, "x": 1}',
        "[]",
    ):
        assert scored("json", wrong, truth).score == 0.0, wrong


def test_a_schema_that_cannot_be_applied_is_our_fault() -> None:
    for schema in (
        {"type": "nothing"},
        {"$ref": "http://example.invalid/x"},
        {"$ref": "#/no"},
        {"$ref": "#"},
        {"pattern": "("},
    ):
        assert scored("json", '"x"', {"schema": schema}).status == "invalid", schema


def test_a_slow_pattern_ends_and_does_not_match() -> None:
    truth = {"schema": {"type": "string", "pattern": r"^(a+)+(b|c)\1$"}}
    found = scored("json", jsonlib.dumps("a" * 5_000 + "!"), truth)
    assert (found.status, found.score) == ("ok", 0.0)


def test_values_are_paid_all_or_by_the_field() -> None:
    truth = {"value": {"a": 1, "b": [1, 2], "c": {"d": "x"}}}
    right = '{"c": {"d": "x"}, "b": [1, 2.0], "a": 1}'
    assert scored("json", right, truth).score == 1.0
    near = '{"a": 1, "b": [1, 3], "c": {"d": "x"}}'
    assert scored("json", near, truth).score == 0.0
    assert scored("json", near, truth, pay="fields").score == pytest.approx(0.75)
    assert scored("json", near, truth, valid_score=0.1).score == 0.1
    more = '{"a": 1, "b": [1, 2], "c": {"d": "x"}, "e": 1, "f": 2, "g": 3, "h": 4}'
    assert scored("json", more, truth, pay="fields").score == pytest.approx(0.5)
    for wrong in ('{"a": true}', '{"a": "1"}', "{}", "null", '[{"a": 1}]'):
        assert scored("json", wrong, {"value": {"a": 1}}, pay="fields").score == 0.0, wrong


@pytest.mark.slow
def test_yaml_is_a_mapping_or_list_without_aliases() -> None:
    assert scored("yaml", "a: 1\nb: [x, y]", {"value": {"a": 1, "b": ["x", "y"]}}).correct
    assert scored("yaml", "```yaml\n- 1\n- 2\n```").correct
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)
    )
    for wrong in (
        "hello",
        "",
        "a: [1",
        "!!python/object/apply:os.system [ls]",
        bomb,
        "a: &x [*x]",
        "- " * 10_000,
        "[" * 10_000,
        "? [a]\n: b",
    ):
        found = scored("yaml", wrong)
        assert (found.status, found.score) == ("ok", 0.0), wrong[:30]


def test_xml_tags_stand_once_in_order_and_filled() -> None:
    truth = ["think", "answer"]
    assert scored("xml", "<think>a</think>\n<answer>b</answer>", truth).correct
    for wrong in (
        "<think>a</think>", "<answer>b</answer><think>a</think>", "<think></think><answer>b</answer>", "x<think>a</think><answer>b</answer>",
        "<think>a</think><answer>b</answer>x", "<think>a</think><answer>b</answer><answer>c</answer>", "<think>a<answer>b</answer></think>",
        "<THINK>a</THINK><answer>b</answer>", "", "&lt;think&gt;",
    ):  # fmt: skip
        assert scored("xml", wrong, truth).score == 0.0, wrong
    values = {"value": {"city": "Paris", "year": "1999"}}
    assert scored("xml", "<city>Paris</city><year>1999</year>", values).correct
    assert scored("xml", "<city>Paris</city><year>1998</year>", values, pay="fields").score == 0.5


def test_xml_documents_are_well_formed_and_without_entities() -> None:
    assert scored("xml", "<a><b c='d'/><!-- x --></a>").correct
    bomb = '<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    for wrong in ("<a>", "a", "", "<a></a><b></b>", bomb, "<a>" * 50_000, "<a b=c></a>"):
        assert scored("xml", wrong).score == 0.0, wrong[:20]


def test_elements_and_attributes_of_data_stay_whatever_a_page_would_show_of_them() -> None:
    values = {"value": {"title": "Paris"}}
    assert scored("xml", "<title>Paris</title>", values).correct
    assert scored("json", '{"html": "<!-- a --><b>"}', {"value": {"html": "<!-- a --><b>"}}).correct


@pytest.mark.parametrize(
    "response",
    [
        '````json\n{"a": 1}\n````', '~~~json\n{"a": 1}\n~~~', '```json {"a": 1} ```', '```json\n{"a": 1}', '```json\n{"a": 1}```', 'So: ```json\n{"a": 1}\n```',
        '<answer>{"a": 1}</answer>', '<think>{}</think><answer>\n```json\n{"a": 1}\n```\n</answer>', '```json\n{}\n```\nBetter:\n```json\n{"a": 1}\n```',
    ],
)  # fmt: skip
def test_data_is_found_in_every_kind_of_fence_and_in_the_answer(response: str) -> None:
    assert scored("json", response, {"value": {"a": 1}}).correct


def test_fences_tags_and_ends_of_text_within_strings_are_a_part_of_them() -> None:
    for text in ("```python\nx\n```", "<s>old</s> new", "a</think>b", "<answer>x</answer>", "```{}```"):
        whole = jsonlib.dumps({"x": text})
        assert scored("json", whole, {"value": {"x": text}}).correct, text
        assert scored("json", f"<think>1</think>{whole}", {"value": {"x": text}}).correct, text
    fenced = "```json\n" + jsonlib.dumps({"x": "```python\nx\n```"}) + "\n```"
    assert scored("json", fenced, {"value": {"x": "```python\nx\n```"}}).correct


def test_what_a_response_makes_of_a_schema_is_scored() -> None:
    nested = {"schema": {"type": "array", "items": {"$ref": "#"}}}
    half = {"schema": {"type": "object", "properties": {"n": {"multipleOf": 0.5}}}}
    unique = {"schema": {"type": "array", "uniqueItems": True}}
    slow = {"schema": {"items": {"pattern": r"^(a+)+(b|c)\1$"}}}
    many = "[" + ",".join(f'{{"a": {i}}}' for i in range(7_000)) + "]"
    for response, truth, right in (
        ("[" * 300 + "]" * 300, nested, False), ("[[], [[]]]", nested, True), ('{"n": 1e999}', half, False), ('{"n": 1' + "0" * 400 + "}", half, False),
        ('{"n": 1.5}', half, True), (many, unique, True), ('[{"a": 1}, {"a": 1.0}]', unique, False), ("[1, true]", unique, True),
        (jsonlib.dumps(["a" * 3_000 + "!"] * 30), slow, False),
    ):  # fmt: skip
        found = scored("json", response, truth)
        assert (found.status, found.correct) == ("ok", right), (response[:30], found)


def test_formats_of_a_schema_are_checked() -> None:
    for kind, right, wrong in (
        ("date", "2024-02-29", "2023-02-29"), ("date-time", "2024-01-05T10:00:00Z", "2024-01-05"), ("time", "10:00:00Z", "25:00:00Z"),
        ("email", "a@b.c", "a@"), ("ipv4", "1.2.3.4", "1.2.3.400"), ("uri", "https://a.b/c", "no uri"), ("uuid", "123e4567-e89b-12d3-a456-426614174000", "1"),
    ):  # fmt: skip
        truth = {"schema": {"type": "string", "format": kind}}
        assert scored("json", jsonlib.dumps(right), truth).correct, kind
        assert scored("json", jsonlib.dumps(wrong), truth).score == 0.0, kind


def test_a_ground_truth_that_would_score_everything_0_or_anything_1_is_invalid() -> None:
    for schema in ({"$schema": "x", "type": "object"}, {"type": "object", "properties": {"a": {}}}):
        assert scored("json", '{"a": 1}', schema).status == "invalid"
        assert scored("json", '{"a": 1}', {"schema": schema}).correct
    for truth in ({"schema": {"type": "object"}}, {"value": {"a": None}}, {"value": {"a": {"b": 1}}}):
        assert scored("xml", "<a>None</a>", truth).status == "invalid", truth


@pytest.mark.parametrize(
    "response",
    [
        "a: 2\na: 1", "b: {x: 1, x: 1}\na: 1", "1: x\n'1': y\na: 1", "a: 1\nb: .nan", "a: 1\nb: .inf", 'a: !!int ""', 'a: !!float ""', "a: !!bool maybe",
        "a: !!timestamp x", "a: " + "9" * 5_000, "a: !!set {x}", "a: !!binary xx",
    ],
)  # fmt: skip
def test_odd_yaml_is_scored_and_not_paid(response: str) -> None:
    for truth in ("", {"value": {"a": 1}}):
        found = scored("yaml", response, truth)
        assert (found.status, found.score) == ("ok", 0.0), found


def test_yaml_is_read_as_those_who_write_it_mean_it() -> None:
    for response, value in (
        ("on: push", {"on": "push"}), ("country: NO", {"country": "NO"}), ("time: 12:30", {"time": "12:30"}), ("day: 2020-01-05", {"day": "2020-01-05"}),
        ("a: true\nb: ~\nc: 0x1F\nd: 1e3", {"a": True, "b": None, "c": 31, "d": 1000}), ("```yaml\ns: |\n  x\n  y\n```", {"s": "x\ny\n"}),
    ):  # fmt: skip
        assert scored("yaml", response, {"value": value}).correct, response


def test_xml_may_end_with_any_models_end_of_text_and_be_thought_about() -> None:
    for stop in ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>"):
        assert scored("xml", f"<think>a</think><answer>b</answer>{stop}", ["think", "answer"]).correct, stop
    assert scored("xml", "<think>hm</think>\n<r/>").correct


@pytest.mark.parametrize("piece", ["\n", "`", "```\n", "``` ", " </s>", "<answer>", "~~~\n", "\t "])
def test_a_response_of_one_thing_over_and_over_is_scored_in_one_pass(piece: str) -> None:
    for kind in ("json", "yaml", "xml"):
        found = scored(kind, "```\n" + piece * (90_000 // len(piece)) + "x")
        assert (found.status, found.score) == ("ok", 0.0), kind


@pytest.mark.parametrize("nothing", ["\u200b", "\u3164", "&nbsp;", "<!-- x -->", "<!-- x", " <!-- --> "])
def test_an_xml_tag_in_which_nothing_is_seen_is_not_filled(nothing: str) -> None:
    assert scored("xml", f"<a>{nothing}</a><b>y</b>", '["a", "b"]').score == 0.0
    assert scored("xml", f"<a>5{nothing}</a><b>y</b>", '["a", "b"]').score == 1.0


@pytest.mark.parametrize("text", ['""', '" "', '"\\u200b"', "null"])
def test_a_text_of_an_xml_tag_that_nothing_can_hold_is_invalid(text: str) -> None:
    assert scored("xml", "<a>5</a>", f'{{"a": {text}}}').status == "invalid"
    assert scored("xml", "<a>0</a>", '{"a": 0}').score == 1.0
