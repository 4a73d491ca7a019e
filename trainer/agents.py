"""The agents of a run: from the config to what every episode has in common, checked before a model loads.

What an episode is stands in `rewardkit.agents`; `steps/episodes.py` makes a batch of episodes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from rewardkit.agents.calls import format_named
from rewardkit.agents.interactions.opening import load_interactions
from rewardkit.agents.probe import check_template
from rewardkit.agents.registry import AGENTS, SINGLE_TURN, Agent, load_agent
from rewardkit.agents.rows import EpisodeRow
from rewardkit.agents.runner import EpisodeSetup, agent_of, check_rows, prompt_ids
from rewardkit.agents.tools.opening import load_tools
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Interaction, Tool
from rewardkit.errors import ConfigError, InputError, reason_of
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import RolloutConfig

KEY = "actor_rollout_ref.rollout"
DEFAULT_INTERACTION = "gsm8k"
"""Needs no configuration."""


def uses_agents(config: Config, agent_names: Iterable[str | None]) -> bool:
    """Whether rows of these agents have episodes; without, each response is one draw of the engine."""
    default = config.actor_rollout_ref.rollout.agent.default_agent_loop
    return {name or default for name in agent_names} - {SINGLE_TURN} != set()


def open_agents(config: Config) -> EpisodeSetup:
    """Return what all episodes have in common, but for the transcript.

    Raises:
        RewardkitError: a file cannot be read, or there is no such format, agent, tool or interaction.
    """
    rollout = config.actor_rollout_ref.rollout
    given = rollout.multi_turn
    format_named(given.format)
    register_agents(rollout.agent.agent_loop_config_path)
    AGENTS.resolve(rollout.agent.default_agent_loop)
    sources = [str(s) for s in (given.tool_config_path, given.function_tool_path) if s]
    tools: dict[str, Callable[[], Tool]] = {}
    if sources:
        tools = {name: kind.open for name, kind in load_tools(",".join(sources)).kinds.items()}
    interactions: Mapping[str, Callable[[], Interaction]]
    interactions = load_interactions(given.interaction_config_path or DEFAULT_INTERACTION)
    return EpisodeSetup(
        limits=limits_of(rollout),
        tools=tools,
        interactions=interactions,
        calls=given.format,
        default_agent=rollout.agent.default_agent_loop,
    )


def limits_of(rollout: RolloutConfig) -> EpisodeLimits:
    """Return what an episode may use; 0 turns are no limit, as in verl."""
    given = rollout.multi_turn
    return EpisodeLimits(
        response_tokens=rollout.response_length,
        context_tokens=rollout.max_model_len,
        turn_tokens=given.max_turn_tokens,
        assistant_turns=given.max_assistant_turns or None,
        user_turns=given.max_user_turns or None,
        seconds=given.episode_timeout_s,
        parallel_calls=given.max_parallel_calls,
        tool_response_chars=given.max_tool_response_length,
        tool_response_truncate_side=given.tool_response_truncate_side,  # type: ignore[arg-type]
        tool_seconds=given.tool_timeout_s,
        tool_retries=given.tool_retries,
    )


def with_tokenizer(
    setting: EpisodeSetup, config: Config, tokenizer: Any, eos_ids: Sequence[int] = ()
) -> EpisodeSetup:
    """Return the setting with the transcript of a tokenizer; `eos_ids` end the model's turns."""
    kwargs = config.data.apply_chat_template_kwargs
    return replace(setting, transcript=Transcript(tokenizer, list(eos_ids), kwargs))


def check_agents(config: Config, files: Mapping[str, Sequence[EpisodeRow]]) -> list[str]:
    """Check the agents, tools and interactions of all rows of files, and the chat template for them.

    Returns:
        lines that are worth saying.

    Raises:
        RewardkitError: there is none of a name, or the template cannot take what an agent appends.
    """
    if not uses_agents(config, {row.agent_name for rows in files.values() for row in rows}):
        if config.reward.mode != "trajectory":
            raise ConfigError(
                f"reward.mode={config.reward.mode} needs turns, and no row has an agent of several turns; "
                f"set agent_name in the data, or {KEY}.agent.default_agent_loop"
            )
        return []
    from rewardkit.trainer.models.load import load_tokenizer  # transformers takes seconds to import

    setting = open_agents(config)
    used: dict[str, Agent] = {}
    for path, rows in files.items():
        try:
            check_rows(rows, setting)
        except InputError as error:
            raise InputError(f"{path}, {error}") from None
        used |= {agent.name: agent for agent in (agent_of(row, setting) for row in rows)}
    model = config.actor_rollout_ref.model
    tokenizer = load_tokenizer(model.path, trust_remote_code=model.trust_remote_code)
    transcript = with_tokenizer(setting, config, tokenizer).transcript
    assert transcript is not None
    return check_template(transcript, used.values()).lines()


def episode_row(row: PromptRow) -> EpisodeRow:
    """Return what an episode has to know of a row."""
    return as_episode_row(row.prompt, row.data_source, row.ground_truth, row.extra_info, row.agent_name)


def as_episode_row(
    prompt: Any, data_source: str, ground_truth: str, extra_info: Mapping[str, Any], agent_name: str | None
) -> EpisodeRow:
    """Return a row's values as an EpisodeRow; a plain text is one message of the user."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return EpisodeRow(messages, data_source, ground_truth, extra_info, agent_name)


def prompt_reader(setting: EpisodeSetup) -> Callable[[dict[str, Any]], list[int]]:
    """Return what makes token ids of a row as `data.py` reads it: those that its episode begins with."""
    return lambda raw: prompt_ids(as_episode_row(**raw), setting)


def register_agents(path: str | None) -> None:
    """Register the loops of verl's `agent_loop_config_path`: a YAML list of `name` and `_target_`.

    Raises:
        InputError: the file cannot be read, or is no such list.
        ConfigError: a target is not a loop of ours.
    """
    if path is None:
        return
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InputError(
            f"cannot read {KEY}.agent.agent_loop_config_path={path}: {reason_of(error)}"
        ) from None
    named = isinstance(entries, list) and all(
        isinstance(entry, dict) and {"name", "_target_"} <= entry.keys() for entry in entries
    )
    if not named:
        raise InputError(f"{path} must be a list of mappings with `name` and `_target_`")
    for entry in entries:
        _register(str(entry["name"]), str(entry["_target_"]), sorted(entry.keys() - {"name", "_target_"}))


def _register(name: str, target: str, more: Sequence[str]) -> None:
    if more:
        raise ConfigError(f"agent '{name}': a loop takes no settings, found {', '.join(more)}")
    try:
        AGENTS.register(replace(_target(target), name=name))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"agent '{name}': cannot import {target}: {error}") from None


def _target(target: str) -> Agent:
    """The loop of `path.py:name` or `package.module.name`."""
    if target.partition(":")[0].endswith(".py"):
        return load_agent(target)
    module, _, attribute = target.replace(":", ".").rpartition(".")
    loop = getattr(importlib.import_module(module), attribute)
    found = getattr(loop, "__rewardkit_agent__", None)
    if isinstance(found, Agent):
        return found
    if isinstance(loop, type):
        raise ConfigError(
            f"{target} is a class; a loop here is a coroutine function of an Episode, decorated with @agent "
            "(docs/agents.md)"
        )
    return Agent(target, loop)
