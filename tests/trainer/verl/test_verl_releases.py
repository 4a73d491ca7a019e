"""verl's configurations of every release: their defaults, and the files as they are where they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.schema import PPO, leaves
from rewardkit.verl_keys import DEFAULTS

KEYS = PPO.verl.keys
OURS = dict(leaves(Config()))
TABLE = json.loads((DEFAULTS / "training.json").read_text("utf-8"))
RELEASES: list[str] = TABLE["releases"]


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *sections, name = key.split(".")
        inside = tree
        for section in sections:
            inside = inside.setdefault(section, {})
        inside[name] = value
    return tree


def held_in(spans: str, release: str) -> bool:
    """Whether a release is in `0.2-0.4.1, 0.6.0`."""
    at = RELEASES.index(release)
    for span in spans.split(", "):
        first, _, last = span.partition("-")
        ends = [RELEASES.index(end) for end in (first, last or first)]
        if ends[0] <= at <= ends[1]:
            return True
    return False


def foreign() -> Iterator[str]:
    """verl's keys that have no name of ours."""
    yield from (key for key in KEYS.defaults if key not in OURS and KEYS.ours(key) not in OURS)


@pytest.mark.parametrize("release", RELEASES)
def test_verl_s_defaults_of_every_release_are_taken_without_a_word(release: str) -> None:
    held = TABLE["defaults"].items()
    tree = {key: value for key, values in held for value, spans in values if held_in(spans, release)}
    assert len(tree) > 120
    found = PPO.translate(nested(tree), release, processes=1)
    assert found.notes == []
    assert set(found.values) <= set(OURS)


def test_every_key_of_verl_s_is_ours_or_a_change_of_it_is_named() -> None:
    """Unless it is in a section that is switched off."""
    silent, named = [], 0
    for key in foreign():
        try:
            lines = KEYS.notes([key], {key: "another"}, "the file")
        except ConfigError as error:
            assert str(error).startswith(f"{key}=another in the file ")
            assert "there is no such setting" not in str(error), key
            named += 1
        else:
            silent.extend([] if lines else [key])
            named += any(line.startswith(f"{key}=another has no effect: ") for line in lines)
    assert named > 600
    sections = ("qat", "mtp", "skip", "distillation", "continuous_token")
    assert [key for key in silent if not set(key.split(".")) & set(sections)] == []


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("actor_rollout_ref.rollout.skip.enable=true", "use the default, false"),
        ("actor_rollout_ref.actor.fsdp_config.qat.enable=true", "cannot be quantised"),
        ("async_training.use_dynamic_resource_scheduling=true", "remove the setting"),
        ("critic.model.lora.dropout=0.1", "peft's LoraConfig"),
    ],
)
def test_what_would_change_the_result_is_refused_with_the_value_and_what_to_do(
    word: str, message: str
) -> None:
    key, _, value = word.partition("=")
    with pytest.raises(ConfigError) as found:
        PPO.translate(
            nested({key: json.loads(value) if value in ("true", "0.5", "0.1") else value}),
            "a file",
            processes=1,
        )
    assert str(found.value).startswith(f"{key}={value} in a file ")
    assert message in str(found.value)
