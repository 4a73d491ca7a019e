"""Geometry3K (Lu et al. 2021, arXiv:2105.04165) contains geometry problems with figures. The version from
hiyouga/geometry3k is supported.

Raw files: the parquet files in `data/` from the hub.

Raw columns: `images` (a list of {bytes, path}), `problem` (begins with `<image>`) and `answer` (in LaTeX).
The output has the encoded images in the column `images`.
"""

from __future__ import annotations

from typing import Any

from rewardkit.datasets_prep.common.layout import ALL_THREE, SplitLayout
from rewardkit.datasets_prep.common.prompts import after
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import IMAGE_SCHEMA, Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError

DATA_SOURCE = "hiyouga/geometry3k"
INSTRUCTION = "Think first, between <think> and </think>; then put the final answer in \\boxed{}."


def _to_row(record: Record, context: RowContext) -> Row:
    problem = record.text("problem")
    answer = record.text("answer")
    images = tuple(_bytes(image, record.where) for image in record.value("images") or ())
    marks = problem.count("<image>")
    if marks != len(images):
        raise InputError(
            f"{record.where}: 'problem' contains <image> {marks} times, but the row has {len(images)} images"
        )
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(after(problem, context.instruction)),
        ability="math",
        ground_truth=answer,
        split=context.split,
        index=record.index,
        question=problem,
        answer=f"<think>The figure gives it.</think> The answer is \\boxed{{{answer}}}.",
        metadata={name: record.values[name] for name in ("id", "choices") if name in record.values},
        images=images,
    )


def _bytes(image: Any, where: str) -> bytes:
    data = image.get("bytes") if isinstance(image, dict) else image
    if not isinstance(data, bytes) or not data:
        raise InputError(f"{where}: an image must be the bytes of an image file, found {type(data).__name__}")
    return data


RECIPE = Recipe(
    "geo3k",
    Hub(DATA_SOURCE, None, ("train", "validation", "test"), "the parquet files of data/"),
    _to_row,
    INSTRUCTION,
    SplitLayout(ALL_THREE),
    schema=IMAGE_SCHEMA,
    tool="calc_geo3k_reward",
)
prepare = RECIPE.prepare
