"""Parses specs for third-party rewards, and lists their kinds. `load_reward` loads the spec in `--reward`.

This module does not import the target of a spec. Each kind creates a `Reward` that runs outside this process.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

from rewardkit.errors import InputError, did_you_mean
from rewardkit.extensions import FUNCTION, Table
from rewardkit.http_addresses import Address
from rewardkit.registry import REGISTRY, Registry, Reward, load_reward_file
from rewardkit.reward_options import ON_EXCEPTION, OnException, read_on_exception

_PYTHON = "rewardkit.foreign.functions:python_reward"

PYTHON_KINDS = (
    "areal",
    "easyr1",
    "lm-eval",
    "open-instruct",
    "openrlhf",
    "plain",
    "rllm",
    "skyrl-gym",
    "slime",
    "swift",
    "torchforge",
    "trl",
    "verifiers",
    "verl",
)
"""Kinds whose rewards are Python functions or objects, which run in a host process."""

MakeReward = Callable[["ForeignSpec"], Reward]

KINDS: Table[MakeReward] = Table(
    "foreign_kinds",
    FUNCTION,
    {
        **dict.fromkeys(PYTHON_KINDS, _PYTHON),
    },
)
"""Functions that create the Reward for a spec (`KIND:TARGET`), by kind."""

_IN_A_FILE = re.compile(r"[^:?]*\.py(:|\?|$)")
_IN_A_MODULE = re.compile(r"[A-Za-z_][\w.]*:(?!\w+\.py\b)[A-Za-z_]\w*(\.\w+)*(\?.*)?$")


@dataclass(frozen=True)
class ForeignSpec:
    """Third-party reward, as specified by a spec or by an entry in a YAML file."""

    target: str
    """Location of the reward, such as `FILE.py:NAME`, `package.module:NAME`, a name, a URL or a folder."""
    kind: str = ""
    """One of `KINDS`. If empty, the kind is inferred from the function's parameters."""
    python: str | None = None
    """Python interpreter that runs the reward, or None for the current interpreter."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments for every call to the function, or for the class or factory that creates the function."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of the sample, or key in `extra_info`, to pass to each parameter with a nonstandard name."""
    ground_truth: Literal["json", "text"] = "json"
    """Form in which a JSON object or array is passed as the ground truth, either decoded or as text."""
    batch: Literal["sample", "group"] = "sample"
    """Rows in each call to a function with list parameters, either one sample or all samples for a prompt."""
    name: str = ""
    """Name of the reward. If empty, the function's name is used."""
    data_sources: tuple[str, ...] = ()
    """Data sources that the reward scores. If empty, the reward can only be a member of compositions."""
    timeout_s: float = 10.0
    """Time limit for a call, in seconds."""
    on_exception: OnException = "error"
    """Score or status after an exception (see `Running`). In a spec, it is set with `?on_exception=0`."""


def parse_spec(text: str) -> ForeignSpec:
    """Parse `[SOURCE=]SPEC`, where SPEC is `KIND:TARGET`, `FILE.py[:NAME]` or `package.module:NAME`.

    A spec may end with options in the form `?name=value&name=value`. The values are JSON, and special
    characters are escaped as in a URL.

    Raises:
        InputError: The text is not a valid spec.
    """
    source, spec = _split_source(text)
    rest, _, query = spec.partition("?")
    kind, colon, target = rest.partition(":")
    if not (colon and kind in KINDS):
        if not _is_function(rest):
            raise InputError(f"reward '{shown_spec(text)}': {_no_kind(kind) if colon else _expected(rest)}")
        kind, target = "", rest
    options = _options(query)
    on_exception = read_on_exception(options.pop(ON_EXCEPTION, "error"))
    sources = (source,) if source else ()
    return ForeignSpec(target, kind, options=options, data_sources=sources, on_exception=on_exception)


def shown_spec(text: str) -> str:
    """Return a spec without its options, which may contain secret keys, for use in messages."""
    return Address(text).partition("?")[0]


def is_spec(text: str) -> bool:
    """Return True if a string names a file, a function in a module, or a kind, which may be unknown."""
    _, spec = _split_source(text)
    return _is_function(spec) or spec in KINDS or ":" in spec.partition("?")[0]


