"""Logs of the evaluation harnesses lm-eval, inspect, NeMo-Gym, verifiers, lighteval and BFCL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.files.records import BadRowError, RawRow
from rewardkit.json_objects import NOT_JSON
from rewardkit.logs.kind import (
    LogKind,
    anything,
    are_objects,
    decoded,
    is_array,
    is_messages,
    is_number,
    is_object,
    is_text,
    one_or_several,
    reward_in,
)
from rewardkit.logs.tasks import source_of_task
from rewardkit.model_api.answers import output_text
from rewardkit.model_api.failures import why_failed
from rewardkit.rows import Fields, find_names, has_value, plain_mapping, value_at


def _lm_eval(row: RawRow) -> Fields:
    """Return the fields of a row in lm-eval's `samples_<task>_<time>.jsonl`.

    `lm_eval --log_samples` (0.4) writes one row for each document and filter.
    """
    requests = row["resps"]
    if not isinstance(requests, list) or not requests or not isinstance(requests[0], list):
        raise BadRowError("'resps' contains no responses")
    return Fields(
        requests[0], row.get("target"), _lm_eval_prompt(row.get("arguments")), group=row.get("doc_id")
    )


def _lm_eval_prompt(arguments: Any) -> Any:
    """Return the first argument of the first request. Older versions of lm-eval write lists of arguments."""
    if isinstance(arguments, Mapping):
        arguments = [list(one.values()) for one in arguments.values() if isinstance(one, Mapping)]
    if not isinstance(arguments, list) or not arguments or not isinstance(arguments[0], list):
        return None
    prompt = arguments[0][0] if arguments[0] else None
    if isinstance(prompt, str) and prompt.startswith('[{"role"'):
        try:
            return msgspec.json.decode(prompt)
        except NOT_JSON:
            return prompt
    return prompt


def _lm_eval_score(row: RawRow) -> Mapping[str, Any]:
    """Return the first metric as the score. If the row has several responses, return no score.

    lm-eval computes the metrics in a row only for the first response.
    """
    metrics = row.get("metrics")
    if not isinstance(metrics, list) or not metrics or len(row["resps"][0]) != 1:
        return {}
    value = row.get(metrics[0])
    return {"score": value, "correct": value if value in (0, 1) else None}


def _refuse_log_likelihoods(first: RawRow) -> None:
    responses = first.get("resps")
    inner = responses[0] if isinstance(responses, list) and responses else None
    if isinstance(inner, list) and inner and isinstance(inner[0], list):
        raise InputError(
            "the rows are log-likelihoods of a multiple-choice task, not responses; pass the log of a task "
            "with output_type generate_until"
        )


def _nemo_gym(row: RawRow) -> Fields:
    """Return the fields of a row in NeMo-Gym's `rollouts.jsonl`."""
    asked = row["responses_create_params"]
    prompt = asked.get("input") if isinstance(asked, Mapping) else None
    names = find_names(lambda name: has_value(row, name))
    agent = row.get("agent_ref")
    return Fields(
        _output_text(row["response"]),
        value_at(row, names.ground_truth or "verifier_metadata.unit_tests"),
        prompt,
        row.get("data_source") or source_of_task(agent.get("name") if isinstance(agent, Mapping) else None),
        _choices(row.get("options")),
        group=row.get("_ng_task_index"),
    )


def _choices(options: Any) -> Mapping[str, Any] | None:
    """Return the options of a question in the form that the reward `choice` reads.

    NeMo-Gym writes each option as an object with a single letter as its key.
    """
    if are_objects(options):
        options = {letter: text for one in options for letter, text in one.items()}
    return {"choices": options} if options else None


def _output_text(answer: Any) -> str:
    """Return the text in the `output` of an answer that has the form of OpenAI's responses API."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("output"), list):
        raise BadRowError("'response' has no 'output'")
    if (why := why_failed(answer)) is not None:
        raise BadRowError(why)
    return output_text(answer["output"])


def _verifiers(row: RawRow) -> Fields:
    """Return the fields of a row in verifiers' `results.jsonl`."""
    info = plain_mapping(row.get("info"))
    said = (row.get("data_source"), info.get("data_source"))
    source = (
        next(filter(None, said), None)
        or source_of_task(row.get("task"))
        or source_of_task(row.get("env_name"))
    )
    group = next((row[name] for name in ("example_id", "id", "problem_id") if name in row), None)
    return Fields(decoded(row["completion"]), row.get("answer"), decoded(row["prompt"]), source, info, group)


