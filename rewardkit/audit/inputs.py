"""Inputs for a function that resemble the arguments in its tests.

The domain is what all observed calls have in common: the types, the ranges of numbers and lengths, the kinds
of characters, and relations such as "the second argument is the length of the first". A pattern in a few
tests may be an accident, in which case the domain is too narrow. It should never be too wide.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Any

Arguments = list[Any]

_WORDS = re.compile(r"[^\W\d_]+")
_LONGEST = 200
"""Number of items up to which a value is varied."""
_TRIES = 20
"""Number of random inputs that are tried for each input that is wanted."""


def new_inputs(observed: Sequence[Arguments], count: int) -> list[Arguments]:
    """Return up to `count` inputs that differ from the observed ones, the shortest first.

    Args:
        observed: Positional arguments of each call in the tests.
        count: Maximum number of inputs.
    """
    if not observed or len({len(arguments) for arguments in observed}) > 1 or not observed[0]:
        return []
    domain = Domain.of(observed)
    known = {repr(arguments) for arguments in observed}
    found: dict[str, Arguments] = {}
    made = domain.made(observed, random.Random(0))
    for _, arguments in zip(range(_TRIES * count), made, strict=False):
        key = repr(arguments)
        if key not in known and key not in found and domain.has(arguments):
            found[key] = arguments
            if len(found) == count:
                break
    return [found[key] for key in sorted(found, key=len)]


@dataclass(frozen=True, slots=True)
class Shape:
    """What all values in one place have in common, where a place is an argument or the items of one."""

    values: tuple[Any, ...]
    ranges: dict[type, tuple[float, float]]
    """Smallest and largest number, or length, of the values of each type."""
    items: tuple[Shape, ...]
    """Shape of all items or, for tuples of one length with several types, of each item."""
    held: tuple[Callable[[Any], bool], ...]
    """Properties that all values have."""
    texts: frozenset[str]
    """Forms of the values that are texts."""

    @classmethod
    def of(cls, values: Sequence[Any], *, pairs: bool = False) -> Shape:
        """Return the shape of values. With `pairs`, they are tuples whose items are not alike."""
        ranges: dict[type, tuple[float, float]] = {}
        for value in values:
            low, high = ranges.get(type(value), (_size(value),) * 2)
            ranges[type(value)] = (min(low, _size(value)), max(high, _size(value)))
        items = _shapes_of_items(values, pairs) if ranges.keys() <= set(_CONTAINERS) else ()
        held = tuple(one for one in _PROPERTIES if all(map(one, values)))
        texts = frozenset(_form(value) for value in values if isinstance(value, str))
        return cls(tuple(values), ranges, items, held, texts)

    def has(self, value: Any) -> bool:
        """Return True if a value is like the observed ones."""
        low, high = self.ranges.get(type(value), (0, -1))
        if not low <= _size(value) <= high or not all(one(value) for one in self.held):
            return False
        if isinstance(value, str):
            return _form(value) in self.texts
        return all(shape.has(item) for shape, item in self._of_items(value))

    def _of_items(self, value: Any) -> Iterator[tuple[Shape, Any]]:
        if isinstance(value, _CONTAINERS) and self.items:
            listed = _listed(value)
            yield from zip(self.items * (len(listed) if len(self.items) == 1 else 1), listed, strict=False)

    def varied(self, value: Any, chance: random.Random) -> Any:
        """Return a value with one change, which may leave the shape."""
        if isinstance(value, bool):
            return not value
        if type(value) is int:
            return _number(value, self, chance)
        if isinstance(value, str):
            return _text(value, self, chance)
        if isinstance(value, _CONTAINERS) and len(value) <= _LONGEST:
            return self._rearranged(value, chance)
        return chance.choice(self.values)

    def _rearranged(self, value: Any, chance: random.Random) -> Any:
        listed = _listed(value)
        _change(listed, self, chance)
        try:
            return type(value)(listed)
        except TypeError:  # an item that cannot be hashed
            return value


_CONTAINERS = (list, tuple, set, frozenset, dict)


def _shapes_of_items(values: Sequence[Any], pairs: bool) -> tuple[Shape, ...]:
    rows = [_listed(value) for value in values]
    if any(isinstance(value, dict) for value in values):
        return (Shape.of([item for items in rows for item in items], pairs=True),) if any(rows) else ()
    alike = all(isinstance(value, tuple) for value in values) and len(set(map(len, rows))) == 1
    if alike and (pairs or len({type(item) for items in rows for item in items}) > 1):
        return tuple(Shape.of(column) for column in zip(*rows, strict=True))
    pooled = [item for items in rows for item in items]
    return (Shape.of(pooled),) if pooled else ()


def _listed(value: Any) -> list[Any]:
    return list(value.items() if isinstance(value, dict) else value)


def _form(text: str) -> str:
    """Return a text with each word as `a`, and each number as `0` unless the text has anything else."""
    words = _WORDS.sub("a", text)
    return "0" if words.isdecimal() else words


def _size(value: Any) -> float:
    if isinstance(value, int | float):
        return value
    return len(value) if isinstance(value, (str, *_CONTAINERS)) else 0


def _number(value: int, shape: Shape, chance: random.Random) -> int:
    low, high = map(int, shape.ranges[int])
    near = [value - 1, value + 1, low, high, *(one for one in shape.values if type(one) is int)]
    return chance.choice([*near, chance.randint(low, high)])


def _text(value: str, shape: Shape, chance: random.Random) -> str:
    """Return a text with one change, made with characters of the observed texts."""
    characters = sorted(set("".join(one for one in shape.values if isinstance(one, str))))
    listed = list(value)
    _change_items(listed, lambda item: chance.choice(characters or [item]), chance)
    return "".join(listed)


def _change(listed: list[Any], shape: Shape, chance: random.Random) -> None:
    if len(shape.items) > 1:  # each place has a meaning of its own
        place = chance.randrange(len(listed))
        listed[place] = shape.items[place].varied(listed[place], chance)
    elif shape.items:
        pool = shape.items[0]
        _change_items(
            listed,
            lambda item: chance.choice((chance.choice(pool.values), pool.varied(item, chance))),
            chance,
        )


def _change_items(listed: list[Any], replaced: Callable[[Any], Any], chance: random.Random) -> None:
    """Replace, repeat, remove, or move an item."""
    if not listed:
        return
    place = chance.randrange(len(listed))
    step = chance.randrange(5)
    if step == 0:
        del listed[place]
    elif step == 1:
        listed.insert(place, chance.choice(listed))
    elif step == 2:
        other = chance.randrange(len(listed))
        listed[place], listed[other] = listed[other], listed[place]
    else:
        listed[place] = replaced(listed[place])


def is_usual(result: Any, observed: Sequence[Any]) -> bool:
    """Return True if a result is of a kind that the tests expect, rather than one such as -1, None or ""."""
    return isinstance(result, bool) or _kind(result) in map(_kind, observed)


def _kind(result: Any) -> tuple[type, int]:
    size = _size(result)
    return type(result), (size > 0) - (size < 0)


@dataclass(frozen=True, slots=True)
class Domain:
    """Shapes of the arguments, and relations between them."""

    shapes: tuple[Shape, ...]
    related: tuple[tuple[Callable[[Any, Any], bool], int, int], ...]

    @classmethod
    def of(cls, observed: Sequence[Arguments]) -> Domain:
        """Return the domain that observed calls show."""
        shapes = tuple(Shape.of(column) for column in zip(*observed, strict=True))
        places = permutations(range(len(shapes)), 2)
        related = tuple(
            (relation, i, j)
            for (i, j), relation in product(places, _RELATIONS)
            if all(relation(arguments[i], arguments[j]) for arguments in observed)
        )
        return cls(shapes, related)

    def has(self, arguments: Arguments) -> bool:
        """Return True if arguments are like the observed ones."""
        return all(shape.has(value) for shape, value in zip(self.shapes, arguments, strict=True)) and all(
            relation(arguments[i], arguments[j]) for relation, i, j in self.related
        )

    def made(self, observed: Sequence[Arguments], chance: random.Random) -> Iterator[Arguments]:
        """Yield arguments with one to three changes, some of which are outside the domain."""
        while True:
            arguments = list(chance.choice(observed))
            for _ in range(chance.choice((1, 1, 1, 2))):
                place = chance.randrange(len(arguments))
                if chance.random() < 0.3:
                    arguments[place] = chance.choice(observed)[place]
                else:
                    arguments[place] = self.shapes[place].varied(arguments[place], chance)
            for relation, i, j in self.related:
                if relation is _LENGTH:
                    arguments[i] = len(arguments[j])
            yield arguments


def _relation(one: Any, other: Any, holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a relation between values of two types."""
    return lambda a, b: _is_a(a, one) and _is_a(b, other) and holds(a, b)


