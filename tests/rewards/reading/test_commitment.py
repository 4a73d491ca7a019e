"""Reading what an answer is committed to takes steps in proportion to the text, whatever a model wrote."""

from __future__ import annotations

import pytest

from rewardkit.rewards.reading.clause_words import SENTENCE, SIGNS

ALPHABET = "a A.,:;!?-=<>~^|/\\(){}[]$*#_`'\"%1→←≠✓❌不\n\t"


@pytest.mark.slow
@pytest.mark.timeout(60)  # some seconds; minutes for each run of a sign where the steps go by the square
@pytest.mark.parametrize("joined", ["", " ", "\n"], ids=["close", "apart", "lines"])
def test_signs_in_long_runs_of_one_character_are_read_at_once(joined: str) -> None:
    for character in ALPHABET:
        text = "x" + joined.join(character * 20_000)
        for pattern, plain in SIGNS:
            text = pattern.sub(plain, text)
        assert sum(1 for _ in SENTENCE.finditer(text)) <= 40_000
