"""Registry of rewards: `data_source` -> `Reward`, with its options, deadline and place to run.

Knows nothing of any particular reward, and runs none: rewards are registered with `@reward`, ours (in
`rewardkit.rewards.declarations`) and those of users (in a file, see `load_reward_file`, or behind an entry
point of the group `rewardkit.rewards`) alike. `rewardkit.scoring.scorer` does the running.
"""

from __future__ import annotations

import fnmatch
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args

from rewardkit.calling import bound, parameters_of
from rewardkit.errors import InputError, OptionsError, UnknownDataSourceError, did_you_mean, require
from rewardkit.extensions import added_rows
from rewardkit.field_docs import field_docs
from rewardkit.reward_options import (
    ON_EXCEPTION,
    OnException,
    check_timeout,
    make_options,
    options_type_of,
    read_on_exception,
    shown_options,
)
from rewardkit.user_files import import_python_file

Place = Literal["inline", "process", "sandbox", "model"]
"""Place where a reward runs. `inline`: in the caller's thread; pure, linear in its input, at most a
millisecond for 10,000 characters of any text (a longer response goes to a worker all the same). `process`: it
may hang or crash, so in a worker that can be killed. `sandbox`: it runs model-written code. `model`: a neural
reward model, batched."""


@dataclass(frozen=True)
class Running:
    """Rules by which a reward is run: where, in what portions, for how long, and with which packages."""

    runs: Place = "inline"
    timeout_s: float = 10.0
    """Deadline for one sample (for one batch if `batch`); overrunning it kills the worker."""
    batch: bool | Literal["group"] = False
    """The function takes a list of samples and returns as many results. `group`: all samples of one prompt
    that are scored together (`rewardkit.groups`), and no others."""
    finds_groups: bool = False
    """A `batch` function that puts samples of one prompt together itself: they have to be in one batch."""
    processes: int = 0
    """Workers of its own, at most this many, rather than a share of the scorer's. 0: none, but one for a
    `model`."""
    chunk: int = 0
    """Number of samples at most that go to a worker at once, those of several callers together; of an `async`
    reward with `processes` this many are in flight in each. 0: as the scorer sees fit, never those of several
    callers."""
    each: Callable[[Sequence[Any], Any], Iterator[Sequence[Any]]] | None = None
    """Function of several samples that yields the results that are there, in order, and does otherwise as
    `Reward.target`. For a reward in another process, which then works on the next samples while results are
    on their way."""
    load: Callable[[Any], object] | None = None
    """Called with the options in a worker before its first sample: slow work such as loading a model."""
    needs: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Packages that it cannot do without, and the extra of ours that brings each."""
    on_exception: OnException = "error"
    """The meaning of an exception that the function raises: `error`, a failure with that status; or `0`, the
    score 0 with the status ok, as of a wrong answer."""
    excerpts: str = ""
    """`module:function` that says which part of each response decides its score: (responses, options) -> for
    each a text that gets the same score with any ground truth, whatever the rest of the sample; None where
    the sample is needed. In a file, equal parts are then scored once. For pure functions."""

    def __post_init__(self) -> None:
        """Refuse values with which a reward would never end, or run elsewhere than was meant."""
        check_timeout(self.timeout_s)
        object.__setattr__(self, "on_exception", read_on_exception(self.on_exception))
        if self.runs not in get_args(Place):
            raise OptionsError(f"'runs' must be one of {', '.join(get_args(Place))}, found {self.runs!r}")

    @property
    def by_group(self) -> bool:
        """True when all samples of one prompt have to be scored together."""
        return self.batch == "group" or self.finds_groups


@dataclass(frozen=True)
class Origin:
    """Facts besides version and options that decide a reward's scores, as locks and receipts record them."""

    source: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Digests of the files that decide its scores, by name, where `Reward.target` does not stand in them."""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings with which somebody else's function is called, besides the options."""


