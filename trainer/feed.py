"""Batches for future steps, whose responses are generated during earlier steps.

Generation of the batch for step s starts when the weights from step s - 1 - `ahead` are published, and step s
uses the whole batch. Therefore, prompts are used in the same order as in a synchronous run, short responses
do not overtake long ones, and no token comes from weights that are more than `ahead` steps old. The code that
generates a batch is in `steps/generation.py`.
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
"""Function that creates the batch for a step from the rows of all processes. In PPO, it generates responses
and starts scoring them."""


@dataclass(eq=False)
class StepPrompts(Generic[T]):
    """The prompts for one step, and the batch created from them."""

    step: int
    places: list[int]
    """Indices of the prompts in the loader's rows."""
    epoch: int
    journal: TurnJournal | None = None
    drawn: Future[T] = field(default_factory=Future)

    def start(self, rows: Sequence[Any], draw: Draw[T]) -> None:
        """Create the batch in a daemon thread."""

        def work() -> None:
            try:
                self.drawn.set_result(draw(rows, self.step, self.journal))
            except BaseException as error:  # raised later, by the step that takes the batch
                self.drawn.set_exception(error)

        threading.Thread(target=work, name=f"rollouts of step {self.step}", daemon=True).start()


class Feed(Generic[T]):
    """Source of the batches for all steps."""

    def __init__(
        self,
        loader: PromptLoader[Any],
        config: TrainerConfig,
        total_steps: int,
        attend: Callable[[Future[Any]], None] = lambda work: None,
    ) -> None:
        """Create a feed with prompts from this loader.

        No other code may take prompts from the loader, except a step that needs additional prompts.

        Args:
            attend: Function that waits for a batch in the main thread. See `RolloutEngine.attend`.
        """
        self._attend = attend
        self.loader = loader
        self.ahead = steps_ahead(config)
        self._background = config.mode != "sync"
        self._one_version = config.mode == "one_step_off"
        self._keeps = config.save_freq > 0
        self._total_steps = total_steps
        self._begun: deque[StepPrompts[T]] = deque()
        self._brought: deque[StepPrompts[T]] = deque()
        """Batches that had been started when the restored checkpoint was saved."""
        self.epoch = 0
        """Epoch of the last batch taken."""

    @property
    def in_flight(self) -> bool:
        """True if this process is creating a batch."""
        return not all(one.drawn.done() for one in self._begun)

    def begin(self, version: int, draw: Draw[T]) -> None:
        """Start creating all batches that may use the weights from step `version`."""
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
        """Wait for all started batches if each batch must come from a single version of the weights."""
        if self._one_version:
            for one in self._begun:
                self._attend(one.drawn)
                wait([one.drawn])

    def take(self, step: int, draw: Draw[T], world: World) -> T:
        """Return the batch for a step, waiting until it is complete.

        Raises:
            Exception: A process failed to create its share. All processes raise its exception.
        """
        one = self._begun.popleft() if self._background else self._next(step)
        self.epoch = one.epoch
        if not self._background:
            return draw([self.loader.rows[i] for i in one.places], step, None)
        self._attend(one.drawn)
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
        """Return the prompts of the started batches, and the number of steps that they may be ahead."""
        begun = [(one.step, one.places, one.epoch) for one in self._begun]
        return {"ahead": self.ahead, "begun": begun}

    def load_state_dict(self, state: Mapping[str, Any], turns: Mapping[int, pa.Table]) -> None:
        """Restore the started batches. The loader must already be restored from the same checkpoint.

        Args:
            turns: Turns that all processes had generated, by step. They are discarded if batches may now be
                fewer steps ahead than in the saved run.
        """
        fits = self.ahead >= state["ahead"]
        self._brought = deque(
            StepPrompts(step, places, epoch, TurnJournal.of(turns.get(step) if fits else None))
            for step, places, epoch in state["begun"]
        )

    def turns(self) -> dict[int, pa.Table]:
        """Return the turns that this process has generated so far, by step."""
        return {one.step: one.journal.table() for one in self._begun if one.journal is not None}
