"""Sound rewards for numbers, strict and lenient, which pay the right answer and nothing else."""

from __future__ import annotations

SOUND = {
    "last box": r"""
import re

def score(response, ground_truth):
    boxes = re.findall(r"\\boxed\{([^{}]*)\}", response)
    return float(bool(boxes) and boxes[-1].strip() == ground_truth)
""",
    "last number": r"""
import re

def score(response, ground_truth):
    numbers = re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", response.replace(",", ""))
    return float(bool(numbers) and numbers[-1] == ground_truth)
""",
    "whole response": r"""
def score(response, ground_truth):
    return 1.0 if response.strip() == ground_truth else 0.0
""",
    "answer line": r"""
import re

def score(response, ground_truth):
    found = re.fullmatch(r"answer:\s*(.+?)\.?", (response.strip().splitlines() or [""])[-1].lower())
    try:
        return float(found is not None and float(found[1].replace(",", "")) == float(ground_truth))
    except ValueError:
        return 0.0
""",
    "tag with a format bonus": r"""
import re

FORMAT = re.compile(r"<think>.*?</think>\s*<answer>(.*?)</answer>", re.DOTALL)

def score(response, ground_truth):
    found = FORMAT.fullmatch(response.strip())
    if not found:
        return 0.0
    return 1.0 if found[1].strip() == ground_truth else 0.1
""",
    "right minus wrong": r"""
def score(response, ground_truth):
    _, mark, answer = response.rpartition("####")
    return 1.0 if mark and answer.strip().rstrip(".") == ground_truth else -1.0
""",
    "one answer only": r"""
import re

def score(response, ground_truth):
    tags = re.findall(r"<answer>(.*?)</answer>", response, re.S)
    if len(tags) != 1:
        return 0.0
    text = tags[0].strip().strip("$*. ")
    return float(text.replace(",", "") == ground_truth)
""",
    "json": r"""
import json

def score(response, ground_truth):
    try:
        held = json.loads(response[response.index("{"):])
    except ValueError:
        return 0.0
    return float(isinstance(held, dict) and str(held.get("answer")) == ground_truth)
""",
}
