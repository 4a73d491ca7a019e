"""Logs of trainers' rollouts and evaluations: verl, TRL, NeMo-RL, SkyRL, slime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.files.records import BadRowError, RawRow
from rewardkit.logs.kind import LogKind, anything, ground_truth_in, is_array, is_number, reward_in
from rewardkit.rows import Fields, value_at


def _verl_dump(row: RawRow) -> Fields:
    """Return the fields of a row in verl's `<global_step>.jsonl`.

    verl (0.9) writes the file to rollout_data_dir or validation_data_dir.
    """
    return Fields(row["output"], row.get("gts"), row["input"], row.get("data_source"))


def _verl_facts(row: RawRow) -> Mapping[str, Any]:
    return {"score": row.get("score"), "correct": row.get("acc"), "extracted": row.get("pred")}


def _trl(row: RawRow) -> Fields:
    """Return the fields of a row in TRL's `completions_<step>.parquet` (GRPO with log_completions=True)."""
    prompt = row["prompt"]
    return Fields(
        row["completion"],
        ground_truth_in(row),
        prompt,
        row.get("data_source"),
    )


def _nemo_rl(row: RawRow) -> Fields:
    """Return the fields of a row in NeMo-RL's `train_data_step*.jsonl`.

    The content is a list of turns. Every second turn is from the model.
    """
    said = row["content"]
    if not isinstance(said, list) or len(said) < 2:
        raise BadRowError("'content' must be a list of at least two turns: a prompt and a response")
    last = len(said) // 2 * 2 - 1
    prompt = said[0] if last == 1 else "\n".join(map(str, said[:last]))
    return Fields(said[last], ground_truth_in(row), prompt, row.get("data_source"))


def _skyrl(row: RawRow) -> Fields:
    """Return the fields of a row in SkyRL's `dumped_evals/*/*.jsonl`, with a ground truth in `env_extras`."""
    extras = row.get("env_extras")
    ground_truths = (value_at(extras, f"{holder}.ground_truth") for holder in ("reward_spec", "reward_model"))
    ground_truth = next(
        (value for value in ground_truths if value is not None),
        value_at(extras, "ground_truth"),
    )
    prompt = row["input_prompt"]
    return Fields(row["output_response"], ground_truth, prompt, row.get("data_source"))


def _skyrl_facts(row: RawRow) -> Mapping[str, Any]:
    """Return the score and the finish reason. If each token has a score, the scores are summed."""
    score = row.get("score")
    score = sum(score) if isinstance(score, list) else score
    return {"score": score, "finish_reason": row.get("stop_reason")}


def _step(row: RawRow) -> str:
    step = row.get("step")
    return f"step {step}" if isinstance(step, int) else ""


def _is_status(value: Any) -> bool:
    return value in ("pending", "completed", "truncated", "aborted", "failed")


def _slime(row: RawRow) -> Fields:
    """Return the fields of a slime rollout. The column `status` contains the outcome of the rollout."""
    return Fields(row["response"], row["label"], row.get("prompt"), row.get("data_source"))


KINDS = (
    LogKind(
        "verl rollout dump",
        {"input": anything, "output": anything, "gts": anything},
        _verl_dump,
        _step,
        _verl_facts,
    ),
    LogKind(
        "SkyRL evaluation",
        {"input_prompt": anything, "output_response": anything},
        _skyrl,
        facts=_skyrl_facts,
    ),
    LogKind(
        "TRL completions",
        {"step": is_number, "prompt": anything, "completion": anything, "advantage": anything},
        _trl,
        _step,
    ),
    LogKind(
        "slime rollouts",
        {"response": anything, "label": anything, "status": _is_status},
        _slime,
        facts=reward_in,
    ),
    LogKind(
        "NeMo-RL training data",
        {"content": is_array, "rewards": anything},
        _nemo_rl,
        facts=lambda row: {"score": row["rewards"]},
        unless_answered=True,
    ),
)
