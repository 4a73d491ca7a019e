"""Batches of prompts on their way to a step, and what is generated for them during earlier steps.

The batch of step s is started when the weights of step s - 1 - `ahead` are published, and is used in step s
as a whole. So prompts come in the order of a synchronous run, no short response overtakes a long one, and no
token is from weights more than `ahead` steps old. How a batch is generated is in `steps/generation.py`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pyarrow as pa

from rewardkit.trainer.config.root import TrainerConfig, steps_ahead
from rewardkit.trainer.data import PromptLoader
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rollout.journal import TurnJournal

T = TypeVar("T")
Draw = Callable[[Sequence[Any], int, TurnJournal | None], T]
"""Makes a step's batch of its rows, those of all processes; PPO's draws and starts to score responses."""


@dataclass(eq=False)
class StepPrompts(Generic[T]):
    """The prompts of one step, and what comes of them."""

    step: int
    places: list[int]
    """Places of the prompts among the loader's."""
    epoch: int
    journal: TurnJournal | None = None
    drawn: Future[T] = field(default_factory=Future)

    def start(self, rows: Sequence[Any], draw: Draw[T]) -> None:
        """Draw in a thread of its own, which ends no later than the process."""

        def work() -> None:
            try:
                self.drawn.set_result(draw(rows, self.step, self.journal))
            except BaseException as error:  # whatever it is, the step that needs it must learn of it
                self.drawn.set_exception(error)

        threading.Thread(target=work, name=f"rollouts of step {self.step}", daemon=True).start()


class Feed(Generic[T]):
    """Gives each step its batch."""

    def __init__(self, loader: PromptLoader[Any], config: TrainerConfig, total_steps: int) -> None:
        """Take prompts from a loader that nobody else takes any from, but for further ones of a step."""
        self.loader = loader
        self.ahead = steps_ahead(config)
        self._background = config.mode != "sync"
        self._one_version = config.mode == "one_step_off"
        self._keeps = config.save_freq > 0
        self._total_steps = total_steps
        self._begun: deque[StepPrompts[T]] = deque()
        self._brought: deque[StepPrompts[T]] = deque()
        """Batches that a checkpoint had begun."""
        self.epoch = 0
        """The epoch of the batch that was taken last."""

    @property
    def in_flight(self) -> bool:
        """Return True if something is being drawn, in this process."""
        return not all(one.drawn.done() for one in self._begun)

    def begin(self, version: int, draw: Draw[T]) -> None:
        """Begin all that may be drawn with the weights of step `version`."""
        if not self._background:
            return
        first = version + 1 + len(self._begun)
        for step in range(first, min(version + 1 + self.ahead, self._total_steps) + 1):
            one = self._next(step)
            if self._keeps and one.journal is None:
                one.journal = TurnJournal()
            one.start([self.loader.rows[i] for i in one.places], draw)
            self._begun.append(one)

    def settle(self) -> None:
        """Wait until all that is begun is drawn, where a batch shall be of one version."""
        if self._one_version:
            wait([one.drawn for one in self._begun])

    def take(self, step: int, draw: Draw[T], world: World) -> T:
        """Return the batch of a step, once it is drawn.

        Raises:
            Exception: what one process met with when it drew its share; in all.
        """
        one = self._begun.popleft() if self._background else self._next(step)
        self.epoch = one.epoch
        if not self._background:
            return draw([self.loader.rows[i] for i in one.places], step, None)
        error = one.drawn.exception()
        if not isinstance(error, Exception | None):
            raise error
        first = world.first_error(error)
        if first is not None:
            raise first
        return one.drawn.result()

    def _next(self, step: int) -> StepPrompts[T]:
        if self._brought:
            return self._brought.popleft()
        places = self.loader.take_places()
        return StepPrompts(step, places, self.loader.epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the batches that are begun, and how many steps ahead they are."""
        begun = [(one.step, one.places, one.epoch) for one in self._begun]
        return {"ahead": self.ahead, "begun": begun}

    def load_state_dict(self, state: Mapping[str, Any], turns: Mapping[int, pa.Table]) -> None:
        """Go on with what was begun; the loader is where it was then.

        Args:
            turns: what had been drawn for each step, by all processes. It is not used where batches may now
                be ahead by fewer steps than then.
        """
        fits = self.ahead >= state["ahead"]
        self._brought = deque(
            StepPrompts(step, places, epoch, TurnJournal.of(turns.get(step) if fits else None))
            for step, places, epoch in state["begun"]
        )

    def turns(self) -> dict[int, pa.Table]:
        """Return what has been drawn in this process for each step that is begun."""
        return {one.step: one.journal.table() for one in self._begun if one.journal is not None}
