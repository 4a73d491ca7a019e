"""Public reward functions, what each is called with natively, and rows that reach their branches.

Run as a program it is the native side: it loads one function as its project does and calls it on each row.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

N_ROWS = 200

VERL = "f(solution_str=r['response'], ground_truth=g)"
TWO = "f(r['response'], g)"
CHAT = "f(prompts=[r['prompt']], completions=[[{'role': 'assistant', 'content': r['response']}]], **c)[0]"
TEXTS = "f([r['response']], **c)[0]"
IDS = "f(completion_ids=[r['extra_info']['completion_ids']], completions=[[]])[0]"
EASY = "f([{'response': r['response'], 'ground_truth': g, 'response_length': len(r['response'])}], **o)[0]['overall']"


class PublicFunction(NamedTuple):
    """A function of a project. Files of a package are named by the folder that holds it, `|` and the module."""

    project: str
    place: str
    name: str
    native: str
    """Of `f`, the function; `r`, the row; `g`, its ground truth; `c`, TRL's columns; `o`, the options."""
    rows: str = "math"
    options: str = ""
    kind: str = ""
    make: bool = False
    """The options make the function."""
    columns: tuple[str, ...] = ()
    """`PARAMETER=FIELD` of those whose names do not say what they get."""


_SCORES = "verl/utils/reward_score"
FUNCTIONS = (
    PublicFunction("verl", f"{_SCORES}/gsm8k.py", "compute_score", VERL),
    PublicFunction("verl", f"{_SCORES}/math_reward.py", "compute_score", VERL),
    PublicFunction("verl", f"{_SCORES}/math_dapo.py", "compute_score", f"{VERL}['score']"),
    PublicFunction("verl", f"{_SCORES}/geo3k.py", "compute_score", TWO),
    PublicFunction("verl", f"{_SCORES}/math_verify.py", "compute_score", TWO),
    PublicFunction("verl", f"{_SCORES}/search_r1_like_qa_em.py", "compute_score", VERL, "qa"),
    PublicFunction("verl", f"{_SCORES}/search_r1_like_qa_em.py", "compute_score_subem", VERL, "qa"),
    PublicFunction("verl", ".|verl.utils.reward_score.math_batch", "compute_score_batched", "f(['x'], [r['response']], [g], [{}])[0]"),
    PublicFunction("verl", ".|verl.utils.reward_score", "default_compute_score", "f('openai/gsm8k', r['response'], g)", options="data_source=openai/gsm8k"),
    PublicFunction("trl", ".|trl.rewards.format_rewards", "think_format_reward", CHAT),
    PublicFunction("trl", ".|trl.rewards.accuracy_rewards", "accuracy_reward", CHAT),
    PublicFunction("trl", ".|trl.rewards.accuracy_rewards", "reasoning_accuracy_reward", CHAT),
    PublicFunction("trl", ".|trl.rewards.other_rewards", "get_repetition_penalty_reward", CHAT, options="ngram_size=2", make=True),
    PublicFunction("trl", ".|trl.rewards.other_rewards", "get_soft_overlong_punishment", IDS, options="max_completion_len=60&soft_punish_cache=30", make=True),
    PublicFunction("open-r1", "src|open_r1.rewards", "accuracy_reward", CHAT),
    PublicFunction("open-r1", "src|open_r1.rewards", "format_reward", CHAT),
    PublicFunction("open-r1", "src|open_r1.rewards", "tag_count_reward", CHAT),
    PublicFunction("open-r1", "src|open_r1.rewards", "reasoning_steps_reward", CHAT),
    PublicFunction("open-r1", "src|open_r1.rewards", "get_cosine_scaled_reward", CHAT, options="max_len=200", make=True),
    PublicFunction("open-r1", "src|open_r1.rewards", "get_repetition_penalty_reward", CHAT, options="ngram_size=2&max_penalty=-0.5", make=True),
    PublicFunction("open-r1", "src|open_r1.rewards", "get_code_format_reward", CHAT, "thought", options="language=python", make=True),
    PublicFunction("ms-swift", ".|swift.rewards.orm", "MathAccuracy", TEXTS, make=True),
    PublicFunction("ms-swift", ".|swift.rewards.orm", "Format", TEXTS, make=True),
    PublicFunction("ms-swift", ".|swift.rewards.orm", "ReActFormat", TEXTS, make=True),
    PublicFunction("ms-swift", ".|swift.rewards.orm", "RepetitionPenalty", TEXTS, options="repetition_n_grams=2&repetition_max_penalty=-1.0", make=True),
    PublicFunction("slime", ".|slime.rollout.rm_hub.deepscaler", "get_deepscaler_rule_based_reward", TWO, "thought"),
    PublicFunction("slime", "slime/rollout/rm_hub/math_dapo_utils.py", "compute_score", f"{TWO}['score']"),
    PublicFunction("slime", "slime/rollout/rm_hub/f1.py", "f1_score", f"{TWO}[0]"),
    PublicFunction("slime", "slime/rollout/rm_hub/gpqa.py", "compute_gpqa_reward", TWO, "choice"),
    PublicFunction("OpenRLHF", "examples/python/math_reward_func.py", "reward_func", "float(f([r['prompt'][0]['content'] + r['response']], [r['prompt'][0]['content']], [g])['rewards'][0])"),
    PublicFunction("AReaL", "examples/countdown/reward_score.py", "compute_score", VERL, "countdown"),
    PublicFunction("AReaL", ".|areal.reward.gsm8k", "gsm8k_reward_fn", "f('', r['response'], [], [], g)"),
    PublicFunction("AReaL", ".|areal.reward.geometry3k", "geometry3k_reward_fn", "f('', r['response'], [], [], g)"),
    PublicFunction("AReaL", ".|areal.reward.clevr_count_70k", "clevr_count_70k_reward_fn", "f('', r['response'], [], [], g)", "thought"),
    PublicFunction("EasyR1", "examples/reward_function/math.py", "compute_score", EASY),
    PublicFunction("EasyR1", "examples/reward_function/dapo.py", "compute_score", EASY, options="max_response_length=80&overlong_buffer_length=40&overlong_penalty_factor=1.0"),
    PublicFunction("EasyR1", "examples/reward_function/r1v.py", "compute_score", "f({'response': r['response'], 'ground_truth': g})['overall']"),
    PublicFunction("Search-R1", f"{_SCORES}/qa_em.py", "compute_score_em", VERL, "qa"),
    PublicFunction("Search-R1", f"{_SCORES}/qa_em.py", "compute_score_subem", VERL, "qa"),
    PublicFunction("Search-R1", f"{_SCORES}/qa_em_format.py", "compute_score_em", VERL, "qa", "structure_format_score=0.2&final_format_score=0.1"),
    PublicFunction("Search-R1", f"{_SCORES}/multiply.py", "compute_score", VERL),
    PublicFunction("TinyZero", f"{_SCORES}/countdown.py", "compute_score", VERL, "countdown"),
    PublicFunction("TinyZero", f"{_SCORES}/multiply.py", "compute_score", VERL),
    PublicFunction("TinyZero", f"{_SCORES}/gsm8k.py", "compute_score", VERL, options="method=flexible"),
    PublicFunction("ToolRL", f"{_SCORES}/rlla.py", "compute_score", f"{VERL}[0]", "tools"),
    PublicFunction("simpleRL", f"{_SCORES}/kk.py", "compute_score", VERL, "knights"),
    PublicFunction("simpleRL", f"{_SCORES}/math.py", "compute_score", VERL),
    PublicFunction("RL", "nemo_rl/environments/rewards.py", "math_expression_reward", "f(g, r['response'])[0]"),
    PublicFunction("RL", "nemo_rl/environments/rewards.py", "format_reward", "f(g, r['response'])[0]"),
    PublicFunction("RL", "nemo_rl/environments/rewards.py", "exact_answer_alphanumeric_reward", "f(g, r['response'])[0]"),
    PublicFunction("RL", "nemo_rl/environments/rewards.py", "geo3k_reward", "f(g, r['response'])[0]"),
    PublicFunction("RL", "nemo_rl/environments/dapo_math_verifier.py", "compute_score", f"{TWO}['score']"),
    PublicFunction("torchforge", "src/forge/data/rewards.py", "MathReward", "f('', r['response'], g)", make=True),
    PublicFunction("torchforge", "src/forge/data/rewards.py", "ThinkingReward", "f('', r['response'], g)", make=True),
    PublicFunction("rllm", "rllm/rewards/countdown_reward.py", "compute_score", VERL, "countdown"),
    PublicFunction("SkyRL", "skyrl-gym/skyrl_gym/envs/gsm8k/utils.py", "compute_score", TWO),
    PublicFunction("SkyRL", "skyrl-gym/skyrl_gym/envs/aime/utils.py", "compute_score", f"{TWO}['score']"),
    PublicFunction("SkyRL", "skyrl-gym|skyrl_gym", "make", "f('gsm8k', env_config={}, extras={'reward_spec': {'ground_truth': g}}).step(r['response'])['reward']", kind="skyrl-gym:gsm8k"),
    *(
        PublicFunction("open-instruct", ".|open_instruct.ground_truth_utils", name, "f([], r['response'], g).score", make=True)
        for name in ("GSM8KVerifier", "MathVerifier", "StringMatcherVerifier", "F1Verifier", "PuzzleMatcherVerifier", "FlanVerifier")
    ),
    PublicFunction("open-instruct", ".|open_instruct.ground_truth_utils", "StrictMathVerifier", "f([], r['response'], g).score", "minerva", make=True),
    *(
        PublicFunction("understand-r1-zero", "understand_r1_zero/math_grader.py", name, f"{TWO}[1]", columns=("model_response=response", "gt_answer=ground_truth"))
        for name in ("boxed_reward_fn", "answer_tag_reward_fn", "answer_tag_reward_fn_for_orz")
    ),
    PublicFunction("reasoning-gym", "reasoning_gym/utils.py", "compute_decimal_reward", TWO, "bare", columns=("answer=response", "oracle_answer=ground_truth")),
    PublicFunction("reasoning-gym", "training/rewards/reward.py", "compute_format_reward", VERL),
    PublicFunction("reasoning-gym", "training/rewards/reward.py", "cosine_scaled_reward", VERL, options="scaling_factor=0.5"),
    PublicFunction("MemAgent", f"{_SCORES}/hotpotqa.py", "compute_score", VERL, "answers"),
    PublicFunction("ReCall", f"src/{_SCORES}/re_call.py", "get_f1_score", TWO, columns=("prediction=response", "ground_truths=ground_truth")),
    PublicFunction("demystify-long-cot", "openrlhf/openrlhf/reward/common.py", "score_hendrycks", TWO, columns=("predict=response", "gold_raw=ground_truth")),
    PublicFunction("GRPO-Zero", ".|countdown_task", "reward_function", "f(r['response'], g['numbers'], g['target'])['reward']", "countdown", columns=("numbers=numbers", "target=target")),
    PublicFunction("GRPO-Zero", ".|countdown_task", "format_reward_function", "f(r['response'])"),
    PublicFunction("ToRA", "src/eval/grader.py", "math_equal", TWO, "bare", columns=("prediction=response", "reference=ground_truth")),
    PublicFunction("verifiers", "environments/reverse_text|reverse_text.taskset", "ReverseTextTask", "task_score(f, r)", "reverse"),
)  # fmt: skip

