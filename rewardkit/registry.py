"""Registry that maps a `data_source` to a `Reward` with its options, time limit and place to run.

The registry does not depend on any particular reward, and `rewardkit.scoring.scorer` runs the rewards. All
rewards are registered with `@reward`: rewardkit's own rewards in `rewardkit.rewards.declarations`, and users'
rewards in a file (see `load_reward_file`) or through an entry point in the group `rewardkit.rewards`.
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
from rewardkit.extensions import AddedRow, added_rows
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
"""Place where a reward runs.

`inline`: in the caller's thread, for pure functions that take time linear in their input and at most a
millisecond for 10,000 characters of any text. Longer responses are still sent to a worker. `process`: in a
worker that can be killed, for functions that may hang or crash. `sandbox`: in threads of a worker, for
rewards that run model-written code with `sandbox_of_process`. A worker scores several samples at once in its
threads, so the function must be thread-safe. `model`: in a worker that scores batches with a neural reward
model."""


@dataclass(frozen=True)
class Running:
    """Settings for running a reward: where it runs, its batch sizes, time limits and required packages."""

    runs: Place = "inline"
    timeout_s: float = 10.0
    """Time limit in seconds for one sample, or for one batch if `batch` is set. A worker that exceeds the
    limit is killed."""
    batch: bool | Literal["group"] = False
    """True if the function takes a list of samples and returns one result for each. `group`: the list
    contains exactly the samples for one prompt, which are scored together (see `rewardkit.groups`)."""
    finds_groups: bool = False
    """True if a `batch` function itself groups samples by prompt and needs each group in a single batch."""
    processes: int = 0
    """Maximum number of dedicated workers for this reward. If it is 0, the reward uses the scorer's shared
    workers, except that a `model` reward has one dedicated worker."""
    chunk: int = 0
    """Maximum number of samples that are sent to a worker at once. They may come from several callers. For an
    `async` reward with `processes`, this is the number of samples in flight in each worker. If it is 0, the
    scorer chooses the number and does not mix samples from several callers."""
    each: Callable[[Sequence[Any], Any], Iterator[Sequence[Any]]] | None = None
    """Function that takes several samples and yields their results in order, each as soon as it is available.
    Otherwise, the function behaves like `Reward.target`. A reward in another process can thus work on the
    next samples while results are being sent."""
    load: Callable[[Any], object] | None = None
    """Function that a worker calls with the options before its first sample, for example to load a model."""
    needs: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Required packages, each with the extra of rewardkit that installs it."""
    on_exception: OnException = "error"
    """Result for a sample if the function raises an exception. `error` gives a failure with status `error`. 0
    gives the score 0 with status `ok`, as for a wrong answer."""
    excerpts: str = ""
    """`module:function` that returns the part of each response that determines its score. It is meant for
    pure functions. The function maps (responses, options) to one text per response, or to None for a response
    whose whole sample is needed. A text must get the same score as its response, for any ground truth and
    regardless of the rest of the sample. The scorer then scores equal texts in a file only once."""

    def __post_init__(self) -> None:
        """Check the time limit, `on_exception` and the place to run.

        Raises:
            OptionsError: A value is not valid.
        """
        check_timeout(self.timeout_s)
        object.__setattr__(self, "on_exception", read_on_exception(self.on_exception))
        if self.runs not in get_args(Place):
            raise OptionsError(f"'runs' must be one of {', '.join(get_args(Place))}, found {self.runs!r}")

    @property
    def by_group(self) -> bool:
        """True if all samples of one prompt have to be scored together."""
        return self.batch == "group" or self.finds_groups


@dataclass(frozen=True)
class Origin:
    """Files and settings that determine a reward's scores in addition to its version and options.

    Locks and receipts record them.
    """

    source: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Digests by name of files that determine the scores, for a `Reward.target` that other code defines."""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Settings that are passed to a third-party function in addition to the options."""


