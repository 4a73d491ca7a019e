"""Rows in the shapes of tools that the reader knows nothing of: seven questions, of whose answers four are
right."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]

QUESTIONS = (
    ("A box holds 4 rows of 6 pens. How many pens?", "24", "24", "4*6 = 24 pens."),
    ("Ann had 31 plums and ate 9. How many are left?", "22", "22", "31 minus 9 is 22."),
    ("A train runs 60 miles an hour for 3 hours. How far?", "180", "63", "60+3 = 63 miles."),
    ("Tom reads 12 pages a day. How many in 7 days?", "84", "84", "12*7 is 84 pages."),
    ("A shirt costs 25 dollars, 20% off. What is the price?", "20", "23", "25 - 2 is 23 dollars."),
    ("Seven boxes hold 8 eggs each. How many eggs?", "56", "56", "7*8 = 56 eggs."),
    ("Half of 90 is what?", "45", "40", "Half of 90 is 40."),
)
N = range(len(QUESTIONS))
RIGHT = [truth == found for _, truth, found, _ in QUESTIONS]
ASKED = [question for question, *_ in QUESTIONS]
TRUTH = [truth for _, truth, *_ in QUESTIONS]
FOUND = [found for *_, found, _ in QUESTIONS]
BOXED = [f"{thought} So the answer is \\boxed{{{found}}}." for *_, found, thought in QUESTIONS]
STATED = [f"{thought}\nAnswer: {found}" for *_, found, thought in QUESTIONS]
LAST = [f"Let us see: {found}" for *_, found, _ in QUESTIONS]


def opencompass_predictions() -> Row:
    """OpenCompass' predictions: an object of numbered rows."""
    return {
        str(i): {
            "origin_prompt": [{"role": "HUMAN", "prompt": ASKED[i]}],
            "prediction": BOXED[i],
            "gold": TRUTH[i],
        }
        for i in N
    }


def opencompass_details() -> Row:
    """OpenCompass' results with the details of each row."""
    rows = {
        str(i): {
            "prompt": ASKED[i],
            "origin_prediction": BOXED[i],
            "predictions": FOUND[i],
            "references": TRUTH[i],
            "correct": RIGHT[i],
        }
        for i in N
    }
    return {"accuracy": 57.1, "details": rows}


def helm() -> Row:
    """HELM's scenario_state.json. The success is that of the request."""
    states = [
        {
            "instance": {
                "input": {"text": ASKED[i]},
                "references": [{"output": {"text": TRUTH[i]}, "tags": ["correct"]}],
                "id": f"id{i}",
            },
            "request": {"model": "m", "prompt": ASKED[i]},
            "result": {
                "success": True,
                "cached": False,
                "completions": [{"text": STATED[i], "logprob": -1.2}],
            },
        }
        for i in N
    ]
    return {"adapter_spec": {"method": "generation"}, "request_states": states}


def evalscope_reviews() -> list[Row]:
    """EvalScope's reviews: an answer of an API with the review of each choice."""
    return [
        {
            "choices": [
                {
                    "finish_reason": "stop",
                    "index": 0,
                    "message": {"content": BOXED[i], "role": "assistant"},
                    "review": {"gold": TRUTH[i], "pred": FOUND[i], "result": RIGHT[i]},
                }
            ],
            "index": i,
            "object": "chat.completion",
            "raw_input": {"question": ASKED[i], "answer": TRUTH[i]},
        }
        for i in N
    ]


def evalscope() -> list[Row]:
    """EvalScope's newer reviews."""
    return [
        {
            "index": i,
            "input": f"**User**: {ASKED[i]}",
            "target": TRUTH[i],
            "sample_score": {
                "score": {
                    "value": {"acc": float(RIGHT[i])},
                    "extracted_prediction": FOUND[i],
                    "prediction": BOXED[i],
                },
                "sample_id": i,
            },
        }
        for i in N
    ]


