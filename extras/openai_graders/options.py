"""Options of an OpenAI grader that are not part of its JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.reward_options import text_option
from rewardkit.rewards.judge.spending import JudgeSpending


@dataclass(frozen=True)
class GraderOptions(NetworkSettings, JudgeSpending):
    """Options for the grader, the models that it calls, their costs, and the limits of its Python code."""

    grader: str = text_option()
    """JSON of the grader."""
    url: Address = NO_ADDRESS
    """Base URL of an OpenAI-compatible API for `label_model` and `score_model`."""
    model: str = ""
    """Model that is called in place of the grader's own model."""
    api_key_env: str = ""
    request_timeout_s: float = 60.0
    retries: int = 4
    cpu_s: float = 10.0
    """CPU time limit in seconds for one call of a `python` grader."""
    memory_mb: int = 1024
    level: Literal["auto", "warm", "guard", "none"] = "auto"
    """Isolation level of the sandbox."""

    def __post_init__(self) -> None:
        NetworkSettings.__post_init__(self)
        JudgeSpending.__post_init__(self)

    @property
    def spending(self) -> JudgeSpending:
        """Spending limits without the other options."""
        return JudgeSpending(**{one.name: getattr(self, one.name) for one in fields(JudgeSpending)})
