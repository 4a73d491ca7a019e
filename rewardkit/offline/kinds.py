"""The kinds of logs that other tools write: by which columns each is recognised, and where in its rows the
responses, the prompt and the ground truth stand.

Rows of no such kind are read under the names that `rewardkit.rows` knows. To know another kind, add a
function that takes a row apart and an entry to `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from rewardkit.errors import InputError, NoResponseError
from rewardkit.model_api.answers import answer_texts, choice_index, output_text, texts_of
from rewardkit.model_api.failures import error_said, why_broken, why_failed
from rewardkit.offline import kinds_of_chats as chats
from rewardkit.offline.records import BadRowError, RawRow
from rewardkit.rows import RESPONSE, RowNames, find_names, has_value, value_at


class Fields(NamedTuple):
    """What one row says, as it stands there."""

    response: Any
    """One response or several: texts, or chat messages."""
    ground_truth: Any = None
    prompt: Any = None
    data_source: Any = None
    extra_info: Any = None
    group: Any = None
    """What the responses to one prompt have in common, where the log says; else None."""


class SkippedRowError(Exception):
    """A row that repeats another one's responses, and is left out."""


@dataclass(frozen=True, slots=True)
class LogKind:
    """A kind of log."""

    name: str
    """As it is said to the user: `verl rollout dump`."""
    columns: frozenset[str]
    """A log has all of these."""
    read: Callable[[RawRow], Fields]
    """Takes a row apart.

    Raises:
        BadRowError: the row holds no response, through no fault of the model's.
        SkippedRowError: its responses stand in another row too.
    """
    note: Callable[[RawRow], str] = lambda row: ""
    """What else is said of the file, from its first row."""
    facts: Callable[[RawRow], Mapping[str, Any]] = lambda row: {}
    """What a row says of its responses elsewhere than in columns of the names in `scored`, under those names:
    `score`, `correct`, `finish_reason`; lists where it has several responses."""
    unless_answered: bool = False
    """Only a log without a column that usually holds responses is one."""


def recognise(columns: Collection[str], first: RawRow) -> LogKind | None:
    """Return the kind of a log by the columns it has and its first row; None if it is no known one.

    Raises:
        InputError: it is of a kind that holds no responses.
    """
    for refused, why in _REFUSED:
        if refused <= set(columns):
            raise InputError(why)
    answered = not _RESPONSES.isdisjoint(columns)
    for kind in KINDS:
        if kind.columns <= set(columns) and not (answered and kind.unless_answered):
            _refuse_log_likelihoods(kind, first)
            return kind
    return _API_ANSWERS if not answered and _is_answer(first) else None


def _is_answer(row: RawRow) -> bool:
    """Whether a row is what an API sent, an answer or an error."""
    try:
        return answer_texts(row) is not None
    except NoResponseError:
        return True


def by_name(name: str) -> LogKind:
    """Return the kind of that name."""
    return next(kind for kind in KINDS if kind.name == name)


def _verl_dump(row: RawRow) -> Fields:
    """`<global_step>.jsonl` of verl's rollout_data_dir and validation_data_dir (0.9)."""
    group = row.get("uid")
    parts = str(group).rsplit("_", 2)
    if group is not None and len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        group = parts[0]  # {sample}_{rollout}_{output}
    prompt = row["input"]
    return Fields(row["output"], row.get("gts"), prompt, row.get("data_source"), None, group or prompt)


def _lm_eval(row: RawRow) -> Fields:
    """`samples_<task>_<time>.jsonl` of `lm_eval --log_samples` (0.4); a row for each document and filter."""
    requests = row["resps"]
    if not isinstance(requests, list) or not requests or not isinstance(requests[0], list):
        raise BadRowError("'resps' holds no responses")
    return Fields(requests[0], row.get("target"), _lm_eval_prompt(row.get("arguments")), group=row["doc_id"])


def _lm_eval_prompt(arguments: Any) -> Any:
    """The first argument of the first request: in a mapping of mappings, or in lists in older versions."""
    if isinstance(arguments, Mapping):
        arguments = [list(one.values()) for one in arguments.values() if isinstance(one, Mapping)]
    if not isinstance(arguments, list) or not arguments or not isinstance(arguments[0], list):
        return None
    prompt = arguments[0][0] if arguments[0] else None
    if isinstance(prompt, str) and prompt.startswith('[{"role"'):
        try:
            return msgspec.json.decode(prompt)
        except msgspec.DecodeError:
            return prompt
    return prompt


def _lm_eval_score(row: RawRow) -> Mapping[str, Any]:
    """The first metric; it is of the first repeat, so of several responses nothing is said."""
    metrics = row.get("metrics")
    if not isinstance(metrics, list) or not metrics or len(row["resps"][0]) != 1:
        return {}
    value = row.get(metrics[0])
    return {"score": value, "correct": value if value in (0, 1) else None}


