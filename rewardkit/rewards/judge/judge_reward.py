"""Generative judge: language models behind OpenAI-compatible endpoints rate a response.

This module scores one sample and combines the verdicts. `file` creates the reward from a YAML file, `options`
defines the keys of the file, `question` builds the question, `verdict` parses the answer, and `asking_models`
sends the requests.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rewardkit.rewards.answers.place import own_text, says
from rewardkit.rewards.judge.options import JudgeOptions, RubricItem
from rewardkit.rewards.judge.question import UnjudgeableError, ask, pair
from rewardkit.rewards.judge.rubric import items_of, rubric_score
from rewardkit.rewards.judge.spending import JudgeBill, JudgeSpending, OverBudgetError
from rewardkit.rewards.judge.templates import listed
from rewardkit.rewards.judge.verdict import NoVerdictError
from rewardkit.rewards.judge.votes import VotedVerdict
from rewardkit.types import COST_PARTS, Sample, Score, failure

if TYPE_CHECKING:
    from rewardkit.rewards.judge.asking_models import JudgeAsking  # The module imports aiohttp.

_CRITERION = "criterion."
"""Prefix of the names of criteria in `parts`."""


def load(options: JudgeOptions) -> None:
    """Import the client before the first sample, because the import takes about a second."""
    import openai  # noqa: F401

    import rewardkit.rewards.judge.asking_models  # noqa: F401


def parts_of(options: JudgeOptions) -> tuple[str, ...]:
    """Return the names of the parts in the scores of a judge with these options."""
    several = options.votes * len(options.endpoints) > 1
    named = [f"{_CRITERION}{item.name}" for item in options.criteria if item.name]
    return (
        "verdict",
        *(["agreement"] if several else []),
        *(["mass"] if options.logprobs else []),
        *(["met", "missing", *named] if options.of_criteria else []),
        *(["slot_bias"] if options.pairwise else []),
        *COST_PARTS,
    )


async def score(
    sample: Sample, options: JudgeOptions, *, spending: JudgeSpending | None = None, name: str = ""
) -> Score:
    """Score a sample with the judge. The status is `error` if the judge fails or gives no verdict.

    Args:
        sample: Sample to score.
        options: Options of the judge.
        spending: Limits of the judge, or None for the default limits.
        name: Name under which the processes of a run count what the judge has spent.
    """
    from rewardkit.model_api.client import EndpointError
    from rewardkit.rewards.judge.asking_models import JudgeAsking
    from rewardkit.rewards.judge.calls import calls_within

    bill = JudgeBill()
    if options.correct_from is not None and not says(own_text(sample.response, sample.prompt)):
        return Score(
            0.0, correct=False, parts=bill.parts, detail="the response is empty: the judge was not asked"
        )
    asking = JudgeAsking(options, calls_within(spending or JudgeSpending(), name), bill)
    form = _by_criteria if options.of_criteria else _by_comparing if options.pairwise else _by_grade
    try:
        made = await form(sample, asking)
    except UnjudgeableError as error:
        made = failure("invalid", str(error))
    except OverBudgetError as error:
        bill.add(over_budget=1)
        made = failure("error", str(error))
    except EndpointError as error:
        made = failure("error", str(error))
    except NoVerdictError as error:
        made = failure("error", f"the judge gave no usable verdict: {error}")
    correct = None
    if made.ok and options.correct_from is not None:
        correct = made.score >= options.correct_from
    parts = {name: value for name, value in made.parts.items() if name in parts_of(options)} | bill.parts
    return Score(made.score, made.status, correct, made.extracted, parts, made.detail)


async def _by_grade(sample: Sample, asking: JudgeAsking) -> Score:
    found = await asking.verdict(ask(sample, asking.options))
    parts = {"verdict": found.value, "agreement": found.agreement, "mass": found.mass or 0.0}
    return Score(found.score, extracted=found.text, parts=parts, detail=found.reason or None)


async def _by_comparing(sample: Sample, asking: JudgeAsking) -> Score:
    """Compare the response with the ground truth in both orders. A win in only one order is a tie."""
    questions = [pair(sample, asking.options, swapped=swapped) for swapped in (False, True)]
    first, second = await asyncio.gather(*map(asking.verdict, questions))
    as_a, as_b = first.score, 1.0 - second.score
    won = 1.0 if min(as_a, as_b) > 0.5 else 0.0 if max(as_a, as_b) < 0.5 else 0.5
    parts = {
        "verdict": won,
        "slot_bias": as_a - as_b,
        "agreement": min(first.agreement, second.agreement),
        "mass": min(first.mass or 0.0, second.mass or 0.0),
    }
    return Score(won, extracted=f"{first.text} {second.text}", parts=parts, detail=first.reason or None)


async def _by_criteria(sample: Sample, asking: JudgeAsking) -> Score:
    items = items_of(sample, asking.options)
    verdicts = await (_at_once if asking.options.one_call else _each)(sample, items, asking)
    scores = [None if one is None else one.score for one in verdicts]
    made = rubric_score(items, scores, asking.options)
    known = [one for one in verdicts if one is not None]
    parts = {
        "verdict": made.score,
        "met": made.met,
        "missing": float(scores.count(None)),
        "agreement": min(one.agreement for one in known),
        "mass": min(one.mass or 0.0 for one in known),
        **{
            f"{_CRITERION}{item.name}": score
            for item, score in zip(items, scores, strict=True)
            if item.name and score is not None
        },
    }
    return Score(made.score, parts=parts, detail=made.detail)


async def _each(sample: Sample, items: list[RubricItem], asking: JudgeAsking) -> list[VotedVerdict | None]:
    """Ask one question for each criterion. With `allow_missing`, a missing verdict is None."""
    from rewardkit.rewards.judge.asking_models import settled

    questions = [ask(sample, asking.options, criterion=item.text) for item in items]
    found = await settled([asking.verdict(question) for question in questions])
    failed = next((one for one in found if isinstance(one, Exception)), None)
    if failed is not None and not asking.options.allow_missing:
        raise failed
    if all(isinstance(one, Exception) for one in found) and failed is not None:
        raise failed
    return [None if isinstance(one, Exception) else one for one in found]


async def _at_once(sample: Sample, items: list[RubricItem], asking: JudgeAsking) -> list[VotedVerdict | None]:
    names = [f"criterion_{number}" for number in range(1, len(items) + 1)]
    criteria = listed([item.text for item in items], names)
    question = ask(sample, asking.options, names, criteria=criteria)
    return list(await asking.verdicts(question, names))