def promptfoo() -> Row:
    """promptfoo's results, two levels below settings and totals."""
    rows = [
        {
            "testCase": {"vars": {"question": ASKED[i]}, "assert": [{"type": "contains", "value": TRUTH[i]}]},
            "prompt": {"raw": ASKED[i]},
            "vars": {"question": ASKED[i], "expected": TRUTH[i]},
            "response": {"output": STATED[i], "tokenUsage": {"total": 40}},
            "success": RIGHT[i],
            "latencyMs": 500 + i,
            "gradingResult": {"pass": RIGHT[i], "score": float(RIGHT[i]), "reason": "ok"},
        }
        for i in N
    ]
    results = {"version": 3, "prompts": [{"raw": "{{question}}"}], "results": rows, "stats": {"successes": 4}}
    return {"evalId": "eval-1", "results": results, "config": {}}


def deepeval() -> Row:
    """deepeval's test run."""
    cases = [
        {
            "name": f"test_case_{i}",
            "input": ASKED[i],
            "actualOutput": STATED[i],
            "expectedOutput": TRUTH[i],
            "success": RIGHT[i],
            "metricsData": [{"name": "Correctness", "score": float(RIGHT[i]), "reason": "it says so"}],
        }
        for i in N
    ]
    return {"testCases": cases, "testPassed": 4}


def langfuse() -> list[Row]:
    """A run over a dataset of langfuse."""
    return [
        {
            "id": f"r{i}",
            "input": {"question": ASKED[i]},
            "output": STATED[i],
            "expectedOutput": TRUTH[i],
            "scores": [{"name": "correctness", "value": int(RIGHT[i])}],
            "latency": 1.2,
        }
        for i in N
    ]


def areal() -> list[Row]:
    """AReaL's rollouts: the reward is 5 or -5."""
    return [
        {
            "qid": f"q{i}",
            "prompt": ASKED[i],
            "seq": f"{ASKED[i]}{BOXED[i]}",
            "completion": BOXED[i],
            "answers": [TRUTH[i]],
            "reward": 5.0 if RIGHT[i] else -5.0,
            "seqlen": 90 + i,
        }
        for i in N
    ]


def batches() -> list[Row]:
    """A step of training in each row."""
    return [
        {
            "step": step,
            "prompts": ASKED,
            "responses": said,
            "ground_truths": TRUTH,
            "scores": [float(right) for right in RIGHT],
        }
        for step, said in enumerate((BOXED, STATED))
    ]


def prime_rl() -> list[Row]:
    """prime-rl's rollouts: the ground truth stands in `info`."""
    return [
        {
            "problem_id": i,
            "prompt_text": ASKED[i],
            "completion_text": f"<think>\nadd\n</think>\n{BOXED[i]}",
            "reward": float(RIGHT[i]),
            "advantage": 0.1,
            "info": {"ground_truth": TRUTH[i], "task_type": "verifiable_math"},
        }
        for i in N
    ]


def open_instruct() -> list[Row]:
    """open-instruct's evaluation: a chat that the model has not answered, and its answer beside it."""
    return [
        {
            "messages": [{"role": "user", "content": ASKED[i]}],
            "model_prediction": STATED[i],
            "gold_label": TRUTH[i],
            "is_right": RIGHT[i],
        }
        for i in N
    ]


def wandb_table() -> Row:
    """A table of W&B as JSON."""
    data = [[1, ASKED[i], STATED[i], TRUTH[i], int(RIGHT[i])] for i in N]
    return {"columns": ["step", "question", "model_answer_text", "reference", "acc"], "data": data}


def open_llm_details() -> list[Row]:
    """The details of the Open LLM Leaderboard: an empty `choices` makes no answer of an API."""
    return [
        {
            "full_prompt": f"Question: {ASKED[i]}\nAnswer:",
            "gold": [TRUTH[i]],
            "predictions": [STATED[i]],
            "metrics": {"acc": float(RIGHT[i]), "em": 0.0},
            "num_asked_few_shots": 5,
            "choices": [],
        }
        for i in N
    ]


def last_numbers() -> list[Row]:
    """Responses that end in a number, and no frame of an answer."""
    return [
        {"problem": ASKED[i], "text": LAST[i], "gold_final": TRUTH[i], "flexible_em": int(RIGHT[i])}
        for i in N
    ]


