"""Reads the agents of a training run from the config, and checks them before a model is loaded.

Single episodes are implemented in `rewardkit.agents`, and batches of episodes in `steps/episodes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from rewardkit.agents.agent_files import register_agents
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.loading import load_interactions, load_tools
from rewardkit.agents.probe import check_template
from rewardkit.agents.registry import AGENTS, SINGLE_TURN
from rewardkit.agents.rehearsal import rehearse
from rewardkit.agents.resolving import (
    EpisodeSetup,
    ResolvedEpisode,
    default_agent,
    notes_on,
    refuse_unused,
    resolve_rows,
)
from rewardkit.agents.runner import prompt_ids
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Interaction, Tool
from rewardkit.errors import ConfigError, InputError
from rewardkit.tool_calls.formats import format_named
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.batch import PromptRow
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import MultiTurnConfig, RolloutConfig

KEY = "actor_rollout_ref.rollout"
GIVEN_BY = {
    "tools": f"{KEY}.multi_turn.tool_config_path",
    "interactions": f"{KEY}.multi_turn.interaction_config_path",
    "env": f"{KEY}.agent.env",
    "default_agent": f"{KEY}.agent.default_agent_loop",
    "agents": f"{KEY}.agent.agent_loop_config_path",
}
"""Setting that provides each part of an episode, by part name."""


def uses_agents(config: Config, agent_names: Iterable[str | None]) -> bool:
    """Return True if any of these agents runs multi-turn episodes.

    Otherwise, the rollout engine generates each response in a single turn.

    Args:
        agent_names: Agent names from the rows. None stands for the run's default agent.
    """
    rollout = config.actor_rollout_ref.rollout
    default = default_agent(
        rollout.agent.default_agent_loop,
        tools=bool(_tool_files(config)),
        interaction=rollout.multi_turn.interaction_config_path is not None,
        env=bool(rollout.agent.env),
    )
    return default != SINGLE_TURN or any(name not in (None, "", SINGLE_TURN) for name in agent_names)


def open_agents(config: Config) -> EpisodeSetup:
    """Return the setup shared by all episodes of a run, without the transcript (see `with_tokenizer`).

    Raises:
        RewardkitError: A file cannot be read, or a format, agent, tool or interaction does not exist.
    """
    rollout = config.actor_rollout_ref.rollout
    given = rollout.multi_turn
    format_named(given.format)
    agents = register_agents(rollout.agent.agent_loop_config_path, GIVEN_BY["agents"])
    AGENTS.resolve(rollout.agent.default_agent_loop)
    sources = _tool_files(config)
    tools: dict[str, Callable[[], Tool]] = {}
    if sources:
        tools = {name: kind.open for name, kind in load_tools(",".join(sources)).kinds.items()}
    interactions: Mapping[str, Callable[[], Interaction]] = {}
    if given.interaction_config_path:
        interactions = load_interactions(given.interaction_config_path)
    return EpisodeSetup(
        limits=limits_of(rollout),
        tools=tools,
        interactions=interactions,
        calls=given.format,
        default_agent=rollout.agent.default_agent_loop,
        env=rollout.agent.env,
        agents=agents,
    )


def _tool_files(config: Config) -> list[str]:
    given = config.actor_rollout_ref.rollout.multi_turn
    return [str(path) for path in (given.tool_config_path, given.function_tool_path) if path]


def limits_of(rollout: RolloutConfig) -> EpisodeLimits:
    """Return the limits for an episode. As in verl, a limit of 0 turns means no limit."""
    given = rollout.multi_turn
    return EpisodeLimits(
        response_tokens=rollout.response_length,
        context_tokens=rollout.max_model_len,
        prompt_tokens=rollout.prompt_length,
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
    """Return the setup with a transcript that uses this tokenizer.

    Args:
        eos_ids: Token ids that end a model turn, in addition to the tokenizer's end-of-text token.
    """
    kwargs = config.data.apply_chat_template_kwargs
    return replace(setting, transcript=Transcript(tokenizer, list(eos_ids), kwargs))


def check_agents(
    config: Config, files: Mapping[str, Sequence[EpisodeRow]]
) -> tuple[list[str], list[ResolvedEpisode]]:
    """Resolve the episodes of all rows, and check that the chat template works for their agents.

    An episode of each environment and program is played with a fixed reply.

    Args:
        files: Rows of each data file, by the file's path.

    Returns:
        Notes for the user about the rows and the chat template, one line each, and the episodes of all rows.

    Raises:
        RewardkitError: A row names an agent, tool or interaction that is not configured, no row uses a
            configured agent, tool or interaction, the template cannot render the turns that an agent
            appends, or an environment or program fails.
    """
    setting = open_agents(config)
    episodes: list[ResolvedEpisode] = []
    notes = []
    for path, rows in files.items():
        try:
            found = resolve_rows(rows, setting)
        except InputError as error:
            raise InputError(f"{path}, {error}") from None
        notes += [f"{path}: {note}" for note in notes_on(rows, found, setting)]
        episodes += found
    refuse_unused(episodes, setting, GIVEN_BY)
    used = {one.agent.name: one.agent for one in episodes}
    if not uses_agents(config, used):
        _refuse_multi_turn(config)
        return notes, episodes
    why = why_last_alone(config) if any(agent.tools == "program" for agent in used.values()) else None
    if why is not None:
        notes.append(f"if a program rewrites its message history, only the last branch is trained on: {why}")
    from rewardkit.trainer.models.load import load_tokenizer  # transformers is slow to import

    model = config.actor_rollout_ref.model
    tokenizer = load_tokenizer(model.path, trust_remote_code=model.trust_remote_code)
    setting = with_tokenizer(setting, config, tokenizer)
    assert setting.transcript is not None
    if config.actor_rollout_ref.rollout.router_replay:
        notes.append(
            f"{KEY}.router_replay has no effect: multi-turn episodes do not record the experts chosen for "
            "each token"
        )
    notes += check_template(setting.transcript, used.values()).lines()
    played = rehearse([row for rows in files.values() for row in rows], episodes, setting)
    return [*notes, *played], episodes


def _refuse_multi_turn(config: Config) -> None:
    """Refuse multi-turn settings in a run without multi-turn episodes.

    Raises:
        ConfigError: `reward.mode` or a multi-turn setting differs from its default.
    """
    way_out = f"set agent_name in the data, or {KEY}.agent.default_agent_loop"
    if config.reward.mode != "trajectory":
        raise ConfigError(
            f"reward.mode={config.reward.mode} needs multi-turn episodes, but no row has a multi-turn agent; "
            f"{way_out}"
        )
    given, usual = config.actor_rollout_ref.rollout.multi_turn, MultiTurnConfig()
    for field in fields(MultiTurnConfig):
        value = getattr(given, field.name)
        if value != getattr(usual, field.name):
            raise ConfigError(
                f"{KEY}.multi_turn.{field.name}={value} has no effect, since no row has a multi-turn agent; "
                f"{way_out}"
            )


def episode_row(row: PromptRow) -> EpisodeRow:
    """Convert a prompt row to an episode row."""
    return as_episode_row(row.prompt, row.data_source, row.ground_truth, row.extra_info, row.agent_name)


def as_episode_row(
    prompt: Any, data_source: str, ground_truth: str, extra_info: Mapping[str, Any], agent_name: str | None
) -> EpisodeRow:
    """Return an episode row with these values. A plain-text prompt becomes a single user message."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return EpisodeRow(messages, data_source, ground_truth, extra_info, agent_name)


def prompt_reader(setting: EpisodeSetup) -> Callable[[dict[str, Any]], list[int]]:
    """Return a function that maps a row read by `data.py` to the prompt token ids of its episode."""
    return lambda raw: prompt_ids(as_episode_row(**raw), setting)


def why_last_alone(config: Config) -> str | None:
    """Return the reason why only the last branch of an episode is trained on, or None if all branches are."""
    algorithm = config.algorithm
    if not ESTIMATORS[algorithm.adv_estimator].groups:
        return f"algorithm.adv_estimator={algorithm.adv_estimator} computes no advantage for a whole episode"
    if config.distillation.rewards_tokens:
        return "distillation rewards each token separately"
    return None
