"""Rows in the format of verl's own scripts, for `--like`. The rows have exactly verl's columns.

The rows follow verl's data format (verl-project/verl, `examples/data_preprocess`, and the recipe ReTool),
with verl's prompts and the settings for its tools and interactions. `verl` is the script named after the
dataset, and `verl:tool` is its `*_multiturn_w_tool`. `verl:tool_agent` and `verl:interaction` are the scripts
with these names, and `verl:retool` is the recipe ReTool. `verl@0.7:tool` is the script in that release. Rows
in rewardkit's own schema are created by the dataset's own file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.datasets_prep.common.row_forms import FormedRow, MakeRow, RowForm
from rewardkit.datasets_prep.common.sources import Record
from rewardkit.errors import InputError, did_you_mean
from rewardkit.rewards.math.compat.hendrycks import extracted

_NUMBER = re.compile(r"#### (-?[0-9.,]+)")
_MATHS_EXPERT = "You are a math expert. You are given a question and you need to solve it step by step. "
_USE_THE_TOOL = (
    "Reasoning step by step before any tool call. You should use the `{tool}` tool after step by step "
    "solving the question, before generate final answer at least once and refine your answer if necessary. "
)
_MARKED = "Put your final answer in the format of `#### <answer>`."
_SEARCH_SYSTEM = "You are a helpful and harmless assistant."
_SEARCH = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first every time you "
    "get new information. After reasoning, if you find you lack some knowledge, you can call a search engine "
    "by <tool_call> query </tool_call> and it will return the top searched results between <tool_response> "
    "and </tool_response>. You can search as many times as your want. If you find no further external "
    "knowledge needed, you can directly provide the answer inside <answer> and </answer>, without detailed "
    "illustrations. For example, <answer> Beijing </answer>. Question: "
)
_RETOOL = "\nThe answer format must be: \\boxed{'The final answer goes here.'}"


@dataclass(frozen=True, slots=True)
class AskedProblem:
    """Script that uses the problem in a raw record as the prompt."""

    data_source: str
    columns: tuple[str, str]
    """Columns of the problem and the solution. Columns that the script does not use are kept in the rows."""
    instruction: str
    """Instruction that follows the problem after a space."""
    truth: Callable[[str], str | None] = str
    """Function that returns the ground truth in a solution, or None if it finds no ground truth."""
    keeps: bool = True
    """True if `extra_info` contains the problem and the solution."""
    system: str = ""
    agent: str = ""
    tool: str = ""
    interaction: Mapping[str, str] | None = None
    """Fields in `interaction_kwargs` besides the prompt and the ground truth. None for no interaction."""
    images: bool = False

    def __call__(self, record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
        """Create the row for a record. See `MakeRow`."""
        problem, solution = (record.text(column) for column in self.columns)
        truth = self.truth(solution)
        if truth is None:
            raise InputError(f"{record.where}: verl's script finds no answer in '{self.columns[1]}'")
        asked = f"{problem} {self.instruction}"
        system = [{"role": "system", "content": self.system}] if self.system else []
        used = (*self.columns, "images") if self.images else self.columns
        return {
            **{name: value for name, value in record.values.items() if name not in used},
            "data_source": self.data_source,
            **({"agent_name": self.agent} if self.agent else {}),
            "prompt": [*system, {"role": "user", "content": asked}],
            **({"images": record.value("images")} if self.images else {}),
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": truth},
            "extra_info": {
                "split": split,
                "index": record.index,
                **({"answer": solution, "question": problem} if self.keeps else {}),
                **(_tool(self.tool, ground_truth=truth) if self.tool else {}),
                **self._interaction(asked, truth),
            },
        }

    def _interaction(self, asked: str, truth: str) -> dict[str, Any]:
        if self.interaction is None:
            return {}
        return {"interaction_kwargs": {**self.interaction, "query": asked, "ground_truth": truth}}


def _tool(name: str, **create: object) -> dict[str, Any]:
    return {"need_tools_kwargs": True, "tools_kwargs": {name: {"create_kwargs": create}}}


def _number(solution: str) -> str | None:
    """Return the first number after `####` without commas, or None if there is no such number."""
    found = _NUMBER.search(solution)
    return found[1].replace(",", "") if found else None


def _search(record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
    question = record.text("question")
    reward_model = record.values.get("reward_model")
    stated = isinstance(reward_model, dict) and "ground_truth" in reward_model
    truth = reward_model["ground_truth"] if stated else record.values.get("golden_answers", [])  # type: ignore[index]
    data_source = f"searchR1_{record.values.get('data_source', '')}"
    told = _tool("search", ground_truth=truth, question=question, data_source=data_source)
    return {
        "data_source": data_source,
        "prompt": [
            {"role": "system", "content": _SEARCH_SYSTEM},
            {"role": "user", "content": _SEARCH + question},
        ],
        "ability": record.values.get("ability"),
        "reward_model": reward_model,
        "extra_info": {"index": record.index, "question": question, "split": split, **told},
        "metadata": record.values.get("metadata"),
    }


def _interpreter(record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
    """Return the published row with settings for its tool added."""
    truth = _dapo(record)["reward_model"]["ground_truth"]
    return {
        **record.values,
        "extra_info": {**record.value("extra_info"), **_tool("code_interpreter", ground_truth=truth)},
    }


def _retool(record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
    """Return the published row with the answer format appended to its first message."""
    first, *others = _dapo(record)["prompt"]
    asked = {**first, "content": first["content"] + _RETOOL}
    return {**record.values, "prompt": [asked, *others], "agent_name": "tool_agent"}


def _dapo(record: Record) -> dict[str, Any]:
    """Check the prompt and the ground truth of a row published by DAPO, and return the row's columns."""
    prompt, told = record.value("prompt"), record.value("reward_model")
    if not isinstance(prompt, list) or not prompt or not isinstance(told, dict) or "ground_truth" not in told:
        raise InputError(
            f"{record.where}: 'prompt' must be a list of messages, and 'reward_model' must have a "
            "ground_truth"
        )
    return record.values


