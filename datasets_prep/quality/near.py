"""Finds nearly equal questions with MinHash over pairs of words, as implemented in rensa.

Only questions with the same numbers are compared, because a different number makes a different problem. Most
questions therefore have few candidates, which are compared one by one. If there are many candidates, a banded
index is used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rewardkit.errors import MissingDependencyError

if TYPE_CHECKING:
    from rensa import RMinHash

_PERMUTATIONS = 60
_BANDS = 12
"""Number of bands, with five values each. Questions with a similarity of 0.7 share a band in 89 of 100 cases,
and questions with a similarity of 0.8 in 99 of 100 cases."""
_SEED = 42
_SMALL = 64
"""Maximum number of questions in a block that are compared one by one."""
_LEAST_TOKENS = 6
"""Minimum number of tokens in a question to compare. In shorter questions, every different word matters."""


class NearIndex:
    """Index of questions by MinHash.

    The index stores about 600 bytes per question, or 1,500 bytes if many questions have the same numbers.

    Raises:
        MissingDependencyError: rensa is not installed.
    """

    def __init__(self, similarity: float) -> None:
        try:
            import rensa
        except ImportError:
            raise MissingDependencyError(
                "near-duplicate search needs rensa: pip install 'rewardkit[dedup]' (or pass --dedup exact)"
            ) from None
        self._rensa = rensa
        self._similarity = similarity
        self._blocks: dict[Hashable, list[tuple[int, RMinHash]] | _LargeBlock] = {}

    def sketches(self, questions: Iterable[Sequence[str]]) -> list[RMinHash | None]:
        """Return the MinHash of each tokenized question, or None for a question that is too short."""
        questions = list(questions)
        long = [number for number, tokens in enumerate(questions) if len(tokens) >= _LEAST_TOKENS]
        pairs = [[f"{a} {b}" for a, b in pairwise(q)] for q in (questions[n] for n in long)]
        found: list[RMinHash | None] = [None] * len(questions)
        for number, sketch in zip(
            long, self._rensa.RMinHash.from_token_sets(pairs, _PERMUTATIONS, _SEED), strict=True
        ):
            found[number] = sketch
        return found

    def find(self, block: Hashable, sketch: RMinHash) -> int | None:
        """Return the key of a nearly equal question in a block, or None if there is no such question."""
        there = self._blocks.get(block)
        if there is None:
            return None
        if isinstance(there, _LargeBlock):
            return there.find(sketch, self._similarity)
        return next((key for key, other in there if sketch.jaccard(other) >= self._similarity), None)

    def add(self, block: Hashable, sketch: RMinHash, key: int) -> None:
        """Add a question to a block under a key."""
        there = self._blocks.setdefault(block, [])
        if isinstance(there, _LargeBlock):
            there.add(sketch, key)
            return
        there.append((key, sketch))
        if len(there) > _SMALL:
            large = _LargeBlock(self._rensa)
            for known, other in there:
                large.add(other, known)
            self._blocks[block] = large


class _LargeBlock:
    """Block of many questions with the same numbers. The block stores one byte of each MinHash value."""

    def __init__(self, rensa: Any) -> None:
        self._index = rensa.RMinHashLSH(0.5, _PERMUTATIONS, _BANDS)
        self._bytes: dict[int, bytes] = {}

    def add(self, sketch: RMinHash, key: int) -> None:
        self._index.insert(key, sketch)
        self._bytes[key] = _low_bytes(sketch)

    def find(self, sketch: RMinHash, similarity: float) -> int | None:
        mine = _low_bytes(sketch)
        for key in sorted(self._index.query(sketch)):
            same = sum(a == b for a, b in zip(mine, self._bytes[key], strict=True))
            if same >= similarity * _PERMUTATIONS:
                return int(key)
        return None


def _low_bytes(sketch: RMinHash) -> bytes:
    return bytes(value & 255 for value in sketch.digest())
