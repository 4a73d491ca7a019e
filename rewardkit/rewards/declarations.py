"""Declares the rewards that ship with rewardkit: names, versions, data sources and where each reward runs.

The declarations use the same decorator `@reward` as users do. Add new rewards to this file
(docs/extending.md), and their scoring functions to separate files.

Each function in this file is a declaration, which is called when the first sample arrives and returns the
scoring function. `rewardkit list` and the check of data sources therefore need no slow imports. Increase the
version whenever any score can change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rewardkit.registry import reward
from rewardkit.types import UNDECIDED

Function = Callable[..., Any]
"""A scoring function: (Sample, Options) -> Score."""

BACKSTOP_S = 60.0
"""Time limit, in seconds, for rewards that bound their own work on any text. They never reach this limit,
even on a busy machine. If they did, a response could turn its score into a `timeout` by being slow to
score."""


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
    version=22,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("format",),
    reads=("prompt", "extra_info"),
    readings=("",),
)
def choice() -> Function:
    """Multiple choice: 1.0 if the response chooses the right option, by letter or text, otherwise 0.0"""
    from rewardkit.rewards.choice import score

    return score


@reward(
    "openai/gsm8k",
    "rewardkit/arithmetic",
    aliases=("gsm8k", "arithmetic"),
    version=14,
    runs="inline",
    parts=("format",),
    reads=("prompt",),
    readings=("", "method=flexible"),
    excerpts="rewardkit.rewards.gsm8k:excerpts",
)
def gsm8k() -> Function:
    """GSM8K: 1.0 if the number after #### is right, 0.1 if it is wrong, 0.0 if there is none"""
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
    version=20,
    timeout_s=BACKSTOP_S,
    parts=("format", UNDECIDED),
    reads=("prompt", "extra_info"),
    explain="rewardkit.rewards.math:explain",
    readings=("",),
)
def math() -> Function:
    """Maths: 1.0 if the answer equals the ground truth in any notation, otherwise 0.0"""
    from rewardkit.rewards.math import score

    return score


@reward(
    "math_dapo",
    "math_dapo_reasoning",
    "BytedTsinghua-SIA/DAPO-Math-17k",
    aliases=("dapo",),
    version=20,
    timeout_s=60.0,
    parts=("acc", UNDECIDED),
    reads=("prompt", "extra_info"),
    explain="rewardkit.rewards.math:explain",
)
def math_dapo() -> Function:
    """Maths for DAPO: the same comparison as `math`, with the scores 1.0 and -1.0 and the part acc"""
    from rewardkit.rewards.math import score_dapo

    return score_dapo


@reward(
    "codeparrot/apps",
    "BAAI/TACO",
    "deepmind/code_contests",
    "codeforces",
    "livecodebench*",
    *("KodCode/KodCode-V1", "newfacade/LeetCodeDataset", "open-r1/codeforces"),
    *("openai/openai_humaneval", "THUDM/humaneval-x", "bigcode/humanevalpack", "nuprl/MultiPL-E"),
    "google-research-datasets/mbpp",
    aliases=(
        "code",
        "apps",
        "taco",
        "code_contests",
        "codecontests",
        "openai_humaneval",
        "humaneval",
        "humaneval-x",
        "multipl-e",
        "mbpp",
    ),
    version=14,
    runs="sandbox",
    # This is far above the reward's own limit, which is on CPU time, with a bound on elapsed time, so that
    # scores do not depend on how busy the machine is.
    timeout_s=1800.0,
    parts=("tests", "passed", "timed_out", "over_limit"),
    reads=(),
    explain="rewardkit.rewards.code.code_reward:explain",
)
def code() -> Function:
    """Code: 1.0 if the program passes all tests in the sandbox, otherwise 0.0"""
    from rewardkit.rewards.code.code_reward import score

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
    version=20,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("f1",),
    reads=("prompt",),
    readings=("", "metric=contains"),
)
def qa() -> Function:
    """Short answers: 1.0 if the response gives an accepted answer, otherwise 0.0"""
    from rewardkit.rewards.qa import score

    return score


@reward(
    "hiyouga/geometry3k",
    aliases=("geometry3k", "geo3k"),
    version=20,
    runs="process",
    timeout_s=20.0,
    parts=("acc", "format", UNDECIDED),
    reads=("prompt", "extra_info"),
)
def geometry3k() -> Function:
    """Geometry3K: 0.9 for the right answer in a box, plus 0.1 for the requested format"""
    from rewardkit.rewards.geometry3k import score

    return score


@reward(
    *("google/IFEval", "allenai/IFBench*", "allenai/RLVR-IFeval", "allenai/IF_multi_constraints*"),
    aliases=("instructions", "ifeval", "IFEval", "ifbench"),
    version=13,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("strict", "loose", "share"),
    reads=(),
    needs={"langdetect": "instructions", "emoji": "instructions", "syllapy": "instructions"},
)
def instructions() -> Function:
    """IFEval and IFBench: 1.0 if the response follows all instructions, otherwise 0.0"""
    from rewardkit.rewards.instructions import score

    return score


@reward("exact", version=8, runs="inline", reads=(), readings=("",))
def exact() -> Function:
    """1.0 if the response is exactly the ground truth, or one of several ground truths, otherwise 0.0"""
    from rewardkit.rewards.structure.plain import exact

    return exact


@reward("contains", version=8, runs="inline", reads=())
def contains() -> Function:
    """1.0 if the response contains the string or strings in the ground truth, otherwise 0.0"""
    from rewardkit.rewards.structure.plain import contains

    return contains


@reward("regex", version=8, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"regex": "structure"})
def regex() -> Function:
    """1.0 if the response matches the regular expression in the ground truth, otherwise 0.0"""
    from rewardkit.rewards.structure.plain import regex

    return regex


