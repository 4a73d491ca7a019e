"""Builds the question to a judge from a template with a fence and a marker, and the question for a retry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardkit.messages import message_text
from rewardkit.pictures import has_parts
from rewardkit.rewards.answers.place import last_group, own_text
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.templates import how_to_answer, template_of
from rewardkit.types import Message, Sample


class UnjudgeableError(ValueError):
    """Raised if the sample itself cannot be judged. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """Question to the judge, as messages."""

    messages: list[dict[str, str]]
    marker: str
    """Text before the verdict in the answer, or empty if no marker is expected."""


def ask(sample: Sample, options: JudgeOptions, fields: Sequence[str] = (), **more: str) -> JudgeQuestion:
    """Build the question about a sample from the judge's template.

    The template is filled in one pass, so inserted text cannot act as a placeholder. The fence and the
    marker contain a digest of the sample. To close the fence or to imitate a verdict, the response would have
    to contain its own digest.

    Args:
        sample: Sample to judge.
        options: Options of the judge.
        fields: Names of the verdicts required in a JSON object. If empty, the question asks for `score_field`
            or for a verdict in text.
        more: Values of further placeholders.
    """
    prompt = prompt_text(sample.prompt)
    seen = f"{prompt}\0{sample.response}".encode("utf-8", "replace")
    nonce = hashlib.sha256(seen).hexdigest()[:12]
    filled = {
        "prompt": prompt,
        "response": sample.response,
        "ground_truth": sample.ground_truth,
        "fence": f"response-{nonce}",
        "marker": f"VERDICT-{nonce}:",
        **more,
    }
    if "{answer}" in options.prompt or "answer" in options.fields.values():
        filled["answer"] = answer_of(sample)
    own = {name: filled[field] for name, field in options.fields.items() if field in filled}
    how = how_to_answer(options, fields or [options.score_field] * bool(options.score_field))
    template = template_of(options).replace("{how}", how)
    if "prompt" in options.fields.values() or "{prompt}" in template:
        _refuse_pictures(sample)
    system = [{"role": "system", "content": options.system}] if options.system else []
    marker = filled["marker"] if "{marker}" in template else options.marker
    return JudgeQuestion([*system, {"role": "user", "content": fill(template, filled | own)}], marker)


def pair(sample: Sample, options: JudgeOptions, *, swapped: bool) -> JudgeQuestion:
    """Build the question of whether the response or the ground truth is better.

    The response is A, or B if `swapped`.

    Raises:
        UnjudgeableError: The ground truth is empty.
    """
    if not sample.ground_truth.strip():
        raise UnjudgeableError(
            "the ground truth is empty, but a pairwise judge compares the response with it"
        )
    a, b = sample.response, sample.ground_truth
    a, b = (b, a) if swapped else (a, b)
    if not options.pair_roles:
        return ask(sample, options, response_a=a, response_b=b)
    _refuse_pictures(sample)
    given = sample.prompt if isinstance(sample.prompt, list) else [{"role": "user", "content": sample.prompt}]
    messages = [{"role": str(one.get("role")), "content": message_text(one)} for one in given]
    first, second = options.pair_roles
    responses = [{"role": first, "content": a}, {"role": second, "content": b}]
    return JudgeQuestion([*messages, *responses], options.marker)


def _refuse_pictures(sample: Sample) -> None:
    if has_parts(sample.prompt):
        raise UnjudgeableError(
            "the prompt has pictures, and judges see only text; score it with another reward"
        )


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace `{name}` and `{{name}}` in a template for each name in `values`, in one pass."""
    names = "|".join(map(re.escape, values))
    pattern = re.compile(rf"\{{\{{(?P<double>{names})\}}\}}|\{{(?P<single>{names})\}}")
    return pattern.sub(lambda found: values[found["double"] or found["single"]], template)


def asked_again(question: JudgeQuestion, answer: str, why: Exception, form: str) -> list[dict[str, str]]:
    """Return the messages that ask again for a verdict because `answer` has no usable verdict."""
    wanted = f"one line: {question.marker} and {form}" if question.marker else form
    said = f"Your answer cannot be read: {why}. Write only {wanted}, once, and nothing behind it."
    return [
        *question.messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": said},
    ]


def answer_of(sample: Sample) -> str:
    """Return the answer in the last frame of a response, or the response without its reasoning.

    Frames are boxes, answer tags, `####` lines and texts after "Answer:".
    """
    text = own_text(sample.response, sample.prompt).strip()
    group = last_group(text)
    return group[-1].text if group else text


def prompt_text(prompt: str | Sequence[Message] | None) -> str:
    """Return a prompt as one text. Several messages are labelled with their roles."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    if len(prompt) == 1:
        return message_text(prompt[0])
    return "\n\n".join(f"{message.get('role', '')}: {message_text(message)}" for message in prompt)
