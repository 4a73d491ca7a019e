"""The site of the documentation: its navigation, its generated pages, and a strict build where mkdocs is installed."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import rewardkit
from rewardkit import errors
from rewardkit.cli import COMMANDS
from rewardkit.registry import REGISTRY
from rewardkit.trainer.alarms import RULES
from rewardkit.trainer.config.explain import explain
from rewardkit.trainer.config.stages import SCHEMAS, schema_named
from tests.docs.pages import READERS, ROOT

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


def test_the_groups_of_the_navigation_have_seven_pages_at_most() -> None:
    groups = {name: entries for part in NAV for name, entries in part.items() if isinstance(entries, list)}
    assert len(groups) > 5
    assert not {name: len(entries) for name, entries in groups.items() if len(entries) > 7}


def test_the_pages_of_a_reader_come_first() -> None:
    first = [*_entries(NAV[:3])]
    assert first == ["index.md", *(f"{name}.md" for name in READERS)]


def test_a_page_outside_the_reference_has_at_most_900_words_and_the_readme_120_lines() -> None:
    groups = [part for part in NAV if not {"Project", "Home"}.intersection(part)]
    told = [part for part in groups if not next(iter(part)).startswith("Reference")]
    assert len(groups) > len(told)
    words = {one: len((ROOT / "docs" / one).read_text().split()) for one in _entries(told)}
    assert len(words) > 50
    assert not {one: n for one, n in words.items() if n > 900}
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def _is_file(entry: str) -> bool:
    return (ROOT / "docs" / entry).is_file() or (ROOT / entry).is_file()


def test_the_generated_pages_name_every_command_reward_and_setting(hook: Any) -> None:
    pages = {name: text() for name, text in hook.GENERATED.items()}
    assert all(f"\n## rewardkit {name}\n" in pages["commands.md"] for name in COMMANDS)
    assert all(f"\n## {reward.name}\n" in pages["options.md"] for reward in REGISTRY)
    for section, setting in (("data", "train_files"), ("algorithm", "adv_estimator")):
        assert f"\n#### {section}.{setting} {{ #" in pages["settings.md"].partition(f"\n### {section}\n")[2]
    for rule in RULES:
        assert f"(settings.md#trainer.alarms.{rule.name})" in pages["messages.md"]


def test_every_setting_has_a_meaning_a_type_and_an_example_that_it_takes(hook: Any) -> None:
    for stage in SCHEMAS:
        schema = schema_named(stage)
        settings = explain(None, (), schema)
        assert all(one.meaning and one.kind for one in settings)
        once = [hook.example(one) for one in settings]
        assert [one for one in once if one.partition("=")[0].removesuffix(".NAME") in one] == once
        found = {one.key: one for one in explain(None, once, schema)}
        assert {one.key for one in settings if found[one.key].origin != "command line"} == set()
    by_key = {one.key: one for one in explain(None, ())}
    assert by_key["algorithm.lam"].kind == "number" and by_key["algorithm.lam"].allowed == "from 0 to 1"
    assert by_key["data.leave_out"].kind == "list of text"
    assert by_key["trainer.max_ckpt_to_keep"].kind == "whole number, or null"
    assert by_key["critic.optim.betas"].kind == "list of 2 numbers"


def test_every_error_says_what_to_do(hook: Any) -> None:
    kinds = [
        kind for kind in vars(errors).values() if inspect.isclass(kind) and kind.__module__ == errors.__name__
    ]
    page = hook.messages()
    for kind in (kind for kind in kinds if kind is not errors.RewardkitError):
        part = page.partition(f"\n### {kind.__name__} {{")[2].partition("\n### ")[0]
        assert "\n- what to do: " in part and f"\n- exit code: {kind.exit_code}\n" in part


def test_the_summary_of_a_page_is_its_first_sentence(hook: Any) -> None:
    page = "# T\n\n    code\n\n- an item\n\nA page of [words](x.md#y), see `a.b`. And more.\n\n```\nCode is no text.\n```"
    assert hook._summary(page) == "A page of words, see `a.b`."
    assert hook._summary("# T\n\n```python\nA = 1 + 2\n```\n\nIt has two\nlines: `x`") == "It has two lines"


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
    _check_settings(tmp_path)
    _check_markdown(tmp_path, {path.parent.relative_to(tmp_path) for path in pages})
    assert all(f"rewardkit {rewardkit.__version__}" in text for text in pages.values())
    unread = [str(path) for path, text in pages.items() if "<p>```" in text or "<p>|" in text]
    assert not unread, "blocks of code or tables that mkdocs does not recognise"


def _check_settings(site: Path) -> None:
    """A search for the full name of a setting finds its own place, which no other part of the page repeats."""
    index = json.loads((site / "search/search_index.json").read_text())
    found = {one["location"]: one["title"] for one in index["docs"]}
    keys = [one.key for one in explain(None, ())]
    assert {found[f"settings/#{key}"] for key in keys} == set(keys)
    assert found["settings/#sft.trainer.save_freq"] == "trainer.save_freq"


LINKED = re.compile(r"\]\(([^)#\s]*)(?:#\S*)?\)")


def _check_markdown(site: Path, pages: set[Path]) -> None:
    """llms.txt lists each page of the navigation, and each page's Markdown has links that lead somewhere."""
    listed = LINKED.findall(re.sub(r": .*", "", (site / "llms.txt").read_text()))
    assert listed == [*_entries(NAV)]
    texts = {site / "llms.txt", *(site / name for name in listed)}
    assert texts <= {*site.rglob("*.md"), site / "llms.txt"} and len(pages) >= len(listed)
    lost = [
        f"{text.name}: {link}"
        for text in {*site.rglob("*.md"), *texts}
        for link in LINKED.findall(_without_code(text.read_text()))
        if link and "://" not in link and not link.startswith("mailto:") and not (text.parent / link).exists()
    ]
    assert not lost


def _without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```|^ {4}.*?$|`[^`]*`", "", text)


def test_the_map_of_the_folders_is_that_of_the_code() -> None:
    """After a change of the contract or of a first sentence: python docs/map.py."""
    spec = importlib.util.spec_from_file_location("docs_map", ROOT / "docs" / "map.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.BEGIN + made.drawn() + made.END in (ROOT / "docs" / "design.md").read_text()
