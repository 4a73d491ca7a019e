"""Loads a judge's YAML file and creates its reward. Other modules handle questions and costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError, OptionsError, did_you_mean, reason_of
from rewardkit.http_addresses import named_variable
from rewardkit.registry import REGISTRY, Registry, Reward, Running
from rewardkit.rewards.judge.budget import share_budget
from rewardkit.rewards.judge.judge_reward import load, parts_of, score
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.presets import PRESETS, needs_template
from rewardkit.rewards.judge.spending import JudgeSpending
from rewardkit.types import Sample, Score

VERSION = 6


class JudgeFile(msgspec.Struct):
    """Keys of the YAML file in addition to the fields of `JudgeOptions` and `JudgeSpending`."""

    name: str = ""
    data_sources: list[str] = []
    timeout_s: float = 180.0
    """Time limit for one sample, in seconds, including all requests, retries and waits for a limit."""
    preset: str = ""
    """Name of a preset in `rewardkit.rewards.judge.presets`. The other keys override its options."""
    prompt_file: str = ""
    """Name of a template file to use as `prompt`, next to the YAML file or in the model's folder."""


def register_judge(
    path: str | Path, data_sources: Iterable[str] = (), *, registry: Registry = REGISTRY
) -> Reward:
    """Register the judge in a YAML file for `data_sources`, or else for the data sources in the file.

    Raises:
        InputError: The file cannot be read, or is not a YAML mapping.
        OptionsError: A key does not exist, a value is invalid, no data source is given, or the API key is
            not set in the environment.
        MissingDependencyError: The package `openai` is not installed.
    """
    made = judge_of_file(path, data_sources)
    if not made.data_sources:
        raise OptionsError(
            f"the judge '{made.name}' needs a data source; pass --for SOURCE, or set data_sources in {path}"
        )
    return registry.register(made, replace_existing=True)


def judge_of_file(path: str | Path, data_sources: Iterable[str] = ()) -> Reward:
    """Return the reward that a judge's YAML file defines.

    The reward is for `data_sources`, or else for the data sources in the file.

    Raises:
        InputError, OptionsError, MissingDependencyError: As in `register_judge`.
    """
    from rewardkit.model_api.client import require_openai

    require_openai("a judge")
    path = Path(path)
    values = _read(path)
    about = _taken(values, JudgeFile, path)
    spending = _taken(values, JudgeSpending, path)
    values = _with_preset(values, about, path)
    if any(isinstance(word, bool) for word in values.get("verdicts") or ()):
        raise OptionsError(
            f"{path}: 'verdicts' contains a boolean: YAML parses unquoted yes, no, on and off as booleans; "
            'quote the word: "yes"'
        )
    made = Reward(
        name=about.name or path.stem,
        version=VERSION,
        target=_target(spending, str(path.resolve())),
        data_sources=tuple(data_sources) or tuple(about.data_sources),
        options_type=JudgeOptions,
        presets=values,
        summary=f"Verdict of the judge {values.get('model', 'model')} on the response",
        running=Running(
            runs="process", timeout_s=about.timeout_s, processes=1, chunk=spending.concurrency, load=load
        ),
    )
    options: JudgeOptions = made.make_options({})
    check_spending(options, spending, made.name)
    share_budget(spending, f"the judge '{made.name}'")
    reads = ("prompt", "extra_info") if options.rubric else ("prompt",)
    return replace(made, parts=parts_of(options), reads=reads)


def _target(
    spending: JudgeSpending, name: str
) -> Callable[[Sample, JudgeOptions], Coroutine[Any, Any, Score]]:
    async def judged(sample: Sample, options: JudgeOptions) -> Score:
        return await score(sample, options, spending=spending, name=name)

    judged.spending = spending  # type: ignore[attr-defined]
    return judged


def spending_of(reward: Reward) -> JudgeSpending:
    """Return a judge's limits from its file, or the default limits."""
    found: JudgeSpending = getattr(reward.target, "spending", None) or JudgeSpending()
    return found


def _taken(values: dict[str, Any], kind: Any, path: Path) -> Any:
    """Remove the fields of the class `kind` from the file's values and convert them to an object."""
    names = kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else [one.name for one in fields(kind)]
    own = {name: values.pop(name) for name in names if name in values}
    try:
        return msgspec.convert(own, kind)
    except (msgspec.ValidationError, ValueError) as error:
        raise OptionsError(f"{path}: {error}") from None


def _with_preset(values: dict[str, Any], about: JudgeFile, path: Path) -> dict[str, Any]:
    if about.preset and about.preset not in PRESETS:
        near = did_you_mean(about.preset, list(PRESETS)) or f"; presets: {', '.join(PRESETS)}"
        raise OptionsError(f"{path}: there is no preset '{about.preset}'{near}")
    preset = PRESETS[about.preset] if about.preset else {}
    values = {**preset, **values}
    if about.prompt_file:
        values["prompt"] = _template(about.prompt_file, values, path)
    if about.preset and needs_template(preset) and not values.get("prompt"):
        raise OptionsError(
            f"{path}: the preset {about.preset} has no template, because the licence of the model's own "
            "does not allow it; download the template, and set prompt_file to its path"
        )
    return values


def _template(name: str, values: dict[str, Any], path: Path) -> str:
    """Return the contents of a template file next to the YAML file or in the model's folder."""
    places = [path.parent / name, Path(str(values.get("model", ""))) / name]
    for place in places:
        if place.is_file():
            return place.read_text()
    raise InputError(f"{path}: prompt_file does not exist: {' or '.join(map(str, places))}")


def check_spending(options: JudgeOptions, spending: JudgeSpending, name: str) -> None:
    """Check for settings that would fail on the first sample.

    Raises:
        OptionsError: An API key is not set in the environment, or a model has no price although the budget is
            in dollars.
    """
    for model in options.endpoints:
        if model.api_key_env and not os.environ.get(model.api_key_env):
            where = named_variable(model.api_key_env)
            raise OptionsError(f"the judge '{name}' reads the API key from {where}, which is not set")
        if spending.budget_usd and model.model not in spending.prices:
            raise OptionsError(
                f"the judge '{name}' has budget_usd, but no price for {model.model}; add `{model.model}: "
                "{input: 0.1, output: 0.4}` to prices (dollars per million tokens), or set budget_tokens"
            )


def _read(path: Path) -> dict[str, Any]:
    try:
        values: dict[str, Any] = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise InputError(f"cannot read the judge file {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a YAML mapping of a judge's options: {reason_of(error)}") from None
    return values
