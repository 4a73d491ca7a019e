"""Interactions: feedback, a simulated user, a user's class and verl's; by name and by file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.interactions.interaction import OpenInteraction, user_turn
from rewardkit.agents.loading import interaction_names, load_interactions, open_interaction
from rewardkit.agents.types import UserTurn
from rewardkit.errors import ConfigError, InputError, RewardkitError
from tests.generation.endpoints import Answer, Endpoint

USERS = """
class Echo:
    def __init__(self, times: int = 1):
        self.times, self.log = times, []
    def start(self, ground_truth: str = ""):
        self.ground_truth = ground_truth
    async def respond(self, messages):
        self.times -= 1
        return None if self.times < 0 else messages[-1]["content"] + self.ground_truth
    def score(self):
        return 2
    def finish(self):
        Echo.finished = getattr(Echo, "finished", 0) + 1

class VerlInteraction:
    def __init__(self, config):
        self.config, self.instances = config, {}
    async def start_interaction(self, instance_id=None, ground_truth=None, **kwargs):
        self.instances[instance_id] = (ground_truth, kwargs)
        return instance_id
    async def generate_response(self, instance_id, messages, **kwargs):
        truth, given = self.instances[instance_id]
        right = messages[-1]["content"] == truth
        return right, f"{self.config['said']} {given['query']}", float(right), {"n": 1}
    async def calculate_score(self, instance_id, **kwargs):
        return 1.0
    async def finalize_interaction(self, instance_id, **kwargs):
        del self.instances[instance_id]

class Silent:
    pass
"""

VERLS = """
interaction:
  - name: "gsm8k"
    class_name: "verl.interactions.gsm8k_interaction.Gsm8kInteraction"
    config: {}
"""


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(USERS)
    return path


def _converse(one: OpenInteraction, *answers: str, **start: Any) -> list[Any]:
    async def use() -> list[Any]:
        await one.start(**start)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "q"},
        ]
        turns: list[Any] = []
        for answer in answers:
            messages.append({"role": "assistant", "content": answer})
            try:
                turns.append(await one.respond(messages))
            except BaseException:
                await one.finish()
                raise
            messages.append({"role": "user", "content": turns[-1].text})
        turns.append(await one.score())
        await one.finish()
        await one.finish()
        return turns

    return asyncio.run(use())


def test_gsm8k_tells_of_a_wrong_answer_and_ends_on_the_right_one(tmp_path: Path) -> None:
    path = tmp_path / "gsm8k_interaction_config.yaml"
    path.write_text(VERLS)
    assert interaction_names(path) == ["gsm8k"]
    for source in (path, "gsm8k"):
        wrong, unmarked, right, worth = _converse(
            open_interaction(source, "gsm8k"), "#### 71", "it is 72", "#### 72",
            ground_truth="72", data_source="openai/gsm8k", query="How many?",
        )  # fmt: skip
        assert (wrong.done, wrong.reward) == (unmarked.done, unmarked.reward) == (False, 0.0)
        assert "not the right answer" in wrong.text
        assert (right.done, right.reward) == (True, 1.0)
        assert worth is None


def test_a_row_without_a_ground_truth_is_an_error_and_not_a_wrong_answer() -> None:
    with pytest.raises(InputError, match="ground truth"):
        _converse(open_interaction("gsm8k", "gsm8k"), ground_truth="")


def test_a_users_class_is_made_for_each_episode_and_finished_once(users: Path, tmp_path: Path) -> None:
    config = tmp_path / "i.yaml"
    config.write_text(f"interaction:\n- {{class_name: '{users}:Echo', config: {{times: 1}}}}\n")
    for _ in range(2):
        first, second, worth = _converse(
            open_interaction(config, "echo"), "a", "b", ground_truth="!", query="q"
        )
        assert (first, second.done, worth) == (UserTurn("a!"), True, 2.0)
    from rewardkit.user_files import import_python_file

    assert import_python_file(users).Echo.finished == 2


def test_a_class_with_verls_methods_is_started_and_finalized(users: Path, tmp_path: Path) -> None:
    config = tmp_path / "i.yaml"
    config.write_text(f"interaction:\n- {{class_name: '{users}:VerlInteraction', config: {{said: no}}}}\n")
    one = open_interaction(config, "verl")
    wrong, right, worth = _converse(one, "1", "2", ground_truth="2", query="q")
    assert wrong == UserTurn("False q", 0.0, False, {"n": 1.0})
    assert (right.done, right.reward, worth) == (True, 1.0, None)


@pytest.mark.parametrize("said", [3, ("a", "b"), (True,)])
def test_an_answer_that_is_none_is_an_error(said: Any) -> None:
    with pytest.raises(TypeError, match="UserTurn, a string or None"):
        user_turn(said)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("interactions: []", "a list of mappings"),
        ("interaction: [{name: a}]", "interaction 1: class_name"),
        ("interaction: [{class_name: gsm8k, config: {right: a}}]", "config.*right"),
        ("interaction: [{class_name: gsm8k}, {class_name: gsm8k}]", "two interactions.*'gsm8k'"),
        ("interaction: [{class_name: gsm8q}]", "did you mean gsm8k"),
        ("interaction: [{class_name: simulated_user}]", "needs `url`"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "i.yaml"
    path.write_text(text)
    with pytest.raises(RewardkitError, match=why) as caught:
        load_interactions(path)
    assert "\n" not in str(caught.value)


def test_an_interaction_that_is_not_there_is_said(users: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean Echo"):
        load_interactions(f"{users}:Ecko")
    with pytest.raises(ConfigError, match="'respond'"):
        load_interactions(f"{users}:Silent")
    with pytest.raises(InputError, match=r"'gsm8'.*did you mean gsm8k"):
        open_interaction("gsm8k", "gsm8")


class Model(Endpoint):
    """Says the next of `answers`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answers: list[tuple[int, str]] = []
        super().__init__()

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        self.asked.append(body)
        status, text = self.answers.pop(0)
        return status, {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}, {}


@pytest.fixture
def model() -> Iterator[Model]:
    with closing(Model()) as server:
        yield server


def _simulated(model: Model, tmp_path: Path) -> OpenInteraction:
    config = tmp_path / "user.yaml"
    config.write_text(
        "interaction:\n- class_name: simulated_user\n  config: {model: m, temperature: 0.5, seed: 7, "
        f"url: '{model.url}'}}\n"
    )
    return open_interaction(config, "simulated_user")


def test_a_simulated_user_sees_the_roles_turned_and_ends_by_its_word(model: Model, tmp_path: Path) -> None:
    model.answers = [(503, ""), (200, "and {braces}?"), (200, "thanks [DONE]")]
    first, second, worth = _converse(_simulated(model, tmp_path), "hello", "there", query="a {thing}")
    assert (first, second, worth) == (UserTurn("and {braces}?"), UserTurn("thanks", done=True), None)
    _, asked, last = model.asked
    assert "What you want: a {thing}" in asked["messages"][0]["content"]
    assert [(m["role"], m["content"]) for m in asked["messages"][1:]] == [
        ("assistant", "q"),
        ("user", "hello"),
    ]
    assert (asked["temperature"], asked["seed"], last["seed"]) == (0.5, 7, 8)


def test_a_simulated_user_that_cannot_be_asked_is_a_failure(model: Model, tmp_path: Path) -> None:
    model.answers = [(400, "")]
    with pytest.raises(RuntimeError, match=r"simulated user's .* 400"):
        _converse(_simulated(model, tmp_path), "hello", query="x")
    with pytest.raises(InputError, match="'query'"):
        _converse(_simulated(model, tmp_path), "hello")