@reward("number", version=12, runs="process", timeout_s=BACKSTOP_S, reads=("prompt",), readings=("",))
def number() -> Function:
    """1.0 if the number in the response equals the ground truth within a tolerance, otherwise 0.0"""
    from rewardkit.rewards.structure.plain import number

    return number


@reward("json", version=8, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def json() -> Function:
    """1.0 for JSON with the right values, otherwise 0.0, or the share of right fields with pay=fields"""
    from rewardkit.rewards.structure.data import json

    return json


@reward("yaml", version=8, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def yaml() -> Function:
    """1.0 for YAML with the right values, otherwise 0.0, or the share of right fields with pay=fields"""
    from rewardkit.rewards.structure.data import yaml

    return yaml


@reward("xml", version=7, runs="process", timeout_s=BACKSTOP_S, parts=("valid", "fields"), reads=())
def xml() -> Function:
    """1.0 for XML with the right tags, otherwise 0.0, or the share of right tags with pay=fields"""
    from rewardkit.rewards.structure.data import xml

    return xml


@reward("bleu", version=7, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"sacrebleu": "metrics"})
def bleu() -> Function:
    """Sentence BLEU against the ground truth, from 0.0 to 1.0"""
    from rewardkit.rewards.structure.overlap import bleu

    return bleu


@reward("rouge_l", version=7, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"rapidfuzz": "metrics"})
def rouge_l() -> Function:
    """ROUGE-L against the ground truth, from 0.0 to 1.0"""
    from rewardkit.rewards.structure.overlap import rouge_l

    return rouge_l


@reward("chrf", version=7, runs="process", timeout_s=BACKSTOP_S, reads=(), needs={"sacrebleu": "metrics"})
def chrf() -> Function:
    """Sentence chrF against the ground truth, from 0.0 to 1.0"""
    from rewardkit.rewards.structure.overlap import chrf

    return chrf


@reward(
    "sql", aliases=("spider*", "bird_sql*"), version=9, runs="sandbox", timeout_s=60.0, reads=("extra_info",)
)
def sql() -> Function:
    """SQL: 1.0 if the query returns the same rows as the ground truth in SQLite, otherwise 0.0"""
    from rewardkit.rewards.structure.sql import score

    return score


@reward(
    "bfcl*",
    aliases=("tool_call", "toolace"),
    version=9,
    runs="process",
    timeout_s=BACKSTOP_S,
    parts=("format", "names", "calls"),
    reads=(),
    readings=("",),
)
def tool_call() -> Function:
    """1.0 if the response calls the right tools with the right arguments, in any order, otherwise 0.0"""
    from rewardkit.rewards.tool_call import score

    return score


@reward("think_format", version=3, runs="inline", reads=())
def think_format() -> Function:
    """1.0 if the response is one nonempty <think> block followed by text, otherwise 0.0"""
    from rewardkit.rewards.shaping.format import think_format

    return think_format


@reward("length_overlong", version=3, runs="inline", reads=("extra_info",))
def length_overlong() -> Function:
    """DAPO's penalty for responses close to the maximum length, from 0.0 to -1.0"""
    from rewardkit.rewards.shaping.length import length_overlong

    return length_overlong


@reward("length_cosine", version=3, runs="inline", reads=("extra_info",))
def length_cosine() -> Function:
    """Cosine from 1.0 for short responses to 0.0 for long responses"""
    from rewardkit.rewards.shaping.length import length_cosine

    return length_cosine


@reward("length_budget", version=3, runs="inline", reads=("extra_info",))
def length_budget() -> Function:
    """Closeness of the length to its budget, as in the L1 paper, from 0.0 to 1.0"""
    from rewardkit.rewards.shaping.length import length_budget

    return length_budget


@reward("repetition", version=3, runs="process", timeout_s=BACKSTOP_S, reads=())
def repetition() -> Function:
    """Penalty for repeated n-grams, from 0.0 to -1.0"""
    from rewardkit.rewards.shaping.repetition import repetition

    return repetition


@reward("language", version=3, runs="process", timeout_s=BACKSTOP_S, reads=("extra_info",))
def language() -> Function:
    """Share of the text in the expected language, from 0.0 to 1.0"""
    from rewardkit.rewards.shaping.language import language

    return language


@reward("refusal", version=8, runs="inline", reads=())
def refusal() -> Function:
    """-1.0 if the response declines to answer, otherwise 0.0"""
    from rewardkit.rewards.shaping.refusal import refusal

    return refusal


@reward("rank", version=2, runs="process", timeout_s=120.0, batch="group", parts=("raw",))
def rank() -> Function:
    """Share of the other responses to the prompt that score lower in another reward, from 0.0 to 1.0"""
    from rewardkit.rewards.group.ranking import rank

    return rank


@reward("diversity", version=3, runs="process", timeout_s=120.0, batch="group")
def diversity() -> Function:
    """Difference from the other responses to the prompt, from 0.0 to 1.0"""
    from rewardkit.rewards.group.diversity import diversity

    return diversity


@reward(
    "reasoning_gym*",
    version=9,
    runs="process",
    timeout_s=30.0,
    reads=("prompt", "extra_info"),
    needs={"reasoning_gym": "reasoning-gym"},
)
def reasoning_gym() -> Function:
    """reasoning_gym: 1.0 if the task's verifier accepts the answer as correct, otherwise 0.0"""
    from rewardkit.rewards.reasoning_gym import score

    return score


@reward("env/*", name="environment", runs="inline", reads=("extra_info",), of_episode=True)
def environment() -> Function:
    """The reward that the environment gave for the episode"""
    from rewardkit.rewards.environment import score

    return score
