"""Records the use that a program makes of the model's turns.

A program's requests show which turns it has used. Turns that it never received, or whose request it repeated
without them, are not trained on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rewardkit.agents.endpoint.branches import EpisodeBranch, Key, key_of
from rewardkit.agents.endpoint.program_requests import AskedTurn
from rewardkit.agents.types import Turn


@dataclass(eq=False)
class RecordedTurn:
    """A turn of the model, and the program's use of it."""

    number: int
    """Number of the turn in the episode, from 1. It is also the end of the response's id."""
    branch: EpisodeBranch
    turn: Turn
    request: list[Key]
    """Keys of the messages in the request."""
    said: Key
    """Key of the message that the program received."""
    received: bool = False
    """True if the response was sent completely."""
    continued: bool = False
    """True if a later request contains the turn as a message, possibly rewritten."""
    quoted: bool = False
    """True if the text is part of another message that a later request adds."""
    repeated: bool = False
    """True if a later request has the same tools and begins with the same messages."""

    @property
    def text(self) -> str:
        """Return the text that the program received."""
        return self.said[1]


class ProgramUse:
    """The model's turns in an episode, in order, and the program's use of them."""

    def __init__(self) -> None:
        """Create a record without turns."""
        self.turns: list[RecordedTurn] = []

    def see(self, asked: AskedTurn) -> None:
        """Note which turns a request uses."""
        keys = [key_of(message) for message in asked.messages]
        same = [one for one in self.turns if keys[: len(one.request)] == one.request]
        for one in same:
            one.repeated = one.repeated or one.branch.episode.schemas == asked.schemas
        for length in {len(one.request) for one in same}:
            if length < len(keys) and keys[length][0] == "assistant":
                of_place = [one for one in same if len(one.request) == length]
                exact = [one for one in of_place if one.said == keys[length]]
                (exact or of_place)[-1].continued = True  # a program may rewrite the turn
        for one in self.turns:
            if one.text and not one.quoted:
                known = set(one.request)
                added = (key[1] for key in keys if key[0] != "assistant" and key not in known)
                one.quoted = any(one.text in text for text in added)

    def answer(self, chosen: str | None) -> RecordedTurn | None:
        """Return the turn that is the answer, or None if there are no turns.

        This is the last turn with the text that the program chose, or else the last turn that the program
        received and did not continue, or else the last turn that it received.
        """
        said = [one for one in self.turns if chosen is not None and one.text == chosen.strip()]
        received = [one for one in self.turns if one.received]
        ends = [one for one in received if not one.continued]
        found: RecordedTurn | None = next((of[-1] for of in (said, ends, received, self.turns) if of), None)
        return found

    def leave_out(self, answer: RecordedTurn, trained: Collection[int] | None) -> int:
        """Set the mask of the turns that are not trained on to 0, and return their number.

        Args:
            answer: Turn that is the answer, which is always used.
            trained: Numbers of the turns that the program wants to train on, or None if all that it used.
        """
        left = [
            one
            for one in self.turns
            if (not self._used(one, answer) if trained is None else one.number not in trained)
        ]
        for one in left:
            episode, place = one.branch.episode, slice(one.turn.start, one.turn.end)
            length = one.turn.end - one.turn.start
            episode.response_mask[place] = [0] * length
            episode.log_probs[place] = [0.0] * length
            episode.weight_versions[place] = [0] * length
        return len(left)

    def _used(self, turn: RecordedTurn, answer: RecordedTurn) -> bool:
        """Return True if the program used a turn.

        Of several turns for the same request, those that are used are the answer, and those that later
        requests contain. If there are none, it is the last one, unless a later request goes on without it.
        """

        def chosen(one: RecordedTurn) -> bool:
            return one is answer or (one.received and (one.continued or one.quoted))

        asked = (turn.request, turn.branch.episode.schemas)
        same = [one for one in self.turns if (one.request, one.branch.episode.schemas) == asked]
        return chosen(turn) or (turn.received and not turn.repeated and not any(map(chosen, same)))
