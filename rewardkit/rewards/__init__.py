"""The rewards we ship, one file or folder per family. Importing this registers them all and loads none.

A reward is declared here, in one table, so that `rewardkit list` and the data source check need no heavy
import; its code is loaded when the first sample asks for it.
"""

from __future__ import annotations

from rewardkit.registry import REGISTRY, Reward

BUILTIN: tuple[Reward, ...] = (
    Reward(
        name="gsm8k",
        version=1,
        target="rewardkit.rewards.gsm8k:score",
        options_type="rewardkit.rewards.gsm8k:Options",
        data_sources=("openai/gsm8k", "rewardkit/arithmetic"),
        aliases=("gsm8k", "arithmetic"),
        runs="inline",
        parts=("format",),
        reads=(),
        summary="Number after ####: 1.0 right, 0.1 wrong but in format, 0.0 neither",
        verify=True,
    ),
    Reward(
        name="math",
        version=1,
        target="rewardkit.rewards.math:score",
        options_type="rewardkit.rewards.math:Options",
        data_sources=(
            "DigitalLearningGmbH/MATH-lighteval",
            "lighteval/MATH",
            "HuggingFaceH4/MATH-500",
            "aime*",
            "amc*",
            "numina_*",
        ),
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
        # Its own SymPy worker has its own, shorter deadline; this one is the backstop.
        runs="process",
        timeout_s=20.0,
        parts=("format",),
        reads=(),
        explain="rewardkit.rewards.math:explain",
        summary="Is the answer equal to the gold, whatever the notation: 1.0 or 0.0",
        verify=True,
    ),
    Reward(
        name="math_dapo",
        version=1,
        target="rewardkit.rewards.math:score_dapo",
        options_type="rewardkit.rewards.math:DapoOptions",
        data_sources=("math_dapo", "math_dapo_reasoning", "BytedTsinghua-SIA/DAPO-Math-17k"),
        aliases=("dapo",),
        runs="process",
        timeout_s=20.0,
        parts=("acc",),
        reads=(),
        explain="rewardkit.rewards.math:explain",
        summary="The same judgement in DAPO's terms: +1.0 or -1.0, with acc",
        verify=True,
    ),
    Reward(
        name="code",
        version=1,
        target="rewardkit.rewards.code:score",
        options_type="rewardkit.rewards.code:Options",
        data_sources=(
            "codeparrot/apps",
            "BAAI/TACO",
            "deepmind/code_contests",
            "codeforces",
            "livecodebench*",
            "openai/openai_humaneval",
            "google-research-datasets/mbpp",
        ),
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
        runs="sandbox",
        # Above the deadline of the reward itself (10 s a solution): a worker's first sample also proves the
        # sandbox level and starts its server.
        timeout_s=30.0,
        parts=("tests", "passed"),
        reads=(),
        explain="rewardkit.rewards.code:explain",
        summary="The program in the response, run on its tests in the sandbox: 1.0 when all pass",
    ),
)

for _reward in BUILTIN:
    REGISTRY.register(_reward)
