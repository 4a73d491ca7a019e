"""Tree of a composition, with members and combining nodes, read from plain data.

An item is a reward's name, `FILE.py:FUNCTION`, `JUDGE.yaml` (the file of a judge), or a mapping with one of
these keys:
- `reward: NAME`, with `options` and `timeout_s`;
- `sum`, `product`, `min`, `max`, `all`, `any`, `vote`: a list of items;
- `first`: a list of items that are evaluated in turn until one decides. The condition `until` is `right` by
  default if a judge is among the items, and `decided` otherwise;
- `gate`: a condition (an item as a mapping), with the lists `then` and `else`. The scores of the items in
  `then` are added if the condition is right, and those in `else` otherwise.
The mapping may also have `weight`, `name` and `on_failure` (`fail`, `drop`, or a number).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from rewardkit.composition.reading import without
from rewardkit.errors import OptionsError, RewardkitError, did_you_mean
from rewardkit.registry import REGISTRY, Registry, Reward, reward_of
from rewardkit.reward_options import check_timeout
from rewardkit.rewards.judge.file import judge_of_file
from rewardkit.types import COSTS
from rewardkit.user_files import import_python_file

CombineKind = Literal["sum", "product", "min", "max", "all", "any", "vote", "first", "gate"]
KINDS: tuple[CombineKind, ...] = (
    "sum",
    "product",
    "min",
    "max",
    "all",
    "any",
    "vote",
    "first",
    "gate",
)
OnFailure = Literal["fail", "drop"] | float
_COMMON = ("weight", "name", "on_failure")
_MAX_DEPTH = 40


@dataclass(frozen=True)
class Member:
    """Reward in a composition."""

    path: str
    reward: Reward
    """Reward with the options and the time limit set by the composition."""
    options: Any
    weight: float = 1.0
    on_failure: OnFailure = "fail"
    index: int = 0
    """Index among the members of the composition."""

    @property
    def label(self) -> str:
        """Label of the member in a drawing of the tree."""
        return self.reward.scorer


@dataclass(frozen=True)
class Combine:
    """Node that combines the scores of items."""

    path: str
    kind: CombineKind
    items: tuple[CompositionNode, ...]
    """Items to combine. A gate has only its condition here."""
    then: tuple[CompositionNode, ...] = ()
    otherwise: tuple[CompositionNode, ...] = ()
    until: Literal["decided", "right"] = "decided"
    """Condition that stops `first`. `decided`: an item did not fail and decided between right and wrong.
    `right`: an item decided that the response is right."""
    threshold: float = 1.0
    """Minimum score at which an item that does not decide correctness counts as right."""
    weight: float = 1.0
    on_failure: OnFailure = "fail"

    @property
    def label(self) -> str:
        """Label of the node in a drawing of the tree."""
        return self.kind


CompositionNode = Member | Combine


@dataclass(frozen=True)
class Composition:
    """Tree of rewards, with its name and the data sources that it scores."""

    name: str
    root: CompositionNode
    data_sources: tuple[str, ...]
    version: int
    """Checksum of the tree, its options and the versions of its members."""
    members: tuple[Member, ...] = field(default=(), repr=False)

    def draw(self) -> str:
        """Return the tree as text, with one item per line."""
        return "\n".join([f"{self.name}@{self.version}", *_lines(self.root, "", last=True)])


def compose_tree(
    spec: Mapping[str, Any], name: str, data_sources: Sequence[str] = (), registry: Registry = REGISTRY
) -> Composition:
    """Create a composition from plain data.

    Args:
        spec: Composition as plain data, as in YAML.
        name: Name of the composition, unless the spec has a `name`.
        data_sources: Data sources to score, by default the spec's own `data_sources`.
        registry: Registry with the rewards that the composition may use.

    Raises:
        OptionsError: A key, reward, option or value is not allowed. The message names the place in the tree.
    """
    place = getattr(spec, "place", "")
    spec = dict(spec)
    given = spec.pop("data_sources", ())
    reader = _TreeReader(registry, name, place)
    name = reader.name = reader.text(spec.pop("name", name), "name", "")
    sources = tuple(reader.sources(data_sources or given))
    if "weight" in spec or spec.get("on_failure") == "drop":
        raise reader.wrong(
            "",
            "weight and on_failure: drop are for the items of a composition, not for the composition itself",
        )
    root = reader.item(spec, "")
    members = tuple(walk_members(root))
    digest = zlib.crc32(json.dumps(_canonical(root), sort_keys=True, default=str).encode())
    return Composition(name, root, sources, digest, members)


def walk(node: CompositionNode) -> Iterator[CompositionNode]:
    """Yield a node and all nodes below it."""
    yield node
    if isinstance(node, Combine):
        for below in (*node.items, *node.then, *node.otherwise):
            yield from walk(below)


def asks_models(node: CompositionNode) -> bool:
    """Return True if a judge is among the members at or below a node."""
    return any(COSTS.issubset(member.reward.parts) for member in walk_members(node))


def walk_members(node: CompositionNode) -> Iterator[Member]:
    """Yield the members at or below a node, in order."""
    return (found for found in walk(node) if isinstance(found, Member))


def members_of(reward: Reward) -> tuple[Member, ...]:
    """Return the members of a composition, or none for any other reward."""
    composition: Composition | None = getattr(reward.target, "composition", None)
    return () if composition is None else composition.members


def scored_by(reward: Reward, options: Any = None) -> Iterator[tuple[Reward, Any]]:
    """Yield the rewards that score a response, with their options.

    For a composition, these are its members and, recursively, the members of compositions among them.
    """
    if not (members := members_of(reward)):
        yield reward, options
    for member in members:
        yield from scored_by(member.reward, member.options)


class _TreeReader:
    """Reader of items, which assigns a unique path to each item."""

    def __init__(self, registry: Registry, name: str, place: str) -> None:
        self.registry = registry
        self.name = name
        self.taken: set[str] = set()
        self.count = 0
        self.place = place
        """Place in the file of the innermost mapping that is being read."""

    def item(self, spec: Any, above: str) -> CompositionNode:
        outer = self.place
        self.place = getattr(spec, "place", "") or outer
        made = self.read(spec, above)
        self.place = outer
        return made

    def read(self, spec: Any, above: str) -> CompositionNode:
        spec = {"reward": spec} if isinstance(spec, str) else spec
        if above.count(".") > _MAX_DEPTH:
            raise self.wrong("", f"items are nested more than {_MAX_DEPTH} levels deep")
        if not isinstance(spec, Mapping):
            raise self.wrong(above, f"expected a reward's name or a mapping, found {spec!r:.60}")
        kinds = [key for key in spec if key in ("reward", *KINDS)]
        if len(kinds) != 1:
            known = ", ".join(("reward", *KINDS))
            unknown = next((str(key) for key in spec if key not in _COMMON), "")
            near = "" if kinds else did_you_mean(unknown, ("reward", *KINDS))
            found = f", found {' and '.join(kinds)}" if kinds else ""
            raise self.wrong(above, f"expected exactly one of the keys {known} in an item{found}{near}")
        common = self.common(spec, above)
        made = self.member(spec, above) if kinds == ["reward"] else self.combine(kinds[0], spec, above)
        return replace(made, **common)

    def common(self, spec: Mapping[str, Any], above: str) -> dict[str, Any]:
        weight = self.number(spec.get("weight", 1.0), "weight", above)
        rule = spec.get("on_failure", "fail")
        if rule not in ("fail", "drop") and not _is_number(rule):
            raise self.wrong(above, f"on_failure is {rule!r:.40}; expected fail, drop or a number")
        return {"weight": weight, "on_failure": rule}

    def number(self, value: Any, what: str, path: str) -> float:
        if not _is_number(value):
            raise self.wrong(path, f"{what} is {value!r:.40}; expected a number")
        return float(value)

    def text(self, value: Any, what: str, path: str) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(
                path, f"{what} is {value!r:.40}; expected a name (in YAML, put quotes around a number or yes)"
            )
        return value

    def sources(self, given: Any) -> list[str]:
        several = [given] if isinstance(given, str) else given
        if not isinstance(several, list | tuple) or not all(
            isinstance(s, str) and s.strip() for s in several
        ):
            raise self.wrong("", f"data_sources is {given!r:.60}; expected a name, or a list of names")
        return list(dict.fromkeys(several))

    def member(self, spec: Mapping[str, Any], above: str) -> Member:
        self.only(spec, ("reward", "options", "timeout_s"), above)
        reward = self.find(self.text(spec["reward"], "reward", above), above)
        path = self.path(above, self.text(spec.get("name", reward.name), "name", above))
        given = spec.get("options") or {}
        if not isinstance(given, Mapping):
            raise self.wrong(path, f"options is {given!r:.60}; expected a mapping")
        try:
            timeout_s = check_timeout(spec.get("timeout_s", reward.running.timeout_s))
            reward, options = reward.with_running(timeout_s=timeout_s).configured(given)
            own = {name: value for name, value in given.items() if name.replace(".", "_") in vars(options)}
            reward = replace(reward, presets={**reward.presets, **own})
        except OptionsError as error:
            raise self.wrong(path, str(error)) from None
        self.count += 1
        return Member(path, reward, options, index=self.count - 1)

    def combine(self, kind: str, spec: Mapping[str, Any], above: str) -> Combine:
        own = {"first": ("until",), "gate": ("threshold",)}.get(kind, ("threshold",))
        self.only(spec, (kind, *own), above)
        path = self.path(above, self.text(spec.get("name", kind), "name", above))
        given = spec[kind]
        then: tuple[CompositionNode, ...] = ()
        otherwise: tuple[CompositionNode, ...] = ()
        items: tuple[CompositionNode, ...]
        if kind == "gate":
            if not isinstance(given, Mapping):
                what = "a gate must be a mapping: a condition such as `reward: NAME`, with then and else"
                raise self.wrong(path, what)
            inner = without(given, ("then", "else"))
            self.place = inner.place or self.place
            items = (self.item(inner, path),)
            then = self.several(given.get("then") or [], f"{path}.then")
            otherwise = self.several(given.get("else") or [], f"{path}.else")
        else:
            items = self.several(given, path)
            if not items:
                raise self.wrong(path, f"the list of {kind} is empty; expected at least one item")
        until = spec.get("until", "right" if any(map(asks_models, items)) else "decided")
        if until not in ("decided", "right"):
            raise self.wrong(path, f"until is {until!r:.40}; expected decided or right")
        threshold = self.number(spec.get("threshold", 1.0), "threshold", path)
        if kind == "vote" and any(item.weight <= 0.0 for item in items):
            raise self.wrong(path, "every item of a vote needs a weight above 0")
        return Combine(path, kind, items, then, otherwise, until, threshold)  # type: ignore[arg-type]

    def several(self, given: Any, path: str) -> tuple[CompositionNode, ...]:
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise self.wrong(path, f"expected a list of items, found {given!r:.60}")
        return tuple(self.item(inner, path) for inner in given)

    def find(self, name: str, path: str) -> Reward:
        file, colon, function = name.rpartition(":")
        if colon and file.endswith(".py"):
            try:
                declared = reward_of(getattr(import_python_file(Path(file)), function, None))
            except RewardkitError as error:
                raise self.wrong(path, str(error)) from error
            if declared is None:
                raise self.wrong(path, f"{name} is not a function decorated with @rewardkit.reward")
            return declared
        if name.endswith((".yaml", ".yml")):
            try:
                return judge_of_file(self.beside(name))
            except RewardkitError as error:
                raise self.wrong(path, str(error)) from error
        if name == self.name:
            what = f"the composition contains itself ('{name}'); give the composition another name"
            raise self.wrong(path, what)
        found = self.registry.by_name(name)
        if found is None:
            near = did_you_mean(name, [reward.name for reward in self.registry])
            raise self.wrong(path, f"there is no reward named '{name}' (see `rewardkit list`){near}")
        return found

    def beside(self, name: str) -> Path:
        """Return the path of a file.

        The file is next to the composition's file if it exists there, or else in the working directory.
        """
        beside = Path(self.place.rpartition(", line ")[0]).parent / name
        return beside if beside.exists() else Path(name)

    def only(self, spec: Mapping[str, Any], keys: Sequence[str], path: str) -> None:
        for key in spec:
            if key not in (*keys, *_COMMON):
                known = (*keys, *(("then", "else") if path.rpartition(".")[2] == "gate" else ()), *_COMMON)
                near = did_you_mean(str(key), known) or f"; expected {', '.join(known)}"
                raise self.wrong(path, f"unknown key '{key}'{near}")

    def path(self, above: str, name: str) -> str:
        """Return a unique path for an item. A name that is already taken gets the suffix `#2`, and so on."""
        path = wanted = f"{above}.{name}" if above else name
        number = 1
        while path in self.taken:
            number += 1
            path = f"{wanted}#{number}"
        self.taken.add(path)
        return path

    def wrong(self, path: str, why: str) -> OptionsError:
        where = f"{self.place}: " if self.place else ""
        return OptionsError(f"{where}composition '{self.name}'{f', at {path}' if path else ''}: {why}")


def _canonical(node: CompositionNode) -> Any:
    """Return the data from which a composition's version is computed."""
    if isinstance(node, Member):
        values = [node.reward.scorer, repr(node.options), node.reward.running.timeout_s]
        return [*values, node.weight, node.on_failure, node.path]
    below = [list(map(_canonical, nodes)) for nodes in (node.items, node.then, node.otherwise)]
    return [node.kind, below, node.until, node.threshold, node.weight, node.on_failure, node.path]


def _lines(node: CompositionNode, indent: str, *, last: bool, role: str = "") -> Iterator[str]:
    weight = "" if node.weight == 1.0 else f" x {node.weight:g}"
    yield f"{indent}{'└─ ' if last else '├─ '}{role}{node.label}{weight}"
    if isinstance(node, Member):
        return
    below = [("", n) for n in node.items] + [("then ", n) for n in node.then]
    below += [("else ", n) for n in node.otherwise]
    for i, (how, inner) in enumerate(below):
        final = i == len(below) - 1
        yield from _lines(inner, indent + ("   " if last else "│  "), last=final, role=how)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
