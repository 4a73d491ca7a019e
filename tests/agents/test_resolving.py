"""One rule for all that a run is given: it applies to every row, rows choose among it, and what no row uses is
an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.loading import load_interactions, load_tools
from rewardkit.agents.registry import AGENTS, agent
from rewardkit.agents.resolving import EpisodeSetup, notes_on, refuse_unused, resolve, resolve_rows
from rewardkit.agents.types import EpisodeLimits
from rewardkit.errors import InputError
from tests.agents.conftest import Echo

WORDS = {name: f"--{name}" for name in ("tools", "interactions", "env", "default_agent", "agents")}
ENV = "ors:http://127.0.0.1:9"
TASK = {"split": "test", "index": 0}


@pytest.fixture(autouse=True)
def loops() -> Iterator[None]:
    """Two loops of a user's own."""
    AGENTS.names()
    before = dict(AGENTS._agents)

    @agent("mine", tools="none", interaction=False)
    async def mine(episode: Any) -> None:
        """Do nothing."""

    @agent("other", tools="none", interaction=False)
    async def other(episode: Any) -> None:
        """Do nothing."""

    yield
    AGENTS._agents = before


def setup(**given: Any) -> EpisodeSetup:
    return EpisodeSetup(EpisodeLimits(100), **given)


def row(agent_name: str | None = None, **extra_info: Any) -> EpisodeRow:
    return EpisodeRow([{"role": "user", "content": "2 + 2?"}], "gsm8k", "4", extra_info, agent_name)


def interaction(name: str) -> dict[str, Any]:
    return {"interaction_kwargs": {"name": name, "ground_truth": "4"}}


@dataclass(frozen=True)
class Case:
    """Something that a run is given, a row that uses it, and one that does not."""

    given: Callable[[], EpisodeSetup]
    uses: EpisodeRow
    not_: EpisodeRow
    what: str


def tools() -> Any:
    return {"echo": Echo, "calculator": Echo}


def interactions() -> Any:
    return load_interactions("gsm8k")


