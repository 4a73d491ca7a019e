"""The options of an engine and of its responses, for every command that generates."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.numbers import (
    ABOVE_0,
    COUNT,
    COUNT_OR_0,
    NOT_NEGATIVE,
    SEED,
    SHARE,
    SHARE_ABOVE_0,
)
from rewardkit.errors import ConfigError
from rewardkit.generation.engines import ENGINES, default_engine
from rewardkit.generation.types import EngineSettings, EpisodeSettings, GenerationSettings

_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice([*ENGINES, "ray"]),
        help="Inference engine. Default: endpoint if --url is set, otherwise vllm if installed, otherwise "
        "hf. Use ray to run the default engine on Ray actors.",
    ),
    click.option("--url", help="URL of an OpenAI-compatible server: http://HOST:PORT/v1."),
    click.option(
        "--api-key-env",
        help="Environment variable with the API key for --url.  [default: OPENAI_API_KEY]",
    ),
    click.option("-n", "n", type=COUNT, help="Number of responses per prompt.  [default: 1]"),
    click.option(
        "--temperature",
        type=NOT_NEGATIVE,
        help="Sampling temperature (0 is greedy).  [default: 1]",
    ),
    click.option("--top-p", type=SHARE_ABOVE_0, help="Probability mass for nucleus sampling.  [default: 1]"),
    click.option(
        "--top-k",
        type=click.IntRange(min=-1),
        help="Sample only from the N most likely tokens. Use -1 for all tokens.  [default: -1]",
    ),
    click.option("--max-tokens", type=COUNT, help="Maximum tokens per response.  [default: 1024]"),
    click.option("--max-prompt-tokens", type=COUNT, help="Fail if a prompt has more than N tokens."),
    click.option("--seed", type=SEED, help="Random seed for sampling.  [default: 0]"),
    click.option("--stop", multiple=True, help="String that ends a response. May be repeated."),
    click.option("--log-probs", is_flag=True, default=None, help="Save the log probability of each token."),
    click.option(
        "--dtype", help="Data type of the model weights, such as float32 or bfloat16.  [default: auto]"
    ),
    click.option("--tensor-parallel-size", type=COUNT, help="Number of GPUs per model (vllm only)."),
    click.option(
        "--gpu-memory-utilization",
        type=SHARE,
        help="Fraction of GPU memory to use (vllm only).  [default: 0.9]",
    ),
    click.option(
        "--max-num-seqs",
        type=COUNT,
        help="Maximum number of sequences to generate at the same time (vllm only).  [default: 256]",
    ),
    click.option(
        "--max-model-len",
        type=COUNT,
        help="Maximum number of tokens for a prompt and its response together.",
    ),
    click.option(
        "--trust-remote-code",
        is_flag=True,
        default=None,
        help="Allow the model to run Python code from its own folder.",
    ),
    click.option(
        "--concurrency", type=COUNT, help="Maximum number of concurrent requests to --url.  [default: 64]"
    ),
    click.option(
        "--retries", type=COUNT_OR_0, help="Maximum number of retries per request to --url.  [default: 5]"
    ),
)

_EPISODE_OPTIONS = (
    click.option("--agent", help="Agent loop for all rows: a name, or path.py:name for your own."),
    click.option("--agent-file", help="YAML file that defines agent loops and their settings."),
    click.option(
        "--tools",
        help="Tools that the model may call: comma-separated names, or a YAML file in verl's format.",
    ),
    click.option(
        "--env",
        help="Environment of all rows, such as ors:URL, openenv:URL or harbor:FOLDER.",
    ),
    click.option(
        "--interactions",
        help="Interaction that plays the user: a name, or a YAML file in verl's format. If you pass several, "
        "each row names one.",
    ),
    click.option(
        "--tool-format",
        "calls",
        help="Format of tool calls, such as hermes or llama3. Default: the format of the chat template.",
    ),
    click.option("--max-assistant-turns", type=COUNT, help="Maximum number of model turns per episode."),
    click.option(
        "--max-user-turns",
        type=COUNT_OR_0,
        help="Maximum number of user turns per episode. All tool responses to one model turn count as one "
        "user turn.",
    ),
    click.option("--max-turn-tokens", type=COUNT, help="Maximum number of tokens per model turn."),
    click.option(
        "--max-parallel-calls",
        type=COUNT,
        help="Maximum number of tool calls per model turn.  [default: 1]",
    ),
    click.option(
        "--max-tool-response-length",
        type=COUNT,
        help="Truncate tool responses to N characters.  [default: 256]",
    ),
    click.option(
        "--tool-seconds",
        type=ABOVE_0,
        help="Time limit per tool call, in seconds.  [default: 30]",
    ),
    click.option(
        "--episode-seconds",
        type=ABOVE_0,
        help="Time limit per episode, in seconds. Default: no limit.",
    ),
)
"""Of episodes of several turns; one of them, or a row that names such an agent, makes responses episodes."""

GENERATION_NAMES = frozenset(
    {
        *EngineSettings.__dataclass_fields__,
        *GenerationSettings.__dataclass_fields__,
        *EpisodeSettings.__dataclass_fields__,
        "engine",
    }
    - {"name", "model", "episodes"}
)


GENERATION = (*_OPTIONS, *_EPISODE_OPTIONS)


def generation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options to a command, which gets those that were given as `generation`, by name."""

    @functools.wraps(function)
    def with_generation(**given: Any) -> Any:
        generation = {name: given.pop(name) for name in list(given) if name in GENERATION_NAMES}
        chosen = {name: value for name, value in generation.items() if value not in (None, ())}
        return function(generation=chosen, **given)

    command: Callable[..., Any] = with_generation
    for option in reversed(GENERATION):
        command = option(command)
    return command


