"""Logs in the forms of the tools that write them, as far as tests need: two prompts, two responses each, of
which the first is right."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]

RIGHT, WRONG = "3+4=7\n#### 7", "3+4=8\n#### 8"


def verl_dump(step: int = 40) -> Rows:
    """verl's rollout_data_dir: input, output, gts, score, step and uid."""
    return [
        {
            "input": f"user\nHow many? {p}\nassistant\n",
            "output": text,
            "gts": "7",
            "score": 0.5,
            "step": step,
            "uid": f"a{p}_{n}_0",
        }
        for p in range(2)
        for n, text in enumerate((RIGHT, WRONG))
    ]


def lm_eval() -> Rows:
    """lm-eval's samples: a row for each document and filter, with the repeats in `resps`."""
    return [
        {
            "doc_id": p,
            "doc": {"question": "3+4?", "answer": "7"},
            "target": "so\n#### 7",
            "arguments": {"gen_args_0": {"arg_0": f"Q: 3+4? {p}", "arg_1": {"until": ["Q:"]}}},
            "resps": [[RIGHT, WRONG]],
            "filtered_resps": ["[invalid]"],
            "filter": name,
            "metrics": ["exact_match"],
            "exact_match": 0.0,
        }
        for name in ("strict-match", "flexible-extract")
        for p in range(2)
    ]


def batch_output() -> Rows:
    """OpenAI's batch output, with a request that failed at the end."""
    answered = [
        {
            "id": f"x{p}",
            "custom_id": f"q{p}",
            "response": {
                "status_code": 200,
                "body": {
                    "choices": [
                        {"index": 1, "message": {"role": "assistant", "content": WRONG}},
                        {"index": 0, "message": {"role": "assistant", "content": RIGHT}},
                    ]
                },
            },
            "error": None,
        }
        for p in range(2)
    ]
    failed = {
        "id": "y",
        "custom_id": "q2",
        "response": {"status_code": 400, "body": None},
        "error": {"error": {"message": "too long", "code": 400}},
    }
    return [*answered, failed]


def trl_completions(chat: bool = False) -> Rows:
    """TRL's completions parquet with a logged ground truth."""

    def said(role: str, text: str) -> Any:
        return [{"role": role, "content": text}] if chat else text

    return [
        {
            "step": 3,
            "prompt": said("user", f"3+4? {p}"),
            "completion": said("assistant", text),
            "my_reward": 0.0,
            "ground_truth": "7",
            "advantage": 0.1,
        }
        for p in range(2)
        for text in (RIGHT, WRONG)
    ]


def nemo_gym() -> Rows:
    """NeMo-Gym's rollouts."""
    return [
        {
            "responses_create_params": {"input": [{"role": "user", "content": "3+4?"}]},
            "response": {
                "output": [
                    {"type": "reasoning", "summary": []},
                    {"type": "message", "content": [{"type": "output_text", "text": text}]},
                ]
            },
            "reward": 0.0,
            "expected_answer": "7",
            "_ng_task_index": p,
            "agent_ref": {"name": "gsm8k"},
        }
        for p in range(2)
        for text in (RIGHT, WRONG)
    ]


def verifiers() -> Rows:
    """verifiers' results.jsonl."""
    return [
        {
            "example_id": p,
            "prompt": [{"role": "user", "content": "3+4?"}],
            "completion": [{"role": "assistant", "content": text}],
            "answer": "7",
            "reward": 0.0,
            "is_completed": True,
            "task": "gsm8k",
            "info": {},
        }
        for p in range(2)
        for text in (RIGHT, WRONG)
    ]


def answered(**more: Any) -> Rows:
    """Two rows, the first right; `...` among the values stands for the response."""

    def filled(value: Any, text: str) -> Any:
        if value is ...:
            return text
        if isinstance(value, dict):
            return {name: filled(one, text) for name, one in value.items()}
        return [filled(one, text) for one in value] if isinstance(value, list) else value

    return [filled(more, text) for text in (RIGHT, WRONG)]