_GOLDS = ("72", "-3", "0.5", "1,000", "\\frac{1}{2}", "x^2+1", "12", "Paris")
_FORMS = (
    "The answer is \\boxed{%s}.",
    "#### %s",
    "so\n#### %s\nno, wait #### 7",
    "<think>\nIt is %s.\n</think>\n<answer>%s</answer>",
    "<think>\nSo\n</think>\n<answer>\n%s\n</answer>",
    "<think>a</think>\n<answer>\nthe %s\n</answer>",
    "Assistant: <think> a b a b a b </think> <answer>%s</answer>",
    "<|im_start|>assistant\nAnswer: %s",
    "Answer: $%s$\nFinal Answer: The final answer is $%s$.",
    "First, 5 apples. Second, so it is %s dollars",
    "Step 1: x\nStep 2: y\n```python\nprint(%s)\n```",
    "<think>one</think>Action: add\nAction Input: %s",
    "%s",
    "",
)
_THOUGHTS = (
    "<think>a</think> so \\boxed{%s}",
    "<think>\na\n</think>\n<answer>\n```python\nprint(%s)\n```\n</answer>",
    "it is [%s]",
    "%s",
)
_QA = (
    "<answer>%s</answer> and <answer>%s</answer>",
    "<think>a</think><search>q</search><information>%s</information><think>b</think><answer>%s</answer>",
    "<answer>the %s!</answer>",
    "<answer>in %s it is</answer> <answer> %s </answer>",
    "%s",
)
_MINERVA = (
    "So\nFinal Answer: The final answer is $%s$. I hope it is correct.",
    "Final Answer: The final answer is %s. I hope it is correct. No.",
    "Final Answer: The final answer is %s",
    "\\boxed{%s}",
    "%s",
)
_SUMS = (
    "(%s)",
    "<answer>%s</answer>",
    "Assistant: <answer>%s</answer>",
    "<|im_start|>assistant <answer>%s = 24</answer>",
)
_TOOLS = (
    "<|im_start|>assistant<think>a</think>\n<tool_call>\n{\"name\": \"%s\", \"parameters\": {\"a\": 1}}\n</tool_call><|im_end|>",
    "<|im_start|>assistant<think>a</think>\n<response>%s</response><|im_end|>",
    "<|im_start|>assistant%s<|im_end|>",
)  # fmt: skip
_TOOL = '<think>x</think>\n<tool_call>\n{"name": "%s", "parameters": {"a": 1}}\n</tool_call>'
_KNIGHTS = (
    "Assistant: <think>so</think><answer>(1) Ann is a %s (2) Bob is a knave</answer>",
    "Assistant: %s",
    "%s",
)


