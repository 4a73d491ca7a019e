"""Each trainer's request shapes in, its answer shapes out; a failure to score is never an HTTP error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit import Scorer
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from rewardkit.server.exchanges import ServedRows
from rewardkit.server.ground_truths import GroundTruthIndex
from rewardkit.server.protocols import ROUTERS, ProtocolContext
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.tally import Tally

FALLBACK = -0.5
QUESTION = "What is 6 times 12?"
PROMPT = f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
RIGHT = "6 * 12 = 72\n#### 72"
WRONG = "#### 71"
ENVELOPE = {"data_source": "gsm8k", "ground_truth": "72"}
OBSERVED: list[Tally] = []


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    rows = [
        Row("gsm8k", chat(QUESTION), "math", "72", "train", 0, QUESTION, ""),
        Row("gsm8k", chat("Twice?"), "math", "1", "train", 1, "Twice?", ""),
        Row("gsm8k", chat("Twice?"), "math", "2", "train", 2, "Twice?", ""),
    ]
    path = tmp_path_factory.mktemp("gold") / "train.parquet"
    pq.write_table(pa.Table.from_pylist([row.as_record() for row in rows], schema=SCHEMA), path)
    with Scorer() as scorer:
        served = ServedRows(GroundTruthIndex([path]), on_failure=FALLBACK)
        requests = RequestScorer(scorer, rows=served)
        requests.observers.append(lambda tally, seconds: OBSERVED.append(tally))
        app = FastAPI()
        for router in ROUTERS.values():
            app.include_router(router(ProtocolContext(requests)))
        with TestClient(app) as client:
            yield client


def post(http: TestClient, path: str, body: Any) -> Any:
    response = http.post(path, content=json.dumps(body))
    assert response.status_code == 200, response.text
    return response.json()


# --- OpenRLHF ----------------------------------------------------------------------------------------


def openrlhf(label: Any, *, prompt: str = PROMPT, response: str = RIGHT) -> dict[str, Any]:
    return {"query": [prompt + response + "<|im_end|>"], "prompts": [prompt], "labels": [label]}


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/openrlhf/gsm8k", "72"),
        ("/openrlhf/openai/gsm8k", "72"),
        ("/openrlhf", json.dumps(ENVELOPE)),
        ("/openrlhf", ENVELOPE),
        ("/openrlhf", None),
        ("/openrlhf", "whatever the label column holds"),
    ],
)
def test_openrlhf_gets_rewards_from_path_label_or_gold(http: TestClient, path: str, label: Any) -> None:
    prompt = PROMPT if path == "/openrlhf" else PROMPT.replace("6 times", "six times")
    answer = post(http, path, openrlhf(label, prompt=prompt))
    assert answer == {"rewards": [1.0], "scores": [1.0], "extra_logs": {"failed": 0.0, "format": 1.0}}
    answer = post(http, path, openrlhf(label, prompt=prompt, response=WRONG))
    assert (answer["rewards"], answer["scores"]) == ([0.1], [0.0])


def test_openrlhf_may_send_a_single_query_or_many(http: TestClient) -> None:
    assert post(http, "/openrlhf", {"query": PROMPT + RIGHT})["rewards"] == [1.0]
    both = {"query": [PROMPT + RIGHT, PROMPT + WRONG]}
    assert post(http, "/openrlhf/gsm8k", both)["rewards"] == [1.0, 0.1]


@pytest.mark.parametrize(
    ("query", "prompt"),
    [
        ("Is it #### 72, or more? No id", "Is it #### 72, or more? No idea. Answer:"),
        ("Is it #### 72? No idea", "Another template's prompt"),
        ("Is it #### 72? No idea", None),
    ],
)
def test_openrlhf_pays_no_answer_in_the_prompt(http: TestClient, query: str, prompt: str | None) -> None:
    """Where a prompt was cut off, or is none of the query's, nothing says where the response begins."""
    asked = {"query": [query], "prompts": [prompt], "labels": ["72"]}
    response = http.post("/openrlhf/gsm8k", json=asked)
    assert response.headers["X-Rewardkit-Failed"] == "1"
    assert response.json() == {
        "rewards": [FALLBACK],
        "scores": [FALLBACK],
        "extra_logs": {"failed": 1.0, "format": 0.0},
    }
    empty = {"query": [RIGHT], "prompts": [""], "labels": ["72"]}
    assert post(http, "/openrlhf/gsm8k", empty)["rewards"] == [1.0]


