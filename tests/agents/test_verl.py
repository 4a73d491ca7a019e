"""verl's tool files: `@function_tool`, subclasses of its bases, read without verl beside them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from rewardkit.agents.loading import load_tools, open_interaction, open_tools
from rewardkit.agents.types import Observation
from rewardkit.errors import RewardkitError

FUNCTIONS = '''
import asyncio
from typing import Literal, Optional

from verl.tools.function_tool import function_tool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse


@function_tool
def get_weather(city: str) -> dict:
    """Get the current weather for a city.

    Args:
        city: The city to look up, e.g. "Tokyo".
    """
    return {"temperature_c": 17.3, "condition": "Nieselregen, grau", "city": city}


@function_tool("web_search")
async def search(query: str, top_k: int = 3, mode: Literal["fast", "deep"] = "fast") -> tuple:
    """Search.

    Args:
        query: What for.
        top_k: How many.
        mode: How.
    """
    await asyncio.sleep(0)
    return ToolResponse(text=f"{query}/{top_k}/{mode}"), 0.5, {"hits": 2}


@function_tool()
def listing(n: int) -> list:
    """Count.

    Args:
        n: Up to.
    """
    return list(range(n))


@function_tool("loose", schema={
    "type": "function",
    "function": {
        "name": "loose",
        "description": "Takes anything.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    },
})
def anything(**kwargs):
    return kwargs["x"]


def no_tool(x):
    return x
'''

CLASSES = """
from typing import Any, Optional

from verl.interactions.base import BaseInteraction
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse
from verl.utils.rollout_trace import rollout_trace_op


class Counter(BaseTool):
    def __init__(self, config: dict, tool_schema: OpenAIFunctionToolSchema):
        super().__init__(config, tool_schema)
        self.counts = {}

    def get_openai_tool_schema(self) -> OpenAIFunctionToolSchema:
        return OpenAIFunctionToolSchema.model_validate({
            "type": "function",
            "function": {
                "name": "count",
                "description": "Counts.",
                "parameters": {
                    "type": "object",
                    "properties": {"by": {"type": "integer", "description": "How many."}},
                    "required": ["by"],
                },
            },
        })

    async def create(self, instance_id: Optional[str] = None, **kwargs) -> tuple[str, ToolResponse]:
        self.counts[instance_id] = 0
        return instance_id, ToolResponse()

    @rollout_trace_op
    async def execute(self, instance_id: str, parameters: dict[str, Any], **kwargs):
        self.counts[instance_id] += parameters["by"]
        return ToolResponse(text=str(self.counts[instance_id])), 0.25, {}

    async def calc_reward(self, instance_id: str, **kwargs) -> float:
        return float(self.counts[instance_id])


class Echo(BaseInteraction):
    async def generate_response(self, instance_id, messages, **kwargs):
        return True, "no", 1.0, {}
"""


@pytest.fixture
def functions(tmp_path: Path) -> str:
    path = tmp_path / "functions.py"
    path.write_text(FUNCTIONS)
    return str(path)


def called(source: str, name: str, **arguments: object) -> Observation:
    async def work() -> Observation:
        (tool,) = [one for one in open_tools(source) if one.name == name]
        await tool.create()
        try:
            return await tool.execute(arguments)
        finally:
            await tool.release()

    return asyncio.run(work())


def test_a_file_of_function_tools_is_read_as_it_is(functions: str) -> None:
    kinds = load_tools(functions).kinds
    assert list(kinds) == ["get_weather", "web_search", "listing", "loose"]
    shown = kinds["get_weather"].schema["function"]
    assert shown["description"] == "Get the current weather for a city."
    assert shown["parameters"]["properties"]["city"]["type"] == "string"
    assert shown["parameters"]["required"] == ["city"]
    assert kinds["web_search"].schema["function"]["parameters"]["required"] == ["query"]
    assert kinds["loose"].schema["function"]["description"] == "Takes anything."
    assert list(load_tools([functions + ":web_search"]).kinds) == ["web_search"]  # and a second time


def test_results_are_written_as_verl_writes_them(functions: str) -> None:
    weather = '{"temperature_c": 17.3, "condition": "Nieselregen, grau", "city": "Ulm"}'
    assert called(functions, "get_weather", city="Ulm").text == weather
    found = called(functions, "web_search", query="x", top_k="2")
    assert (found.text, found.reward, found.metrics) == ("x/2/fast", 0.5, {"hits": 2.0})
    assert called(functions, "listing", n=3).text == "[0, 1, 2]"
    assert called(functions, "loose", x="y").text == "y"
    assert called(functions, "get_weather", town="Ulm").status == "bad_call"


def test_two_function_tools_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(FUNCTIONS.replace('@function_tool("web_search")', '@function_tool("get_weather")'))
    with pytest.raises(RewardkitError, match="'get_weather'; rename one"):
        load_tools(str(path))


def test_subclasses_of_verls_bases_need_no_verl(tmp_path: Path) -> None:
    path = tmp_path / "classes.py"
    path.write_text(CLASSES)

    async def work() -> list[object]:
        (tool,) = open_tools([f"{path}:Counter"])
        await tool.create()
        found = [(await tool.execute({"by": 2})).text, (await tool.execute({"by": 3})).text]
        worth = await tool.reward()
        await tool.release()
        return [tool.name, *found, worth]

    assert asyncio.run(work()) == ["count", "2", "5", 5.0]
    yaml_file = tmp_path / "interaction.yaml"
    yaml_file.write_text(f"interaction:\n  - name: echo\n    class_name: {path}:Echo\n    config: {{}}\n")
    opened = open_interaction(yaml_file, "echo")
    turn = asyncio.run(opened.respond([{"role": "user", "content": "x"}]))
    assert (turn.done, turn.reward) == (True, 1.0)


def test_nothing_of_verl_is_left_in_the_process(functions: str) -> None:
    before = {name for name in sys.modules if name.partition(".")[0] == "verl"}
    load_tools(functions)
    assert {name for name in sys.modules if name.partition(".")[0] == "verl"} == before
