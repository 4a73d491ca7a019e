"""Which column of a user's file becomes what: from the command line, or from YAML with the same names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rewardkit.composition import compose
from rewardkit.datasets_prep.custom.extractors import Expression, parse
from rewardkit.errors import InputError, UnknownDataSourceError, did_you_mean
from rewardkit.registry import REGISTRY

TARGETS = ("question", "ground_truth", "answer")
"""What a mapping fills; `answer` is a whole response that is right."""

QUESTION_KEYS = ("question", "problem", "prompt", "query", "instruction", "input")
ANSWER_KEYS = ("answer", "ground_truth", "solution", "output", "target", "label")
"""Taken where no column is named, the first that is there."""

_KEYS = ("data_source", "reward", "prompt_key", "answer_key", "map", "keep", "ability", "licence")

_RESPONSES = {
    **dict.fromkeys(("exact", "number", "contains", "bleu", "rouge_l", "chrf"), "{}"),
    "gsm8k": "#### {}",
    "math": "The answer is \\boxed{{{}}}.",
    "math_dapo": "The answer is \\boxed{{{}}}.",
    "geometry3k": "<think>See the figure.</think> The answer is \\boxed{{{}}}.",
    "choice": "The answer is {}.",
    "qa": "<answer>{}</answer>",
}
"""For each reward, how a bare answer is said as a response. The ground truths of others are no answers."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What becomes of a user's columns."""

    data_source: str
    reward: str
    """The name of the reward that scores the rows."""
    fields: Mapping[str, Expression]
    """For `question` and `ground_truth`, and for `answer` where the file has worked solutions."""
    roots: tuple[str, ...]
    """The columns that are read."""
    keep: tuple[str, ...] = ()
    ability: str = "custom"
    licence: str | None = None
    composed: dict[str, Any] | None = None
    """The composition that scores a data source of a new name; None for one that is known."""
    described: dict[str, Any] = field(default_factory=dict)
    """As the user said it, for the provenance."""

    @property
    def response(self) -> str | None:
        """How a bare answer is said as a response, with `{}` for it; None where it is no answer."""
        return _RESPONSES.get(self.reward)


def read_mapping(path: Path | None, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a YAML file and the command line say together; the command line wins.

    Raises:
        InputError: the file cannot be read, or has a key that means nothing.
    """
    known = _from_file(path) if path else {}
    maps = {**known.get("map", {}), **_pairs(said.get("map", ()))}
    given = {name: value for name, value in said.items() if name != "map" and value not in (None, ())}
    return {**known, **given, "map": maps}


def columns_of(said: Mapping[str, Any], there: Sequence[str]) -> Columns:
    """Return what becomes of the columns of a file that has those `there`.

    Raises:
        InputError: nothing says what the question or the ground truth is, or a column is not there.
        UnknownDataSourceError: no reward scores the data source, and none is named.
    """
    fields = {target: parse(text) for target, text in said.get("map", {}).items()}
    prompt_key = said.get("prompt_key") or _first(QUESTION_KEYS, there)
    if "question" not in fields and prompt_key:
        fields["question"] = parse(prompt_key)
    answer_key = said.get("answer_key") or _first(ANSWER_KEYS, there)
    if "ground_truth" not in fields and answer_key:
        fields["ground_truth"] = parse(answer_key)
    elif said.get("answer_key") and "answer" not in fields:
        fields["answer"] = parse(said["answer_key"])
    for target, option in (("question", "--prompt-key"), ("ground_truth", "--answer-key")):
        if target not in fields:
            raise InputError(f"which column is the {target}? Pass {option}; found: {', '.join(there)}")
    roots = [_root(e.column, there) for e in fields.values()]
    roots += [_root(column, there) for column in said.get("keep", ())]
    data_source, reward, composed = _scored_by(said.get("data_source"), said.get("reward"))
    return Columns(
        data_source,
        reward,
        fields,
        tuple(dict.fromkeys(roots)),
        tuple(said.get("keep", ())),
        said.get("ability") or "custom",
        said.get("licence"),
        composed,
        {"data_source": data_source, "reward": reward, "map": {t: e.text for t, e in fields.items()}},
    )


def _root(column: str, there: Sequence[str]) -> str:
    """The column itself, or for `a.b` the column `a` that holds objects."""
    root = next((name for name in (column, column.split(".")[0]) if name in there), None)
    if root is None:
        near = did_you_mean(column, there)
        raise InputError(f"no column '{column}'; found: {', '.join(there)}{near}")
    return root


def _first(names: Sequence[str], there: Sequence[str]) -> str | None:
    return next((name for name in names if name in there), None)


def _scored_by(data_source: str | None, reward: str | None) -> tuple[str, str, dict[str, Any] | None]:
    """The data source of the rows, the reward that scores it, and how it was registered if it was not."""
    if reward is None:
        if data_source is None:
            raise InputError("say what scores the rows: --reward NAME, --data-source NAME, or both")
        return data_source, REGISTRY.resolve(data_source).name, None
    named = REGISTRY.resolve(reward)
    if data_source is None:
        return reward, named.name, None
    try:
        known = REGISTRY.resolve(data_source).name
    except UnknownDataSourceError:
        known = data_source
    if known == data_source != named.name:  # new, or named so by a run before in this process
        composed = {"data_sources": [data_source], "reward": named.name}
        compose(data_source, composed)
        return data_source, named.name, composed
    if known != named.name:
        raise InputError(
            f"'{data_source}' is scored by {known}, not by {named.name}; give the data another name"
        )
    return data_source, named.name, None


def _pairs(words: Sequence[str]) -> dict[str, str]:
    made = {}
    for word in words:
        target, equals, text = word.partition("=")
        if not equals or target.strip() not in TARGETS:
            known = ", ".join(TARGETS)
            raise InputError(f"--map {word!r}: expected TARGET=COLUMN|STEP|... with a target of {known}")
        made[target.strip()] = text
    return made


def _from_file(path: Path) -> dict[str, Any]:
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = str(getattr(error, "strerror", None) or error).replace("\n", " ")
        raise InputError(f"cannot read the mapping {path}: {why}") from None
    if not isinstance(said, dict):
        raise InputError(f"the mapping {path} must be a mapping of names, found {type(said).__name__}")
    for key in said:
        if key not in _KEYS:
            raise InputError(f"{path}: no key '{key}'; expected one of {', '.join(_KEYS)}")
    if not isinstance(said.get("map", {}), dict) or not isinstance(said.get("keep", []), list):
        raise InputError(f"{path}: 'map' must be a mapping of targets, 'keep' a list of columns")
    for target in said.get("map", {}):
        if target not in TARGETS:
            raise InputError(f"{path}: no target '{target}' in 'map'; expected one of {', '.join(TARGETS)}")
    return {**said, "keep": tuple(said.get("keep", ()))}