@dataclass(frozen=True)
class Reward:
    """Definition of a reward. `running` specifies how it is run."""

    name: str
    version: int | str
    """Version of the scores: a number for code, and a digest for the weights of a model."""
    target: Callable[..., Any]
    """Function that scores samples, or a function without parameters that returns the scoring function. The
    latter is called when the reward is first needed, so it can contain slow imports."""
    data_sources: tuple[str, ...]
    """Exact names or globs (`aime*`). Exact names take precedence, and longer globs precede shorter globs."""
    aliases: tuple[str, ...] = ()
    running: Running = Running()
    parts: tuple[str, ...] = ()
    """Names of all components that `Score.parts` contains."""
    options_type: type | None = None
    """Frozen dataclass of the options, with a default for every field. If it is None, the annotation of the
    function's options parameter is used. The reward has no options if the annotation is not a dataclass."""
    presets: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Option values that replace the defaults of `options_type`. The user's options override them."""
    reads: tuple[str, ...] = ("prompt", "extra_info")
    """Fields that the reward reads in addition to response and ground truth. Other fields are not loaded."""
    explain: str = ""
    """`module:function` that maps (ground_truth, response, options) to an explanation that can be printed."""
    of_episode: bool = False
    """True if the reward only reads the score that an episode already has. Its rows need no ground truth."""
    origin: Origin = Origin()
    readings: tuple[str, ...] = ()
    """Options to try on a log that names no data source, starting with the most specific. Each entry is one
    option, such as `method=flexible`, or an empty text for the defaults. The reward's name and an option also
    form a data source, such as `gsm8k:method=flexible`. Set this only for cheap rewards that read text."""
    summary: str = ""

    def require_packages(self) -> None:
        """Check that all packages that this reward requires are installed.

        Raises:
            MissingDependencyError: A package is missing. The message names the extra that installs it.
        """
        for package, extra in self.running.needs.items():
            require(f"the reward '{self.name}'", package, extra)

    @property
    def scorer(self) -> str:
        """Name and version of the reward, such as `gsm8k@1`. The runner writes them into every Score."""
        return f"{self.name}@{self.version}"

    @cached_property
    def function(self) -> Callable[..., Any]:
        """Function that scores samples, imported on first use."""
        if inspect.signature(self.target).parameters:
            return self.target
        returned: Callable[..., Any] = self.target()
        return returned

    @cached_property
    def options_class(self) -> type[Any]:
        """Dataclass of the options, imported on first use."""
        return self.options_type or options_type_of(self.function)

    def make_options(self, values: Mapping[str, Any]) -> Any:
        """Return this reward's options, with the given values in place of the defaults.

        Raises:
            OptionsError: A name is not an option of this reward, or a value has the wrong type.
        """
        return make_options(self.name, self.options_class, {**self.presets, **values})

    def configured(self, values: Mapping[str, Any]) -> tuple[Reward, Any]:
        """Return this reward and its options, with the given values in place of the defaults.

        A value for `on_exception` changes `running`, unless the reward has an option of that name.

        Raises:
            OptionsError: A name is not an option of this reward, or a value has the wrong type.
        """
        own = dict(values)
        if ON_EXCEPTION not in own or any(one.name == ON_EXCEPTION for one in fields(self.options_class)):
            return self, self.make_options(own)
        return self.with_running(on_exception=own.pop(ON_EXCEPTION)), self.make_options(own)

    def with_running(self, **changes: Any) -> Reward:
        """Return this reward with some fields of `running` changed.

        Raises:
            OptionsError: A value is not valid for `Running`.
        """
        return replace(self, running=replace(self.running, **changes))

    def describe_options(self) -> dict[str, Any]:
        """Return the default of each option by name, without secrets in addresses and requests."""
        return shown_options(self.make_options({}))

    def option_docs(self) -> dict[str, str]:
        """Return the descriptions of the options, by name, from the strings below their fields."""
        return field_docs(self.options_class)

    def describe(self) -> dict[str, Any]:
        """Return a description of this reward as plain data."""
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
    """Mapping from data sources to rewards, with aliases and globs."""

    def __init__(self) -> None:
        self._rewards: dict[str, Reward] = {}
        self._exact: dict[str, Reward] = {}
        self._globs: dict[str, Reward] = {}
        self._for_all: list[Reward] = []
        self.packages: dict[str, str] = {}
        """Package that provides each reward, by the reward's name. Loading entry points fills this
        mapping."""
        self._entry_points_loaded = False
        self.listed_at = "`rewardkit list`"
        """Command that lists all data sources, for error messages."""

    def register(self, new: Reward, *, replace_existing: bool = False) -> Reward:
        """Add a reward.

        Raises:
            OptionsError: The name, a data source or an alias is already taken by another reward, and
                `replace_existing` is false.
        """
        if not replace_existing:
            self._refuse_taken_names(new)
        self._rewards[new.name] = new
        for source in (*new.data_sources, *new.aliases):
            (self._globs if _is_glob(source) else self._exact)[source] = new
        return new

    def use_for_all(self, new: Reward) -> Reward:
        """Use a reward for every data source, known or unknown. If this is called again, the last reward is
        used."""
        self._rewards[new.name] = new
        self._for_all.append(new)
        return new

    @property
    def for_all(self) -> Reward | None:
        """Reward that scores every data source, or None if there is no such reward."""
        return self._for_all[-1] if self._for_all else None

    def take_over(self, other: Registry) -> None:
        """Replace all entries of this registry by those of another registry."""
        vars(self).update(vars(other))

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
        """Return the reward for a data source.

        A reward for all data sources has priority, then an exact name or alias, and then the longest glob.

        Raises:
            UnknownDataSourceError: No reward matches. The message names the closest known data sources.
        """
        found = self.find(data_source)
        if found is None:
            raise self.unknown(data_source)
        return found

    def unknown(self, data_source: str, *, suggest: bool = True) -> UnknownDataSourceError:
        """Return the error for a data source without a reward.

        Args:
            data_source: Data source that has no reward.
            suggest: True to search for similar names, which takes up to a millisecond.
        """
        hint = (self.similar_to(data_source) if suggest else "") or f"; see {self.listed_at}"
        return UnknownDataSourceError(f"no reward is registered for data source '{data_source:.60}'{hint}")

    def similar_to(self, data_source: str) -> str:
        """Return a text that suggests similar data sources, or "" if there are none."""
        return did_you_mean(data_source, sorted({*self._exact, *self._globs}))

    def find(self, data_source: str) -> Reward | None:
        """Return the reward for a data source as `resolve` does, or None if there is no such reward."""
        if self.for_all is not None:
            return self.for_all
        found = self._exact.get(data_source) or self._globs.get(data_source)  # a glob also matches itself
        found = found or self._reading(data_source) or self._longest_glob(data_source)
        if found is None and not self._entry_points_loaded:
            self._load_entry_points()
            return self.find(data_source)
        return found

    def needs_ground_truth(self, data_source: str) -> bool:
        """Return False if the data source's reward only reads the score that an episode already has."""
        found = self.find(data_source)
        return found is None or not found.of_episode

    def looks_at_groups(self, data_source: str) -> bool:
        """Return True if the reward for a data source has to score all responses to a prompt together."""
        found = self.find(data_source)
        return found is not None and found.running.by_group

    def by_name(self, name: str) -> Reward | None:
        """Return the reward with this name, or None if there is no such reward."""
        return self._rewards.get(name)

    def readings(self) -> list[str]:
        """Return the data sources to try on a log that does not name a data source.

        Rewards with default options come before rewards with an option, each in order of registration.
        """
        plain = [reward.name for reward in self if "" in reward.readings]
        return plain + [f"{reward.name}:{words}" for reward in self for words in reward.readings if words]

    def _reading(self, data_source: str) -> Reward | None:
        """Return the reward for a data source with an option, such as `gsm8k:method=flexible`, or None."""
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
        for row in added_rows("rewards").values():
            for one in rewards_of_row(row):
                if one.name not in self._rewards:
                    self.register(one)
                self.packages[one.name] = row.package
        self._entry_points_loaded = True

    def __iter__(self) -> Iterator[Reward]:
        if not self._entry_points_loaded:
            self._load_entry_points()
        return iter(list(self._rewards.values()))


