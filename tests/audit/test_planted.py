"""Planted holes are found in rewards that are files of their own, and sound rewards stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audit.planted import HELD_OUT, NEW, PLANTED, SOUND, Planted, source_of
from tests.audit.rewards import audited, reward_of


@pytest.mark.slow
@pytest.mark.parametrize("planted", [*PLANTED, *HELD_OUT, *NEW], ids=lambda one: one.__name__)
def test_a_hole_is_found_with_a_response_that_is_paid(planted: Planted, tmp_path: Path) -> None:
    found = audited(reward_of(source_of(planted), tmp_path))
    assert found.problem == ""
    assert found.holes
    assert all(hole.payments for hole in found.holes if hole.layer != "contract")


@pytest.mark.slow
@pytest.mark.parametrize("planted", SOUND, ids=lambda one: one.__name__)
def test_a_sound_reward_has_no_hole(planted: Planted, tmp_path: Path) -> None:
    found = audited(reward_of(source_of(planted), tmp_path))
    assert (found.problem, found.holes) == ("", ())