def check_settings(values: Mapping[str, Any]) -> None:
    """Refuse settings from a file that the options of the same names would refuse.

    Raises:
        ConfigError: the first number that is out of its bounds.
    """
    command = click.Command(None)
    for decorate in GENERATION:
        decorate(command)
    for option in command.params:
        value = values.get(str(option.name))
        if value is None or not isinstance(option.type, click.IntRange | click.FloatRange):
            continue
        try:
            option.type.convert(value, option, None)
        except click.BadParameter as error:
            raise ConfigError(f"setting {option.name} in the configuration: {error.message}") from None


def to_settings(values: dict[str, Any]) -> tuple[EngineSettings, GenerationSettings]:
    """Sort what was given, `model` among it, into the engine's settings and the responses'."""
    name = values.get("engine") or "ray"
    name = default_engine(values.get("url")) if name == "ray" else name
    of_engine = {key: value for key, value in values.items() if key in EngineSettings.__dataclass_fields__}
    of_run = {key: value for key, value in values.items() if key in GenerationSettings.__dataclass_fields__}
    of_episodes = {k: value for k, value in values.items() if k in EpisodeSettings.__dataclass_fields__}
    chosen = EpisodeSettings(**of_episodes) if of_episodes else None
    return EngineSettings(name=name, **of_engine), GenerationSettings(**of_run, episodes=chosen)


MULTI_TURN_ONLY = (
    "calls",
    "max_assistant_turns",
    "max_user_turns",
    "max_parallel_calls",
    "max_tool_response_length",
    "tool_seconds",
)
"""Options that change nothing where every row is answered in one turn."""


def refuse_without_effect(engine: str, *, multi_turn: bool) -> None:
    """Refuse options of the command line that the engine or the rows of a run do not use.

    Raises:
        OptionsError: the first of them, and why.
    """
    others = {name for one in ENGINES.values() for name in one.settings} - set(ENGINES[engine].settings)
    refuse_given(others, f"the engine {engine} does not use it")
    if not multi_turn:
        refuse_given(MULTI_TURN_ONLY, "no row has a multi-turn agent, and nothing else asks for one")
