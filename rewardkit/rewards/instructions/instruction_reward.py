"""Checks whether a response follows all instructions in its prompt, if a program can verify them.

The ground truth is JSON with `instruction_id_list` and `kwargs`, as in the rows of IFEval and IFBench. The
key `instruction_id`, a list with one such object, and a Python literal are also accepted, as in
open-instruct's training sets, and so are RLVR-IFeval's functions (`rlvr`). `None` in the kwargs means that an
argument is not given. The checkers define the instructions.

- `mode="strict"` checks the response unchanged. `loose` also checks it without its first line, its last line
  or both, and with or without asterisks. Each instruction may be followed in a different one of these eight
  versions.
- `pay="all"` gives 1.0 if every instruction is followed, and `share` gives the share of instructions that are
  followed.
- Hidden text (in comments or `<details>`, or hidden by attributes) cannot fulfil an instruction, but can
violate one.
- A response, or a version of it, that consists only of white space, punctuation and Markdown marks follows no
  instruction.
- An unknown instruction makes the sample `invalid`. Unknown instructions never count as followed.
- Reasoning blocks are not part of the response.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

import rewardkit.rewards.instructions.ifbench_format
import rewardkit.rewards.instructions.ifbench_tasks
import rewardkit.rewards.instructions.ifbench_training
import rewardkit.rewards.instructions.ifbench_words
import rewardkit.rewards.instructions.ifeval  # noqa: F401  (each module adds its checkers to the table)
from rewardkit.rewards.answers.place import reply, says, without_comments
from rewardkit.rewards.instructions.ifbench_words import UNVERIFIABLE
from rewardkit.rewards.instructions.language import LANGUAGES
from rewardkit.rewards.instructions.rlvr import translated
from rewardkit.rewards.instructions.table import InstructionChecker, find
from rewardkit.types import Sample, Score, failure
from rewardkit.user_files import import_python_file


@dataclass(frozen=True)
class InstructionOptions:
    """Options for the instructions reward."""

    mode: Literal["strict", "loose"] = "strict"
    """`strict` checks the response as it is. `loose` also checks each instruction on versions of the response
    without its first line, its last line, its asterisks, or any combination of these."""
    pay: Literal["all", "share"] = "all"
    """`all` gives 1.0 only if all instructions are followed. `share` gives the share of instructions that are
    followed."""
    checkers: tuple[str, ...] = ()
    """Python files or modules that define your own instructions with `@checker` (docs/rewards.md)."""
    max_chars: int = 200_000
    """Maximum response length, in characters. In longer responses, all instructions count as not followed."""

    def __post_init__(self) -> None:
        """Check that the limit allows a response, and that the files and modules with checkers exist."""
        if self.max_chars < 1:
            raise ValueError(f"max_chars is {self.max_chars}; expected 1 or more")
        for name in self.checkers:
            if not _is_there(name):
                raise ValueError(
                    f"'checkers' contains {name!r}, which does not exist; expected a file path.py or a module"
                )


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction in a prompt."""

    name: str
    """Id of the instruction, with `#2` and so on if the prompt repeats the instruction."""
    checker: InstructionChecker
    arguments: Mapping[str, Any]

    def kept(self, text: str) -> bool:
        """Return True if a text follows the instruction both with and without its comments.

        Empty text follows no instruction.
        """
        return all(
            says(t) and bool(self.checker.check(t, **self.arguments)) for t in {text, without_comments(text)}
        )


