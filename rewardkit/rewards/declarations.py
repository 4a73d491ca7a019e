"""Which rewards there are: the name, version, data sources and place to run of each, declared with the same
`@reward` that users have. Add a new one here (docs/extending.md); how it scores stands in its own file.

Each function here is a declaration: it is called with the first sample and returns the function that scores,
so that `rewardkit list` and the check of data sources need no heavy import. The version rises whenever any
score can change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewardkit.registry import reward

Function = Callable[..., Any]
"""What scores: (Sample, Options) -> Score."""

BACKSTOP_S = 60.0
"""The deadline of a reward whose work is bounded from inside, for any text: so far off that no load of the
machine reaches it, since a response that only had to be slow to be a `timeout` would choose its status."""


@reward(
    "openai/gsm8k",
    "rewardkit/arithmetic",
    aliases=("gsm8k", "arithmetic"),
    version=11,
    runs="inline",
    parts=("format",),
    reads=("prompt",),
)
def gsm8k() -> Function:
    """Number after ####: 1.0 right, 0.1 wrong but in format, 0.0 neither"""
    from rewardkit.rewards.gsm8k import score

    return score


@reward(
    "DigitalLearningGmbH/MATH-lighteval",
    "lighteval/MATH",
    "HuggingFaceH4/MATH-500",
    *("agentica-org/DeepScaleR-Preview-Dataset", "SynthLabsAI/Big-Math-RL-Verified"),
    *("Skywork/Skywork-OR1-RL-Data", "open-r1/OpenR1-Math-220k", "Hothan/OlympiadBench"),
    "aime*",
    "amc*",
    "numina_*",
    aliases=(
        "math",
        "hendrycks_math",
        "MATH-500",
        "math500",
        "AIME*",
        "Maxwell-Jia/AIME_2024",
        "deepscaler",
        "minerva_math",
        "olympiadbench",
    ),
    version=14,
    timeout_s=BACKSTOP_S,
    parts=("format",),
    reads=("prompt", "extra_info"),
    explain="rewardkit.rewards.math:explain",
)
def math() -> Function:
    """Is the answer equal to the ground truth, whatever the notation: 1.0 or 0.0"""
    from rewardkit.rewards.math import score

    return score


@reward(
    "math_dapo",
    "math_dapo_reasoning",
    "BytedTsinghua-SIA/DAPO-Math-17k",
    aliases=("dapo",),
    version=14,
    timeout_s=60.0,
    parts=("acc",),
    reads=("prompt", "extra_info"),
    explain="rewardkit.rewards.math:explain",
)
def math_dapo() -> Function:
    """The same comparison in DAPO's terms: +1.0 or -1.0, with acc"""
    from rewardkit.rewards.math import score_dapo

    return score_dapo


@reward(
    "codeparrot/apps",
    "BAAI/TACO",
    "deepmind/code_contests",
    "codeforces",
    "livecodebench*",
    *("KodCode/KodCode-V1", "newfacade/LeetCodeDataset", "open-r1/codeforces"),
    "openai/openai_humaneval",
    "google-research-datasets/mbpp",
    aliases=(
        "code",
        "apps",
        "taco",
        "code_contests",
        "codecontests",
        "openai_humaneval",
        "humaneval",
        "mbpp",
    ),
    version=11,
    runs="sandbox",
    # Far above what the reward itself allows, which is CPU time, with a safety net of elapsed time: what it
    # scores is not to depend on how busy the machine is.
    timeout_s=1800.0,
    parts=("tests", "passed", "timed_out", "over_limit"),
    reads=(),
    explain="rewardkit.rewards.code.reward:explain",
)
def code() -> Function:
    """The program in the response, run on its tests in the sandbox: 1.0 when all pass"""
    from rewardkit.rewards.code.reward import score

    return score