@dataclass(frozen=True)
class Reward:
    """One reward: what it is, and (`running`) how it is run."""

    name: str
    version: int
    target: Callable[..., Any]
    """The function that scores; or one without parameters that returns it, called when it is first needed:
    what takes long to import is imported there."""
    data_sources: tuple[str, ...]
    """Exact names or globs (`aime*`). Exact ones win over globs; longer globs over shorter ones."""
    aliases: tuple[str, ...] = ()
    running: Running = Running()
    parts: tuple[str, ...] = ()
    """The fixed key set of `Score.parts`."""
    options_type: type | None = None
    """A frozen dataclass with a default for every field. None: the annotation of the function's parameter for
    the options, or no options if that is no dataclass."""
    presets: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Options that differ from those defaults; the user's go on top."""
    reads: tuple[str, ...] = ("prompt", "extra_info")
    """Fields that it looks at besides response and ground truth; scoring a file does not load the rest."""
    explain: str = ""
    """`module:function` that explains a score: (ground_truth, response, options) -> something to print."""
    origin: Origin = Origin()
    readings: tuple[str, ...] = ()
    """Ways to try it on a log that names no data source: `` as it is, `method=flexible` with that option,
    the more particular first. Each is a data source as well: `gsm8k:method=flexible`. Only for rewards of
    text, that cost little."""
    summary: str = ""

    def require_packages(self) -> None:
        """Refuse to begin where a package that it needs is not installed.

        Raises:
            MissingDependencyError: with the extra that brings it.
        """
        for package, extra in self.running.needs.items():
            require(f"the reward '{self.name}'", package, extra)

    @property
    def scorer(self) -> str:
        """Name and version as they stand in every Score, put there by the runner: `gsm8k@1`."""
        return f"{self.name}@{self.version}"

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function that scores, imported on first use."""
        if inspect.signature(self.target).parameters:
            return self.target
        returned: Callable[..., Any] = self.target()
        return returned

    @cached_property
    def options_class(self) -> type[Any]:
        """The options dataclass, imported on first use."""
        return self.options_type or options_type_of(self.function)

    def make_options(self, values: Mapping[str, Any]) -> Any:
        """Return this reward's options with `values` set.

        Raises:
            OptionsError: a name that is no option of this reward, or a value of the wrong type.
        """
        return make_options(self.name, self.options_class, {**self.presets, **values})

    def configured(self, values: Mapping[str, Any]) -> tuple[Reward, Any]:
        """Return this reward, and its options with `values` set; `on_exception` among them is the reward's.

        Raises:
            OptionsError: as `make_options`.
        """
        own = dict(values)
        if ON_EXCEPTION not in own or any(one.name == ON_EXCEPTION for one in fields(self.options_class)):
            return self, self.make_options(own)
        return self.with_running(on_exception=own.pop(ON_EXCEPTION)), self.make_options(own)

    def with_running(self, **changes: Any) -> Reward:
        """Return this reward with other values of fields of `running`.

        Raises:
            OptionsError: as of `Running`.
        """
        return replace(self, running=replace(self.running, **changes))

    def describe_options(self) -> dict[str, Any]:
        """Return each option's name and default; of what is asked over a network, what identifies it."""
        return shown_options(self.make_options({}))

    def option_docs(self) -> dict[str, str]:
        """Return what each option means, of those that say it in a string under their field."""
        return field_docs(self.options_class)

    def describe(self) -> dict[str, Any]:
        """Return everything about this reward but its code, as plain data."""
        return {
            "name": self.name,
            "scorer": self.scorer,
            "data_sources": list(self.data_sources),
            "aliases": list(self.aliases),
            "runs": self.running.runs,
            "batch": "group" if self.running.by_group else self.running.batch,
            "timeout_s": self.running.timeout_s,
            "on_exception": self.running.on_exception,
            "options": self.describe_options(),
            "option_docs": self.option_docs(),
            "parts": list(self.parts),
            "summary": self.summary,
        }