def _refuse_log_likelihoods(kind: LogKind, first: RawRow) -> None:
    responses = first.get("resps")
    inner = responses[0] if isinstance(responses, list) and responses else None
    if kind.read is _lm_eval and isinstance(inner, list) and inner and isinstance(inner[0], list):
        raise InputError(
            "these are log-likelihoods of a multiple-choice task, not responses; score a task of the "
            "type generate_until"
        )


def _batch_output(row: RawRow) -> Fields:
    """Output of OpenAI's batch API, or of `vllm run-batch`: chat completions, completions or responses."""
    answer = row["response"]
    body = answer.get("body") if isinstance(answer, Mapping) else None
    if not isinstance(body, Mapping):
        raise BadRowError(f"the request failed: {_failure_of(row)}")
    if not isinstance(body.get("output"), list) and not body.get("choices"):
        raise BadRowError(f"the request failed: {_failure_of(row)}")
    texts = texts_of(body)
    return Fields(texts if len(texts) > 1 else texts[0], group=row["custom_id"])


def _batch_facts(row: RawRow) -> Mapping[str, Any]:
    body = row["response"]["body"]
    reasons = [choice.get("finish_reason") for choice in sorted(body["choices"], key=choice_index)]
    if len(reasons) > 1:
        return {"finish_reason": reasons}
    return {
        "finish_reason": reasons[0],
        "response_tokens": (body.get("usage") or {}).get("completion_tokens"),
    }


def _failure_of(row: RawRow) -> str:
    answer = row["response"]
    answer = answer if isinstance(answer, Mapping) else {}
    body = answer.get("body")
    error = row.get("error") or (body.get("error") if isinstance(body, Mapping) else body)
    said = (answer.get("status_code"), error and error_said(error))
    return " ".join(str(part) for part in said if part is not None)[:200] or "it has no answer"


def _nemo_gym(row: RawRow) -> Fields:
    """`rollouts.jsonl` of NeMo-Gym."""
    asked = row["responses_create_params"]
    prompt = asked.get("input") if isinstance(asked, Mapping) else None
    names = find_names(lambda name: has_value(row, name))
    agent = row.get("agent_ref")
    return Fields(
        _output_text(row["response"]),
        value_at(row, names.ground_truth or "verifier_metadata.unit_tests"),
        prompt,
        row.get("data_source") or (agent.get("name") if isinstance(agent, Mapping) else None),
        group=row.get("_ng_task_index", str(prompt)),
    )


def _output_text(answer: Any) -> str:
    """The texts in the `output` of an answer in the form of OpenAI's responses."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("output"), list):
        raise BadRowError("'response' has no 'output'")
    if (why := why_failed(answer)) is not None:
        raise BadRowError(why)
    return output_text(answer["output"])


def _verifiers(row: RawRow) -> Fields:
    """`results.jsonl` of verifiers' evaluations."""
    if row.get("error"):
        raise BadRowError(f"the rollout failed: {error_said(row['error'])}")
    info = row.get("info") if isinstance(row.get("info"), Mapping) else {}
    source = row.get("data_source") or (info or {}).get("data_source") or row.get("task")
    return Fields(row["completion"], row.get("answer"), row["prompt"], source, info, row["example_id"])


def _inspect(row: RawRow) -> Fields:
    """A sample of an inspect log, as `reading` hands it over."""
    if row.get("error"):
        raise BadRowError(f"the sample failed: {row['error'].get('message', row['error'])}"[:200])
    output = row["output"]
    target = row["target"]
    metadata = row.get("metadata") or {}
    return Fields(
        output.get("completion", "") if isinstance(output, Mapping) else output,
        target[0] if isinstance(target, list) and len(target) == 1 else target,
        row["input"],
        metadata.get("data_source") or row["eval"],
        metadata,
        row["id"],
    )


def _inspect_facts(row: RawRow) -> Mapping[str, Any]:
    """The first score, of which inspect writes right, partly right, wrong and no answer as letters."""
    scores = row.get("scores") or {}
    value = next((one["value"] for one in scores.values()), None)
    number = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}.get(value, value) if isinstance(value, str) else value
    reason = row["output"]["choices"][0]["stop_reason"] if row["output"]["choices"] else None
    return {
        "score": number,
        "correct": None if value not in ("C", "I") else value == "C",
        "finish_reason": "length" if reason == "max_tokens" else reason,
    }


def _trl(row: RawRow) -> Fields:
    """`completions_<step>.parquet` of TRL's GRPO with log_completions=True."""
    names = find_names(lambda name: has_value(row, name))
    prompt = row["prompt"]
    return Fields(
        row["completion"],
        value_at(row, names.ground_truth),
        prompt,
        row.get("data_source"),
        None,
        str(prompt),
    )