# --- slime -------------------------------------------------------------------------------------------


def test_slime_gets_a_bare_number_or_a_dict(http: TestClient) -> None:
    request = {"prompt": PROMPT, "response": RIGHT + "<|im_end|>", "label": "72"}
    assert post(http, "/slime/gsm8k", request) == 1.0
    assert post(http, "/slime", {**request, "prompt": chat(QUESTION)}) == 1.0
    found = post(http, "/slime_dict/gsm8k", request)
    assert (found["score"], found["status"], found["correct"]) == (1.0, "ok", True)


def test_slime_labels_may_be_anything(http: TestClient) -> None:
    request = {"prompt": "Unknown?", "response": RIGHT}
    assert post(http, "/slime/gsm8k", {**request, "label": 72}) == 1.0
    assert post(http, "/slime", {**request, "label": ENVELOPE}) == 1.0
    for label in (None, [], {}, "{", 0.5, True, "\ud800"):
        assert post(http, "/slime", {**request, "label": label}) == FALLBACK
    assert post(http, "/slime_dict", {**request, "label": None})["status"] == "invalid"


@pytest.mark.parametrize(
    "label",
    [
        {"ground_truth": "72"},
        '{"ground_truth": 72}',
        {"data_source": "gsm8k", "reward_model": {"style": "rule", "ground_truth": "72"}},
        '{"reward_model": {"ground_truth": "72"}, "extra_info": {"index": 1}}',
    ],
)
def test_a_label_may_be_a_row(http: TestClient, label: Any) -> None:
    request = {"prompt": "Unknown?", "label": label}
    assert post(http, "/slime/gsm8k", {**request, "response": RIGHT}) == 1.0
    assert post(http, "/slime/gsm8k", {**request, "response": WRONG}) == 0.1


def test_a_row_under_other_names_is_no_ground_truth_of_maths(http: TestClient) -> None:
    request = {"prompt": "Unknown?", "response": "\\boxed{84}", "label": {"answer": "84"}}
    found = post(http, "/slime_dict/math", request)
    assert (found["score"], found["status"]) == (FALLBACK, "invalid")
    assert "field 'answer'" in found["detail"]


def test_prompts_whose_rows_disagree_are_invalid(http: TestClient) -> None:
    found = post(http, "/slime_dict", {"prompt": "Twice?", "response": "#### 1"})
    assert found["status"] == "invalid"
    assert "rows 1 and 2 of --gold" in found["detail"]


def test_a_label_settles_what_the_rows_disagree_on(http: TestClient) -> None:
    assert post(http, "/slime/gsm8k", {"prompt": "Twice?", "response": "#### 2", "label": "2"}) == 1.0


# --- LLaMA-Factory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/llama_factory", "/llama_factory/gsm8k", "/v1/score/evaluation"])
def test_llama_factory_gets_scores_for_whole_decoded_texts(http: TestClient, path: str) -> None:
    pads = "<|endoftext|>" * 3
    texts = [pads + PROMPT + RIGHT + "<|im_end|>" + pads, PROMPT + WRONG, PROMPT]
    answer = post(http, path, {"model": "model", "messages": texts})
    assert answer["scores"] == [1.0, 0.1, 0.0]


def test_llama_factory_texts_without_gold_get_the_fallback(http: TestClient) -> None:
    response = http.post("/llama_factory", json={"model": "model", "messages": ["Unknown?", PROMPT + RIGHT]})
    assert response.json()["scores"] == [FALLBACK, 1.0]
    assert response.headers["X-Rewardkit-Failed"] == "1"


# --- NeMo-Gym ----------------------------------------------------------------------------------------


def nemo_gym(text: str, **row: Any) -> dict[str, Any]:
    """A request as axolotl builds it."""
    message = {
        "id": "msg",
        "role": "assistant",
        "type": "message",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return {
        **row,
        "responses_create_params": {"input": [{"role": "user", "content": QUESTION}]},
        "response": {
            "id": "resp",
            "created_at": 0,
            "model": "m",
            "object": "response",
            "output": [{"type": "reasoning", "summary": []}, message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        },
    }


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("/verify", {}),
        ("/verify", {"data_source": "gsm8k", "reward_model": {"ground_truth": "72"}, "extra_info": {"a": 1}}),
        ("/nemo_gym/openai/gsm8k/verify", {"ground_truth": "72"}),
        ("/verify", {"verifier_metadata": {"data_source": "gsm8k", "expected_answer": "72"}}),
    ],
)
def test_nemo_gym_echoes_the_whole_request_with_a_reward(
    http: TestClient, path: str, row: dict[str, Any]
) -> None:
    request = nemo_gym(RIGHT, id=7, agent_ref={"name": "x"}, **row)
    answer = post(http, path, request)
    assert {name: answer[name] for name in request} == request
    added = {name: value for name, value in answer.items() if name not in request}
    assert added == {"reward": 1.0, "mask_sample": False, "reward_components": {"format": 1.0}}


