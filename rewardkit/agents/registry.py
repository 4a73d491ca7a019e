"""The registry of agents: a name -> a loop. Users add their own with `@agent`, by `path.py:name`, or by an
entry point of the group `rewardkit.agents`.

It knows no loop of its own: those in `loops/` are offered to it by what opens a run. No loop is run here;
`runner.py` does that.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from rewardkit.errors import InputError, OptionsError, did_you_mean
from rewardkit.extensions import added_rows
from rewardkit.types import Message
from rewardkit.user_files import import_python_file

if TYPE_CHECKING:
    from rewardkit.agents.episode import Episode
    from rewardkit.agents.episode_row import EpisodeRow
    from rewardkit.agents.types import Interaction

SINGLE_TURN = "single_turn_agent"
"""The loop of one turn. A row that names it names none: it is what everything writes that knows no agents."""

Loop = Callable[..., Awaitable[object]]
"""Gets an `Episode`, and the settings of its agent where that takes some."""
Prepare = Callable[[list[Message], Sequence[Mapping[str, Any]]], list[Message]]
ToolsBy = Literal["template", "text", "program", "none"]


@dataclass(frozen=True, slots=True)
class Agent:
    """A loop, and what an episode needs to know of it before it starts."""

    name: str
    loop: Loop
    """Drives one episode; when it returns, the episode has ended."""
    tools: ToolsBy = "template"
    """Way in which the model is told of its tools. `template`: by the chat template, which must take tool
    messages. `text`: by the text that `prepare` writes. `program`: by the template, of tools that a program
    or an environment has. `none`: not at all. With these two rows get no tools."""
    prepare: Prepare | None = None
    """(messages, tool schemas) -> the messages of the prompt. It must be pure: prompts are also made only to
    count their tokens."""
    calls: str | None = None
    """The format in which the model writes calls, where the loop needs a certain one; None: the run's."""
    interaction: bool = True
    """True if the loop asks the row's interaction. If not, no interaction is made."""
    opens: Callable[[EpisodeRow, str], Interaction] | None = None
    """(row, the run's environment) -> what answers the model in place of an interaction; it has not begun."""
    summary: str = ""
    settings: Callable[..., Any] | None = None
    """Makes the loop's second argument from the keys of its entry in a file of agents, and raises ConfigError
    for what does not fit; None: the loop takes an episode alone."""
    given: Any = None
    """Value that `settings` has made; None: the loop takes nothing, or is in no file yet."""

    @property
    def takes_tools(self) -> bool:
        """Return True if rows of this agent get tools of the run."""
        return self.tools in ("template", "text")

    async def play(self, episode: Episode) -> None:
        """Drive an episode to its end."""
        await (self.loop(episode) if self.settings is None else self.loop(episode, self.given))


class Agents:
    """The loops by name."""

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._offered: dict[str, str] = {}
        self._entry_points_loaded = False

    def offer(self, table: Mapping[str, str]) -> None:
        """Add loops that are imported when they are first resolved: by name, `module:function`."""
        self._offered.update(table)

    def register(self, new: Agent) -> Agent:
        """Add a loop and return it. The same loop may be added again.

        Raises:
            OptionsError: another loop has the name.
        """
        held = self._agents.get(new.name)
        where = _where(held.loop) if held else self._offered.get(new.name, "").replace(":", ".")
        if where not in ("", _where(new.loop)):
            raise OptionsError(f"the agent '{new.name}' already exists ({where}); choose another name")
        self._agents[new.name] = new
        return new

    def resolve(self, name: str) -> Agent:
        """Return the loop of a name, or that of `path.py:name`.

        Raises:
            InputError: there is none; the message names the nearest.
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
        """Return the names: those offered, those registered and those of installed packages."""
        return tuple(sorted({*self._offered, *self._known()}))

    def _known(self) -> dict[str, Agent]:
        if not self._entry_points_loaded:
            self._entry_points_loaded = True
            for row in added_rows("agents").values():
                loaded = row.load()
                for found in _agents_in(loaded) if isinstance(loaded, ModuleType) else [_agent_of(loaded)]:
                    if found is None:
                        raise row.refused("is not decorated with @agent")
                    self.register(found)
        return self._agents


AGENTS = Agents()
"""The registry that training, generation and evaluation look names up in."""


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
    """Register the decorated coroutine function as the loop of rows whose `agent_name` is `name`.

    The other arguments are the fields of `Agent`.

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
    """Register the loop of `path.py:name` and return it; `name` is that of an `@agent`, or of a function.

    Raises:
        InputError: no such file or loop, or the file fails to import.
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


def _agents_in(module: ModuleType) -> list[Agent]:
    return [found for value in vars(module).values() if (found := _agent_of(value)) is not None]


def _agent_of(loop: Any) -> Agent | None:
    found = getattr(loop, "__rewardkit_agent__", None)
    return found if isinstance(found, Agent) else None


def _where(loop: Any) -> str:
    return f"{getattr(loop, '__module__', '?')}.{getattr(loop, '__qualname__', loop)}"
