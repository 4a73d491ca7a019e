"""Templates of OpenAI's graders, with fields such as `{{ item.answer }}` and `{{ sample.output_text }}`.

A template is filled in a single pass, so inserted text is never treated as a template. A path contains only
names and numbers, so no path can call code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rewardkit.messages import plain_prompt
from rewardkit.types import Sample

_PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_PATH = re.compile(r"(item|sample)((?:\.\w+|\[\d+\]|\['[^']*'\]|\[\"[^\"]*\"\])+)")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[['\"]([^'\"]*)['\"]\]")


class FieldMissing(LookupError):
    """Raised if a path does not exist. `of_response` is True if the path is in the response, not the row."""

    def __init__(self, path: str) -> None:
        self.of_response = path.startswith("sample")
        what = "the response" if self.of_response else "the row"
        super().__init__(f"{what} has no {path}")


def fields_of(sample: Sample) -> dict[str, Any]:
    """Return the root objects for the paths in a template.

    `item` contains the row's ground truth, data source and prompt, the fields of the ground truth if it is a
    JSON object, and the fields of `extra_info`. Later fields take precedence. `sample` contains
    `output_text`, `output_tools`, `choices`, and, if the response is JSON, `output_json`.
    """
    truth = _json(sample.ground_truth)
    item = {
        "ground_truth": sample.ground_truth,
        "data_source": sample.data_source,
        "prompt": plain_prompt(sample.prompt),
        **(truth if isinstance(truth, dict) else {}),
        **sample.extra_info,
    }
    message = {"role": "assistant", "content": sample.response}
    said = {"output_text": sample.response, "output_tools": [], "choices": [{"message": message}]}
    answer = _json(sample.response)
    if answer is not None:
        said["output_json"] = answer
    return {"item": item, "sample": said}


def check_template(text: str) -> None:
    """Check that every path in a template is valid.

    Raises:
        ValueError: A path is invalid. The message names the path.
    """
    for path in paths_in(text):
        if _PATH.fullmatch(path) is None:
            raise ValueError(
                f"'{{{{ {path} }}}}' is not a path; expected a path such as item.answer or sample.output_text"
            )


def paths_in(text: str) -> Iterator[str]:
    """Yield the paths in a template."""
    return (found[1] for found in _PLACE.finditer(text))


def fill(text: str, fields: Mapping[str, Any]) -> str:
    """Replace the paths in a template with their values. A value that is not a string is inserted as JSON.

    Raises:
        FieldMissing: A path does not exist.
    """
    return _PLACE.sub(lambda found: _as_text(_at(found[1], fields)), text)


def _at(path: str, fields: Mapping[str, Any]) -> Any:
    root, steps = _PATH.fullmatch(path).groups()  # type: ignore[union-attr]  # checked at load
    value: Any = fields[root]
    for name, place, key in _STEP.findall(steps):
        try:
            value = value[int(place)] if place else value[name or key]
        except (LookupError, TypeError):
            raise FieldMissing(path) from None
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _json(text: str) -> Any:
    """Parse a JSON text, or return None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