def test_nemo_gym_scores_programs_by_the_unit_tests_of_their_rows(http: TestClient) -> None:
    tests = {"inputs": ["1\n"], "outputs": ["2\n"], "fn_name": None}
    metadata = {"problem_id": "x", "data_source": "code", "unit_tests": tests}
    for program, reward in (("print(int(input()) + 1)", 1.0), ("print(1)", 0.0)):
        request = nemo_gym(f"```python\n{program}\n```", verifier_metadata=metadata)
        assert post(http, "/verify", request)["reward"] == reward


def test_nemo_gym_reads_the_calls_that_nothing_has_answered(http: TestClient) -> None:
    call = {"type": "function_call", "name": "f", "arguments": '{"x": 1}', "call_id": "1"}
    request = nemo_gym("", data_source="tool_call", ground_truth=[{"name": "f", "arguments": {"x": 1}}])
    request["response"]["output"] = [call]
    assert post(http, "/verify", request)["reward"] == 1.0
    request["response"]["output"] = [call, {"type": "function_call_output", "call_id": "1", "output": "4"}]
    assert post(http, "/verify", request)["reward"] == 0.0


def test_nemo_gym_says_when_a_sample_is_to_be_masked(http: TestClient) -> None:
    answer = post(http, "/verify", nemo_gym(RIGHT, data_source="gsm8k", ground_truth="no number"))
    assert (answer["reward"], answer["mask_sample"], answer["failure_kind"]) == (FALLBACK, True, "invalid")
    assert answer["failure_reason"]
    answer = post(http, "/verify", nemo_gym(RIGHT, data_source="gms8k", ground_truth="72"))
    assert "did you mean gsm8k" in answer["failure_reason"]


@pytest.mark.parametrize(
    "response",
    [
        {"status": "failed", "error": {"code": "server_error", "message": RIGHT}, "output": []},
        {"output": [{"type": "message", "role": "user", "content": RIGHT}]},
    ],
)
def test_nemo_gym_masks_what_is_no_response(http: TestClient, response: dict[str, Any]) -> None:
    row = {"data_source": "gsm8k", "ground_truth": "72", "responses_create_params": {"input": QUESTION}}
    answer = post(http, "/verify", row | {"response": response})
    assert (answer["mask_sample"], answer["failure_kind"]) == (True, "invalid")
    assert "\n" not in answer["failure_reason"]


def test_nemo_gym_sessions_hold_nothing(http: TestClient) -> None:
    assert post(http, "/seed_session", {"anything": 1}) == {}
    assert post(http, "/close_session", {}) == {}
    assert http.get("/reverify_mode").json() == "stateless"


def test_nemo_gym_metrics_are_per_task_and_for_all(http: TestClient) -> None:
    answers = [
        {"_ng_task_index": 0, "reward": 1.0, "length": 3, "mask_sample": False},
        {"_ng_task_index": 0, "reward": 0.0, "length": 5},
        {"_ng_task_index": 1, "reward": 0.0, "length": 9, "mask_sample": True},
        {"_ng_task_index": 1, "reward": 1.0, "length": 1},
    ]
    found = post(http, "/aggregate_metrics", {"verify_responses": answers})
    assert found["agent_metrics"]["mean/reward"] == pytest.approx(2 / 3)
    assert found["agent_metrics"]["mean/mask_sample"] == 0.25
    assert (found["agent_metrics"]["max/length"], found["agent_metrics"]["min/length"]) == (5.0, 1.0)
    assert [task["mean/reward"] for task in found["group_level_metrics"]] == [0.5, 1.0]
    assert set(found["key_metrics"]) == {"mean/reward", "mean/length", "mean/mask_sample"}


