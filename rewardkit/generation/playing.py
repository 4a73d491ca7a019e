"""Plays the episodes in a run. Every engine uses this module to play many episodes concurrently."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rewardkit.agents.agent_files import register_agents
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.probe import check_template
from rewardkit.agents.registry import AGENTS, SINGLE_TURN
from rewardkit.agents.rehearsal import rehearse
from rewardkit.agents.resolving import EpisodeSetup, notes_on, refuse_unused, resolve, resolve_rows
from rewardkit.agents.runner import prompt_ids, run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import ChatModel, EpisodeLimits, TokenModel, Turn
from rewardkit.errors import ConfigError, InputError
from rewardkit.generation.engines.limits import too_long
from rewardkit.generation.types import (
    Completion,
    EpisodeRecord,
    EpisodeSettings,
    GenerationRequest,
    GenerationSettings,
    TurnRecord,
)
from rewardkit.rows import plain
from rewardkit.tool_calls.formats import detect, format_named


class Player:
    """Player for episodes with a run's tools, interactions and limits."""

    def __init__(
        self,
        settings: GenerationSettings,
        transcript: Transcript | None = None,
        *,
        longest_prompt: int | None = None,
        context: int | None = None,
    ) -> None:
        """Create a player and load the run's tools and interactions.

        Args:
            settings: Settings for the run.
            transcript: Transcript with the engine's tokenizer, or None if the engine accepts messages.
            longest_prompt: Maximum number of tokens in a prompt, or None for no limit.
            context: Maximum number of tokens in a prompt and its response together, or None for no limit.

        Raises:
            ConfigError: A tool, an interaction or the format of tool calls is unknown.
        """
        self._longest_prompt = longest_prompt
        self._settings = settings
        self._setting = setting_of(settings, transcript, context)

    def check(self, requests: Sequence[GenerationRequest]) -> None:
        """Check that the chat template supports the turns that the agents in these requests append.

        Raises:
            ConfigError: The chat template does not support a turn.
        """
        transcript = self._setting.transcript
        rows = (one.episode for one in requests if one.episode is not None)
        used = (resolve(row, self._setting).agent for row in rows)
        loops = {agent.name: agent for agent in used}  # by name, as agents may be unhashable
        if transcript is not None:
            check_template(transcript, [loops[name] for name in sorted(loops)])

    async def play(self, model: TokenModel | ChatModel, request: GenerationRequest) -> Completion:
        """Play the episode for a request and return the completion, with an `error` if the episode failed."""
        row = request.episode
        assert row is not None, "an episode needs its row"
        try:
            resolve_rows([row], self._setting)
            length = len(prompt_ids(row, self._setting))
        except (InputError, ConfigError) as error:
            return Completion(request.row, request.sample, error=str(error))
        why = None if self._longest_prompt is None else too_long(length, self._longest_prompt)
        if why is not None:
            return Completion(request.row, request.sample, error=why)
        episode = await run_episode(row, model, self._setting, request.seed)
        return completion_of(request, episode, log_probs=self._settings.log_probs)


def setting_of(
    settings: GenerationSettings, transcript: Transcript | None = None, context: int | None = None
) -> EpisodeSetup:
    """Return the setup that all episodes in a run share.

    Raises:
        ConfigError: A tool, an interaction or the format of tool calls is unknown, or an agent's settings are
            invalid.
        InputError: An agent is unknown, or the agent file cannot be read.
    """
    chosen = settings.episodes or EpisodeSettings()
    limits = EpisodeLimits(
        settings.max_tokens,
        context,
        settings.max_prompt_tokens,
        chosen.max_turn_tokens,
        chosen.max_assistant_turns,
        chosen.max_user_turns,
        chosen.episode_seconds,
        chosen.max_parallel_calls,
        chosen.max_tool_response_length,
        chosen.tool_response_truncate_side,
        chosen.tool_seconds,
    )
    calls = _format_of(chosen, transcript)
    agents = register_agents(chosen.agent_file or None, "--agent-file")
    for name in (chosen.agent, chosen.default_agent):
        if name is not None:
            AGENTS.resolve(name)
    return EpisodeSetup(
        limits,
        transcript,
        _tools(chosen.tools),
        _interactions(chosen.interactions),
        calls,
        chosen.default_agent,
        settings.stop,
        chosen.env,
        chosen.agent,
        agents,
    )