class Registry:
    """A mapping from data sources to rewards, with aliases, globs and per-source options."""

    def __init__(self) -> None:
        self._rewards: dict[str, Reward] = {}
        self._exact: dict[str, Reward] = {}
        self._globs: dict[str, Reward] = {}
        self._for_all: list[Reward] = []
        self.packages: dict[str, str] = {}
        """Name of a reward -> the installed package that adds it; known once all rewards have been listed."""
        self._entry_points_loaded = False

    def register(self, new: Reward, *, replace_existing: bool = False) -> Reward:
        """Add a reward.

        Raises:
            OptionsError: one of its data sources, aliases or its name is taken by another reward and
                `replace_existing` is false.
        """
        if not replace_existing:
            self._refuse_taken_names(new)
        self._rewards[new.name] = new
        for source in (*new.data_sources, *new.aliases):
            (self._globs if _is_glob(source) else self._exact)[source] = new
        return new

    def use_for_all(self, new: Reward) -> Reward:
        """Make a reward score every data source, known or not; the last one made so wins."""
        self._rewards[new.name] = new
        self._for_all.append(new)
        return new

    @property
    def for_all(self) -> Reward | None:
        """The reward that scores every data source, if there is one."""
        return self._for_all[-1] if self._for_all else None

    def _refuse_taken_names(self, new: Reward) -> None:
        for source in (*new.data_sources, *new.aliases):
            holder = self._exact.get(source) or self._globs.get(source)
            if holder is not None and holder.name != new.name:
                raise OptionsError(
                    f"data source '{source}' already belongs to reward '{holder.name}'; "
                    f"register '{new.name}' with replace_existing=True to replace '{holder.name}'"
                )
        if new.name in self._rewards:
            raise OptionsError(
                f"a reward named '{new.name}' is already registered; "
                "choose another name= or pass replace_existing=True"
            )

    def resolve(self, data_source: str) -> Reward:
        """Return the reward for a data source: one for all, then its exact name or alias, then the longest
        glob.

        Raises:
            UnknownDataSourceError: names the nearest known data sources.
        """
        found = self.find(data_source)
        if found is None:
            known = sorted({*self._exact, *self._globs})
            hint = did_you_mean(data_source, known) or "; see `rewardkit list`"
            raise UnknownDataSourceError(f"no reward is registered for data source '{data_source:.60}'{hint}")
        return found

    def find(self, data_source: str) -> Reward | None:
        """Return the reward for a data source as `resolve` does; None where there is none."""
        if self.for_all is not None:
            return self.for_all
        found = self._exact.get(data_source) or self._globs.get(data_source)  # a glob stands for itself too
        found = found or self._reading(data_source) or self._longest_glob(data_source)
        if found is None and not self._entry_points_loaded:
            self._load_entry_points()
            return self.find(data_source)
        return found

    def looks_at_groups(self, data_source: str) -> bool:
        """True when a data source has a reward that has to see all responses to a prompt at once."""
        found = self.find(data_source)
        return found is not None and found.running.by_group

    def by_name(self, name: str) -> Reward | None:
        """Return the reward of that name, if there is one."""
        return self._rewards.get(name)

    def readings(self) -> list[str]:
        """Return the data sources with which a log is tried, rewards as they are before those with an option,
        the more particular first."""
        plain = [reward.name for reward in self if "" in reward.readings]
        return plain + [f"{reward.name}:{words}" for reward in self for words in reward.readings if words]

    def _reading(self, data_source: str) -> Reward | None:
        """The reward that a name with an option, as `readings` has them, stands for."""
        name, colon, words = data_source.partition(":")
        reward = self.by_name(name) if colon else None
        if reward is None or words not in reward.readings or not words:
            return None
        option, _, value = words.partition("=")
        return replace(reward, presets={**reward.presets, option: value})

    def _longest_glob(self, data_source: str) -> Reward | None:
        matching = [g for g in self._globs if fnmatch.fnmatchcase(data_source, g)]
        return self._globs[max(matching, key=len)] if matching else None

    def _load_entry_points(self) -> None:
        self._entry_points_loaded = True
        for row in added_rows("rewards").values():
            loaded = row.load()
            found = _rewards_in(loaded) if isinstance(loaded, ModuleType) else [reward_of(loaded)]
            for one in found:
                if one is None:
                    raise row.refused("is not decorated with @rewardkit.reward")
                if one.name not in self._rewards:
                    self.register(one)
                self.packages[one.name] = row.package

    def __iter__(self) -> Iterator[Reward]:
        if not self._entry_points_loaded:
            self._load_entry_points()
        return iter(list(self._rewards.values()))


REGISTRY = Registry()
"""The registry that every entrance uses. The only global state of the library."""


