"""Table of checkers by instruction id. A checker decides whether a text follows an instruction.

A checker takes the text as its argument and the instruction's arguments as keywords, and returns a bool. To
add a checker, write

    @checker("my:rhymes")
    def rhymes(text: str, *, lines: int) -> bool: ...

in a file or module that the reward's option `checkers` names, so that every scoring process loads the
checker.
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
"""Accepted types by annotation. Counts may be floats, because pandas may have converted them to floats."""


@dataclass(frozen=True, slots=True)
class InstructionChecker:
    """Checker for one kind of instruction."""

    id: str
    check: Check
    required: frozenset[str]
    """Names of the arguments that have no default."""
    known: frozenset[str]
    kinds: Mapping[str, Any]
    """Type of each argument that has one of the annotations in `_KINDS`."""

    def misfit(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the error in an instruction's arguments, or None if they are valid."""
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
    """Return True for blank text, an empty list, or a list whose items are not all non-blank text."""
    if isinstance(value, list | tuple):
        return not value or not all(isinstance(item, str) and item.strip() for item in value)
    return isinstance(value, str) and not value.strip()


_CHECKERS: dict[str, InstructionChecker] = {}


def checker(instruction_id: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a function to the table.

    Raises:
        OptionsError: Another function is registered under this id.
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
    """Return the checker for an instruction id, or None if there is no such checker."""
    return _CHECKERS.get(instruction_id)


def ids() -> list[str]:
    """Return all instruction ids that have a checker."""
    return sorted(_CHECKERS)