REGISTRY = Registry()
"""Registry that all functions of the library share. It is the library's only global state."""


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
    of_episode: bool = False,
    replace_existing: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the reward for `data_sources`.

    The function takes `(sample)` or `(sample, options)`, with a list of samples if `batch`. Alternatively it
    takes any of the parameters `data_source`, `response` (also `solution_str`, as in verl), `ground_truth`,
    `prompt` and `extra_info`, in the plural if `batch`. The function may be `async`. The function returns a
    Score, a float, a bool, or a dict with at least `score`. Every Score gets the name and version passed to
    the decorator. The function runs in a worker process with a time limit. `runs="inline"` runs it in the
    current process, for pure functions that are always fast. The other arguments are the fields of `Reward`
    and `Running`. The summary is the first line of the function's docstring.

    The function runs in a worker process with a time limit. `runs="inline"` runs pure functions that are
    always fast in the current process. The other arguments are the fields of `Reward` and `Running`. The
    first line of the function's docstring is the reward's summary.

    A function without parameters is a declaration. It is called when the reward is first needed, and returns
    the function to use. Put slow imports into a declaration to keep `rewardkit list` fast.

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
        InputError: The function has an unknown parameter.
        OptionsError: The name or a data source belongs to another reward.
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
            of_episode=of_episode,
            readings=tuple(readings),
        )
        _check_signature(made)
        REGISTRY.register(made, replace_existing=replace_existing)
        function.__rewardkit_reward__ = made  # type: ignore[attr-defined]
        return function

    return register


def reward_of(function: Any) -> Reward | None:
    """Return the Reward that `@reward` created from a function, or None if the function is not decorated."""
    found = getattr(function, "__rewardkit_reward__", None)
    return found if isinstance(found, Reward) else None


def rewards_of_row(row: AddedRow) -> list[Reward]:
    """Load the rewards that a package adds (see `AddedRow.load_decorated`)."""
    return row.load_decorated(reward_of, "@rewardkit.reward")


def load_reward_file(spec: str) -> list[Reward]:
    """Register the rewards in a Python file and return them.

    Args:
        spec: `path.py` registers all `@reward` functions in the file, and `path.py:function` registers one
            function.
            `SOURCE=path.py:function` registers one function for the data sources that match SOURCE. An
            undecorated function without SOURCE scores every data source, like verl's
            `custom_reward_function`.

    Raises:
        InputError: The file or function does not exist, or the file fails to import.
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
    """Check that a reward's function can be called.

    A function without parameters is a declaration. The function that it returns is checked on first use.

    Raises:
        InputError: The function has an unknown parameter.
    """
    if parameters_of(made.target):
        bound(made.target, batch=bool(made.running.batch))


def _rewards_in(module: ModuleType) -> list[Reward]:
    return [found for value in vars(module).values() if (found := reward_of(value)) is not None]


def import_target(target: str) -> Callable[..., Any]:
    """Import and return the function at `module:function`."""
    module_name, _, attribute = target.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module_name), attribute)
    return found


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")
