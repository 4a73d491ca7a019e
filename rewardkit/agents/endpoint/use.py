"""Record of how a program uses the turns of the model.

A program's requests show which turns the program has used. A turn is not trained on if the program never
received it, or if the program repeated the turn's request without including the turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rewardkit.agents.endpoint.branches import EpisodeBranch, Key, key_of
from rewardkit.agents.endpoint.program_requests import AskedTurn
from rewardkit.agents.types import Turn


@dataclass(eq=False)
class RecordedTurn:
    """A turn of the model, with facts about how the program used the turn."""

    number: int
    """Number of the turn in the episode, starting from 1. The id of the response ends with this number."""
    branch: EpisodeBranch
    turn: Turn
    request: list[Key]
    """Keys of the messages in the request that the turn answers."""
    said: Key
    """Key of the message with the turn that the program received."""
    received: bool = False
    """True if the endpoint has sent the complete response."""
    continued: bool = False
    """True if a later request contains the turn as a message, possibly rewritten."""
    quoted: bool = False
    """True if a later request adds another message that contains the text of the turn."""
    repeated: bool = False
    """True if a later request has the same tools and begins with the same messages as the turn's request."""

    @property
    def text(self) -> str:
        """Return the text of the turn that the program received."""
        return self.said[1]


class ProgramUse:
    """All turns of the model in an episode, in order, with facts about how the program used each turn."""

    def __init__(self) -> None:
        """Create a record without turns."""
        self.turns: list[RecordedTurn] = []

    def see(self, asked: AskedTurn) -> None:
        """Record which turns a request uses."""
        keys = [key_of(message) for message in asked.messages]
        same = [one for one in self.turns if keys[: len(one.request)] == one.request]
        for one in same:
            one.repeated = one.repeated or one.branch.episode.schemas == asked.schemas
        for length in {len(one.request) for one in same}:
            if length < len(keys) and keys[length][0] == "assistant":
                of_place = [one for one in same if len(one.request) == length]
                exact = [one for one in of_place if one.said == keys[length]]
                (exact or of_place)[-1].continued = True  # a program may have rewritten the turn
        for one in self.turns:
            if one.text and not one.quoted:
                known = set(one.request)
                added = (key[1] for key in keys if key[0] != "assistant" and key not in known)
                one.quoted = any(one.text in text for text in added)

    def answer(self, chosen: str | None) -> RecordedTurn | None:
        """Return the turn that is the answer, or None if there are no turns.

        The answer is the last turn with the text that the program chose. Without such a turn, it is the last
        turn that the program received and did not continue, or else the last turn that the program received.
        """
        said = [one for one in self.turns if chosen is not None and one.text == chosen.strip()]
        received = [one for one in self.turns if one.received]
        ends = [one for one in received if not one.continued]
        found: RecordedTurn | None = next((of[-1] for of in (said, ends, received, self.turns) if of), None)
        return found

    def leave_out(self, answer: RecordedTurn, trained: Collection[int] | None) -> int:
        """Set the mask of all turns that are not trained on to 0, and return the number of these turns.

        Args:
            answer: Turn that is the answer. It is always trained on.
            trained: Numbers of the turns that the program wants to train on, or None for all turns that it
                used.
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

        Of several turns for the same request, the program used the answer and the turns that later requests
        contain. If there are none of these, it used the last turn, unless a later request repeats the request
        without any of the turns.
        """

        def chosen(one: RecordedTurn) -> bool:
            return one is answer or (one.received and (one.continued or one.quoted))

        asked = (turn.request, turn.branch.episode.schemas)
        same = [one for one in self.turns if (one.request, one.branch.episode.schemas) == asked]
        return chosen(turn) or (turn.received and not turn.repeated and not any(map(chosen, same)))
