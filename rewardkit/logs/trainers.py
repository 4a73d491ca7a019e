"""What trainers write of rollouts and evaluations: verl, TRL, NeMo-RL, SkyRL, LLaMA-Factory, ms-swift."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rewardkit.files.records import BadRowError, RawRow
from rewardkit.logs.kind import LogKind, ground_truth_in
from rewardkit.model_api.failures import why_broken
from rewardkit.rows import Fields, value_at


def _verl_dump(row: RawRow) -> Fields:
    """`<global_step>.jsonl` of verl's rollout_data_dir and validation_data_dir (0.9)."""
    group = row.get("uid")
    parts = str(group).rsplit("_", 2)
    if group is not None and len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        group = parts[0]  # {sample}_{rollout}_{output}
    prompt = row["input"]
    return Fields(row["output"], row.get("gts"), prompt, row.get("data_source"), None, group or prompt)


def _trl(row: RawRow) -> Fields:
    """`completions_<step>.parquet` of TRL's GRPO with log_completions=True."""
    prompt = row["prompt"]
    return Fields(
        row["completion"],
        ground_truth_in(row),
        prompt,
        row.get("data_source"),
        None,
        str(prompt),
    )


def _nemo_rl(row: RawRow) -> Fields:
    """`train_data_step*.jsonl` of NeMo-RL: what was said in turns, of which every second is the model's."""
    said = row["content"]
    if not isinstance(said, list) or len(said) < 2:
        raise BadRowError("'content' is no list of turns, so nothing says where the response begins")
    last = len(said) // 2 * 2 - 1
    prompt = said[0] if last == 1 else "\n".join(map(str, said[:last]))
    return Fields(said[last], ground_truth_in(row), prompt, row.get("data_source"), None, prompt)


def _nemo_rl_evaluation(row: RawRow) -> Fields:
    """A row of NeMo-RL's `evaluation_data.json`."""
    info = row["extra_env_info"]
    ground_truth = info.get("ground_truth") if isinstance(info, Mapping) else None
    return Fields(row["response"], ground_truth, row["prompt"], row.get("data_source"), None, row["prompt"])


def _skyrl(row: RawRow) -> Fields:
    """A row of SkyRL's `dumped_evals/*/*.jsonl`; the ground truth stands in the row of the environment."""
    if (why := why_broken(row.get("stop_reason"))) is not None:
        raise BadRowError(why)
    extras = row.get("env_extras")
    ground_truths = (value_at(extras, f"{holder}.ground_truth") for holder in ("reward_spec", "reward_model"))
    ground_truth = next(
        (value for value in ground_truths if value is not None),
        value_at(extras, "ground_truth"),
    )
    prompt = row["input_prompt"]
    return Fields(row["output_response"], ground_truth, prompt, row.get("data_source"), None, str(prompt))


def _skyrl_facts(row: RawRow) -> Mapping[str, Any]:
    """A score is one number, or one for each token of the response."""
    score = row.get("score")
    score = sum(score) if isinstance(score, list) else score
    return {"score": score, "finish_reason": row.get("stop_reason")}


def _step(row: RawRow) -> str:
    step = row.get("step")
    return f"step {step}" if isinstance(step, int) else ""


def _under(response: str, ground_truth: str) -> Callable[[RawRow], Fields]:
    """Return what reads rows with these names. slime says in `status` how a rollout ended."""

    def read(row: RawRow) -> Fields:
        if (why := why_broken(row.get("status"))) is not None:
            raise BadRowError(why)
        return Fields(row[response], row[ground_truth], row.get("prompt"), row.get("data_source"))

    return read


KINDS = (
    LogKind("verl rollout dump", frozenset({"input", "output", "gts", "score", "step"}), _verl_dump, _step),
    LogKind("SkyRL evaluation", frozenset({"input_prompt", "output_response"}), _skyrl, facts=_skyrl_facts),
    LogKind("TRL completions", frozenset({"step", "prompt", "completion", "advantage"}), _trl, _step),
    LogKind("LLaMA-Factory predictions", frozenset({"predict", "label"}), _under("predict", "label")),
    LogKind("rollouts with labels", frozenset({"prompt", "response", "label"}), _under("response", "label")),
    LogKind("ms-swift results", frozenset({"messages", "response", "labels"}), _under("response", "labels")),
    LogKind(
        "NeMo-RL training data", frozenset({"content", "rewards", "idx"}), _nemo_rl, unless_answered=True
    ),
    LogKind("NeMo-RL evaluation", frozenset({"prompt", "response", "extra_env_info"}), _nemo_rl_evaluation),
)