def _format_of(chosen: EpisodeSettings, transcript: Transcript | None) -> str:
    """Return the format of tool calls that the user has set or that the chat template implies."""
    if chosen.calls is not None:
        format_named(chosen.calls)
        return chosen.calls
    if transcript is None:
        return "hermes"  # the server itself parses tool calls
    found = detect(transcript.tokenizer.chat_template)
    if found is None and chosen.tools:
        raise ConfigError(
            "cannot detect the tool-call format from the chat template; set the format with --tool-format"
        )
    return found or "hermes"


GIVEN_BY = {
    "tools": "--tools",
    "interactions": "--interactions",
    "env": "--env",
    "default_agent": "rollout.agent.default_agent_loop",
    "agents": "--agent-file",
}
"""Option that sets each part of a run's episodes."""


@dataclass(frozen=True, slots=True)
class CheckedEpisodes:
    """Result of `check_episodes`."""

    multi_turn: bool
    """True if a row has an agent other than the single-turn agent."""
    notes: list[str]
    """Notes for the user, one line each."""


def check_episodes(
    rows: Sequence[EpisodeRow], settings: GenerationSettings, path: str | Path
) -> CheckedEpisodes:
    """Resolve the episodes for all rows in a file before a model is loaded.

    As in training, an episode of each environment and program is played with a fixed reply.

    Raises:
        InputError: A row names an agent, tool or interaction that the run does not have, or no row uses a
            part that the settings specify. The error message contains the first such row. Or an environment
            or program cannot start.
        ConfigError: A tool, an interaction or the format of tool calls in the settings is unknown.
    """
    setting = setting_of(settings)
    try:
        episodes = resolve_rows(rows, setting)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
    refuse_unused(episodes, setting, GIVEN_BY)
    multi_turn = any(one.agent.name != SINGLE_TURN for one in episodes)
    notes = [*notes_on(rows, episodes, setting), *rehearse(rows, episodes, setting)]
    return CheckedEpisodes(multi_turn, notes)


def completion_of(request: GenerationRequest, episode: Episode, *, log_probs: bool) -> Completion:
    """Convert an episode to a completion with the text of the model's last turn and the model's tokens."""
    if episode.ended in ("error", "cancelled"):
        why = f"the episode ended: {episode.detail or episode.ended}"
        return Completion(request.row, request.sample, error=why)
    mask = episode.response_mask
    last = next((turn for turn in reversed(episode.turns) if turn.role == "assistant"), None)
    own = [value for value, kept in zip(episode.log_probs, mask, strict=True) if kept]
    return Completion(
        request.row,
        request.sample,
        episode.answer,
        (last.finish_reason if last is not None else None) or "stop",
        len(episode.prompt_ids) or None,
        sum(mask) if mask else _counted(episode),
        own if log_probs and mask else None,
        episode=EpisodeRecord(
            episode.agent_name,
            str(episode.ended),
            episode.status,
            [_turn(turn, shown=bool(mask)) for turn in episode.turns],
            episode.detail,
            episode.tool_rewards,
            episode.interaction_score,
        ),
    )


def _counted(episode: Episode) -> int | None:
    """Return the number of tokens in the model's turns, or None if the endpoint did not count every turn."""
    counts = [turn.tokens for turn in episode.turns if turn.role == "assistant"]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _turn(turn: Turn, *, shown: bool) -> TurnRecord:
    """Convert a turn to a record.

    Args:
        turn: Turn in an episode.
        shown: True if the engine returned token ids.
    """
    calls = []
    for call in turn.calls:
        said: dict[str, Any] = {"name": call.name, "arguments": plain(call.arguments)}
        calls.append(said if call.error is None else {**said, "error": call.error})
    texts = [json.dumps(call) for call in calls]  # in ASCII, because arguments may contain lone surrogates
    tokens = turn.end - turn.start if shown else turn.tokens
    return TurnRecord(turn.role, turn.text, tokens, turn.reward, texts, turn.statuses)


@cache
def _tools(source: str) -> dict[str, Any]:
    if not source:
        return {}
    from rewardkit.agents.loading import load_tools

    return {name: kind.open for name, kind in load_tools(source).kinds.items()}


@cache
def _interactions(source: str) -> dict[str, Any]:
    if not source:
        return {}
    from rewardkit.agents.loading import load_interactions

    return dict(load_interactions(source))
