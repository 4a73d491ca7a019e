"""Specs: how somebody else's reward is named, and which kinds there are. `load_reward` takes `--reward`'s.

Nothing here imports what a spec names: each kind makes a `Reward` of it that runs elsewhere.
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
from rewardkit.extensions import Table
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
"""Kinds of Python functions and objects, which run in a host process."""

MakeReward = Callable[["ForeignSpec"], Reward]

KINDS: Table[MakeReward] = Table(
    "foreign_kinds",
    object,
    {
        **dict.fromkeys(PYTHON_KINDS, _PYTHON),
    },
)
"""The function that makes a Reward of a spec (`KIND:TARGET`), by kind."""

_IN_A_FILE = re.compile(r"[^:?]*\.py(:|\?|$)")
_IN_A_MODULE = re.compile(r"[A-Za-z_][\w.]*:(?!\w+\.py\b)[A-Za-z_]\w*(\.\w+)*(\?.*)?$")


@dataclass(frozen=True)
class ForeignSpec:
    """One reward that somebody else wrote, as a spec or an entry of a YAML file names it."""

    target: str
    """Target by which the kind finds it: `FILE.py:NAME`, `package.module:NAME`, a name, a URL, a folder."""
    kind: str = ""
    """One of `KINDS`; empty: what the function's parameters say."""
    python: str | None = None
    """The interpreter that runs it; None: ours."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Goes to the function with every call, or to what makes it."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Parameter -> field of the sample or key of `extra_info` that it gets, where its name does not say."""
    ground_truth: Literal["json", "text"] = "json"
    """Form of a ground truth that is a JSON object or array: as that, or as its text."""
    batch: Literal["sample", "group"] = "sample"
    """Rows that a function of lists gets in one call: one response, or all responses to a prompt."""
    name: str = ""
    """Name of the reward; empty: that of the function."""
    data_sources: tuple[str, ...] = ()
    """Data sources that it scores; empty: it can be a member of compositions."""
    timeout_s: float = 10.0
    """Deadline for one call."""
    on_exception: OnException = "error"
    """The same as that of a Reward; in a spec it stands among the options: `?on_exception=0`."""


def parse_spec(text: str) -> ForeignSpec:
    """Read `[SOURCE=]SPEC`, where SPEC is `KIND:TARGET`, `FILE.py[:NAME]` or `package.module:NAME`, and may
    end in options: `?name=value&name=value`, values as in JSON, special characters as in a URL.

    Raises:
        InputError: it is none of these.
    """
    source, spec = _split_source(text)
    rest, _, query = spec.partition("?")
    kind, colon, target = rest.partition(":")
    if not (colon and kind in KINDS):
        if not _is_function(rest):
            raise InputError(f"reward '{shown_spec(text)}': {_no_kind(kind) if colon else _expected()}")
        kind, target = "", rest
    options = _options(query)
    on_exception = read_on_exception(options.pop(ON_EXCEPTION, "error"))
    sources = (source,) if source else ()
    return ForeignSpec(target, kind, options=options, data_sources=sources, on_exception=on_exception)


def shown_spec(text: str) -> str:
    """Return a spec as it may be shown: without its options, which may hold keys."""
    return Address(text).partition("?")[0]


def is_spec(text: str) -> bool:
    """True for what names a file, a module's function or a kind, also an unknown one; not for names alone."""
    _, spec = _split_source(text)
    return _is_function(spec) or spec in KINDS or ":" in spec.partition("?")[0]


def _is_function(spec: str) -> bool:
    return bool(_IN_A_FILE.match(spec)) or bool(_IN_A_MODULE.fullmatch(spec))


def _expected() -> str:
    return f"expected FILE.py[:NAME], MODULE:NAME or KIND:TARGET; kinds: {', '.join(sorted(KINDS))}"


def _no_kind(kind: str) -> str:
    near = did_you_mean(kind, KINDS)
    return f"there is no kind '{kind}'{near}{' Kinds' if near else '; kinds'}: {', '.join(sorted(KINDS))}"


def verl_function(path: str, name: str, options: Mapping[str, Any]) -> str:
    """Return the spec of a function as verl's `custom_reward_function` names it.

    Args:
        path: a file, `file://FILE` or `pkg://package.module` (also `pkg://package/module`).
    """
    place, package, module = path.removeprefix("file://").partition("pkg://")
    query = "&".join(f"{key}={quote(json.dumps(value))}" for key, value in options.items())
    return f"{module.replace('/', '.') if package else place}:{name}" + f"?{query}" * bool(query)


def is_python(spec: ForeignSpec) -> bool:
    """True for what runs in a host."""
    return not spec.kind or spec.kind in PYTHON_KINDS


def foreign_reward(spec: ForeignSpec) -> Reward:
    """Return the Reward that runs what a spec names; it is not registered.

    Raises:
        InputError: there is no such kind, or nothing that can be run.
    """
    if spec.kind and spec.kind not in KINDS:
        raise InputError(f"reward '{Address(spec.target)}': {_no_kind(spec.kind)}")
    return KINDS[spec.kind or "plain"](spec)


def register(spec: ForeignSpec, registry: Registry = REGISTRY) -> Reward:
    """Make and register the Reward of a spec for its data sources. Without any it can be a member of a
    composition.

    Raises:
        InputError: as `foreign_reward`.
    """
    return registry.register(foreign_reward(spec), replace_existing=True)


def load_reward(text: str, registry: Registry = REGISTRY) -> list[Reward]:
    """Register what `--reward [SOURCE=]SPEC` names, and return it: rewards of a file that imports
    rewardkit, or one that somebody else wrote. Without SOURCE, the latter scores every data source.

    Raises:
        InputError: nothing can be made of it.
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
    """Return True if a spec names a Python file that is written for rewardkit, which it then imports."""
    path = spec.partition("?")[0].partition(":")[0]
    if not path.endswith(".py"):
        return False
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False  # whose import says what is wrong
    return any(name.partition(".")[0] == "rewardkit" for node in ast.walk(tree) for name in _imported(node))


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def _split_source(text: str) -> tuple[str, str]:
    """The data source in front of a spec, or "", and the spec; options behind it may hold `=` too."""
    head, equals, rest = text.partition("=")
    in_options = "?" in head and is_spec(head.partition("?")[0])
    return (head, rest) if equals and not in_options else ("", text)


def _options(query: str) -> dict[str, Any]:
    """Options as they stand behind a spec; a value that is no JSON is a text."""
    return {
        name: _value(value) for name, _, value in (word.partition("=") for word in query.split("&")) if name
    }


def _value(text: str) -> Any:
    text = unquote(text)
    try:
        return json.loads(text)
    except ValueError:
        return text