CASES = {
    "a tool, by the agent": Case(
        lambda: setup(tools={"echo": Echo}), row(), row("mine"), "the tool 'echo'"
    ),
    "a tool, by rows of tools": Case(
        lambda: setup(tools={"echo": Echo}), row("tool_agent"), row("other"), "the tool 'echo'"
    ),
    "one of two tools": Case(
        lambda: setup(tools=tools()), row(), row(tool_selection=["calculator"]), "the tool 'echo'"
    ),
    "an interaction without a key": Case(
        lambda: setup(interactions=interactions()), row(), row("mine"), "the interaction 'gsm8k'"
    ),
    "an interaction with a key": Case(
        lambda: setup(interactions=interactions()),
        row("tool_agent", **interaction("gsm8k")),
        row("mine"),
        "the interaction 'gsm8k'",
    ),
    "one of two interactions": Case(
        lambda: setup(interactions={**interactions(), "quiz": interactions()["gsm8k"]}),
        row(**interaction("gsm8k")),
        row(**interaction("quiz")),
        "the interaction 'gsm8k'",
    ),
    "an environment": Case(
        lambda: setup(env=ENV), row("env", **TASK), row("mine"), f"the environment {ENV}"
    ),
    "an environment of rows without an agent": Case(
        lambda: setup(env=ENV), row(**TASK), row("tool_agent"), f"the environment {ENV}"
    ),
    "an agent of a file": Case(
        lambda: setup(agents=("mine",)), row("mine"), row("other"), "the agent 'mine'"
    ),
    "a default agent": Case(
        lambda: setup(default_agent="mine"), row(), row("other"), "the agent 'mine'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_given_is_used_or_refused(name: str) -> None:
    case = CASES[name]
    setting = case.given()
    uses, not_ = case.uses, case.not_
    if name == "one of two interactions":  # the second is used as well, or it would be refused
        refuse_unused(resolve_rows([uses, not_], setting), setting, WORDS)
    else:
        refuse_unused(resolve_rows([uses] * 3, setting), setting, WORDS)
        refuse_unused(resolve_rows([not_, uses, not_], setting), setting, WORDS)
    with pytest.raises(InputError, match=rf"^--\w+: no row uses {case.what}: ") as raised:
        refuse_unused(resolve_rows([not_] * 3, setting), setting, WORDS)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("named", [None, "", "single_turn_agent"])
def test_a_row_that_names_no_agent_has_the_one_that_fits_what_is_given(named: str | None) -> None:
    def found(**given: Any) -> str:
        return resolve(row(named, **TASK), setup(**given)).agent.name

    assert found() == "single_turn_agent"
    assert found(tools={"echo": Echo}) == "tool_agent"
    assert found(interactions=interactions()) == "tool_agent"
    assert found(env=ENV, tools={"echo": Echo}) == "env"
    assert found(default_agent="single_turn_agent", tools={"echo": Echo}) == "tool_agent"
    assert found(default_agent="mine") == "mine"
    assert found(agent="single_turn_agent", tools={"echo": Echo}) == "single_turn_agent"


def test_a_row_keeps_its_agent_unless_one_is_given_for_all() -> None:
    assert resolve(row("mine"), setup(tools={"echo": Echo}, default_agent="other")).agent.name == "mine"
    assert resolve(row("mine"), setup(agent="other")).agent.name == "other"


def test_an_interaction_alone_is_that_of_every_row() -> None:
    setting = setup(interactions=interactions())
    for one in (row(), row(interaction_kwargs={"name": "", "ground_truth": ""}), row(**interaction("gsm8k"))):
        found = resolve(one, setting)
        assert (found.agent.name, found.interaction) == ("tool_agent", "gsm8k")
        assert found.interaction_kwargs["ground_truth"] == "4"


@pytest.mark.parametrize(
    ("given", "one", "message"),
    [
        ({}, row(**interaction("gsm8k")), "no interaction 'gsm8k'; this run is given no interactions"),
        ({"interactions": {"quiz": Echo}}, row(**interaction("gsm8k")), "no interaction 'gsm8k'.*quiz"),
        ({"interactions": {"quiz": Echo, "gsm8k": Echo}}, row(), "names none .*quiz, gsm8k"),
        ({"tools": {"echo": Echo}}, row(tool_selection=["search"]), "no tool 'search'.*echo"),
    ],
)
def test_a_row_that_names_what_is_not_given_is_an_error(
    given: dict[str, Any], one: EpisodeRow, message: str
) -> None:
    fits = row(**interaction(next(iter(given["interactions"])))) if "interactions" in given else row()
    with pytest.raises(InputError, match=f"^row 1: .*{message}"):
        resolve_rows([fits, one], setup(**given))


def test_rows_of_several_sets_each_take_their_part() -> None:
    """Rows as `prep` and verl's scripts write them, with the keys of all sets in each."""
    empty = {"create_kwargs": {"ground_truth": ""}}
    own = {"create_kwargs": {"ground_truth": "4"}}
    of_tools = {
        "tools_kwargs": {"calc_gsm8k_reward": own, "search": empty},
        "interaction_kwargs": {"name": ""},
    }
    plain = row("single_turn_agent")
    rows = [row("tool_agent", **of_tools), row("tool_agent", **interaction("gsm8k")), plain]
    setting = setup(tools=load_tools("calc_gsm8k_reward").makers, interactions=interactions())
    episodes = resolve_rows(rows, setting)
    refuse_unused(episodes, setting, WORDS)
    assert {(one.tools, one.interaction) for one in episodes} == {(("calc_gsm8k_reward",), "gsm8k")}
    assert [dict(one.create_kwargs) for one in episodes] == [
        {"calc_gsm8k_reward": {"ground_truth": "4"}},
        {},
        {},
    ]
    assert notes_on(rows, episodes, setting) == []


def test_what_rows_say_and_episodes_leave_out_is_said() -> None:
    rows = [row(tools_kwargs={"search": {"create_kwargs": {"data_source": "nq"}}})]
    (note,) = notes_on(rows, resolve_rows(rows, setup()), setup())
    assert note.endswith("ignored: search")
    setting = setup(env=ENV)
    rows = [row(**TASK), row(**TASK, env="ors:http://127.0.0.1:8")]
    (note,) = notes_on(rows, resolve_rows(rows, setting), setting)
    assert note.startswith("rows name environments")


def test_a_loop_that_is_no_coroutine_function_is_refused_when_it_is_registered() -> None:
    with pytest.raises(InputError, match="async def"):

        @agent("plain", tools="none")  # type: ignore[arg-type]
        def plain(episode: Any) -> None:
            """Do nothing."""