def prose() -> list[Row]:
    """Answers in sentences, which rewards that may be trained on do not read."""
    towns = ("Rome", "Oslo", "Cairo", "Lima", "Quito", "Paris", "Bern")
    said = ("Rome", "Oslo", "Luxor", "Lima", "Cusco", "Paris", "Basel")
    return [
        {
            "question": f"{i}?",
            "text": f"I am fairly sure.\nThe capital in question is called {one}, as many know.",
            "gold": town,
            "is_correct": town == one,
        }
        for i, (town, one) in enumerate(zip(towns, said, strict=True))
    ]


def samples_of_each() -> list[Row]:
    """Several samples of each question, with the verdict of each."""
    return [
        {
            "question": ASKED[i],
            "target": TRUTH[i],
            "samples": [STATED[i], BOXED[i], "No idea."],
            "passed": [RIGHT[i], RIGHT[i], False],
        }
        for i in N
    ]


def judged() -> list[Row]:
    """What a judge said of responses; its rationale names the answer as well."""
    return [
        {
            "question": ASKED[i],
            "response": STATED[i],
            "gold": TRUTH[i],
            "judge": {
                "rationale": f"It says {FOUND[i]}.\nAnswer: {FOUND[i]}",
                "verdict": "yes" if RIGHT[i] else "no",
            },
        }
        for i in N
    ]


def nested_chats() -> Row:
    """Whole chats in rows of nested objects."""
    rows = [
        {
            "conv": [{"role": "user", "content": ASKED[i]}, {"role": "assistant", "content": BOXED[i]}],
            "ref": {"final": TRUTH[i]},
            "eval": {"is_correct": RIGHT[i]},
        }
        for i in N
    ]
    return {"model": "m", "items": rows}


def unnamed() -> list[Row]:
    """Columns whose names say nothing, and no verdicts."""
    return [{"a": ASKED[i], "b": STATED[i], "c": TRUTH[i]} for i in N]


def reference_solutions() -> list[Row]:
    """A dataset, which has no responses."""
    return [
        {
            "problem": ASKED[i],
            "worked_solution": f"We compute. So the answer is \\boxed{{{TRUTH[i]}}}.",
            "answer": TRUTH[i],
            "verified": True,
        }
        for i in N
    ]


def two_models() -> list[Row]:
    """The responses of two models in each row, each with its verdict."""
    return [
        {
            "gold": TRUTH[i],
            "small": {"text": STATED[i], "is_correct": RIGHT[i]},
            "large": {"text": f"Sure. The answer is \\boxed{{{TRUTH[i]}}}.", "is_correct": True},
        }
        for i in N
    ]


OPTIONS = (
    ("Which is a mammal?", "Trout Whale Eagle Newt", "B", "B"),
    ("Capital of Italy?", "Rome Milan Turin Pisa", "A", "A"),
    ("2+3?", "4 6 5 7", "C", "D"),
    ("Red planet?", "Mars Venus Earth Pluto", "A", "A"),
    ("Largest ocean?", "Arctic Indian Atlantic Pacific", "D", "B"),
    ("H2O is?", "Salt Water Air Sand", "B", "B"),
)


def graded_choices() -> list[Row]:
    """Questions of multiple choice, graded in words."""
    return [
        {
            "stem": stem,
            "opts": dict(zip("ABCD", words.split(), strict=True)),
            "key": key,
            "raw_reply": f"Let me think. The answer is ({chosen}).",
            "graded": "CORRECT" if chosen == key else "INCORRECT",
        }
        for stem, words, key, chosen in OPTIONS
    ]


def points() -> list[Row]:
    """Scores of 100 and 0."""
    return [
        {"prompt": stem, "pred_raw": f"Answer: {chosen}", "reference": key, "score": 100 * (chosen == key)}
        for stem, _, key, chosen in OPTIONS
    ]


def yes_or_no() -> list[Row]:
    """Ground truths that could be verdicts."""
    said = [("Yes", "Yes"), ("No", "Yes"), ("Yes", "Yes"), ("No", "No"), ("No", "No"), ("Yes", "No")]
    return [
        {
            "passage": "Water is wet.",
            "question": f"{i}?",
            "label": true,
            "model_output": one,
            "correct": true == one,
        }
        for i, (true, one) in enumerate(said)
    ]
