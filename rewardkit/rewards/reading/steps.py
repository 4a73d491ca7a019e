"""What one clause after another does to the candidates in a text, and what the text has committed to so far.

`commitment` says what a clause does; here is what follows from it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Does = Literal[
    "commits",
    "leans",
    "labels",
    "names",
    "stands",
    "concludes",
    "denies",
    "opens",
    "resets",
    "turns",
    "nothing",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """What a clause does, and to which candidates; -1 is an answer that is no candidate."""

    does: Does
    to: frozenset[int] = frozenset()
    wording: str = ""
    """Of a clause that leans: its words without the candidate."""


OTHER = -1
"""An answer that is no candidate."""
SHAKEN = frozenset((-2,))
"""To what a clause turns that shakes what was said: "wait", "on second thought"."""
_TWO = 2


@dataclass(slots=True)
class Reading:
    """What a text has committed to so far."""

    state: int | None
    leaning: bool = False
    """Whether the state is only where an answer stands: a plainer word overrides it."""
    turned: bool = True
    """Whether something since then lets another one take its place."""
    shaken: bool = False
    contradicted: bool = False
    alone: set[int] = field(default_factory=set)
    denied: set[int] = field(default_factory=set)
    reopened: set[int] = field(default_factory=set)
    """Denied, and then standing alone all the same."""
    named: dict[int, str] = field(default_factory=dict)
    """Of which something is said that neither commits nor denies, and what."""
    wordings: set[str] = field(default_factory=set)
    """In which it leant: the same words for another one are a list."""

    def take(self, step: Step) -> None:
        if step.does in ("stands", "concludes"):
            if step.does == "concludes":
                self.denied -= step.to
            self.reopened |= step.to & self.denied
            self._stands(step.to)
        elif step.does == "turns":
            self.turned = True
            self.shaken = self.shaken or step.to == SHAKEN
        elif step.does == "resets" and step.to != {self.state}:
            self.state = None
            self.turned = True
            self.alone.clear()
            self.named.clear()
        elif step.does in ("denies", "opens"):
            self._loses(step)
        elif step.does == "commits":
            self._commits(next(iter(step.to)))
        elif step.does == "labels" and self.state is not None and not self.leaning and not self.turned:
            self.state = self.state if self.state in step.to else None
        elif step.does in ("leans", "labels"):
            self._leans(next(iter(step.to)), step.wording)
        elif step.does == "names":
            self.named |= dict.fromkeys(step.to, step.wording)

    def _stands(self, to: frozenset[int]) -> None:
        if self.shaken and len(to) == 1:
            self.alone.clear()
            self.state = next(iter(to))
            self.leaning = False
            self.shaken = False
            return
        self.alone |= to - self.denied
        if self.leaning and self.state not in to:
            self.state = None
        self.contradicted = self.state is not None and self.state not in to

    def _loses(self, step: Step) -> None:
        self.alone -= step.to
        self.reopened -= step.to
        if step.does == "denies":
            self.denied |= step.to
        if self.state in step.to:
            self.state = None
            self.turned = True

    def _commits(self, one: int) -> None:
        self.contradicted = self.state not in (None, one) and not self.turned and not self.leaning
        self.reopened.clear()
        self.state = one
        self.leaning = False
        self.turned = False
        self.shaken = False

    def _leans(self, one: int, wording: str) -> None:
        listed = wording in self.wordings
        self.wordings.add(wording)
        if self.state == one:
            return
        if self.leaning and listed:
            self.state = None
        elif self.shaken or ((self.state is None or self.leaning) and not listed and self.alone <= {one}):
            if self.shaken:
                self.alone.clear()
                self.shaken = False
            self.state = one
            self.leaning = True
            self.turned = False

    def result(self) -> int | None:
        """The one candidate that is left."""
        if self.reopened - {self.state}:
            return None
        if self.state is None and len(self.alone) == 1:
            return next(iter(self.alone))
        if self.state is None and not self.alone:
            return self._set_apart()
        return self.state

    def _set_apart(self) -> int | None:
        """The one of which something else is said than of the others: "A is odd, B is odd, C is right"."""
        left = {one: said for one, said in self.named.items() if one not in self.denied}
        if len(left) == 1:
            return next(iter(left)) if len(self.denied) >= _TWO else None
        said = Counter(left.values())
        apart = [one for one in left if said[left[one]] == 1]
        return apart[0] if len(apart) == 1 and len(said) == _TWO else None
