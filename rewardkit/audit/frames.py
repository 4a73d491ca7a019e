"""Frames of answers, the frame that a prompt asks for, and texts from a reward's own source.

The source of a reward is parsed and never run.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardkit.audit.patterns import frames_of, is_pattern, shortest_matches
from rewardkit.composition.tree import scored_by
from rewardkit.foreign.functions import HostedReward
from rewardkit.registry import Reward
from rewardkit.user_files import user_reward_file

FRAMES = (
    r"\boxed{{}}",
    "#### {}",
    "<answer>{}</answer>",
    "<think>\nI work it out.\n</think>\n<answer>{}</answer>",
    "<think>I work it out.</think><answer>{}</answer>",
    "<think>\nI work it out.\n</think>\n<answer>\n{}\n</answer>",
    "<reasoning>\nI work it out.\n</reasoning>\n<answer>\n{}\n</answer>\n",
    "<think>\nI work it out.\n</think>\n\\boxed{{}}",
    "<think>\nI work it out.\n</think>\n<answer>\\boxed{{}}</answer>",
    "<SOLUTION>{}</SOLUTION>",
    "The final answer is: $\\boxed{{}}$. I hope it is correct.",
    "Answer: {}",
    "The answer is {}.",
    "**{}**",
    "[[{}]]",
    '{"answer": "{}"}',
    "{}",
)
"""Usual ways to write an answer. The first frame that pays is preferred if the prompt asks for none."""
IDLE = (
    ("", "empty response"),
    (" ", "white space"),
    (".", "full stop"),
    ("I do not know.", "refusal"),
    ("The answer is correct.", "verdict"),
    *((word, "verdict") for word in ("correct", "Correct", "yes", "True", "CORRECT", "1", "1.0", "10")),
    *((word, "verdict") for word in ("[[10]]", "[[A]]", "Score: 10", "Rating: [[10]]", "VERDICT: PASS")),
    *(
        (word, "verdict")
        for word in ('{"is_correct": true}', '{"score": 1}', '{"correct": true, "score": 1.0}')
    ),
    *((word, "no number") for word in ("NaN", "nan", "inf", "-inf", "1e999", "None", "null", "0", "-1")),
    ("I work it out step by step. " * 40, "long text"),
    ("Step 1: I look at it.\n\nStep 2: I think.\n\nStep 3: I check.\n\nStep 4: Done.\n", "steps"),
    ("First, I look at it. Second, I think. Next, I check. Finally, therefore, I am done.", "steps"),
    ("é…✓", "other characters"),
    ("!!!", "punctuation"),
)
"""Responses that try nothing, each with the name of its kind."""
_MARKS = (
    "\\boxed",
    "####",
    "<answer>",
    "<think>",
    "<reasoning>",
    "<SOLUTION>",
    "[[",
    "**",
    '"answer"',
    "Answer:",
)
_MOST_TEXTS = 150
_LONGEST = 200
_MOST_TIMES = 2_000
_MOST_NUMBERS, _SHORT = 6, 12


@dataclass(frozen=True, slots=True)
class SourceTexts:
    """Texts and frames from a reward's source."""

    texts: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


def written(frame: str, answer: str) -> str:
    """Return an answer in a frame."""
    return frame.replace("{}", answer, 1)


def frame_asked(prompts: Sequence[str], frames: Sequence[str]) -> str | None:
    """Return the frame whose marks most of the prompts contain, or None if no frame fits."""
    counts = Counter(mark for prompt in prompts for mark in _MARKS if mark in prompt)
    asked = {mark for mark, count in counts.items() if count > len(prompts) / 2}
    marks = {frame: {mark for mark in _MARKS if mark in frame} for frame in frames}
    fitting = [frame for frame in frames if marks[frame] & asked]
    return max(fitting, key=lambda f: len(marks[f] & asked) - len(marks[f] - asked), default=None)


def texts_of_reward(reward: Reward) -> SourceTexts:
    """Return the texts in the source of a reward, or of all members of a composition."""
    found = [texts_of_source(text) for one, _ in scored_by(reward) for text in dict.fromkeys(_sources(one))]
    return SourceTexts(
        tuple(dict.fromkeys(text for one in found for text in one.texts))[:_MOST_TEXTS],
        tuple(dict.fromkeys(frame for one in found for frame in one.frames))[:_MOST_TEXTS],
    )


def _sources(reward: Reward) -> Iterator[str]:
    hosted = getattr(reward.target, "__self__", None)
    if isinstance(hosted, HostedReward):
        yield from (text for _, text in hosted.request.sources.values())
        return
    own = user_reward_file(reward.target)
    if own is not None:
        yield from (file.source.decode("utf-8", "replace") for file in (own, *own.beside))
        return
    module = sys.modules.get(getattr(reward.function, "__module__", None) or "")
    if module is not None:
        try:
            yield inspect.getsource(module)
        except (OSError, TypeError):  # a module without a source file
            return


def texts_of_source(source: str) -> SourceTexts:
    """Return the strings in a Python source, matches of its patterns, and the frames that they describe.

    Strings are also repeated more often than the numbers in the same function, which may be thresholds.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return SourceTexts()
    strings = list(dict.fromkeys(_strings(tree)))
    patterns = [text for text in strings if is_pattern(text)]
    frames = [frame for text in patterns for frame in frames_of(text) if frame.strip() != "{}"]
    texts = [*(match for text in patterns for match in shortest_matches(text)), *strings, *_many_times(tree)]
    return SourceTexts(tuple(dict.fromkeys(filter(None, texts))), tuple(dict.fromkeys(frames)))


def _strings(tree: ast.AST) -> Iterator[str]:
    """Yield the short strings in a syntax tree, without docstrings. An f-string counts as one string."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            skipped |= {id(part) for part in parts}
            text = "".join(str(p.value) if isinstance(p, ast.Constant) else "answer" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            text = node.value
        else:
            continue
        if 0 < len(text) <= _LONGEST:
            yield text


def _many_times(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of each function, repeated more often than each number of the function."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = ast.Module([node for node in tree.body if node not in functions], [])
    nodes_around, texts_around = list(ast.walk(around)), list(map(_shortest, _strings(around)))
    for function in functions:
        nodes = [*ast.walk(function), *nodes_around]
        values = dict.fromkeys(node.value for node in nodes if isinstance(node, ast.Constant))
        numbers = [n for n in values if type(n) is int and 2 < n <= _MOST_TIMES][:_MOST_NUMBERS]
        texts = dict.fromkeys((*map(_shortest, _strings(function)), *texts_around))
        short = [text for text in texts if 0 < len(text) <= _SHORT][:_MOST_NUMBERS]
        yield from (text * (number + 1) for number in numbers for text in (*short, "word ", "x"))


def _shortest(text: str) -> str:
    """Return the shortest match of a pattern, and any other text itself."""
    return (shortest_matches(text) or [text])[0] if is_pattern(text) else text