def _inspect(row: RawRow) -> Fields:
    """Return the fields of a sample in an inspect log."""
    target = row["target"]
    target = target[0] if isinstance(target, list) and len(target) == 1 else target
    metadata = row.get("metadata") or {}
    source = metadata.get("data_source") or source_of_task(row["eval"])
    extra_info = {**metadata, **(_choices(row.get("choices")) or {})}
    return Fields(
        row["output"], target if target != "" else None, row["input"], source, extra_info, row["id"]
    )


def _inspect_facts(row: RawRow) -> Mapping[str, Any]:
    """Return the first score and the finish reason.

    The letters C, P, I and N stand for correct, partially correct, incorrect and no answer.
    """
    scores = row.get("scores") or {}
    value = next((one["value"] for one in scores.values()), None)
    number = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}.get(value, value) if isinstance(value, str) else value
    reason = row["output"]["choices"][0]["stop_reason"] if row["output"]["choices"] else None
    return {
        "score": number,
        "correct": None if value not in ("C", "I") else value == "C",
        "finish_reason": "length" if reason == "max_tokens" else reason,
    }


def _lighteval(row: RawRow) -> Fields:
    """Return the fields of a row in lighteval's details, with the document and the model's answers."""
    doc = row["doc"]
    answer = row["model_response"]
    texts = answer.get("text") if isinstance(answer, Mapping) else None
    if not isinstance(texts, list) or not texts or not isinstance(doc, Mapping):
        raise BadRowError("'model_response' contains no text")
    choices = doc.get("choices")
    place = doc.get("gold_index")
    if isinstance(place, list) and place:
        place = place[0]
    ground_truth = None
    if isinstance(place, int) and isinstance(choices, list) and 0 <= place < len(choices):
        ground_truth = choices[place]
    return Fields(one_or_several(texts), ground_truth, doc.get("query"), row.get("data_source"))


def _human_eval(row: RawRow) -> Fields:
    """Return the fields of a row with a HumanEval problem, tests and a program, as in Reflexion's runs."""
    names = find_names(lambda name: name != "solution" and has_value(row, name))
    response = row[names.response] if names.response else row["solution"]
    ground_truth = {name: row[name] for name in ("prompt", "test", "entry_point") if name in row}
    return Fields(
        response, ground_truth, row.get("prompt"), row.get("data_source", "code"), group=row.get("task_id")
    )


def _bfcl(row: RawRow) -> Fields:
    """Return the fields of a row in BFCL's results. A call becomes an object with a name and arguments."""
    calls = [(name, given) for call in row["result"] for name, given in call.items()]
    response = [{"name": name, "arguments": _decoded_arguments(given)} for name, given in calls]
    return Fields(json.dumps(response, ensure_ascii=False), row.get("ground_truth"), group=row.get("id"))


def _decoded_arguments(given: Any) -> Any:
    try:
        return msgspec.json.decode(given) if isinstance(given, str) else given
    except NOT_JSON:
        return given


def _are_calls(value: Any) -> bool:
    return are_objects(value) and all(
        len(one) == 1 and all(isinstance(given, str | dict) for given in one.values()) for one in value
    )


KINDS = (
    LogKind(
        "lm-eval samples",
        {"resps": is_array, "filtered_resps": anything},
        _lm_eval,
        lambda row: f"filter {row['filter']}" if row.get("filter") else "",
        _lm_eval_score,
        check=_refuse_log_likelihoods,
        task_in_name=r"samples_(.+?)_\d{4}-\d\d-\d\dT",
    ),
    LogKind(
        "inspect log",
        {"eval": anything, "epoch": anything, "input": anything, "target": anything, "output": is_object},
        _inspect,
        facts=_inspect_facts,
    ),
    LogKind(
        "NeMo-Gym rollouts",
        {"responses_create_params": is_object, "response": is_object},
        _nemo_gym,
        facts=reward_in,
    ),
    LogKind(
        "verifiers results",
        {"prompt": anything, "completion": is_messages, "reward": is_number, "task": anything},
        _verifiers,
        facts=reward_in,
    ),
    LogKind(
        "lighteval details",
        {"doc": is_object, "model_response": is_object},
        _lighteval,
        task_in_name=r"details_(.+?)_\d{4}-\d\d-\d\dT",
    ),
    LogKind(
        "HumanEval programs", {"entry_point": is_text, "test": is_text, "task_id": anything}, _human_eval
    ),
    LogKind("BFCL results", {"id": anything, "result": _are_calls}, _bfcl),
)