def _retool_aime(record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
    record = replace(record, values={name.lower(): value for name, value in record.values.items()})
    return {
        "data_source": f"aime_{own['year']}",
        "prompt": [{"role": "user", "content": record.text("problem") + _RETOOL}],
        "ability": "MATH",
        "reward_model": {"ground_truth": str(record.value("answer"))},
        "agent_name": "tool_agent",
    }


def _preference(record: Record, split: str, own: Mapping[str, object]) -> FormedRow:
    """Return a row for one of the three stages that the script's `--split` selects."""
    prompt = record.text("prompt")
    if own["form"] == "sft":
        return {"prompt": prompt, "response": record.text(str(own["answer"]))}
    if own["form"] == "rm":
        return {"prompt": prompt, "chosen": record.text("chosen"), "rejected": record.text("rejected")}
    return {
        **{name: value for name, value in record.values.items() if name not in ("prompt", "response")},
        "data_source": "Dahoas/full-hh-rlhf",
        "prompt": [{"role": "user", "content": prompt}],
        "ability": "alignment",
        "reward_model": {"style": "model", "ground_truth": record.text("response")},
        "extra_info": {"split": split, "index": record.index},
    }


_GSM8K = AskedProblem(
    "openai/gsm8k",
    ("question", "answer"),
    "Let's think step by step and output the final answer after `####`.",
    _number,
)
_GSM8K_TOOL = replace(
    _GSM8K,
    system=_MATHS_EXPERT + _USE_THE_TOOL.format(tool="calc_gsm8k_reward") + _MARKED,
    tool="calc_gsm8k_reward",
)
_GSM8K_TOOL_ASKED = replace(_GSM8K_TOOL, interaction={})
_GSM8K_TALK = replace(
    _GSM8K,
    system=f"{_MATHS_EXPERT}You should rethinking carefully if user point out your answer is wrong. "
    f"{_MARKED}",
    interaction={},
)
_GEO3K = AskedProblem(
    "hiyouga/geometry3k",
    ("problem", "answer"),
    "You FIRST think about the reasoning process as an internal monologue and then provide the final answer. "
    "The reasoning process MUST BE enclosed within <think> </think> tags. The final answer MUST BE put in "
    "\\boxed{}.",
    images=True,
)

RELEASES = ("0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1", "0.7.0", "0.7.1", "0.8.0", "0.9.0")
"""Supported releases of verl, oldest first."""

FORMS: Mapping[str, Mapping[str, Mapping[str, MakeRow | None]]] = {
    "gsm8k": {
        "verl": {
            "0.3.0": replace(
                _GSM8K, instruction='Let\'s think step by step and output the final answer after "####".'
            )
        },
        "verl:tool": {"0.4.0": _GSM8K_TOOL, "0.4.1": _GSM8K_TOOL_ASKED, "0.8.0": _GSM8K_TOOL},
        "verl:tool_agent": {
            "0.5.0": replace(_GSM8K_TOOL_ASKED, agent="tool_agent"),
            "0.8.0": replace(_GSM8K_TOOL, agent="tool_agent"),
        },
        "verl:interaction": {
            "0.4.1": _GSM8K_TALK,
            "0.5.0": replace(_GSM8K_TALK, interaction={"name": "gsm8k"}),
            "0.8.0": None,
        },
    },
    "math": {
        "verl": {
            "0.3.0": AskedProblem(
                "DigitalLearningGmbH/MATH-lighteval",
                ("problem", "solution"),
                "Let's think step by step and output the final answer within \\boxed{}.",
                extracted,
                keeps=False,
            )
        }
    },
    "geo3k": {
        "verl": {"0.3.0": _GEO3K},
        "verl:tool": {
            "0.4.1": replace(
                _GEO3K,
                system=_MATHS_EXPERT + _USE_THE_TOOL.format(tool="calc_geo3k_reward"),
                tool="calc_geo3k_reward",
            )
        },
    },
    "full_hh_rlhf": {"verl": {"0.3.0": _preference}},
    "searchr1": {"verl": {"0.4.0": _search}},
    "dapo-math": {"verl:tool": {"0.4.0": _interpreter}, "verl:retool": {"0.5.0": _retool}},
    "aime": {"verl:tool": {"0.4.0": _interpreter}, "verl:retool": {"0.5.0": _retool_aime}},
}
"""Functions that create rows, by dataset, by form, and by the first release of verl with these rows. None if
verl has had no such script since that release."""

_LIKE = re.compile(r"(?P<who>\w+)(?:@v?(?P<release>[\w.]+))?(?P<script>:.*)?")


def form_of(dataset: str, like: str) -> RowForm:
    """Return the form that the user requested. If the request names no release, use the newest release.

    Raises:
        InputError: The dataset has no such form, verl has no such release, or the release has no such script.
    """
    forms = FORMS.get(dataset)
    if forms is None:
        raise InputError(f"--like does not support {dataset}; verl has scripts for {', '.join(FORMS)}")
    said = _LIKE.fullmatch(like)
    form = like if said is None else f"{said['who']}{said['script'] or ''}"
    if form not in forms:
        known = ", ".join(forms)
        raise InputError(
            f"--like {like}: unknown form of {dataset}; expected {known}{did_you_mean(form, forms)}"
        )
    release = _release(said["release"] if said is not None else None, like)
    made = {one: _made_in(forms[form], one) for one in RELEASES}
    who, colon, script = form.partition(":")
    make = made[release]
    if make is None:
        having = [one for one in RELEASES if made[one] is not None]
        raise InputError(
            f"--like {like}: verl {release} has no such script for {dataset}; pass a release that has it "
            f"({having[0]} to {having[-1]}), for example --like {who}@{having[-1]}{colon}{script}"
        )
    return RowForm(f"{who}@{release}{colon}{script}", make)


def _release(named: str | None, like: str) -> str:
    """Return the newest release that matches a name, such as 0.7.1 for `0.7`. None matches every release."""
    fitting = [one for one in RELEASES if named is None or f"{one}.".startswith(f"{named}.")]
    if not fitting:
        known = ", ".join(RELEASES)
        raise InputError(f"--like {like}: unknown release of verl '{named}'; known releases: {known}")
    return fitting[-1]


def _made_in(versions: Mapping[str, MakeRow | None], release: str) -> MakeRow | None:
    """Return the function that creates rows as in a release, or None if the release has no such script.

    The function is the entry in `versions` for the latest release that is not newer than `release`.
    """
    upto = RELEASES[: RELEASES.index(release) + 1]
    return next((versions[one] for one in reversed(upto) if one in versions), None)
