"""Maps the columns of a user's file to targets, as specified on the command line or in a YAML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from rewardkit.datasets_prep.common.prompts import fields_of
from rewardkit.datasets_prep.common.schema import IMAGE_SCHEMA, SCHEMA
from rewardkit.datasets_prep.custom.extractors import Expression, parse
from rewardkit.datasets_prep.custom.parts import QuestionParts, holds_chats, parts_of, refuse_part
from rewardkit.datasets_prep.custom.sources import SOURCE_KEYS, RowSources, reward_pairs, sources_of
from rewardkit.datasets_prep.custom.unfit import why_unfit
from rewardkit.errors import InputError, did_you_mean, reason_of

TARGETS = ("question", "ground_truth", "answer")
"""Targets of a mapping. The target `answer` is a complete correct response."""

QUESTION_KEYS = ("question", "problem", "prompt", "query", "instruction", "input")
ANSWER_KEYS = ("answer", "ground_truth", "solution", "output", "target", "label")
"""Default columns for the answer. The first existing column is used."""

CHOICES = "choices"
"""Key of the options in the metadata, where the multiple-choice reward reads them."""
_LISTS = ("keep", "context_key", "choices_key")
_KEYS = (
    *("data_source", "data_source_key", "reward", "reward_of", "prompt_key", "answer_key", "map"),
    *(*_LISTS, "images_key", "ability", "licence"),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """Mapping of a user's columns to targets."""

    sources: RowSources
    """Data sources of the rows."""
    fields: Mapping[str, Expression]
    """Expressions for `question` and `ground_truth`, and for `answer` if the file has worked solutions."""
    roots: tuple[str, ...]
    """Top-level columns to read."""
    parts: QuestionParts
    """Additional columns that are part of the questions."""
    keep: tuple[str, ...] = ()
    ability: str = "custom"
    licence: str | None = None
    mix: str | None = None
    """Column that appears to contain data sources, although the user did not specify it as such."""
    described: dict[str, Any] = field(default_factory=dict)
    """The user's settings, for the provenance."""
    chats: bool = False
    """True if the questions are chats. No other columns are added to chats."""
    unused: set[str] = field(default_factory=set)
    """Unused columns found while reading the rows."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the columns that become metadata."""
        return tuple(dict.fromkeys((*self.keep, *((CHOICES,) if self.parts.choices else ()))))

    @property
    def schema(self) -> pa.Schema:
        """Return the schema of the rows."""
        return SCHEMA if self.parts.images is None else IMAGE_SCHEMA

    def lose(self, others: Collection[str]) -> None:
        """Record the names of unused columns.

        Raises:
            InputError: One of the columns is part of the questions.
        """
        question = self.fields["question"].column
        for name in sorted(set(others) - self.unused):
            if not self.chats and name not in self.parts.within:
                refuse_part(name, question, {*others, *self.roots})
            self.unused.add(name)


