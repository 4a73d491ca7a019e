"""JSON Schema, through `jsonschema`: nothing is fetched, and no pattern runs for long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import msgspec

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.structure.plain import compile_pattern

_PATTERN_CPU_S = 0.5


def misfit(value: Any, schema_text: str) -> str | None:
    """Return what does not fit a schema, None if all does.

    Raises:
        ValueError: the schema itself is none, refers to what it does not hold, or never ends.
        MissingDependencyError: the extra `structure` is not installed.
    """
    validator = _validator(schema_text)
    from referencing.exceptions import Unresolvable

    try:
        error = next(validator.iter_errors(value), None)
    except (Unresolvable, RecursionError) as problem:
        raise ValueError(f"the schema cannot be applied: {type(problem).__name__}") from None
    if error is None:
        return None
    return f"{'/'.join(map(str, error.absolute_path)) or 'value'}: {error.validator}"


@lru_cache(maxsize=4_096)
def _validator(schema_text: str) -> Any:
    from jsonschema.exceptions import SchemaError

    schema = msgspec.json.decode(schema_text.encode())
    kind = _kind()
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"not a JSON Schema: {error.message:.200}") from None
    from referencing import Registry

    registry: Any = Registry()  # empty, without a way to retrieve: no reference leaves the schema
    return kind(schema, registry=registry)


@cache
def _kind() -> Any:
    try:
        from jsonschema import Draft202012Validator, ValidationError
        from jsonschema.validators import extend
    except ImportError:
        raise MissingDependencyError(
            "JSON Schema needs jsonschema: pip install 'rewardkit[structure]'"
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

    return extend(Draft202012Validator, {"pattern": pattern, "patternProperties": pattern_properties})


def _matches(pattern: str, text: str) -> bool:
    compiled = compile_pattern(pattern, dot_all=False)
    if isinstance(compiled, str):
        raise ValueError(f"the schema has a pattern that is none: {compiled}")
    try:
        return compiled.search(text, timeout=_PATTERN_CPU_S) is not None
    except TimeoutError:
        return False
