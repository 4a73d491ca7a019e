"""Example loop for tutorials, in which the model computes a number step by step and each step has a reward.

The row's question contains numbers, and `ground_truth` is the target. Each turn of the model is one step,
such as `7 * 6`, and the loop replies with the result. A step may use the given numbers and the results of
earlier steps. Steps inside a reasoning block are ignored. The episode ends when a step reaches the target, or
after a turn without a step.
"""

from __future__ import annotations

import re
from fractions import Fraction

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent
from rewardkit.messages import message_text
from rewardkit.special_tokens import outside_thoughts

_NUMBER = r"-?\d{1,12}(?:[./]\d{1,12})?"
_STEP = re.compile(rf"({_NUMBER})\s*([-+*/])\s*({_NUMBER})")
_OPERATIONS = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}


@agent("math_expression", tools="none", interaction=False)
async def math_expression(episode: Episode) -> None:
    """Evaluate arithmetic steps until one of them reaches the target."""
    target = Fraction(episode.ground_truth)
    asked = " ".join(map(message_text, episode.messages))
    known = {Fraction(number) for number in re.findall(_NUMBER, asked)} - {target}
    while True:
        reply = await episode.generate()
        said = outside_thoughts(reply.text)
        result = calculate(said, known)
        if isinstance(result, Fraction):
            known.add(result)
            episode.reward(1.0 if result == target else 0.0)
            if result == target:
                return episode.end("done")
            result = f"= {result}"
        elif _STEP.search(said) is None:
            return  # a turn without a step is the final answer
        await episode.append([{"role": "user", "content": str(result)}])


def calculate(text: str, known: set[Fraction]) -> Fraction | str:
    """Return the result of the first step in a text, or an error message if no step is valid."""
    found = _STEP.search(text)
    if found is None:
        return "there is no step such as 7 * 6"
    left, right = Fraction(found[1]), Fraction(found[3])
    strange = {left, right} - known
    if strange:
        return f"{min(strange)} is neither given nor reached by a step"
    if found[2] == "/" and right == 0:
        return "that divides by zero"
    return _OPERATIONS[found[2]](left, right)
