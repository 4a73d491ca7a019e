"""Registry that maps the names of agents to loops.

Users add loops with `@agent`, as `path.py:name`, or through an entry point in the group `rewardkit.agents`.
`resolving.py` adds the built-in loops in `loops/`. They are imported on first use, and `runner.py` runs them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from rewardkit.errors import InputError, OptionsError, did_you_mean
from rewardkit.extensions import AddedRow, added_rows
from rewardkit.types import Message
from rewardkit.user_files import import_python_file

if TYPE_CHECKING:
    from rewardkit.agents.episode import Episode
    from rewardkit.agents.episode_row import EpisodeRow
    from rewardkit.agents.types import Interaction

SINGLE_TURN = "single_turn_agent"
"""Name of the loop with a single turn. Programs without agents write this name into every row, so a row that
contains it does not choose this loop."""

Loop = Callable[..., Awaitable[object]]
"""Coroutine function that takes an `Episode` and, if the agent has settings, the settings object."""
Prepare = Callable[[list[Message], Sequence[Mapping[str, Any]]], list[Message]]
ToolsBy = Literal["template", "text", "program", "none"]


@dataclass(frozen=True, slots=True)
class Agent:
    """A loop, with the facts about it that are needed before an episode starts."""

    name: str
    loop: Loop
    """Function that drives one episode. The episode ends when the function returns."""
    tools: ToolsBy = "template"
    """Who presents the tools to the model. With `template`, the chat template presents them and must support
    tool messages. With `text`, `prepare` writes a text that presents them. With `program`, the chat template
    presents the tools of a program or an environment. With `none`, the model has no tools. `program` and
    `none` do not use the run's tools."""
    prepare: Prepare | None = None
    """Function that takes messages and tool schemas, and returns the messages of the prompt. The function
    must be pure, because some prompts are built only to count their tokens."""
    calls: str | None = None
    """Format in which the model must write tool calls for this loop. None means the format of the run."""
    interaction: bool = True
    """True if the loop uses the row's interaction. If False, no interaction is created."""
    opens: Callable[[EpisodeRow, str], Interaction] | None = None
    """Function that takes a row and the run's environment, and creates an interaction without starting it."""
    summary: str = ""
    settings: Callable[..., Any] | None = None
    """Function that creates the loop's second argument from the loop's entry in an agent file. It raises
    ConfigError for invalid values. It is None if the loop takes only an episode."""
    given: Any = None
    """Value that `settings` returned. It is None if the agent has no settings or no entry in an agent
    file."""

    @property
    def takes_tools(self) -> bool:
        """Return True if the agent uses the tools of the run."""
        return self.tools in ("template", "text")

    async def play(self, episode: Episode) -> None:
        """Run the loop on an episode until the loop returns."""
        await (self.loop(episode) if self.settings is None else self.loop(episode, self.given))


class Agents:
    """Registry of loops by name."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._offered: dict[str, str] = {}
        self._entry_points_loaded = False

    def offer(self, table: Mapping[str, str]) -> None:
        """Add loops given as `module:function`, by name. A loop is imported when `resolve` first returns
        it."""
        self._offered.update(table)

    def register(self, new: Agent) -> Agent:
        """Add a loop and return it. The same loop may be added again.

        Raises:
            InputError: The loop is not a coroutine function.
            OptionsError: Another loop has the same name.
        """
        if not (
            inspect.iscoroutinefunction(new.loop) or inspect.iscoroutinefunction(type(new.loop).__call__)
        ):
            raise InputError(f"the agent loop '{new.name}' must be a coroutine function; write `async def`")
        held = self._agents.get(new.name)
        where = _where(held.loop) if held else self._offered.get(new.name, "").replace(":", ".")
        if where not in ("", _where(new.loop)):
            raise OptionsError(f"the agent '{new.name}' already exists ({where}); choose another name")
        self._agents[new.name] = new
        return new

    def resolve(self, name: str) -> Agent:
        """Return the loop with the given name, or the loop at `path.py:name`.

        Raises:
            InputError: The loop does not exist. The message suggests a similar name.
        """
        known = self._known()
        if name not in known and name in self._offered:
            module, _, function = self._offered[name].partition(":")
            return self.register(getattr(importlib.import_module(module), function).__rewardkit_agent__)
        if name in known:
            return known[name]
        if ":" in name and name.partition(":")[0].endswith(".py"):
            return load_agent(name)
        names = self.names()
        hint = did_you_mean(name, names) or f"; known: {', '.join(names)}"
        raise InputError(f"there is no agent '{name}'{hint}; pass your own agent as path.py:name")

    def names(self) -> tuple[str, ...]:
        """Return the names of all loops that are offered, registered, or provided by installed packages."""
        return tuple(sorted({*self._offered, *self._known()}))

    def _known(self) -> dict[str, Agent]:
        if not self._entry_points_loaded:
            for found in [one for row in added_rows("agents").values() for one in agents_of_row(row)]:
                self.register(found)
            self._entry_points_loaded = True
        return self._agents


AGENTS = Agents()
"""Registry that training, generation and evaluation share."""


def agent(
    name: str,
    *,
    tools: ToolsBy = "template",
    prepare: Prepare | None = None,
    calls: str | None = None,
    interaction: bool = True,
    settings: Callable[..., Any] | None = None,
    opens: Callable[[EpisodeRow, str], Interaction] | None = None,
) -> Callable[[Loop], Loop]:
    """Register the decorated coroutine function as the loop for rows whose `agent_name` is `name`.

    For the other arguments, see the fields of `Agent`.

    Example:
        >>> @agent("ask_twice", tools="none")
        ... async def ask_twice(episode: Episode) -> None:
        ...     await episode.generate()
        ...     await episode.append([{"role": "user", "content": "Are you sure?"}])
        ...     await episode.generate()
    """

    def register(loop: Loop) -> Loop:
        summary = (loop.__doc__ or "").strip().partition("\n")[0]
        made = Agent(name, loop, tools, prepare, calls, interaction, opens, summary, settings)
        AGENTS.register(made)
        loop.__rewardkit_agent__ = made  # type: ignore[attr-defined]
        return loop

    return register


def load_agent(spec: str) -> Agent:
    """Register the loop at `path.py:name` and return it. `name` is the name of an `@agent` or a function.

    Raises:
        InputError: The file or loop does not exist, or the file cannot be imported.
    """
    path, _, name = spec.partition(":")
    module = import_python_file(Path(path))
    found = {one.name: one for one in _agents_in(module)}
    if name in found:
        return found[name]
    loop = getattr(module, name, None)
    if not callable(loop):
        has = [*found, *(key for key, value in vars(module).items() if callable(value))]
        raise InputError(
            f"{path} has no agent or function '{name}'{did_you_mean(name, has)}; decorate the agent's "
            "function with @agent"
        )
    return _agent_of(loop) or AGENTS.register(Agent(spec, loop))


def agents_of_row(row: AddedRow) -> list[Agent]:
    """Load the agents that a package adds (see `AddedRow.load_decorated`)."""
    return row.load_decorated(_agent_of, "@agent")


def _agents_in(module: ModuleType) -> list[Agent]:
    return [found for value in vars(module).values() if (found := _agent_of(value)) is not None]


def _agent_of(loop: Any) -> Agent | None:
    found = getattr(loop, "__rewardkit_agent__", None)
    return found if isinstance(found, Agent) else None


def _where(loop: Any) -> str:
    return f"{getattr(loop, '__module__', '?')}.{getattr(loop, '__qualname__', loop)}"
