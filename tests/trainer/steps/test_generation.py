"""Groups that are generated in the background are the rows of a step, responses and episodes alike."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.batch import join
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.feed import Group
from rewardkit.trainer.rollout.journal import TurnJournal
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps.generation import DrawnGroup, draw, generate, sync_weights
from rewardkit.trainer.steps.scoring import wait_for_scores
from tests.closeness import LOG_PROBS
from tests.trainer.steps.test_episodes import NAGGING, ROLLOUT, words


@pytest.mark.parametrize("agent", ["single_turn_agent", NAGGING], ids=["responses", "episodes"])
def test_groups_in_the_background_are_the_rows_of_their_step(
    agent: str, world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    given = words(parquet, model_folder, tmp_path, f"{ROLLOUT}.agent.default_agent_loop={agent}")
    with open_run(load_config("tiny-cpu", given), world) as run:
        sync_weights(run)
        rows = run.feed.rows()
        whole, pending = generate(run, rows, step=3)
        first = 2 * len(rows)  # of step 3
        for journal, asks in ((None, True), (recorded := TurnJournal(), True), (recorded, False)):
            groups: list[Group[DrawnGroup]] = [Group(first + i, i, 0, row=row) for i, row in enumerate(rows)]
            draw(run, groups, journal)
            batches, pendings = zip(*(group.drawn.result(timeout=0) for group in groups), strict=True)
            joined = join(batches)
            for name in set(whole.tensors) & set(joined.tensors) - {"rollout_log_probs"}:
                torch.testing.assert_close(joined[name], whole[name], equal_nan=True, rtol=0, atol=0)
            difference = joined["rollout_log_probs"] - whole["rollout_log_probs"]
            assert float(difference.abs().max()) < LOG_PROBS
            turns = sum(each.costs.turns for each in pendings)
            assert turns >= len(joined) if asks else turns == 0
        scored, expected = (wait_for_scores(given, world) for given in (pendings, [pending]))
        assert [(one.text, one.score.score) for one in scored] == [
            (one.text, one.score.score) for one in expected
        ]
