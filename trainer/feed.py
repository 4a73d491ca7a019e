"""Prompts for each step, and responses that are generated during earlier steps.

In asynchronous runs, groups begin when weights are published, and `group_queue.py` decides on which groups a
step trains. Every process generates the responses to its share of the prompts, and each step takes equally
many groups from all processes. The code that generates groups is in `steps/generation.py`.

With `order=ready`, dynamic sampling rejects each group whose responses all have the same outcome. Another
group begins in its place as soon as a step waits.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from queue import SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

import pyarrow as pa

from rewardkit.errors import ConfigError, ScoringError
from rewardkit.threads import in_thread
from rewardkit.trainer.config.root import TrainerConfig, pipeline_depth, step_order, steps_ahead
from rewardkit.trainer.data import PromptLoader
from rewardkit.trainer.distributed import World
from rewardkit.trainer.group_queue import GroupQueue
from rewardkit.trainer.rollout.journal import TurnJournal

T = TypeVar("T")

NOTED_BATCHES = 10
"""Number of batches of replaced prompts after which a step first prints a line. It doubles with each line."""

KEPT = 0.9
"""Factor by which the weight of earlier groups decreases in each step. See `Lengths`."""


@dataclass(eq=False)
class Group(Generic[T]):
    """A prompt, and the responses to it."""

    ordinal: int
    """Number of the group in the run. It determines the seeds of the responses."""
    place: int
    """Index of the prompt in the loader's rows."""
    epoch: int
    version: int | None = None
    """Training step of the weights with which the group began, or None if it has not begun."""
    returned: bool = False
    """True if the group was dropped once and begins again, with the same responses' seeds."""
    row: Any = None
    tokens: int = 0
    """Number of tokens in the responses, once the group has ended."""
    drawn: Future[T] = field(default_factory=Future)
    fits: Future[bool] | None = None
    """True if a step can train on the group. None if a step can train on every group that has ended."""

    @property
    def error(self) -> BaseException | None:
        """Error in generating the group or in deciding whether it fits."""
        return self.drawn.exception() or (None if self.fits is None else self.fits.exception())

    @property
    def is_rejected(self) -> bool:
        """True if no step can train on the group."""
        return self.fits is not None and not self.fits.result()


Draw = Callable[[Sequence[Group[T]], TurnJournal | None], None]
"""Function that generates groups and sets the result of `drawn` for each, as soon as the group has ended."""


def note_replaced(world: World, step: int, prompts: int) -> None:
    """Print that a step is still not full after dynamic sampling has replaced many prompts."""
    world.say(
        f"step {step} is not full yet: {prompts} prompts were replaced, because the responses to each have "
        "the same result; algorithm.filter_groups.max_num_gen_batches limits this"
    )


class Lengths:
    """Lengths of the groups that recent steps have trained on, and of all groups that have ended meanwhile.

    Each step, the weight of earlier groups is multiplied by `KEPT`.
    """

    def __init__(self) -> None:
        self._trained = self._of_trained = self._ended = self._of_ended = 0.0

    def end(self, tokens: int) -> None:
        """Record a group that has ended."""
        self._ended += 1
        self._of_ended += tokens

    def train(self, tokens: Iterable[int]) -> None:
        """Record the groups that a step trains on."""
        for one in tokens:
            self._trained += 1
            self._of_trained += one

    def ratio(self, world: World) -> float:
        """Return the mean length of trained groups divided by that of ended groups, over all processes."""
        mine = (self._trained, self._of_trained, self._ended, self._of_ended)
        trained, of_trained, ended, of_ended = map(sum, zip(*world.gather(mine), strict=True))
        self._trained, self._of_trained, self._ended, self._of_ended = (KEPT * value for value in mine)
        return float(of_trained / trained) / (of_ended / ended) if trained and of_ended else 1.0


