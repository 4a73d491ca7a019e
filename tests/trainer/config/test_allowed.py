"""Each setting states at its field the values that it may have: others are refused, and the page shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import pytest

pytest.importorskip("omegaconf")

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.allowed import Addresses, Interval, NamesOf, check_values
from rewardkit.trainer.config.explain import explain
from rewardkit.trainer.config.load import load_settings
from rewardkit.trainer.config.schema import PPO
from rewardkit.trainer.pairs.config import DPO, RM
from rewardkit.trainer.sft.config import SETTINGS as SFT

NEEDED = {
    "train": ["data.train_files=x", "actor_rollout_ref.model.path=x"],
    "sft": ["data.train_files=x", "model.path=x"],
    "rm": ["data.train_files=x", "model.path=x"],
    "dpo": ["data.train_files=x", "model.path=x"],
}
SCHEMAS = {"train": PPO, "sft": SFT, "rm": RM, "dpo": DPO}


def restricted(section: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted name of each setting whose field restricts it, and the allowed values."""
    for one in fields(section):
        value = getattr(section, one.name)
        if is_dataclass(value):
            yield from restricted(value, f"{prefix}{one.name}.")
        elif one.metadata:
            yield prefix + one.name, next(iter(one.metadata.values()))[0]


def numbers(section: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted name of each setting that is a number or a list of numbers."""
    kinds = get_type_hints(type(section))
    for one in fields(section):
        value = getattr(section, one.name)
        if is_dataclass(value):
            yield from numbers(value, f"{prefix}{one.name}.")
        elif re.search(r"\b(int|float)\b", str(kinds[one.name])):
            yield prefix + one.name


def outside(values: Any) -> Iterator[Any]:
    """Yield values that are not allowed."""
    if isinstance(values, Interval):
        yield float("nan")
        yield values.low if values.open_low else values.low - 1
        if not values.endless:
            yield values.high if values.open_high or values.high == float("inf") else values.high + 1
    elif isinstance(values, Addresses):
        yield "no address"
    else:
        yield "nothing of the kind"


CASES = [
    (stage, key, values) for stage, schema in SCHEMAS.items() for key, values in restricted(schema.root())
]


@pytest.mark.parametrize("stage", SCHEMAS)
def test_every_number_states_its_bounds(stage: str) -> None:
    stated = {key for of, key, values in CASES if of == stage and isinstance(values, Interval)}
    found = set(numbers(SCHEMAS[stage].root()))
    assert len(found) > 30
    assert found <= stated


def test_names_of_tables_are_read_from_them() -> None:
    assert any(isinstance(values, NamesOf) for _, _, values in CASES)


@pytest.mark.parametrize(("stage", "key", "values"), CASES, ids=[f"{stage} {key}" for stage, key, _ in CASES])
def test_a_value_that_is_not_allowed_is_refused_by_the_settings_name(
    stage: str, key: str, values: Any
) -> None:
    for wrong in outside(values):
        config = load_settings(SCHEMAS[stage], None, NEEDED[stage])
        section, _, name = key.rpartition(".")
        holder: Any = config
        for part in filter(None, section.split(".")):
            holder = getattr(holder, part)
        now = getattr(holder, name)
        setattr(holder, name, [wrong, wrong] if isinstance(now, list | tuple) else wrong)
        with pytest.raises(ConfigError) as error:
            check_values(config)
        assert key in str(error.value)


@pytest.mark.parametrize("stage", SCHEMAS)
def test_the_defaults_are_allowed_and_the_page_shows_the_values(stage: str) -> None:
    check_values(load_settings(SCHEMAS[stage], None, NEEDED[stage]))
    shown = {one.key: one.allowed for one in explain(None, (), SCHEMAS[stage])}
    assert all(shown[key] for of, key, _ in CASES if of == stage)