def score(sample: Sample, options: InstructionOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `parts` contains `strict`, `loose`, `share` (in the chosen mode), and the result of each instruction by
    its id.
    """
    for name in options.checkers:
        _load(name)
    instructions, misfit = _instructions(sample.ground_truth)
    if misfit:
        return failure("invalid", misfit)
    text = reply(sample.response)
    if len(text) > options.max_chars:
        text = ""
    strict = [instruction.kept(text) for instruction in instructions]
    variants = _loosely(text) if not all(strict) else []
    loose = [kept or any(map(i.kept, variants)) for kept, i in zip(strict, instructions, strict=True)]
    kept = strict if options.mode == "strict" else loose
    share = sum(kept) / len(kept)
    parts = {"strict": float(all(strict)), "loose": float(all(loose)), "share": share}
    parts |= {i.name: float(k) for i, k in zip(instructions, kept, strict=True)}
    broken = [i.name for i, k in zip(instructions, kept, strict=True) if not k]
    detail = f"instructions not followed: {', '.join(broken)}" if broken else "all instructions followed"
    return Score(float(all(kept)) if options.pay == "all" else share, "ok", all(kept), None, parts, detail)


def _loosely(text: str) -> list[str]:
    """Return the distinct other versions of a response, at most seven, or three if it has no asterisks."""
    lines = text.split("\n")
    readings = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    readings += [reading.replace("*", "") for reading in readings]
    return [reading for reading in dict.fromkeys(readings) if reading != text]


def _decoded(ground_truth: str) -> Any:
    """Return the value of JSON text, or of a Python literal, as in open-instruct's datasets."""
    try:
        return msgspec.json.decode(ground_truth.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return ast.literal_eval(ground_truth)


@lru_cache(maxsize=8_192)
def _instructions(ground_truth: str) -> tuple[tuple[Instruction, ...], str | None]:
    """Return the instructions in a ground truth and None, or no instructions and an error message."""
    try:
        row = _decoded(ground_truth)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return (), "the ground truth is not JSON"
    row = list(map(_from_json, row)) if isinstance(row, list) else row
    try:
        named = translated(row)
    except ValueError as error:
        return (), str(error)
    if named is not None:
        return _bound([name for name, _ in named], [arguments for _, arguments in named])
    if isinstance(row, list) and row:
        row = row[0]
    if not isinstance(row, Mapping):
        return (), "the ground truth has no instruction_id_list"
    names = _several(row.get("instruction_id_list") or row.get("instruction_id") or [])
    given = _several(_from_json(row.get("kwargs"))) or [{}] * len(names)
    given = [_from_json(arguments) or {} for arguments in given]
    if not names:
        keys = ", ".join(map(str, list(row)[:4])) or "none"
        return (), f"the ground truth has no instruction_id_list (and kwargs); found keys: {keys}"
    if len(names) != len(given):
        return (), f"the ground truth has {len(names)} instructions and {len(given)} kwargs"
    if not all(isinstance(arguments, Mapping) for arguments in given):
        return (), "the kwargs of the ground truth are not one object for each instruction"
    return _bound(list(map(str, names)), given)


def _several(value: Any) -> list[Any]:
    """Return a list unchanged. Return a single instruction, or its arguments, as a list with one item."""
    return value if isinstance(value, list) else [value] if value else []


def _from_json(value: Any) -> Any:
    """Decode arguments that a table contains as JSON text. Return any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value.encode())
        except (msgspec.DecodeError, UnicodeEncodeError):
            return value
    return value


def _bound(names: list[str], given: list[Any]) -> tuple[tuple[Instruction, ...], str | None]:
    found: list[Instruction] = []
    for i, name in enumerate(names):
        checker = find(name)
        if checker is None:
            return (), UNVERIFIABLE.get(name, f"there is no checker for the instruction {name!r:.80}")
        arguments = {k: v for k, v in given[i].items() if v is not None and k in checker.known}
        arguments |= {
            k: [v]
            for k, v in arguments.items()
            if isinstance(v, str) and checker.kinds.get(k) == (list, tuple)
        }
        misfit = checker.misfit(arguments) or _no_language(arguments)
        if misfit:
            return (), misfit
        before = names[:i].count(name)
        found.append(Instruction(f"{name}#{before + 1}" if before else name, checker, arguments))
    return tuple(found), None


def _no_language(arguments: Mapping[str, Any]) -> str | None:
    wanted = arguments.get("language")
    if wanted is None or str(wanted) in LANGUAGES:
        return None
    return (
        f"language:response_language: unknown language {wanted!r:.40}; expected an ISO 639-1 code like 'en'"
    )


@lru_cache(maxsize=64)
def _is_there(name: str) -> bool:
    if name.endswith(".py"):
        return Path(name).is_file()
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # A parent package is missing, or the text is not a module name.
        return False


def _load(name: str) -> None:
    if name.endswith(".py"):
        import_python_file(Path(name))
    else:
        importlib.import_module(name)
    _instructions.cache_clear()