def reward(
    *data_sources: str,
    name: str | None = None,
    version: int = 1,
    aliases: Iterable[str] = (),
    runs: Place = "process",
    timeout_s: float = 10.0,
    batch: bool | Literal["group"] = False,
    parts: Iterable[str] = (),
    on_exception: OnException = "error",
    reads: Iterable[str] = ("prompt", "extra_info"),
    options: type | None = None,
    explain: str = "",
    excerpts: str = "",
    needs: Mapping[str, str] | None = None,
    readings: Iterable[str] = (),
    replace_existing: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the reward of `data_sources`.

    The function takes `(sample)` or `(sample, options)`, a list of samples if `batch`; or any of these
    parameters: `data_source`, `response` (also `solution_str`, as in verl), `ground_truth`, `prompt`,
    `extra_info`, in the plural if `batch`. It may be `async`. It returns a Score, a float, a bool, or a dict
    with at least `score`; every Score gets the name and version given here. The function runs in a worker
    process with a time limit; `runs="inline"` runs it in this process, for pure functions that are always
    fast. The other arguments are the fields of `Reward` and `Running`; the summary is the first line of the
    docstring.

    A function without parameters is a declaration: it is called when the reward is first needed and returns
    the function to use. Heavy imports belong there, so that `rewardkit list` stays quick.

    Example:
        >>> @reward("my/spelling", timeout_s=1.0)
        ... def spelling(sample: Sample) -> float:
        ...     return float(sample.response.strip() == sample.ground_truth)

        >>> @reward("my/essays", version=2, runs="process")
        ... def essays():
        ...     from my_package.essays import score  # takes seconds to import
        ...
        ...     return score

    Raises:
        InputError: the function has an unknown parameter.
        OptionsError: the name or a data source belongs to another reward.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        made = _reward_from(function, data_sources, name or function.__name__)
        made = replace(
            made,
            version=version,
            aliases=tuple(aliases),
            running=Running(
                runs=runs,
                timeout_s=timeout_s,
                batch=batch,
                needs=needs or {},
                on_exception=on_exception,
                excerpts=excerpts,
            ),
            parts=tuple(parts),
            reads=tuple(reads),
            options_type=options,
            explain=explain,
            readings=tuple(readings),
        )
        _check_signature(made)
        REGISTRY.register(made, replace_existing=replace_existing)
        function.__rewardkit_reward__ = made  # type: ignore[attr-defined]
        return function

    return register


def reward_of(function: Any) -> Reward | None:
    """Return the Reward that `@reward` made of this function, if it did."""
    found = getattr(function, "__rewardkit_reward__", None)
    return found if isinstance(found, Reward) else None


def load_reward_file(spec: str) -> list[Reward]:
    """Register the rewards of a Python file and return them.

    Args:
        spec: `path.py` (all its `@reward` functions), `path.py:function` (that one; undecorated it takes
            every data source, as verl's `custom_reward_function` does) or `SOURCE=path.py:function`
            (that one, for the data sources matching SOURCE).

    Raises:
        InputError: no such file or function, or the file fails to import.
    """
    source, equals, rest = spec.partition("=")
    path_and_name = rest if equals else spec
    path_text, _, function_name = path_and_name.partition(":")
    module = import_python_file(Path(path_text))
    if not function_name:
        found = _rewards_in(module)
        if not found:
            raise InputError(
                f"{path_text} has no function decorated with @rewardkit.reward; "
                f"name the function as {path_text}:NAME"
            )
        return found
    function = getattr(module, function_name, None)
    if not callable(function):
        near = did_you_mean(function_name, [n for n, v in vars(module).items() if inspect.isfunction(v)])
        raise InputError(f"{path_text} has no function '{function_name}'{near}")
    declared = reward_of(function)
    if declared is not None and not equals:
        return [declared]
    made = declared or _reward_from(function, ("*",), function_name)
    _check_signature(made)
    if not equals:
        return [REGISTRY.use_for_all(made)]
    return [REGISTRY.register(replace(made, data_sources=(source,), aliases=()), replace_existing=True)]


def _reward_from(function: Callable[..., Any], data_sources: tuple[str, ...], name: str) -> Reward:
    return Reward(
        name=name,
        version=1,
        target=function,
        data_sources=data_sources,
        summary=(inspect.getdoc(function) or "").partition("\n")[0],
        running=Running(runs="process"),
    )


def _check_signature(made: Reward) -> None:
    """Refuse a function that could not be called; one without parameters is asked for it at first use.

    Raises:
        InputError: it has an unknown parameter.
    """
    if parameters_of(made.target):
        bound(made.target, batch=bool(made.running.batch))


def _rewards_in(module: ModuleType) -> list[Reward]:
    return [found for value in vars(module).values() if (found := reward_of(value)) is not None]


def import_target(target: str) -> Callable[..., Any]:
    """Import `module:function`."""
    module_name, _, attribute = target.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module_name), attribute)
    return found


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")