def read_mapping(path: Path | None, said: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the settings from a YAML file and from the command line. The command line takes precedence.

    Raises:
        InputError: The file cannot be read, or has an unknown key.
    """
    known = _from_file(path) if path else {}
    maps = {**known.get("map", {}), **_pairs(said.get("map", ()))}
    rewards = {**known.get("reward_of", {}), **reward_pairs(said.get("reward_of", ()))}
    read = ("map", "reward_of")
    given = {name: value for name, value in said.items() if name not in read and value not in (None, ())}
    return {**known, **given, "map": maps, "reward_of": rewards}


def columns_of(said: Mapping[str, Any], first: Sequence[Mapping[str, Any]], template: str | None) -> Columns:
    """Create the mapping for a file's columns.

    Args:
        said: The user's settings.
        first: First rows of the file.
        template: Text of the user's template, whose fields may be columns, or None.

    Raises:
        InputError: The question or the ground truth is not specified, or a column does not exist.
        UnknownDataSourceError: No reward scores the data source, and the user specified no reward.
    """
    there = list(dict.fromkeys(name for row in first for name in row))
    fields = {target: parse(text) for target, text in said.get("map", {}).items()}
    said_answer = "ground_truth" in fields or said.get("answer_key")
    if not said_answer and (unfit := why_unfit(there)):
        raise InputError(unfit)
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
            what = target.replace("_", " ")
            raise InputError(
                f"cannot tell which column has the {what}; pass {option} COLUMN; columns: {', '.join(there)}"
            )
    roots = [_root(e.column, there) for e in fields.values()]
    roots += [_root(column, there) for column in said.get("keep", ())]
    roots += [name for name in fields_of(template or "") if name in there]
    sources = sources_of(said)
    if sources.column is not None:
        roots.append(_root(sources.column.column, there))
    reward = None if sources.one is None else sources.one.reward
    parts = parts_of(said, fields["question"].column, reward, roots, first)
    given = (*parts.before, *parts.choices, *([parts.images] if parts.images else []))
    roots += [*(_root(column, there) for column in given), *parts.after]
    mix = _first(SOURCE_KEYS, there) if sources.column is None else None
    mix = None if mix in roots else mix
    roots += [mix] if mix else []
    told = {name: said[name] for name in ("context_key", "choices_key", "images_key") if said.get(name)}
    return Columns(
        sources,
        fields,
        tuple(dict.fromkeys(roots)),
        parts,
        tuple(said.get("keep", ())),
        said.get("ability") or "custom",
        said.get("licence"),
        mix,
        {**_described(sources), "map": {t: e.text for t, e in fields.items()}, **told},
        chats=holds_chats(fields["question"].column, first),
    )


def _described(sources: RowSources) -> dict[str, Any]:
    """Return the data sources and rewards of the rows, for the provenance."""
    if sources.one is not None:
        return {"data_source": sources.one.data_source, "reward": sources.one.reward}
    key = sources.column.text if sources.column is not None else ""
    return {"data_source": sources.prefix, "data_source_key": key, "reward_of": dict(sources.rewards)}


def _root(column: str, there: Sequence[str]) -> str:
    """Return the top-level column to read. For a name such as `a.b`, this may be the column `a`."""
    root = next((name for name in (column, column.split(".")[0]) if name in there), None)
    if root is None:
        near = did_you_mean(column, there)
        raise InputError(f"the data has no column '{column}'; columns: {', '.join(there)}{near}")
    return root


def _first(names: Sequence[str], there: Sequence[str]) -> str | None:
    return next((name for name in names if name in there), None)


def _pairs(words: Sequence[str]) -> dict[str, str]:
    made = {}
    for word in words:
        target, equals, text = word.partition("=")
        if not equals or target.strip() not in TARGETS:
            known = ", ".join(TARGETS)
            unknown = f"unknown target '{target.strip()}'; " if equals else ""
            raise InputError(
                f"--map {word!r}: {unknown}expected TARGET=COLUMN|STEP|..., where TARGET is one of {known}"
            )
        made[target.strip()] = text
    return made


def _from_file(path: Path) -> dict[str, Any]:
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
        raise InputError(f"cannot read the mapping {path}: {reason_of(error)}") from None
    if not isinstance(said, dict):
        raise InputError(f"the file {path} must contain a YAML mapping, found {type(said).__name__}")
    for key in said:
        if key not in _KEYS:
            raise InputError(f"{path}: unknown key '{key}'; expected one of {', '.join(_KEYS)}")
    if not isinstance(said.get("map", {}), dict):
        raise InputError(f"{path}: 'map' must be a mapping of targets to columns")
    for name in _LISTS:
        if not isinstance(said.get(name, []), list):
            raise InputError(f"{path}: '{name}' must be a list of columns")
    if not isinstance(said.get("reward_of", {}), dict):
        raise InputError(f"{path}: 'reward_of' must be a mapping of data sources to rewards")
    for target in said.get("map", {}):
        if target not in TARGETS:
            raise InputError(
                f"{path}: unknown target '{target}' in 'map'; expected one of {', '.join(TARGETS)}"
            )
    return {**said, **{name: tuple(said[name]) for name in _LISTS if name in said}}