@reward(
    *("cais/mmlu", "TIGER-Lab/MMLU-Pro", "Idavidrein/gpqa", "allenai/ai2_arc", "Rowan/hellaswag"),
    *("tau/commonsense_qa", "allenai/openbookqa", "allenai/sciq", "winogrande"),
    aliases=(
        "choice",
        "mmlu*",
        "gpqa*",
        "arc_*",
        "hellaswag",
        "commonsense_qa",
        "openbookqa",
        "multiple_choice",
    ),
    version=15,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("format",),
    reads=("prompt", "extra_info"),
)
def choice() -> Function:
    """One option in a frame, by letter or text: 1.0 or 0.0"""
    from rewardkit.rewards.choice import score

    return score


@reward(
    *("searchR1_*", "hotpotqa/hotpot_qa", "google-research-datasets/nq_open", "mandarjoshi/trivia_qa"),
    *("ucinlp/drop", "rajpurkar/squad*", "akariasai/PopQA", "stanfordnlp/web_questions"),
    aliases=(
        *(
            "qa",
            "hotpotqa",
            "hotpot_qa",
            "nq",
            "nq_open",
            "natural_questions",
            "triviaqa",
            "trivia_qa",
            "drop",
        ),
        *("squad*", "popqa", "2wikimultihopqa", "musique", "bamboogle", "web_questions"),
    ),
    version=14,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("f1",),
    reads=("prompt",),
)
def qa() -> Function:
    """One of the accepted short answers, numbers and dates as such: 1.0 or 0.0"""
    from rewardkit.rewards.qa import score

    return score


@reward(
    "hiyouga/geometry3k",
    aliases=("geometry3k", "geo3k"),
    version=14,
    runs="process",
    timeout_s=20.0,
    parts=("acc", "format"),
    reads=("prompt", "extra_info"),
)
def geometry3k() -> Function:
    """The answer in the box, scored as maths, 0.9; the format of thinking and box, 0.1"""
    from rewardkit.rewards.geometry3k import score

    return score


@reward(
    *("google/IFEval", "allenai/IFBench*", "allenai/RLVR-IFeval", "allenai/IF_multi_constraints*"),
    aliases=("instructions", "ifeval", "IFEval", "ifbench"),
    version=12,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("strict", "loose", "share"),
    reads=(),
    needs={"langdetect": "instructions", "emoji": "instructions", "syllapy": "instructions"},
)
def instructions() -> Function:
    """Are all the instructions kept that a program can verify (IFEval, IFBench): 1.0 or 0.0"""
    from rewardkit.rewards.instructions import score

    return score


@reward("exact", version=7, runs="inline", reads=())
def exact() -> Function:
    """The response is the ground truth, or one of them: 1.0 or 0.0"""
    from rewardkit.rewards.structure.plain import exact

    return exact


@reward("contains", version=7, runs="inline", reads=())
def contains() -> Function:
    """The ground truth stands in the response, all of them or any: 1.0 or 0.0"""
    from rewardkit.rewards.structure.plain import contains

    return contains


@reward("regex", version=7, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"regex": "structure"})
def regex() -> Function:
    """The response matches the pattern: 1.0 or 0.0"""
    from rewardkit.rewards.structure.plain import regex

    return regex


@reward("number", version=9, runs="process", timeout_s=BACKSTOP_S, reads=("prompt",))
def number() -> Function:
    """The one number in a frame is the ground truth's within a tolerance: 1.0 or 0.0"""
    from rewardkit.rewards.structure.plain import number

    return number


@reward("json", version=7, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def json() -> Function:
    """JSON that fits a schema and holds the right values: 1.0, 0.0, or the share of fields"""
    from rewardkit.rewards.structure.data import json

    return json


@reward("yaml", version=7, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def yaml() -> Function:
    """YAML that fits a schema and holds the right values: 1.0, 0.0, or the share of fields"""
    from rewardkit.rewards.structure.data import yaml

    return yaml


@reward("xml", version=6, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def xml() -> Function:
    """Tags once each, in order and filled, or the texts in them: 1.0, 0.0, or the share of tags"""
    from rewardkit.rewards.structure.data import xml

    return xml


@reward("bleu", version=6, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"sacrebleu": "metrics"})
def bleu() -> Function:
    """Sentence BLEU with the ground truth, 0 to 1"""
    from rewardkit.rewards.structure.overlap import bleu

    return bleu


@reward("rouge_l", version=6, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"rapidfuzz": "metrics"})
def rouge_l() -> Function:
    """ROUGE-L with the ground truth, 0 to 1"""
    from rewardkit.rewards.structure.overlap import rouge_l

    return rouge_l


@reward("chrf", version=6, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"sacrebleu": "metrics"})
def chrf() -> Function:
    """Sentence chrF with the ground truth, 0 to 1"""
    from rewardkit.rewards.structure.overlap import chrf

    return chrf


