"""The table of checkers: instruction id -> a function that returns whether a text follows the instruction.

A checker takes the text, then the instruction's arguments by name, and returns a bool. Add one of your own:

    @checker("my:rhymes")
    def rhymes(text: str, *, lines: int) -> bool: ...

in a file or module that the option `checkers` of the reward names, so that every process that scores has it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import OptionsError

Check = Callable[..., bool]

RELATIONS = ("less than", "at least")
_KINDS = {"int": (int, float), "float": (int, float), "str": str, "Sequence[str]": (list, tuple)}
"""Annotation -> types. Counts are floats in rows that went through pandas."""


@dataclass(frozen=True, slots=True)
class InstructionChecker:
    """One kind of instruction."""

    id: str
    check: Check
    required: frozenset[str]
    """Arguments without a default."""
    known: frozenset[str]
    kinds: Mapping[str, Any]
    """Type of each argument whose annotation names one."""

    def misfit(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the error in an instruction's arguments; None if there is none."""
        missing = self.required - arguments.keys()
        if missing:
            return f"the instruction {self.id} needs the arguments {', '.join(sorted(missing))}"
        for name, value in arguments.items():
            kind = self.kinds.get(name, object)
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not object):
                return f"{self.id}: {name} is {value!r:.40}, which has the wrong type {type(value).__name__}"
            if _is_blank(value):
                return f"{self.id}: {name} is {value!r:.40}, which every response or no response follows"
        relation = next((v for k, v in arguments.items() if k.endswith("relation")), RELATIONS[0])
        if relation not in RELATIONS:
            return f"{self.id}: relation is {relation!r:.40}; expected one of {', '.join(RELATIONS)}"
        return None


def _is_blank(value: Any) -> bool:
    """Return whether an argument is empty: a blank text, or a list that has not only nonblank texts."""
    if isinstance(value, list | tuple):
        return not value or not all(isinstance(item, str) and item.strip() for item in value)
    return isinstance(value, str) and not value.strip()


_CHECKERS: dict[str, InstructionChecker] = {}


def checker(instruction_id: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to the table.

    Raises:
        OptionsError: the id belongs to another function.
    """

    def add(check: Check) -> Check:
        holder = _CHECKERS.get(instruction_id)
        if holder is not None and holder.check.__qualname__ != check.__qualname__:
            raise OptionsError(f"the instruction '{instruction_id}' already has a checker; choose another id")
        parameters = list(inspect.signature(check).parameters.values())[1:]
        required = frozenset(p.name for p in parameters if p.default is p.empty)
        known = frozenset(p.name for p in parameters)
        kinds = {p.name: _KINDS[p.annotation] for p in parameters if p.annotation in _KINDS}
        _CHECKERS[instruction_id] = InstructionChecker(instruction_id, check, required, known, kinds)
        return check

    return add


def find(instruction_id: str) -> InstructionChecker | None:
    """Return the checker of an id; None if there is none."""
    return _CHECKERS.get(instruction_id)


def ids() -> list[str]:
    """Return every id that has a checker."""
    return sorted(_CHECKERS)