def _api_answer(row: RawRow) -> Fields:
    """What an API answered, a row each: OpenAI's chat completions or completions, Anthropic's messages."""
    texts = answer_texts(row)
    if texts is None:  # its JSON is no response: the ground truth may stand in it
        raise BadRowError(f"the request failed: {error_said(row.get('error') or 'it has no answer')}")
    names = find_names(lambda name: has_value(row, name))
    return Fields(
        texts if len(texts) > 1 else texts[0],
        value_at(row, names.ground_truth),
        value_at(row, names.prompt),
        row.get("data_source"),
    )


def _nemo_rl(row: RawRow) -> Fields:
    """`train_data_step*.jsonl` of NeMo-RL: what was said in turns, of which every second is the model's."""
    said = row["content"]
    if not isinstance(said, list) or len(said) < 2:
        raise BadRowError("'content' is no list of turns, so nothing says where the response begins")
    last = len(said) // 2 * 2 - 1
    prompt = said[0] if last == 1 else "\n".join(map(str, said[:last]))
    names = find_names(lambda name: has_value(row, name))
    return Fields(said[last], value_at(row, names.ground_truth), prompt, row.get("data_source"), None, prompt)


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


def _fields(read: Callable[[RawRow], chats.ChatParts]) -> Callable[[RawRow], Fields]:
    """What takes a row apart, of a function that finds its response, ground truth and prompt."""

    def fields(row: RawRow) -> Fields:
        return Fields(*read(row), row.get("data_source"))

    return fields


def _step(row: RawRow) -> str:
    step = row.get("step")
    return f"step {step}" if isinstance(step, int) else ""


_API_ANSWERS = LogKind("answers of an API", frozenset({"object", "output", "status"}), _api_answer)
"""OpenAI's responses have a column of a response's name; the others are known by their first row."""

KINDS = (
    LogKind(
        "lm-eval samples",
        frozenset({"doc_id", "doc", "resps", "filtered_resps"}),
        _lm_eval,
        lambda row: f"filter {row['filter']}" if row.get("filter") else "",
        _lm_eval_score,
    ),
    LogKind("batch output", frozenset({"custom_id", "response", "error"}), _batch_output, facts=_batch_facts),
    LogKind(
        "inspect log",
        frozenset({"eval", "id", "epoch", "input", "target", "output"}),
        _inspect,
        facts=_inspect_facts,
    ),
    LogKind("NeMo-Gym rollouts", frozenset({"responses_create_params", "response", "reward"}), _nemo_gym),
    LogKind(
        "verifiers results",
        frozenset({"example_id", "prompt", "completion", "reward", "is_completed"}),
        _verifiers,
    ),
    LogKind("verl rollout dump", frozenset({"input", "output", "gts", "score", "step"}), _verl_dump, _step),
    LogKind("SkyRL evaluation", frozenset({"input_prompt", "output_response"}), _skyrl, facts=_skyrl_facts),
    LogKind("TRL completions", frozenset({"step", "prompt", "completion", "advantage"}), _trl, _step),
    LogKind(
        "LLaMA-Factory predictions", frozenset({"predict", "label"}), _fields(chats.under("predict", "label"))
    ),
    LogKind(
        "rollouts with labels",
        frozenset({"prompt", "response", "label"}),
        _fields(chats.under("response", "label")),
    ),
    LogKind(
        "ms-swift results",
        frozenset({"messages", "response", "labels"}),
        _fields(chats.under("response", "labels")),
    ),
    LogKind("Anthropic batch results", frozenset({"custom_id", "result"}), _fields(chats.anthropic_batch)),
    _API_ANSWERS,
    LogKind(
        "NeMo-RL training data", frozenset({"content", "rewards", "idx"}), _nemo_rl, unless_answered=True
    ),
    LogKind("NeMo-RL evaluation", frozenset({"prompt", "response", "extra_env_info"}), _nemo_rl_evaluation),
    LogKind("vLLM outputs", frozenset({"request_id", "outputs"}), _fields(chats.request_output)),
    LogKind("lighteval details", frozenset({"doc", "model_response"}), _fields(chats.lighteval)),
    *(
        LogKind("chats", frozenset({name}), _fields(chats.chat), unless_answered=True)
        for name in ("messages", "conversations")
    ),
)

_RESPONSES = frozenset(RESPONSE)

_REFUSED = (
    (
        frozenset({"custom_id", "method", "url", "body"}),
        "this is the input of a batch, which holds requests; name the file of its output",
    ),
)


def named(names: RowNames) -> Callable[[RawRow], Fields]:
    """Return what takes rows of no known kind apart, given the names of their fields."""

    def read(row: RawRow) -> Fields:
        return Fields(
            value_at(row, names.response),
            value_at(row, names.ground_truth),
            value_at(row, names.prompt),
            value_at(row, names.data_source),
            value_at(row, names.extra_info),
        )

    return read