def test_nemo_gym_metrics_leave_out_what_is_no_number(http: TestClient) -> None:
    odd = [float("inf"), float("-inf"), float("nan"), 10**400, 1e308, True, "1", None, [1]]
    answers = [{"reward": 1.0, "odd": value} for value in odd]
    found = post(http, "/aggregate_metrics", {"verify_responses": answers})
    assert set(found["key_metrics"]) == {"mean/reward", "mean/mask_sample"}
    assert post(http, "/aggregate_metrics", {"verify_responses": []})["group_level_metrics"] == []


def test_nemo_gyms_head_server_is_found_as_axolotl_looks_for_it(http: TestClient) -> None:
    body = http.get("/global_config_dict_yaml").text
    config = yaml.safe_load(yaml.safe_load(body))
    assert yaml.safe_load(json.loads(body)) == config
    server = config["rewardkit"]["resources_servers"]["rewardkit"]
    assert (server["host"], server["port"]) == ("testserver", 80)


# --- ROLL --------------------------------------------------------------------------------------------


def roll(**changes: Any) -> dict[str, Any]:
    ids = {"project_id": "p", "experiment_id": "e", "global_step": 1, "data_id": "d", "rollout_id": "r"}
    task = {"prompt": "Unknown?", "response": RIGHT, "reward_info": {"ground_truth": "72"}}
    return {"priority": 1, **ids, **task, "reward_manager": [], "timeout": 300, **changes}


def poll(http: TestClient, request_id: str) -> Any:
    for _ in range(100):
        answer = http.request("GET", "/roll/result", json={"reward_request_id": request_id}).json()
        if answer["errcode"] != 1:
            return answer
    raise AssertionError("never scored")


def test_roll_submits_and_polls_with_a_body_in_its_get(http: TestClient) -> None:
    submitted = post(http, "/roll/submit/gsm8k", roll())
    assert submitted["errcode"] == 0
    answer = poll(http, submitted["reward_request_id"])
    assert answer == {
        "errcode": 0,
        "reward_score": 1.0,
        "dimention_reward_score": {"format": {"score": 1.0, "debug_info": {}}},
    }
    assert poll(http, submitted["reward_request_id"]) == answer


@pytest.mark.parametrize("info", [{"ground_truth": "72"}, None, 3, {"case_type": "x", "test_cases": "y"}])
def test_roll_gets_the_fallback_with_a_reason_where_scoring_failed(http: TestClient, info: Any) -> None:
    submitted = post(http, "/roll/submit", roll(reward_info=info))
    answer = poll(http, submitted["reward_request_id"])
    assert (answer["errcode"], answer["reward_score"], answer["failure_kind"]) == (0, FALLBACK, "invalid")


def test_roll_is_told_of_ids_that_are_unknown(http: TestClient) -> None:
    assert poll(http, "0")["errcode"] == 2


def test_roll_takes_extra_info(http: TestClient) -> None:
    info = {"ground_truth": "x", "extra_info": {"budget": 3, "response_tokens": 3}}
    submitted = post(http, "/roll/submit/length_budget", roll(response="a b c", reward_info=info))
    answer = poll(http, submitted["reward_request_id"])
    assert (answer["errcode"], answer["reward_score"]) == (0, 1.0)


@pytest.mark.parametrize("role", ["user", "tool"])
def test_what_others_say_last_is_not_paid(http: TestClient, role: str) -> None:
    messages = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": WRONG}]
    messages.append({"role": role, "content": RIGHT})
    vllm = http.post("/vllm/classify", json={"model": "gsm8k", "messages": messages})
    assert vllm.headers["X-Rewardkit-Failed"] == "1"


# --- vLLM and SGLang ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/classify", "/sglang/v1/classify", "/vllm/openai/gsm8k/v1/classify"],
)
def test_vllms_classify_takes_texts_and_conversations(http: TestClient, path: str) -> None:
    answer = post(
        http, path, {"model": "gsm8k", "input": [PROMPT + RIGHT, PROMPT + WRONG], "use_activation": False}
    )
    assert [data["probs"] for data in answer["data"]] == [[1.0], [0.1]]
    assert answer["data"][-1]["probs"][-1] == 0.1  # what verl reads
    assert {"id", "object", "model", "usage"} <= set(answer)
    assert post(http, path, {"input": PROMPT + RIGHT})["data"][0]["probs"] == [1.0]
    talk = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": RIGHT}]
    assert post(http, path, {"messages": talk})["data"][0]["probs"] == [1.0]