def rows(kind: str) -> list[dict[str, Any]]:
    """Rows of a kind, with right answers and wrong ones; the same every time."""
    forms, golds, truth, wrong = {
        "math": (_FORMS, _GOLDS, lambda gold: gold, "17"),
        "choice": (_FORMS, ("A", "B", "C", "D"), lambda gold: gold, "B"),
        "thought": (_THOUGHTS, _GOLDS, lambda gold: gold, "17"),
        "bare": (("%s", " $%s$", "%s.0", "+%s") * 6, _GOLDS, lambda gold: gold, "17"),
        "answers": (_FORMS, _GOLDS, lambda gold: [gold, "other"], "17"),
        "qa": (_QA, ("Paris", "the cat", "1984"), lambda gold: {"target": [gold, "other"]}, "Rome"),
        "minerva": (_MINERVA, _GOLDS, lambda gold: gold, "17"),
        "countdown": (_SUMS, ("6 * 4", "(4 * 6)", "6*4+0"), lambda gold: {"target": 24, "numbers": [6, 4]}, "6+4"),
        "tools": (_TOOLS, ("add", "sub"), lambda gold: _TOOL.replace("%s", gold), "mul"),
        "knights": (_KNIGHTS, ("knight", "knave"), lambda gold: {"solution_text_format": f"(1) Ann is a {gold}\n(2) Bob is a knave", "statements": "x"}, "fool"),
        "reverse": (("<reversed_text>%s</reversed_text>", "%s"), ("abc", "level"), lambda gold: gold[::-1], "zzz"),
    }[kind]  # fmt: skip
    made = []
    for i, (form, gold) in enumerate(
        itertools.islice(itertools.cycle(itertools.product(forms, golds)), N_ROWS)
    ):
        said = gold if i % 3 else wrong
        text = form.replace("%s", said) + ("" if i < 2 * len(forms) * len(golds) // 3 else f" {i}")
        made.append({"response": text, "truth": truth(gold), "i": i})
    return [
        {
            "response": one["response"],
            "ground_truth": one["truth"],
            "prompt": [{"role": "user", "content": f"Question {one['i']}?"}],
            "extra_info": {
                "completion_ids": [k % 7 for k in range(one["i"] % 70)],
                "response_length": len(one["response"]),
                **(one["truth"] if kind == "countdown" else {}),
            },
        }
        for one in made
    ]


def load(function: PublicFunction, folder: Path) -> Any:
    """The function as its project loads it."""
    root, bar, module_name = function.place.partition("|")
    if bar:
        sys.path.insert(0, str(folder / function.project / root))
        module = importlib.import_module(module_name)
    else:
        path = folder / function.project / function.place
        spec = importlib.util.spec_from_file_location("native", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return getattr(module, function.name)


def task_score(task_class: Any, row: dict[str, Any]) -> float:
    """What a task of verifiers 0.4 gives a conversation of one answer."""
    import asyncio

    from verifiers.v1.configs.agent import WireAgentConfig  # type: ignore[import-not-found]
    from verifiers.v1.graph import MessageNode  # type: ignore[import-not-found]
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask  # type: ignore[import-not-found]
    from verifiers.v1.types import AssistantMessage, UserMessage  # type: ignore[import-not-found]

    data = task_class.data_type().model_validate({"prompt": "q", "answer": row["ground_truth"]})
    trace = Trace(task=TraceTask(type="t", data=data), agent=AgentInfo(config=WireAgentConfig()))
    said = AssistantMessage(content=row["response"])
    trace.nodes = [
        MessageNode(message=UserMessage(content="q")),
        MessageNode(parent=0, message=said, sampled=True),
    ]
    asyncio.run(task_class(data).score(trace, None))
    return float(trace.reward)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(index: int, folder: Path) -> None:
    """Print the native results of a function, a number, null or an exception's name for each row."""
    function = FUNCTIONS[index]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    options = {k: _value(v) for k, _, v in (word.partition("=") for word in function.options.split("&")) if k}
    f = load(function, folder)
    if function.make:
        from types import SimpleNamespace

        is_swift = function.project == "ms-swift" and options
        f = f(SimpleNamespace(**options)) if is_swift else f(**options)
        options = {}
    found: list[Any] = []
    for row in rows(function.rows):
        truth = row["ground_truth"]
        columns = {"solution": [truth], "completion_ids": [row["extra_info"]["completion_ids"]]}
        names = {"task_score": task_score, "f": f, "r": row, "g": truth, "c": columns, "o": options}
        try:
            expression = function.native
            if options and "**o" not in expression and "data_source" not in options:
                expression = expression.replace("ground_truth=g", "ground_truth=g, **o")
            value = eval(expression, names)
            found.append(None if value is None else float(value))
        except Exception as error:
            found.append(type(error).__name__)
    json.dump(found, out)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