@reward(
    "sql", aliases=("spider*", "bird_sql*"), version=7, runs="sandbox", timeout_s=60.0, reads=("extra_info",)
)
def sql() -> Function:
    """The query gives the rows of the ground truth's, on sqlite in the sandbox: 1.0 or 0.0"""
    from rewardkit.rewards.structure.sql import score

    return score


@reward(
    "bfcl*",
    aliases=("tool_call", "toolace"),
    version=8,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("format", "names", "calls"),
    reads=(),
)
def tool_call() -> Function:
    """The right tools with the right arguments, in any order: 1.0 or 0.0"""
    from rewardkit.rewards.tool_call import score

    return score


@reward("think_format", version=3, runs="inline", reads=())
def think_format() -> Function:
    """Think tags once, first and filled, then something said: 1.0 or 0.0"""
    from rewardkit.rewards.shaping.format import think_format

    return think_format


@reward("length_overlong", version=3, runs="inline", reads=("extra_info",))
def length_overlong() -> Function:
    """DAPO's penalty for responses near the limit: 0 to -1"""
    from rewardkit.rewards.shaping.length import length_overlong

    return length_overlong


@reward("length_cosine", version=3, runs="inline", reads=("extra_info",))
def length_cosine() -> Function:
    """From 1.0 for short to 0.0 for long along a cosine"""
    from rewardkit.rewards.shaping.length import length_cosine

    return length_cosine


@reward("length_budget", version=3, runs="inline", reads=("extra_info",))
def length_budget() -> Function:
    """How well a response keeps to its budget (L1): 0.0 to 1.0"""
    from rewardkit.rewards.shaping.length import length_budget

    return length_budget


@reward("repetition", version=3, runs="process", timeout_s=BACKSTOP_S, reads=())
def repetition() -> Function:
    """Penalty for n-grams that recur: 0 to -1"""
    from rewardkit.rewards.shaping.repetition import repetition

    return repetition


@reward("language", version=3, runs="process", timeout_s=BACKSTOP_S, reads=("extra_info",))
def language() -> Function:
    """Share of the words that are in one language: 0.0 to 1.0"""
    from rewardkit.rewards.shaping.language import language

    return language


@reward("refusal", version=7, runs="inline", reads=())
def refusal() -> Function:
    """Penalty for a response that declines to answer: 0 or -1"""
    from rewardkit.rewards.shaping.refusal import refusal

    return refusal


@reward("rank", version=1, runs="process", timeout_s=120.0, batch="group", parts=("raw",))
def rank() -> Function:
    """Share of the other responses to the prompt that a response beats in another reward: 0.0 to 1.0"""
    from rewardkit.rewards.group.ranking import rank

    return rank


@reward("diversity", version=2, runs="process", timeout_s=120.0, batch="group")
def diversity() -> Function:
    """How little a response has in common with the others to its prompt: 0.0 to 1.0"""
    from rewardkit.rewards.group.diversity import diversity

    return diversity


@reward(
    "reasoning_gym*",
    version=7,
    runs="process",
    timeout_s=30.0,
    reads=("prompt", "extra_info"),
    needs={"reasoning_gym": "reasoning-gym"},
)
def reasoning_gym() -> Function:
    """A task of reasoning_gym, solved by its own verifier: 1.0 or 0.0"""
    from rewardkit.rewards.reasoning_gym import score

    return score


@reward("env/*", name="environment", runs="inline", reads=("extra_info",))
def environment() -> Function:
    """The reward from an episode's environment"""
    from rewardkit.rewards.environment import score

    return score