class Feed(Generic[T]):
    """Source of the prompts and, in asynchronous runs, of the groups for all steps."""

    def __init__(
        self,
        loader: PromptLoader[Any],
        config: TrainerConfig,
        total_steps: int,
        world: World,
        attend: Callable[[Future[Any]], object] = lambda work: wait([work]),
        *,
        fits: Callable[[T], bool] | None = None,
        most_rejected: float = math.inf,
    ) -> None:
        """Create a feed with prompts from this loader.

        No other code may take prompts from the loader, except a step that needs additional prompts.

        Args:
            attend: Function that waits for a step's groups in the main thread. See `RolloutEngine.attend`.
            fits: Function that decides whether a step can train on a group. It is called in a thread and may
                wait for scores. Without it, a step can train on every group.
            most_rejected: Number of groups of this process after which a step that is not full raises an
                error, if they are rejected for this step.
        """
        self._fits = fits
        self._most_rejected = most_rejected
        self._attend = attend
        self.loader = loader
        self._staleness = steps_ahead(config)
        self.background = config.mode != "sync"
        """True if responses are generated in the background."""
        self._one_version = config.mode == "one_step_off"
        order = step_order(config)
        self._late = config.late if order == "ready" else "wait"
        self._keeps = config.save_freq > 0
        self._total_steps = total_steps
        self._world = world
        self.depth = pipeline_depth(config)
        """Number of steps whose groups may begin in addition to the next step's groups."""
        self._queue = GroupQueue(
            loader.batch_size // world.size,
            staleness=self._staleness,
            depth=self.depth,
            order=order,
            late=self._late,
        )
        self._open: dict[int, Group[T]] = {}
        self._upcoming: deque[Group[T]] = deque()
        """Groups of this process that begin next, such as those that a restored checkpoint contains."""
        self._steps = 0
        """Number of steps whose prompts have been taken from the loader."""
        self._ended: SimpleQueue[Group[T]] = SimpleQueue()
        """Groups that have ended, but for those that the queue knows."""
        self._dropped: list[Group[T]] = []
        """Dropped groups that are still being generated, because their lengths show what dropping changes."""
        self._returning: list[Group[T]] = []
        """Dropped groups that begin again after the current epoch."""
        self._begins: Callable[[], None] = lambda: None
        """Function that starts generating the groups for which there is room, set by `begin`."""
        self._rejected: list[Group[T]] = []
        """Groups that were rejected since the last step."""
        self._lengths = Lengths() if order == "ready" else None
        self._journals: dict[int, TurnJournal] = {}
        """Journal of the groups whose prompts belong to a step, by step."""
        self.epoch = 0
        """Latest epoch of the prompts in the last step."""
        self.metrics: dict[str, float] = {}
        """Metrics of the last call to `take`."""

    @property
    def selects(self) -> bool:
        """True if groups on which no step can train are rejected."""
        return self._fits is not None

    @property
    def in_flight(self) -> bool:
        """True if this process is generating groups."""
        return not all(group.drawn.done() for group in (*self._open.values(), *self._dropped))

    def rows(self) -> list[Any]:
        """Return the prompts for the next step, of all processes. Only for runs without a background."""
        groups = [self._next(share=False) for _ in range(self.loader.batch_size)]
        self.epoch = max(group.epoch for group in groups)
        return [group.row for group in groups]

    def begin(self, step: int, draw: Draw[T], version: int | None = None) -> None:
        """Start generating all groups that may begin after a step.

        Args:
            version: Step of the weights that the engine has, if they are older.
        """
        if self.background:
            self._begins = partial(
                self._begin, self._total_steps - step, draw, step if version is None else version
            )
            self._begins()

    def _begin(self, steps: int, draw: Draw[T], version: int) -> None:
        """Start generating the groups that may begin while `steps` steps are left."""
        begun = [self._next(share=True) for _ in range(self._queue.room(steps))]
        for group in begun:
            group.version = version if group.version is None else group.version
            self._queue.begin(group.ordinal, group.version)
            self._open[group.ordinal] = group
        for step, groups in groupby(begun, self._step_of):
            if self._keeps:
                self._journals.setdefault(step, TurnJournal())
            self._start(list(groups), draw, self._journals.get(step))

    def _step_of(self, group: Group[T]) -> int:
        """Return the number of the journal: the prompt's step, or 0 for groups whose turns were discarded."""
        return 0 if group.returned else group.ordinal // self.loader.batch_size + 1

    def _start(self, groups: Sequence[Group[T]], draw: Draw[T], journal: TurnJournal | None) -> None:
        """Generate groups in a daemon thread."""

        def work() -> None:
            try:
                draw(groups, journal)
            except BaseException as error:  # raised by the step that is waiting
                for group in groups:
                    if not group.drawn.done():
                        group.drawn.set_exception(error)

        for group in groups:
            group.drawn.add_done_callback(partial(self._judge, group))
        threading.Thread(target=work, name=f"rollouts from {groups[0].ordinal}", daemon=True).start()

    def _judge(self, group: Group[T], drawn: Future[T]) -> None:
        fits = self._fits
        if fits is None or drawn.exception() is not None:
            self._ended.put(group)
        else:
            group.fits = in_thread(lambda: fits(drawn.result()), f"scores of {group.ordinal}")
            group.fits.add_done_callback(lambda _: self._ended.put(group))

    def settle(self) -> None:
        """Wait for all groups that have begun if each must come from a single version of the weights."""
        if self._one_version:
            drawn = [group.drawn for group in self._open.values()]
            self._attend(in_thread(lambda: wait(drawn), "settling"))

    def take(self, step: int) -> list[T]:
        """Return this process's groups for a step, in the order of the prompts. Wait until they have ended.

        Raises:
            Exception: A process failed to generate or to score a group, or rejected too many groups. All
                processes raise its exception.
        """
        choosing = in_thread(partial(self._choose, step), "choosing groups")
        self._attend(choosing)
        failed = choosing.exception() if choosing.done() else None  # it may have failed elsewhere
        first = self._world.first_error(failed if isinstance(failed, Exception) else None)
        if first is not None:
            raise first
        chosen, figures = choosing.result()
        groups = [self._open.pop(ordinal) for ordinal in chosen]
        dropped = self._drop(step)
        self.epoch = max(group.epoch for group in groups)
        still = {self._step_of(group) for group in self._open.values()}
        self._journals = {of: journal for of, journal in self._journals.items() if of in still}
        self._measure(groups, len(dropped), *figures)
        return [group.drawn.result() for group in groups]

    def take_rejected(self) -> list[T]:
        """Return and forget this process's groups that were rejected for the last step."""
        rejected, self._rejected = self._rejected, []
        return [group.drawn.result() for group in rejected]

    def _choose(self, step: int) -> tuple[list[int], tuple[float, ...]]:
        """Wait for the groups of a step. Return their ordinals and the values for `_measure`."""
        self._note_ended()
        found = (len(self._queue), self._queue.ended)
        waited = waited_due = 0.0
        told = NOTED_BATCHES * self._queue.size
        while not (chosen := self._queue.take(step)):
            if len(self._rejected) > self._most_rejected:
                raise ScoringError(
                    f"{len(self._rejected)} prompts were replaced for one step, because the responses to "
                    "each have the same result; raise algorithm.filter_groups.max_num_gen_batches (0: no "
                    "limit), or train on prompts that the policy sometimes solves"
                )
            if len(self._rejected) >= told:
                note_replaced(self._world, step, len(self._rejected))
                told *= 2
            self._begins()  # groups in place of those that were rejected
            if self._queue.ended == len(self._queue):  # otherwise, the run would wait for ever
                raise RuntimeError(f"step {step} can train on none of {self._queue.ended} groups in time")
            began, enough = monotonic(), self._queue.ended >= self._queue.size
            self._note(self._ended.get())
            self._note_ended()
            waited += monotonic() - began
            waited_due += (monotonic() - began) * enough
        return chosen, (*found, waited, waited_due)

    def _drop(self, step: int) -> list[Group[T]]:
        dropped = [self._open.pop(ordinal) for ordinal in self._queue.drop(step)]
        self._dropped = [one for one in (*self._dropped, *dropped) if not one.drawn.done()]
        self._returning += [
            Group(one.ordinal, one.place, one.epoch, returned=True) for one in dropped if not one.returned
        ]
        return dropped

    def _measure(self, trained: Sequence[Group[T]], *mine: float) -> None:
        dropped, opened, ended, waited, waited_due = zip(*self._world.gather(mine), strict=True)
        self.metrics = {
            "feed/dropped": float(sum(dropped)),
            "feed/open": float(sum(opened)),
            "feed/ended": float(sum(ended)),
            "feed/wait_s": max(waited),
            "feed/wait_due_s": max(waited_due),
        }
        if self._lengths is not None:
            self._lengths.train(group.tokens for group in trained)
            ratio = self._lengths.ratio(self._world)
            self.metrics |= {"feed/trained_length": ratio, "feed/length_bias": abs(ratio - 1)}

    def _note_ended(self) -> None:
        while not self._ended.empty():
            self._note(self._ended.get())

    def _note(self, group: Group[T]) -> None:
        is_open = self._open.get(group.ordinal) is group  # otherwise it was dropped
        if error := group.error:
            if is_open:
                raise error
        elif group.is_rejected:
            if is_open:
                self._queue.reject(group.ordinal)
                self._rejected.append(self._open.pop(group.ordinal))
        else:
            if self._lengths is not None:
                self._lengths.end(group.tokens)
            if is_open:
                self._queue.end(group.ordinal)

    def _next(self, *, share: bool) -> Group[T]:
        """Return the next group, of this process if `share` is True."""
        if not self._upcoming:
            self._take_places(share=share)
        if self._returning and self._upcoming[0].epoch > self._returning[0].epoch:
            self._upcoming.appendleft(self._returning.pop(0))
        group = self._upcoming.popleft()
        group.row = self.loader.rows[group.place]
        return group

    def _take_places(self, *, share: bool) -> None:
        """Take a step's prompts from the loader, or this process's share of them."""
        places = self.loader.take_places()
        first = self._steps * len(places)
        mine = range(self._world.rank, len(places), self._world.size) if share else range(len(places))
        self._upcoming += [Group(first + i, places[i], self.loader.epoch) for i in mine]
        self._steps += 1

    def state_dict(self) -> dict[str, Any]:
        """Return the groups of all processes that have begun. All processes must call this method.

        Afterwards, all processes have taken equally many prompts from the loader, so that its state is the
        same in all processes. A process that has rejected more groups has taken more.
        """
        for _ in range(max(self._world.gather(self._steps)) - self._steps):
            self._take_places(share=True)
        groups = (*self._open.values(), *self._upcoming, *self._returning)
        mine = [(one.ordinal, one.place, one.epoch, one.version, one.returned) for one in groups]
        if not (self.background or self._world.is_main):
            mine = []  # without a background, every process has the same groups
        everywhere = sorted(group for share in self._world.gather(mine) for group in share)
        return {
            "staleness": self._staleness,
            "depth": self.depth,
            "late": self._late,
            "processes": self._world.size,
            "size": self.loader.batch_size,
            "steps": self._steps,
            "open": everywhere,
        }

    def load_state_dict(self, state: Mapping[str, Any], turns: Mapping[int, pa.Table]) -> None:
        """Restore the groups that had begun. The loader must already be restored from the same checkpoint.

        Args:
            turns: Turns that the groups contained, by the step to which their prompts belong. They are
                discarded if groups must now be newer than in the saved run.

        Raises:
            ConfigError: Groups had begun, and the number of groups per step has changed.
        """
        if "begun" in state:
            state = self._of_version_0_2(state)
        if state["open"] and state["size"] != self.loader.batch_size:
            raise ConfigError(
                f"the checkpoint contains responses for later steps of {state['size']} prompts each, but "
                f"data.train_batch_size is now {self.loader.batch_size}; use the same value, or start from "
                "scratch with trainer.resume_mode=disable"
            )
        fits = self._staleness >= state["staleness"] and self.depth >= state["depth"]
        fits &= self._late != "wait" or state.get("late", "wait") == "wait"
        same = self._world.size == state["processes"]
        self._steps = state["steps"]
        groups = [
            Group(ordinal, place, epoch, version if fits else None, *returned)
            for ordinal, place, epoch, version, *returned in state["open"]
        ]
        # Groups that have begun come first, because they would become too old. If the number of processes has
        # changed, every process gets an equal share of those that must be trained on by any given step.
        groups.sort(key=lambda group: (group.version is None, group.version or 0, group.ordinal))
        self._upcoming = deque(
            group
            for k, group in enumerate(groups)
            if not self.background or (group.ordinal if same else k) % self._world.size == self._world.rank
        )
        self._journals = {step: TurnJournal.of(table) for step, table in turns.items() if fits}

    def _of_version_0_2(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a state whose groups were whole steps. Their turns are discarded."""
        size = self.loader.batch_size
        numbered = [
            ((step - 1) * size + i, place, epoch, None)
            for step, places, epoch in state["begun"]
            for i, place in enumerate(places)
        ]
        steps = max((step for step, _, _ in state["begun"]), default=0)
        sizes = {"size": size, "processes": self._world.size}
        return {"staleness": math.inf, "depth": 0, **sizes, "steps": steps, "open": numbered}

    def turns(self) -> dict[int, pa.Table]:
        """Return the turns that this process has generated so far for open groups, by the prompts' step."""
        return {step: journal.table() for step, journal in self._journals.items()}
