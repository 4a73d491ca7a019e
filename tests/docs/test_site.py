"""The site of the documentation: its navigation, its generated pages, and a strict build where mkdocs is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewardkit.cli import COMMANDS
from rewardkit.registry import REGISTRY
from tests.docs.pages import ROOT

NAV = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]


@pytest.fixture(scope="module")
def hook() -> Any:
    spec = importlib.util.spec_from_file_location("site_hook", ROOT / "docs/site_hook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _entries(part)


def test_every_page_stands_once_in_the_navigation_and_every_entry_exists(hook: Any) -> None:
    entries = [*_entries(NAV)]
    assert len(entries) == len(set(entries))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= set(entries)
    made = {"index.md", *hook.GENERATED}
    assert not [one for one in entries if one not in made and not _is_file(one)]


def test_a_page_of_tasks_or_concepts_has_at_most_900_words_beside_its_code() -> None:
    (tasks,), (concepts,) = ([part[name] for part in NAV if name in part] for name in ("Tasks", "Concepts"))
    pages = {one: (ROOT / "docs" / one).read_text() for one in _entries([tasks, concepts])}
    words = {one: len(re.sub(r"(?ms)^```.*?^```", "", text).split()) for one, text in pages.items()}
    assert len(words) > 30
    assert not {one: n for one, n in words.items() if n > 900}


def _is_file(entry: str) -> bool:
    return (ROOT / "docs" / entry).is_file() or (ROOT / entry).is_file()


def test_the_generated_pages_name_every_command_reward_and_setting(hook: Any) -> None:
    pytest.importorskip("omegaconf", reason="settings need rewardkit[train]")
    pages = {name: text() for name, text in hook.GENERATED.items()}
    assert all(f"\n## rewardkit {name}\n" in pages["commands.md"] for name in COMMANDS)
    assert all(f"\n## {reward.name}\n" in pages["options.md"] for reward in REGISTRY)
    for section, setting in (("data", "train_files"), ("algorithm", "adv_estimator")):
        assert f"`{section}.{setting}` |" in pages["settings.md"].partition(f"\n### {section}\n")[2]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'rewardkit[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    pages = {path: path.read_text() for path in tmp_path.rglob("index.html")}
    assert 'href="training/">Train a model</a>' in pages[tmp_path / "algorithms/index.html"].replace(
        "../", ""
    )
    assert "<h1" in pages[tmp_path / "index.html"]
    unread = [str(path) for path, text in pages.items() if "<p>```" in text or "<p>|" in text]
    assert not unread, "blocks of code or tables that mkdocs does not recognise"


def test_the_map_of_the_folders_is_that_of_the_code() -> None:
    """After a change of the contract or of a first sentence: python docs/map.py."""
    spec = importlib.util.spec_from_file_location("docs_map", ROOT / "docs" / "map.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.BEGIN + made.drawn() + made.END in (ROOT / "docs" / "design.md").read_text()
