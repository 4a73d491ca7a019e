"""Options that the user gives to an OpenAI grader, besides its JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.reward_options import text_option
from rewardkit.rewards.judge.spending import JudgeSpending


@dataclass(frozen=True)
class GraderOptions(NetworkSettings, JudgeSpending):
    """The grader itself, which models it asks and what they may cost, and what its Python may use."""

    grader: str = text_option()
    """Its JSON."""
    url: Address = NO_ADDRESS
    """Base of an OpenAI-compatible API for `label_model` and `score_model`."""
    model: str = ""
    """Asked instead of the model that the grader names."""
    api_key_env: str = ""
    request_timeout_s: float = 60.0
    retries: int = 4
    cpu_s: float = 10.0
    """CPU time of one call of a `python` grader."""
    memory_mb: int = 1024
    level: Literal["auto", "full", "warm", "guard", "none"] = "auto"
    """The sandbox's isolation."""

    def __post_init__(self) -> None:
        NetworkSettings.__post_init__(self)
        JudgeSpending.__post_init__(self)

    @property
    def spending(self) -> JudgeSpending:
        """The limits alone: graders with the same share them, as judges do."""
        return JudgeSpending(**{one.name: getattr(self, one.name) for one in fields(JudgeSpending)})
