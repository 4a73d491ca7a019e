"""`@tool`: schemas from hints and docstrings, arguments checked before the tool is called, state for an episode."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from rewardkit.agents.tools import BadCall, tool
from rewardkit.agents.tools.declare import OpenTool, kind_of
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError
from rewardkit.tool_calls.call import PLAIN


@dataclass
class Place:
    """Where."""

    city: str
    zip: int | None = None


@tool
def forecast(
    place: Place, days: int = 1, unit: Literal["C", "F"] = "C", tags: list[str] | None = None
) -> str:
    """Forecast the weather
    of some days.

    Args:
        place: Where it is,
            or will be.
        days (int): How far ahead.

    Returns:
        A text.
    """
    return f"{place.city}/{place.zip} {days} {unit} {tags}"


def _ask(kind: Any, arguments: Mapping[str, Any]) -> Observation:
    async def use() -> Observation:
        one: OpenTool = kind.open()
        await one.create()
        try:
            return await one.execute(arguments)
        finally:
            await one.release()

    return asyncio.run(use())


def test_the_schema_is_of_hints_and_docstring() -> None:
    function = kind_of(forecast).schema["function"]
    assert (function["name"], function["description"]) == ("forecast", "Forecast the weather of some days.")
    parameters = function["parameters"]
    assert parameters["required"] == ["place"]
    assert parameters["properties"]["days"] == {
        "type": "integer",
        "default": 1,
        "description": "How far ahead.",
    }
    assert parameters["properties"]["place"]["description"] == "Where it is, or will be."
    assert parameters["properties"]["unit"]["enum"] == ["C", "F"]
    assert parameters["$defs"]["Place"]["required"] == ["city"]


def test_arguments_come_in_the_functions_types() -> None:
    kind = kind_of(forecast)
    assert _ask(kind, {"place": {"city": "Ulm"}}).text == "Ulm/None 1 C None"
    texts = {"place": '{"city": "Ulm", "zip": "89073"}', "days": "3", "unit": "F", "tags": '["a"]'}
    assert _ask(kind, texts).text == "Ulm/89073 3 F ['a']"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "'place' is missing"),
        ({"place": {"city": "Ulm"}, "day": 1}, "'day'"),
        ({"place": {"city": "Ulm"}, "days": "soon"}, "expected integer"),
        ({"place": {"city": "Ulm"}, "days": True}, "expected integer"),
        ({"place": {"city": "Ulm"}, "unit": "K"}, "expected one of"),
        ({"place": {}}, "city"),
        ({PLAIN: "Ulm"}, "place"),
    ],
)
def test_bad_arguments_get_an_observation_that_says_why(arguments: dict[str, Any], why: str) -> None:
    found = _ask(kind_of(forecast), arguments)
    assert found.status == "bad_call"
    assert found.text.startswith("Error: forecast: ")
    assert why in found.text


def test_a_plain_text_is_the_only_argument() -> None:
    def shout(text: str) -> str:
        return text.upper()

    assert _ask(kind_of(shout), {PLAIN: "hi"}).text == "HI"


@tool(name="counter")
class Counter:
    """Count."""

    log: ClassVar[list[str]] = []

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def create(self, ground_truth: str = "") -> None:
        self.ground_truth = ground_truth
        self.log.append(f"created {ground_truth}")

    async def execute(self, by: int = 1) -> tuple[str, float]:
        """Count up.

        Args:
            by: How far.
        """
        self.value += by
        return str(self.value), self.value / 10

    def reward(self) -> float:
        return float(self.value)

    def release(self) -> None:
        self.log.append(f"released {self.ground_truth}")


def test_a_class_keeps_its_state_for_one_episode() -> None:
    kind = kind_of(Counter, {"start": 5})

    async def use() -> None:
        one, other = kind.open(), kind.open()
        await one.create(ground_truth="7", question="not asked for", data_source=None)
        await other.create(ground_truth=None)
        assert (await one.execute({"by": 2})).text == "7"
        assert await one.execute({}) == Observation("8", reward=0.8)
        assert (await other.execute({})).text == "6"
        assert await one.reward() == 8.0
        await one.release()
        await one.release()
        assert [said for said in Counter.log if said.endswith(" 7")] == ["created 7", "released 7"]
        assert await one.reward() is None

    asyncio.run(use())


def test_what_a_tool_returns_becomes_text() -> None:
    class Response:
        text = "said"

    for result, text in (
        ("é", "é"), (None, ""), (b"\xff", "\ufffd"), ("\ud800", "?"), ({"a": [1]}, '{"a":[1]}'), (3, "3"),
        (Response(), "said"), (("x", 1, {"n": 2, "s": "no"}), "x"),
    ):  # fmt: skip
        assert _ask(kind_of(_returns(result)), {}).text == text


def _returns(result: Any) -> Any:
    def give() -> Any:
        return result

    return give


def test_a_tools_own_bad_call_and_its_failures_are_kept_apart() -> None:
    def refuse() -> str:
        raise BadCall("not today")

    def fail() -> str:
        raise KeyError("gone")

    def pay() -> Any:
        return "x", float("nan")

    assert _ask(kind_of(refuse), {}).status == "bad_call"
    with pytest.raises(KeyError):
        _ask(kind_of(fail), {})
    with pytest.raises(TypeError, match="finite"):
        _ask(kind_of(pay), {})


def test_a_function_that_hangs_holds_up_neither_the_loop_nor_the_others() -> None:
    release = threading.Event()

    def hang() -> str:
        release.wait(60)
        return "late"

    def quick() -> str:
        return "done"

    async def use() -> None:
        hanging = [asyncio.create_task(kind_of(hang).open().execute({})) for _ in range(64)]
        try:
            assert (await asyncio.wait_for(kind_of(quick).open().execute({}), 20)).text == "done"
            assert not any(task.done() for task in hanging)
        finally:
            release.set()
        assert {one.text for one in await asyncio.gather(*hanging)} == {"late"}

    asyncio.run(use())


def _no_hint(x) -> str:  # type: ignore[no-untyped-def]
    return ""


def _many(*x: int) -> str:
    return ""


def _odd(x: threading.Event) -> str:
    return ""


@pytest.mark.parametrize(
    ("target", "config", "why"),
    [
        (_no_hint, {}, "argument 'x' "),
        (_many, {}, "passed by name"),
        (_odd, {}, "Event"),
        (Counter, {"begin": 1}, "begin.*takes start"),
        (Place, {"city": "x"}, "has no method 'execute'"),
        (tool(lambda: "", name="a b"), {}, "a b"),
    ],
)
def test_what_cannot_be_a_tool_is_said_before_it_is_used(
    target: Any, config: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        kind_of(target, config)


def test_a_files_schema_replaces_the_hints_and_must_fit() -> None:
    schema = {
        "type": "function",
        "function": {
            "name": "count_up",
            "description": "d",
            "parameters": {"properties": {"by": {"type": "integer"}}},
        },
    }
    kind = kind_of(Counter, {}, schema)
    assert (kind.name, kind.schema["function"]["description"]) == ("count_up", "d")
    schema["function"]["parameters"] = {"properties": {"bye": {"type": "integer"}}}  # type: ignore[index]
    with pytest.raises(ConfigError, match="did you mean by"):
        kind_of(Counter, {}, schema)