def _is_function(spec: str) -> bool:
    return bool(_IN_A_FILE.match(spec)) or bool(_IN_A_MODULE.fullmatch(spec))


def _expected(spec: str) -> str:
    if REGISTRY.find(spec):
        return f"rewardkit has this reward, which rows choose by their data source; use --data-source {spec}"
    return f"expected FILE.py[:NAME], MODULE:NAME or KIND:TARGET; kinds: {', '.join(sorted(KINDS))}"


def _no_kind(kind: str) -> str:
    near = did_you_mean(kind, KINDS)
    return f"there is no kind '{kind}'{near}{' Kinds' if near else '; kinds'}: {', '.join(sorted(KINDS))}"


def verl_function(path: str, name: str, options: Mapping[str, Any]) -> str:
    """Return the spec for the function in verl's setting `custom_reward_function`.

    Args:
        path: File, `file://FILE` or `pkg://package.module` (also `pkg://package/module`).
        name: Name of the function.
        options: Arguments that verl passes to the function.
    """
    place, package, module = path.removeprefix("file://").partition("pkg://")
    query = "&".join(f"{key}={quote(json.dumps(value))}" for key, value in options.items())
    return f"{module.replace('/', '.') if package else place}:{name}" + f"?{query}" * bool(query)


def is_python(spec: ForeignSpec) -> bool:
    """Return True if a spec's reward is Python code, which runs in a host."""
    return not spec.kind or spec.kind in PYTHON_KINDS


def foreign_reward(spec: ForeignSpec) -> Reward:
    """Create the Reward for a spec without registering it.

    Raises:
        InputError: The kind is unknown, or the target cannot be run.
    """
    if spec.kind and spec.kind not in KINDS:
        raise InputError(f"reward '{Address(spec.target)}': {_no_kind(spec.kind)}")
    return KINDS[spec.kind or "plain"](spec)


def register(spec: ForeignSpec, registry: Registry = REGISTRY) -> Reward:
    """Create the Reward for a spec and register it for the spec's data sources.

    Without data sources, the reward can only be a member of a composition.

    Raises:
        InputError: The kind is unknown, or the target cannot be run.
    """
    return registry.register(foreign_reward(spec), replace_existing=True)


def load_reward(text: str, registry: Registry = REGISTRY) -> list[Reward]:
    """Register and return the rewards that `--reward [SOURCE=]SPEC` specifies.

    The result contains either all rewards in a file that imports rewardkit, or a single third-party reward.
    Without SOURCE, a third-party reward scores every data source.

    Raises:
        InputError: The spec is invalid, or its rewards cannot be loaded.
    """
    source, spec = _split_source(text)
    if text.startswith("="):
        raise InputError(
            f"--reward {shown_spec(text)}: the data source before `=` is empty; expected [SOURCE=]SPEC"
        )
    if _is_ours(spec):
        if "?" in spec:
            raise InputError(
                f"--reward {shown_spec(text)}: the file imports rewardkit, so "
                "set options with --option instead of `?`"
            )
        return load_reward_file(text)
    parsed = parse_spec(spec)
    made = foreign_reward(replace(parsed, data_sources=(source,) if source else ("*",)))
    if source:
        return [registry.register(made, replace_existing=True)]
    return [registry.use_for_all(made)]


def _is_ours(spec: str) -> bool:
    """Return True if a spec names a Python file that imports rewardkit, and is thus written for it."""
    path = spec.partition("?")[0].partition(":")[0]
    if not path.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False  # importing the file will report the error
    return any(name.partition(".")[0] == "rewardkit" for node in ast.walk(tree) for name in _imported(node))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def _split_source(text: str) -> tuple[str, str]:
    """Split a text into the data source before `=`, or "", and the spec. Options may also contain `=`."""
    head, equals, rest = text.partition("=")
    in_options = "?" in head and is_spec(head.partition("?")[0])
    return (head, rest) if equals and not in_options else ("", text)


def _options(query: str) -> dict[str, Any]:
    """Parse the options at the end of a spec. A value that is not JSON becomes a string."""
    return {
        name: _value(value) for name, _, value in (word.partition("=") for word in query.split("&")) if name
    }


def _value(text: str) -> Any:
    text = unquote(text)
    try:
        return json.loads(text)
    except ValueError:
        return text
