"""Options for engines and sampling, for all commands that generate responses."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import click

from rewardkit.commands.options.numbers import FiniteRange
from rewardkit.errors import reason_of
from rewardkit.generation.engines import ENGINES
from rewardkit.generation.settings import BOUNDS, NAMES
from rewardkit.json_objects import NOT_JSON


def _within(name: str) -> click.ParamType[Any]:
    """Return the option type for a numeric setting, with the setting's bounds."""
    bounds = BOUNDS[name]
    if bounds.whole:
        low, high = (None if end is None else int(end) for end in (bounds.low, bounds.high))
        return click.IntRange(low, high)
    return FiniteRange(bounds.low, bounds.high, min_open=bounds.above_low)


class JsonObject(click.ParamType[dict[str, Any]]):
    """JSON object."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Return the object."""
        try:
            found = json.loads(value) if isinstance(value, str) else value
        except NOT_JSON as error:
            self.fail(f"{value!r} is not JSON: {reason_of(error)}", param, ctx)
        if not isinstance(found, dict):
            self.fail(f"{value!r} is not a JSON object", param, ctx)
        return found


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
    click.option("-n", "n", type=_within("n"), help="Number of responses per prompt.  [default: 1]"),
    click.option(
        "--temperature",
        type=_within("temperature"),
        help="Temperature (0 is greedy).  [default: 1]",
    ),
    click.option(
        "--top-p", type=_within("top_p"), help="Probability mass for nucleus sampling.  [default: 1]"
    ),
    click.option(
        "--top-k",
        type=_within("top_k"),
        help="Sample only from the N most likely tokens. Use -1 for all tokens.  [default: -1]",
    ),
    click.option(
        "--max-tokens",
        type=_within("max_tokens"),
        help="Tokens per response or episode.  [default: 1024]",
    ),
    click.option(
        "--max-prompt-tokens",
        type=_within("max_prompt_tokens"),
        help="Fail if a prompt has more than N tokens.",
    ),
    click.option("--seed", type=_within("seed"), help="Random seed for sampling.  [default: 0]"),
    click.option("--stop", multiple=True, help="String that ends a response. May be repeated."),
    click.option(
        "--sampling-params",
        type=JsonObject(),
        help="Further arguments for vLLM's SamplingParams, as JSON: '{\"repetition_penalty\": 1.1}'. "
        "With --url, further fields of the requests.",
    ),
    click.option("--log-probs", is_flag=True, default=None, help="Save the log probability of each token."),
    click.option(
        "--dtype", help="Data type of the model weights, such as float32 or bfloat16.  [default: auto]"
    ),
    click.option(
        "--tensor-parallel-size",
        type=_within("tensor_parallel_size"),
        help="Number of GPUs per model (vllm only).",
    ),
    click.option(
        "--gpu-memory-utilization",
        type=_within("gpu_memory_utilization"),
        help="Fraction of GPU memory to use (vllm only).  [default: 0.9]",
    ),
    click.option(
        "--max-num-seqs",
        type=_within("max_num_seqs"),
        help="Maximum number of sequences to generate at the same time (vllm only).  [default: 256]",
    ),
    click.option(
        "--max-model-len",
        type=_within("max_model_len"),
        help="Maximum number of tokens for a prompt and its response together.",
    ),
    click.option(
        "--trust-remote-code",
        is_flag=True,
        default=None,
        help="Allow the model to run Python code from its own folder.",
    ),
    click.option(
        "--concurrency",
        type=_within("concurrency"),
        help="Maximum number of concurrent requests to --url.  [default: 64]",
    ),
    click.option(
        "--retries",
        type=_within("retries"),
        help="Maximum number of retries per request to --url.  [default: 5]",
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
    click.option(
        "--max-assistant-turns",
        type=_within("max_assistant_turns"),
        help="Maximum number of model turns per episode.",
    ),
    click.option(
        "--max-user-turns",
        type=_within("max_user_turns"),
        help="Maximum number of user turns per episode. All tool responses to one model turn count as one "
        "user turn.",
    ),
    click.option(
        "--max-turn-tokens", type=_within("max_turn_tokens"), help="Maximum number of tokens per model turn."
    ),
    click.option(
        "--max-parallel-calls",
        type=_within("max_parallel_calls"),
        help="Maximum number of tool calls per model turn.  [default: 1]",
    ),
    click.option(
        "--max-tool-response-length",
        type=_within("max_tool_response_length"),
        help="Truncate tool responses to N characters.  [default: 256]",
    ),
    click.option(
        "--tool-seconds",
        type=_within("tool_seconds"),
        help="Time limit per tool call, in seconds.  [default: 30]",
    ),
    click.option(
        "--episode-seconds",
        type=_within("episode_seconds"),
        help="Time limit per episode, in seconds. Default: no limit.",
    ),
)
"""Options for multi-turn episodes. Responses are episodes if one of these options is given, or if a row names
a multi-turn agent."""

GENERATION = (*_OPTIONS, *_EPISODE_OPTIONS)


def generation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the generation options to a command.

    Options that the user gave are passed to the command as the mapping `generation`.
    """

    @functools.wraps(function)
    def with_generation(**given: Any) -> Any:
        generation = {name: given.pop(name) for name in list(given) if name in NAMES}
        chosen = {name: value for name, value in generation.items() if value not in (None, ())}
        return function(generation=chosen, **given)

    command: Callable[..., Any] = with_generation
    for option in reversed(GENERATION):
        command = option(command)
    return command
