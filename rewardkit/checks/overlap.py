"""Detection of questions from evaluation sets in other questions, by equality or by shared n-grams.

A single shared n-gram proves little if problems have similar wording. A question counts as found if at least
half of its n-grams and all of its numbers occur, or nearly all of its n-grams regardless of its numbers. An
n-gram has eight words, as in Tülu 3 (Lambert et al., 2024) and open-r1's decontamination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.checks.texts import digest, numbers_in

N = 8
_ENOUGH = 0.5
_NEARLY_ALL = 0.8
_COMMON = 16
"""Maximum number of questions that may share an n-gram. More common n-grams are phrases and are ignored."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Question from an evaluation set that was found in another question."""

    place: str
    """File and row of the question."""
    share: float
    """Share of the question's n-grams that were found; 1.0 for the same question."""
    same: bool
    """True if both questions are the same."""
    other_numbers: bool = False
    """True if some of the question's numbers were not found. The two questions may then be different problems
    with the same wording."""

    def describe(self, which: str = "") -> str:
        """Return a description of the overlap, with the text `which` after the place."""
        if self.same:
            return f"the question is the same as in {self.place}{which}"
        numbers = ", but has different numbers" if self.other_numbers else ""
        return f"the question contains {self.share:.0%} of the {N}-grams of {self.place}{which}{numbers}"


class EvalIndex:
    """Index of the questions in evaluation sets by their n-grams."""

    def __init__(self) -> None:
        self._places: list[str] = []
        self._sizes: list[int] = []
        self._numbers: list[frozenset[str]] = []
        self._whole: dict[int, int] = {}
        self._grams: dict[int, int | tuple[int, ...]] = {}
        """Indices of the questions with each n-gram. If there is only one question, as for most n-grams, its
        index is stored without a tuple to save memory."""

    def __len__(self) -> int:
        return len(self._places)

    def add(self, asked: Sequence[Sequence[str]], place: str, media: object = None) -> None:
        """Add a question to the index.

        Args:
            asked: Tokens of each form of the question. The first form is the question itself. Another form
                may be the whole prompt.
            place: File and row of the question.
            media: Images in the question.
        """
        number = len(self._places)
        tokens = asked[0]
        grams = set() if media is not None else _grams(tokens)
        self._places.append(place)
        self._sizes.append(len(grams))
        self._numbers.append(numbers_in(tokens))
        for form in asked:
            if form:
                self._whole.setdefault(digest(form, media), number)
        for gram in grams:
            known = self._grams.setdefault(gram, number)
            if isinstance(known, tuple):
                self._grams[gram] = (*known, number) if len(known) <= _COMMON else known
            elif known != number:
                self._grams[gram] = (known, number)

    def find(self, asked: Sequence[Sequence[str]], media: object = None) -> Overlap | None:
        """Return the largest overlap of the tokens with an indexed question, or None."""
        if not self._places:
            return None
        for form in asked:
            same = self._whole.get(digest(form, media)) if form else None
            if same is not None:
                return Overlap(self._places[same], 1.0, same=True)
        tokens = asked[0]
        shared: Counter[int] = Counter()
        for gram in self._grams.keys() & _grams(tokens):
            known = self._grams[gram]
            if isinstance(known, int):
                shared[known] += 1
            elif len(known) <= _COMMON:
                shared.update(known)
        found = [
            (count / self._sizes[number], number)
            for number, count in shared.items()
            if count / self._sizes[number] >= _ENOUGH
        ]
        numbers = numbers_in(tokens) if found else frozenset()
        for share, number in sorted(found, reverse=True):
            other_numbers = not self._numbers[number] <= numbers
            if share >= _NEARLY_ALL or not other_numbers:
                return Overlap(self._places[number], share, same=False, other_numbers=other_numbers)
        return None


def _grams(tokens: Sequence[str]) -> set[int]:
    """Return the hashes of all n-grams of the tokens. The hashes are valid only in this process."""
    return set(map(hash, zip(*(tokens[start:] for start in range(N)), strict=False)))
