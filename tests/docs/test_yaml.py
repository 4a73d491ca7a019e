"""Every YAML file on the pages is loaded, and every key and value of a judge's file that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewardkit.agents.agent_files import register_agents
from rewardkit.agents.loading import load_interactions, load_tools
from rewardkit.commands.options.benchmarks import read_suite
from rewardkit.commands.serve import command as serve
from rewardkit.commands.serve_file import read_config
from rewardkit.composition import load_compositions
from rewardkit.datasets_prep.custom.mapping import read_mapping
from rewardkit.registry import Registry
from rewardkit.rewards.judge.file import JudgeFile, judge_of_file
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.spending import JudgeSpending
from tests.docs.pages import PAGES

_BASE = {"url": "http://localhost:9/v1", "model": "any"}


def _judge(path: Path) -> None:
    judge_of_file(path, ["any"])


LOADERS: dict[str, list[Callable[[Path], object]]] = {
    "audit": [load_compositions],
    "compose": [load_compositions],
    "evaluation": [read_suite],
    "frames": [load_compositions],
    "imports": [load_compositions],
    "judges": [_judge, _judge, _judge],
    "operate": [lambda path: read_config(path, serve)],
    "operation": [lambda path: read_config(path, serve)],
    "own_data": [lambda path: read_mapping(path, {})],
    "programs": [lambda path: register_agents(str(path), "agents")],
    "rubrics": [_judge],
    "tools": [load_tools, load_interactions],
    "verifiers": [_judge, load_compositions],
}
"""Reader of each YAML block, by page."""

_ALSO: dict[str, dict[str, Any]] = {
    "aggregate": {"rubric": True},
    "allow_missing": {"rubric": True},
    "logprobs": {"score_range": [1, 9]},
    "one_call": {"rubric": True},
    "structured": {"score_field": "score"},
    "votes": {"temperature": 0.7},
    "budget_usd": {"prices": {"any": {"input": 0.1, "output": 0.4}}},
}
"""Keys that a judge's key needs beside it."""

_KEYS = {
    *JudgeFile.__struct_fields__,
    *(one.name for kind in (JudgeOptions, JudgeSpending) for one in fields(kind)),
}
"""All keys of a judge's file."""


def _blocks(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)


def test_every_block_has_a_reader() -> None:
    blocks = {page.stem: len(_blocks(page.read_text())) for page in PAGES}
    assert {name: n for name, n in blocks.items() if n} == {name: len(of) for name, of in LOADERS.items()}


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in LOADERS], ids=lambda page: page.stem)
def test_the_yaml_of_a_page_is_loaded(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "template.txt").write_text("Judge {response}")
    for name in ("judge.yaml", "verifier.yaml"):
        (tmp_path / name).write_text("url: http://localhost:9/v1\nmodel: any\n")
    (tmp_path / "theirs.py").write_text(
        "def compute_score(solution_str, ground_truth, bonus=0):\n    return 1.0\n"
    )
    own = page.with_name(f"own_{page.name}")  # whose code the page's files name
    texts = [one.read_text() for one in (page, own) if one.exists()]
    fences = re.findall(r"```python\n(.*?)```", "".join(texts), re.DOTALL)
    (tmp_path / "mine.py").write_text("".join(fences))
    for fence in fences:
        if named := re.match(r"# (\w+\.py)\n", fence):
            (tmp_path / named[1]).write_text(fence)
    for number, (block, load) in enumerate(zip(_blocks(page.read_text()), LOADERS[page.stem], strict=True)):
        path = tmp_path / f"block{number}.yaml"
        path.write_text(block)
        load(path)


def _shown(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values that a page about judges shows: in blocks, comments and sentences."""
    for line in "".join(_blocks(text)).splitlines():
        found = re.match(r"(?:# )?([a-z_]+): ([^#]+?)(?:\s+#(.*))?$", line)
        if found:
            yield found[1], found[2]
            for other in re.findall(r"\bor (\w+)", found[3] or ""):
                yield (found[1], other) if not other.startswith("budget") else (other, found[2])
    yield from re.findall(r"`([a-z_]+): ([^`]+)`", text)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in ("judges", "rubrics", "verifiers")])
def test_every_value_that_is_shown_for_a_judge_is_read_from_yaml(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "any")
    shown = [
        (key, value) for key, value in _shown(page.read_text()) if key in _KEYS - {"criteria", "prompt_file"}
    ]
    values = {
        key: [value for one, value in shown if one == key] for key in dict.fromkeys(k for k, _ in shown)
    }
    if page.stem == "judges":
        assert {"off", "memory"} < set(values["cache"]) and len(values) > 20
    for key, value in shown:
        path = tmp_path / "judge.yaml"
        others: dict[str, Any] = {
            name: what for name, what in (_BASE | _ALSO.get(key, {})).items() if name != key
        }
        text = value.replace("...", "http://localhost:9/v1") if key == "models" else value
        path.write_text(f"{yaml.safe_dump(others)}{key}: {text if text != '|' else 'Judge {response}'}\n")
        judge_of_file(path, ["any"])


def test_every_key_in_the_tables_about_judges_exists() -> None:
    (page,) = (page for page in PAGES if page.stem == "judges")
    named = re.findall(r"^\| `([a-z_]+)(?:: \w+)?`", page.read_text(), re.MULTILINE)
    assert len(named) >= 8 and _KEYS.issuperset(named)