def _is_a(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and (kind is object or not isinstance(value, bool))


_SIZED = (str, *_CONTAINERS)
_LENGTH = _relation(int, _SIZED, lambda number, items: number == len(items))
_RELATIONS = (
    _LENGTH,
    _relation(int, (str, list, tuple), lambda number, items: 0 <= number < len(items)),
    _relation(int, _SIZED, lambda number, items: 0 <= number <= len(items)),
    _relation(str, str, lambda value, text: value in text),
    _relation(object, _CONTAINERS, lambda value, items: any(value == item for item in items)),
    _relation(object, _CONTAINERS, lambda value, items: type(value) in map(type, items)),
    _relation(_CONTAINERS, _CONTAINERS, lambda one, other: {*map(type, one)} == {*map(type, other)}),
    _relation((int, float), (int, float), lambda one, other: one <= other),
    _relation((int, float), (int, float), lambda one, other: one < other),
    _relation(_SIZED, _SIZED, lambda one, other: type(one) is type(other) and len(one) == len(other)),
)
"""Relations between two arguments that are kept if all observed calls have them."""


def _property(kind: Any, holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a property of values of a type."""

    def has(value: Any) -> bool:
        try:
            return isinstance(value, kind) and holds(value)
        except TypeError:  # values that cannot be compared
            return False

    return has


_PROPERTIES = (
    _property((list, tuple), lambda items: all(a <= b for a, b in pairwise(items))),
    _property((list, tuple), lambda items: all(a >= b for a, b in pairwise(items))),
    _property((list, tuple), lambda items: len(set(map(repr, items))) == len(items)),
    _property((list, tuple), lambda items: len(set(map(len, items))) <= 1),
    _property(_CONTAINERS, lambda items: len(set(map(type, items))) <= 1),
)
"""Properties that are kept if all observed values have them: rising, falling, without repeated items, with
items of one length (rows of a matrix), and with items of one type."""
