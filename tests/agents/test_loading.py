"""Tools by name and by file: ours, a user's and verl's; what cannot be opened is said before anything runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewardkit.agents.loading import TOOLS, load_tools, open_tools, tool_names
from rewardkit.errors import ConfigError, InputError, RewardkitError

GSM8K_YAML = """
tools:
  - class_name: "verl.tools.gsm8k_tool.Gsm8kTool"
    config:
      type: native
    tool_schema:
      type: "function"
      function:
        name: "calc_gsm8k_reward"
        description: "A tool for calculating the reward of gsm8k."
        parameters:
          type: "object"
          properties:
            answer:
              type: "string"
              description: "The model's answer to the problem, a number"
          required: ["answer"]
  - class_name: verl.tools.sandbox_fusion_tools.SandboxFusionTool
    config:
      num_workers: 10
      enable_global_rate_limit: true
      rate_limit: 10
      default_timeout: 3
      default_language: python
      memory_limit_mb: 256
      type: native
"""

USERS = '''
from rewardkit.agents.tools import tool

@tool
def double(x: int) -> int:
    """Double it."""
    return 2 * x

@tool(name="remember")
class Memory:
    """Remember."""
    def __init__(self, prefix: str = ""):
        self.prefix, self.all = prefix, []
    def execute(self, what: str) -> str:
        """Keep it."""
        self.all.append(what)
        return self.prefix + ",".join(self.all)

def plain(x: str) -> str:
    return x

class VerlTool:
    def __init__(self, config, tool_schema):
        self.config, self.tool_schema, self.states, self.log = config, tool_schema, {}, []
    async def create(self, instance_id=None, ground_truth=None, **kwargs):
        given = ground_truth or kwargs.get("create_kwargs", {}).get("ground_truth")
        self.states[instance_id] = [given]
        self.log.append("create")
        return instance_id, None
    async def execute(self, instance_id, parameters, **kwargs):
        self.states[instance_id].append(parameters["x"])
        class Response:
            text = f"{self.tool_schema.function.name} {self.states[instance_id]}"
        return Response(), 0.5, {"n": len(self.states[instance_id])}
    async def calc_reward(self, instance_id, **kwargs):
        return float(len(self.states[instance_id]))
    async def release(self, instance_id, **kwargs):
        self.log.append("release")
        del self.states[instance_id]
'''


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(USERS)
    return path


def _use(source: Any, name: str, *calls: dict[str, Any], extra_info: Any = None, **create: Any) -> list[Any]:
    async def use() -> list[Any]:
        (one,) = [one for one in open_tools(source, extra_info) if one.name == name]
        await one.create(**create)
        found = [await one.execute(arguments) for arguments in calls]
        rewards = [await one.reward()]
        await one.release()
        return [*found, *rewards]

    return asyncio.run(use())


def test_verls_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "gsm8k_tool_config.yaml"
    path.write_text(GSM8K_YAML)
    assert list(load_tools(path).kinds) == tool_names(path) == ["calc_gsm8k_reward", "code_interpreter"]
    wrong, right, again, worth = _use(
        path, "calc_gsm8k_reward", {"answer": "3"}, {"answer": "#### 72"}, {"answer": "72"}, ground_truth="72"
    )
    assert [one.reward for one in (wrong, right, again)] == [-0.05, 0.0, -0.05]
    assert "reward: 1" in right.text
    assert worth == 1.0
    assert _use(path, "code_interpreter", {"code": "1 + 1"})[0].text == "2"


def test_a_row_selects_its_tools() -> None:
    names = ["calculator", "calc_gsm8k_reward"]
    assert [one.name for one in open_tools(names)] == names
    assert [one.name for one in open_tools(names, {"tool_selection": ["calculator"]})] == ["calculator"]
    assert [one.name for one in open_tools("calculator,calc_gsm8k_reward", {"tool_selection": None})] == names
    with pytest.raises(InputError, match=r"'calculater'.*did you mean calc"):
        open_tools(names, {"tool_selection": ["calculater"]})


def test_tools_of_a_users_file(users: Path, tmp_path: Path) -> None:
    assert list(load_tools(str(users)).kinds) == ["double", "remember"]
    assert _use(f"{users}:double", "double", {"x": "4"})[0].text == "8"
    assert _use(f"{users}:plain", "plain", {"x": "a"})[0].text == "a"
    entry = {"class_name": f"{users}:Memory", "config": {"prefix": ">"}}
    config = tmp_path / "tools.yaml"
    config.write_text(yaml.safe_dump({"tools": [entry]}))
    assert [one.text for one in _use(config, "remember", {"what": "a"}, {"what": "b"})[:2]] == [">a", ">a,b"]


def test_a_class_with_verls_methods_keeps_its_state_for_the_episode(users: Path, tmp_path: Path) -> None:
    function = {"name": "keep", "description": "", "parameters": {"properties": {"x": {"type": "integer"}}}}
    entry = {
        "class_name": f"{users}:VerlTool",
        "config": {"type": "native"},
        "tool_schema": {"type": "function", "function": function},
    }
    config = tmp_path / "tools.yaml"
    config.write_text(yaml.safe_dump({"tools": [entry]}))
    first, second, bad, worth = _use(config, "keep", {"x": 1}, {"x": 2}, {"x": "no"}, ground_truth="7")
    assert first.text == "keep ['7', 1]"
    assert (second.text, second.reward, second.metrics) == ("keep ['7', 1, 2]", 0.5, {"n": 3.0})
    assert bad.status == "bad_call"
    assert worth == 3.0


def test_the_names_that_ship_are_their_tools() -> None:
    for name in TOOLS:
        if name != "search":  # which needs documents
            assert list(load_tools(name).kinds) == [name]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tools: 3", "'tools' in .* list"),
        ("tools: [{config: {}}]", "tool 1: class_name"),
        ("tools: [{class_name: calculator, conf: {}}]", "tool 1: .*'conf'"),
        ("tools: [{class_name: calculater}]", "did you mean calculator"),
        ("tools: [{class_name: calculator}, {class_name: calculator}]", "two tools.*'calculator'"),
        ("tools: [{class_name: verl.tools.nothing.Nothing}]", "cannot import"),
        ("tools: [{class_name: code_interpreter, config: {cpus: 1}}]", "tool 1: .*cpus"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text)
    with pytest.raises(RewardkitError, match=why) as caught:
        load_tools(path)
    assert "\n" not in str(caught.value)


def test_a_tool_that_is_not_there_is_said(users: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown tool 'nothing'"):
        load_tools("nothing")
    with pytest.raises(ConfigError, match="did you mean double"):
        load_tools(f"{users}:dubble")
    with pytest.raises(InputError, match="cannot read"):
        load_tools(tmp_path / "none.yaml")
    empty = tmp_path / "empty.py"
    empty.write_text("def f(x: int) -> int: return x\n")
    with pytest.raises(ConfigError, match="@tool"):
        load_tools(str(empty))