def test_vllms_pooling(http: TestClient) -> None:
    for path in ("/pooling", "/vllm/pooling"):
        assert post(http, path, {"model": "m", "input": PROMPT + RIGHT})["data"][0]["data"] == [1.0]


def test_sglangs_own_shapes(http: TestClient) -> None:
    texts = [PROMPT + RIGHT, PROMPT + WRONG]
    answer = post(http, "/sglang/classify", {"model": "m", "text": texts})
    assert [one["embedding"] for one in answer] == [[1.0], [0.1]]
    assert post(http, "/sglang/classify", {"model": "m", "text": texts[0]})["embedding"] == [1.0]


@pytest.mark.parametrize("path", ["/v1/embeddings", "/sglang/gsm8k/v1/embeddings"])
def test_an_embedding_ends_in_the_reward_as_sglangs_does(http: TestClient, path: str) -> None:
    answer = post(http, path, {"model": "m", "input": [PROMPT + RIGHT, PROMPT + WRONG]})
    assert [(one["index"], one["embedding"][-1]) for one in answer["data"]] == [(0, 1.0), (1, 0.1)]
    assert post(http, path, {"model": "m", "input": PROMPT + RIGHT})["data"][-1]["embedding"][-1] == 1.0


# --- all ---------------------------------------------------------------------------------------------

UNREADABLE = [
    ("/openrlhf", {"query": 3}),
    ("/openrlhf", {"query": ["a"], "prompts": ["a", "b"]}),
    ("/slime", {"prompt": "a"}),
    ("/llama_factory", {"messages": [1]}),
    ("/verify", {"response": {}}),
    ("/verify", []),
    ("/aggregate_metrics", {"verify_responses": 3}),
    ("/roll/submit", {}),
    ("/classify", {"model": "m", "input": [[1, 2]]}),
    ("/classify", {"model": "m", "input": []}),
    ("/sglang/classify", {"input_ids": [1]}),
]


@pytest.mark.parametrize(("path", "body"), UNREADABLE)
def test_what_cannot_be_read_is_refused_with_a_reason(http: TestClient, path: str, body: Any) -> None:
    response = http.post(path, json=body)
    assert response.status_code == 422
    assert response.json()["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_refused(http: TestClient, body: bytes) -> None:
    for path in {path for path, _ in UNREADABLE}:
        assert http.post(path, content=body).status_code == 422, path


SHAPES = {
    "/openrlhf/gsm8k": ("query", "prompts", "labels"),
    "/slime/gsm8k": ("prompt", "response", "label"),
    "/slime_dict": ("prompt", "response", "label"),
    "/llama_factory": ("messages", "model"),
    "/verify": ("data_source", "ground_truth", "reward_model", "responses_create_params", "response"),
    "/aggregate_metrics": ("verify_responses",),
    "/roll/submit": ("prompt", "response", "reward_info", "timeout"),
    "/classify": ("model", "input", "messages"),
    "/sglang/classify": ("model", "text", "messages"),
}
leaf = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([QUESTION, RIGHT, "gsm8k", "<s>"])
)
leaf |= st.text(st.characters(), max_size=12)
names = st.sampled_from(["role", "content", "data_source", "ground_truth", "output", "input", "text", "type"])
anything = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=8
)


@pytest.mark.slow
@pytest.mark.parametrize("path", SHAPES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_in_a_known_field_fails_the_server(http: TestClient, path: str, data: st.DataObject) -> None:
    body = {name: data.draw(anything) for name in SHAPES[path]}
    response = http.post(path, content=json.dumps(body))
    assert response.status_code in (200, 404, 422)
    json.loads(response.content, parse_constant=lambda name: pytest.fail(f"{name} in the answer"))


def test_lone_surrogates_and_nan_get_a_proper_answer(http: TestClient) -> None:
    assert (
        post(http, "/slime/gsm8k", {"prompt": "\ud800", "response": "\udfff #### 72", "label": "72"}) == 1.0
    )
    answer = post(
        http, "/nemo_gym/gsm8k/verify", nemo_gym("\udfff #### 72", ground_truth="72", x=float("nan"))
    )
    assert (answer["reward"], answer["x"]) == (1.0, None)


def test_what_never_reaches_the_scorer_is_observed_too(http: TestClient) -> None:
    OBSERVED.clear()
    post(http, "/slime", {"prompt": "Unknown?", "response": "r"})
    (tally,) = OBSERVED
    assert (tally.samples[0].response, tally.scores[0].status) == ("r", "invalid")
