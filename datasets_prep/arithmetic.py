"""Generates grade-school word problems with worked solutions. No download is needed.

Use --level to set the number of steps per problem. No problem appears in both train and test.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from rewardkit.datasets_prep.common.prompts import after, read_template, shaped
from rewardkit.datasets_prep.common.recipe import PrepResult, publish
from rewardkit.datasets_prep.common.schema import Row, chat, to_batches
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Source
from rewardkit.datasets_prep.common.stories import Level, Problem, tell
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.datasets_prep.gsm8k import INSTRUCTION
from rewardkit.errors import InputError, did_you_mean

DATA_SOURCE = "rewardkit/arithmetic"

LevelName = Literal["tiny", "easy", "medium", "hard"]
LEVELS = {
    "easy": Level(steps=(2, 3), largest=20, parts=False),
    "medium": Level(steps=(3, 5), largest=60, parts=False),
    "hard": Level(steps=(5, 8), largest=200, parts=True),
}
"""Levels with problems from `stories`.

This module itself generates the problems at the level `tiny`, which have one step with operands from 1 to 9.
"""

STORY_LIMITS = {"train": 1_000_000, "test": 100_000}
"""Maximum number of problems per file at the levels in `LEVELS`. The number of possible problems is far
larger, which makes random duplicates rare."""


def prepare(
    out_dir: Path,
    settings: PrepSettings | None = None,
    *,
    n_train: Annotated[int, "Number of problems in train.parquet."] = 10_000,
    n_test: Annotated[int, "Number of problems in test.parquet."] = 500,
    level: Annotated[LevelName, "Difficulty: 1 step per problem, 2 to 3, 3 to 5, or 5 to 8."] = "easy",
    seed: Annotated[int, "Random seed for the problems."] = 0,
    progress: OnWritten | None = None,
) -> PrepResult:
    """Generate problems and write them to train.parquet and test.parquet in `out_dir`.

    A problem's template and numbers determine its split, independently of the seed. No test problem from any
    run therefore has both the template and the numbers of a training problem from any run. At levels above
    `tiny`, about half of the test problems have a template that never occurs in training (`held_out` in the
    metadata). No question is repeated.

    Raises:
        InputError: The level is unknown or has too few problems, or the output folder cannot be written.
    """
    if level != "tiny" and level not in LEVELS:
        known = ("tiny", *LEVELS)
        raise InputError(
            f"unknown level '{level}'; expected one of {', '.join(known)}{did_you_mean(level, known)}"
        )
    sizes = {"train": n_train, "test": n_test}
    for split, wanted in sizes.items():
        most = capacity(level, split)
        if not 1 <= wanted <= most:
            raise InputError(f"n_{split} must be from 1 to {most:,} at level {level}, not {wanted:,}")
    settings = settings or PrepSettings()
    settings.refuse("arithmetic", "raw", "split_name", "revision")
    # The level `tiny` is for models with half a million parameters, which cannot follow instructions.
    ours = "" if level == "tiny" else INSTRUCTION
    instruction = ours if settings.instruction is None else settings.instruction
    template = read_template(settings.template)

    def rows(split: str) -> Iterator[Row]:
        for row in _rows(level, split, sizes[split], seed, instruction):
            yield shaped(row, template, instruction, settings.system)

    return publish(
        out_dir,
        "arithmetic",
        {split: to_batches(rows(split)) for split in sizes},
        settings,
        source=Source({}, {"generator": DATA_SOURCE}),
        arguments={"n_train": n_train, "n_test": n_test, "level": level, "seed": seed},
        progress=progress,
        tool="calc_gsm8k_reward",
    )


def capacity(level: str, split: str) -> int:
    """Return the maximum number of problems in a split. At the level `tiny`, this includes every problem."""
    if level != "tiny":
        return STORY_LIMITS[split]
    facts = sum(
        _split_of_tiny(operator, template, a, b) == split
        for operator, operands in _TINY_OPERANDS.items()
        for template in range(len(TINY_TEMPLATES[operator]))
        for a, b in operands
    )
    return facts * len(TINY_NAMES) * len(TINY_ITEMS)


def problems(level: str, split: str, seed: int) -> Iterator[tuple[Problem, bool]]:
    """Yield distinct problems indefinitely, each with True if its template is held out for testing."""
    # `Random` hashes string seeds with SHA-512, so similar seeds give unrelated streams on every platform.
    rng = random.Random(f"{DATA_SOURCE} {level} {split} {seed}")
    draw: Callable[[random.Random], tuple[Problem, str, bool]] = (
        _draw_tiny if level == "tiny" else lambda r: _draw_story(r, LEVELS[level])
    )
    seen: set[bytes] = set()
    while True:
        problem, belongs_to, held_out = draw(rng)
        # Storing digests instead of questions limits memory to 100 MB for a million questions.
        digest = hashlib.blake2b(problem.question.encode(), digest_size=16).digest()
        if belongs_to == split and digest not in seen:
            seen.add(digest)
            yield problem, held_out


def _rows(level: str, split: str, wanted: int, seed: int, instruction: str) -> Iterator[Row]:
    for index, (problem, held_out) in zip(range(wanted), problems(level, split, seed), strict=False):
        yield Row(
            data_source=DATA_SOURCE,
            prompt=chat(after(problem.question, instruction)),
            ability="math",
            ground_truth=problem.answer,
            split=split,
            index=index,
            question=problem.question,
            answer=problem.solution,
            metadata={"level": level, "template": problem.template, "held_out": held_out},
        )


def _draw_story(rng: random.Random, level: Level) -> tuple[Problem, str, bool]:
    problem = tell(rng, level)
    # One in eight templates is reserved for testing.
    # For every other template, one in eight sets of numbers is reserved for testing.
    held_out = _hash(problem.template) % 8 == 0
    numbers_held_out = _hash(f"{problem.template} {problem.numbers}") % 8 == 1
    return problem, "test" if held_out or numbers_held_out else "train", held_out


TINY_NAMES = ("Tom", "Ann", "Ben", "Eva", "Sam", "Mia", "Leo", "Zoe", "Max", "Amy")
TINY_ITEMS = ("apples", "pears", "eggs", "pens", "cups", "books", "coins", "cards")
TINY_TEMPLATES = {
    "+": (
        "{name} has {a} and buys {b} more. How many {items} now?",
        "{name} has {a} and finds {b} more. How many {items} now?",
        "{name} picks {a} and gets {b} more. How many {items} in all?",
    ),
    "-": (
        "{name} has {a} and sells {b}. How many {items} now?",
        "{name} has {a} and loses {b}. How many {items} now?",
        "{name} has {a} and gives away {b}. How many {items} are left?",
    ),
}


_TINY_OPERANDS = {
    operator: [(a, b) for a in range(1, 10) for b in range(1, 10) if operator == "+" or a >= b]
    for operator in TINY_TEMPLATES
}


def _draw_tiny(rng: random.Random) -> tuple[Problem, str, bool]:
    operator = rng.choice("+-")
    template = rng.randrange(3)
    a, b = rng.choice(_TINY_OPERANDS[operator])
    items = rng.choice(TINY_ITEMS)
    question = TINY_TEMPLATES[operator][template].format(
        name=rng.choice(TINY_NAMES), a=f"{a} {items if a > 1 else items[:-1]}", b=b, items=items
    )
    answer = a + b if operator == "+" else a - b
    problem = Problem(
        template=f"{operator}{template}",
        numbers=(a, b),
        question=question,
        solution=f"{a}{operator}{b}={answer}\n#### {answer}",
        answer=str(answer),
    )
    return problem, _split_of_tiny(operator, template, a, b), False


def _split_of_tiny(operator: str, template: int, a: int, b: int) -> str:
    """Return the split for an arithmetic fact, such as 5+3, combined with a template.

    For half of the facts, one template is held out for testing. Every fact also occurs in training with other
    templates, because the test is meant to measure the task rather than unseen arithmetic.
    """
    return "test" if _hash(f"{operator} {a} {b}") % 6 == template else "train"


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
