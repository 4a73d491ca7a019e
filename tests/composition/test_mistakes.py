"""Mistakes in a file of compositions: each is one line that names the file, the line, and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.composition import load_compositions
from rewardkit.errors import InputError, OptionsError

MISTAKES: tuple[tuple[str, int, str], ...] = (
    ("sun:\n  - gsm8k", 1, "did you mean sum?"),
    ("sum: [gsm8k]\nmin: [math]", 1, "found sum and min"),
    ("sum:\n  - gsm8k\n  - reward: maht", 4, "did you mean math?"),
    ("sum:\n  - gsm8k\n  - reward: math\n    options: {unit: required}", 4, "did you mean units?"),
    ("sum:\n  - gsm8k\n  - reward: math\n    options: {units: middle}", 4, "'optional', 'required'"),
    ("sum:\n  - {reward: gsm8k, weight: much}", 3, "expected a number"),
    ("sum:\n  - {reward: gsm8k, wieght: 2}", 3, "did you mean weight?"),
    ("reward: gsm8k\ntimeout_s: 0", 1, "timeout_s must be a positive, finite number of seconds, found 0"),
    (
        "reward: gsm8k\ntimeout_s: .inf",
        1,
        "timeout_s must be a positive, finite number of seconds, found inf",
    ),
    (
        "reward: gsm8k\ntimeout_s: soon",
        1,
        "timeout_s must be a positive, finite number of seconds, found 'soon'",
    ),
    ("gate: [math, gsm8k]", 1, "a gate must be a mapping"),
    ("gate:\n  reward: math\n  then: gsm8k", 3, "expected a list of items"),
    ("gate:\n  reward: math\n  than: [gsm8k]", 3, "did you mean then?"),
    ("sum:\n  -\n  - math", 1, "expected a reward's name or a mapping, found None"),
    ("first: [math, gsm8k]\nuntil: rigth", 1, "expected decided or right"),
    ("vote:\n  - {reward: math, weight: -1}", 1, "weight above 0"),
    ("name: x\nsum: [x]", 1, "contains itself"),
    ("reward: nope.py:f", 1, "no such file"),
    ("sum: &a\n  - sum: *a", 3, "nested more than 40 levels"),
)
NO_YAML: tuple[tuple[str, int, str], ...] = (
    ("sum:\n\t- math", 3, "cannot start any token"),
    ("sum: !!python/object/apply:os.system ['id']", 2, "could not determine a constructor"),
    ("reward: math\n---\nreward: math", 3, "another document"),
    ("sum: [math]\nsum: [gsm8k]", 3, "a duplicate key"),
    ("? [a]\n: b", 2, "unhashable key"),
)


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES)
def test_a_mistake_is_said_with_file_and_line_and_what_would_be_right(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    (tmp_path / "r.yaml").write_text(f"data_sources: [my/mistake]\n{text}\n")
    with pytest.raises(OptionsError) as found:
        load_compositions(tmp_path / "r.yaml")
    message = str(found.value)
    assert message.startswith(f"{tmp_path / 'r.yaml'}, line {line}: "), message
    assert words in message and "\n" not in message


@pytest.mark.parametrize(("text", "line", "words"), NO_YAML)
def test_what_is_no_yaml_is_said_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    (tmp_path / "r.yaml").write_text(f"data_sources: [my/mistake]\n{text}\n")
    with pytest.raises(InputError) as found:
        load_compositions(tmp_path / "r.yaml")
    message = str(found.value)
    assert str(tmp_path / "r.yaml") in message and f"line {line}" in message
    assert words in message and "\n" not in message


@pytest.mark.parametrize("content", [b"", b"math", b"\xff\xfe\xff", b"sum: [math]"])
def test_a_file_that_holds_no_composition_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"r\.yaml"):
        load_compositions(tmp_path / "r.yaml")
