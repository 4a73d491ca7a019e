"""Validates values with `jsonschema`, without fetching references, and with a time limit for patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache, lru_cache, partial
from time import process_time
from typing import Any

import msgspec

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.structure.plain import compile_pattern

_PATTERNS_CPU_S = 0.5
"""CPU time limit for matching all patterns in a schema against one value, in seconds."""
_MAX_DEPTH = 200
_DEEP = 20
"""Nesting depth up to which a value cannot cause a recursion error, so that the schema must be the cause."""


def misfit(value: Any, schema_text: str) -> str | None:
    """Return the first violation of a schema, or None if the value matches.

    Raises:
        ValueError: The schema is invalid, has an unresolvable reference, or never terminates.
        MissingDependencyError: The extra `structure` is not installed.
    """
    validator = _validator(schema_text)
    from referencing.exceptions import Unresolvable

    depth = _depth(value)
    if depth > _MAX_DEPTH:
        return f"nested {depth} levels deep; the limit is {_MAX_DEPTH}"
    _budget.start()
    try:
        error = next(validator.iter_errors(value), None)
    except RecursionError:
        if depth > _DEEP:
            return f"nested {depth} deep, too deep for the schema"
        raise ValueError("the schema cannot be applied: a $ref of the schema refers to itself") from None
    except Unresolvable as problem:
        raise ValueError(
            f"the schema cannot be applied: a $ref cannot be resolved ({type(problem).__name__})"
        ) from None
    except OverflowError:
        return "a number too large to be divided"
    if error is None:
        return None
    path = "/".join(map(str, error.absolute_path))
    return f"{path[:100] or 'value'}: {error.validator}"


def _depth(value: Any) -> int:
    """Return the nesting depth of objects and lists in a value."""
    depth = 0
    level = [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


@lru_cache(maxsize=4_096)
def _validator(schema_text: str) -> Any:
    schema = msgspec.json.decode(schema_text.encode())
    kind = _kind()
    from jsonschema.exceptions import SchemaError

    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(
            f"the schema of the ground truth is not a JSON Schema: {error.message:.200}"
        ) from None
    from referencing import Registry

    # The registry is empty and retrieves nothing, so no reference can lead out of the schema.
    registry: Any = Registry()
    return kind(schema, registry=registry, format_checker=_formats())


@cache
def _formats() -> Any:
    """Return a checker with jsonschema's own `format` checks that need no other package, and a few more."""
    from jsonschema import Draft202012Validator, FormatChecker

    found = FormatChecker(())
    found.checkers = dict(Draft202012Validator.FORMAT_CHECKER.checkers)
    for name, pattern in _FORMATS.items():
        found.checks(name)(partial(_in_format, re.compile(pattern), name.startswith("date")))
    return found


_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[-+](?:[01]\d|2[0-3]):[0-5]\d)"
_FORMATS = {
    "date": r"\d{4}-\d{2}-\d{2}",
    "time": _CLOCK,
    "date-time": r"\d{4}-\d{2}-\d{2}[tT ]" + _CLOCK,
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+",
    "email": r"[^\s@\"<>]+@[^\s@\"<>]+",
}


def _in_format(pattern: re.Pattern[str], dated: bool, value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not value.isascii() or pattern.fullmatch(value) is None:
        return False
    try:
        return not dated or bool(date.fromisoformat(value[:10]))
    except ValueError:
        return False


@cache
def _kind() -> Any:
    try:
        from jsonschema import Draft202012Validator, ValidationError
        from jsonschema.validators import extend
    except ImportError:
        raise MissingDependencyError(
            "JSON Schema needs the package jsonschema: pip install 'rewardkit[structure]'"
        ) from None

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not _matches(wanted, instance):
            yield ValidationError("does not match the pattern")

    def pattern_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for key_pattern, inner in wanted.items():
                for key, value in instance.items():
                    if _matches(key_pattern, key):
                        yield from validator.descend(value, inner, path=key, schema_path=key_pattern)

    def unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if wanted and isinstance(instance, list) and len(set(map(_key, instance))) < len(instance):
            yield ValidationError("contains a duplicate item")

    own = {"pattern": pattern, "patternProperties": pattern_properties, "uniqueItems": unique_items}
    return extend(Draft202012Validator, own)


def _key(value: Any) -> Any:
    """Return a hashable key that is equal for equal values, because comparing all pairs takes too long."""
    if isinstance(value, dict):
        return frozenset((name, _key(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return tuple(map(_key, value))
    return (type(value), value) if isinstance(value, bool | str) else value


class _Budget:
    """CPU time left for matching patterns against the current value."""

    left = _PATTERNS_CPU_S

    def start(self) -> None:
        self.left = _PATTERNS_CPU_S

    def search(self, pattern: Any, text: str) -> bool:
        """Return True if a pattern matches anywhere in a text.

        Return False if the pattern does not match or if the time limit is reached.
        """
        before = process_time()
        try:
            return self.left > 0.0 and pattern.search(text, timeout=self.left) is not None
        except TimeoutError:
            return False
        finally:
            self.left -= process_time() - before


_budget = _Budget()


def _matches(pattern: str, text: str) -> bool:
    compiled = compile_pattern(pattern, dot_all=False)
    if isinstance(compiled, str):
        raise ValueError(f"the schema has an invalid pattern: {compiled}")
    return _budget.search(compiled, text)
