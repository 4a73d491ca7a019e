"""Interaction `simulated_user`, in which another model behind an OpenAI-compatible endpoint plays the user.

The other model receives the conversation with the roles of user and assistant swapped, and a system prompt
with values from the row. It ends the episode by writing `stop_word`. The interaction gives no reward, so the
row's own reward scores the episode.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.agents.types import UserTurn
from rewardkit.errors import ConfigError, InputError
from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings, RequestFields
from rewardkit.messages import message_text
from rewardkit.model_api.client import Endpoint, complete_text, require_openai
from rewardkit.reward_options import check_timeout
from rewardkit.types import Message

INSTRUCTIONS = """\
You play a user who talks to an assistant. Stay in this part, and write one short message at a time, as a user
would. What you want: {query}
When you have it, or see that you will not get it, say {stop_word} and nothing else.\
"""


@dataclass(frozen=True)
class UserSettings(NetworkSettings):
    """Settings of the model that plays the user, from the interaction's `config`."""

    url: Address = NO_ADDRESS
    """Base URL of the API, such as `http://localhost:8000/v1`."""
    model: str = ""
    instructions: str = INSTRUCTIONS
    """Template of the system prompt. Its fields are `{stop_word}` and the keys of `interaction_kwargs`."""
    stop_word: str = "[DONE]"
    temperature: float = 0.7
    seed: int | None = None
    """Base seed. The seed for a turn is this seed plus the index of the turn. If None, no seed is sent."""
    max_tokens: int = 256
    api_key_env: str = ""
    """Environment variable that contains the API key. If empty, no key is sent."""
    extra_body: RequestFields = field(default_factory=RequestFields)
    request_timeout_s: float = 60.0
    """Time limit in seconds for one attempt. `EpisodeLimits.tool_seconds` limits all attempts together."""
    retries: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.url.startswith(("http://", "https://")) or not self.model:
            raise ConfigError(
                f"simulated_user needs `url` (http://...) and `model`; found url={self.url!r}, "
                f"model={self.model!r}"
            )
        check_timeout(self.request_timeout_s)
        if not self.stop_word:
            raise ConfigError("simulated_user: `stop_word` is empty; leave `stop_word` out to use [DONE]")

    def extra_body_of(self, turn: int) -> RequestFields:
        """Return the extra request fields for a turn, including the seed if it is set."""
        if self.seed is None:
            return self.extra_body
        return RequestFields({"seed": self.seed + turn, **self.extra_body})


class SimulatedUser:
    """Simulated user in one episode, played by a model."""

    def __init__(self, **config: Any) -> None:
        try:
            settings = UserSettings(**config)
        except TypeError as error:
            raise ConfigError(f"simulated_user: invalid config: {str(error).partition(') ')[2]}") from None
        require_openai("simulated_user")
        self._settings = settings
        self._endpoint = Endpoint(
            settings.url,
            settings.model,
            settings.api_key_env,
            settings.request_timeout_s,
            settings.retries,
            who="the simulated user's server",
        )
        self._system = ""
        self._turns = 0

    async def start(self, **kwargs: Any) -> None:
        """Fill in the instructions with the row's values.

        Raises:
            InputError: The instructions use a value that the row does not have.
        """
        values = {**kwargs, "stop_word": self._settings.stop_word}
        wanted = [name for _, name, _, _ in string.Formatter().parse(self._settings.instructions) if name]
        missing = [name for name in wanted if name not in values]
        if missing:
            raise InputError(
                f"simulated_user's instructions use the field '{missing[0]}', but the row's "
                f"interaction_kwargs have no '{missing[0]}'"
            )
        self._system = self._settings.instructions.format_map(values)

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Request the user's next turn from the model.

        Raises:
            EndpointError: The server refused the request, or all attempts failed.
        """
        settings = self._settings
        asked = [{"role": "system", "content": self._system}, *_turned(messages)]
        text = await complete_text(
            self._endpoint,
            asked,
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            extra_body=settings.extra_body_of(self._turns),
        )
        text = text.strip()
        self._turns += 1
        done = settings.stop_word in text or not text
        return UserTurn(text.replace(settings.stop_word, "").strip(), done=done)


def _turned(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Swap the roles in a conversation, and remove system prompts and tool messages."""
    turned = {"assistant": "user", "user": "assistant"}
    said = ((turned[one["role"]], message_text(one)) for one in messages if one.get("role") in turned)
    return [{"role": role, "content": text} for role, text in said if text]
