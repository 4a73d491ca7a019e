"""The examples of docs/tools.md and docs/own_tools.md, used as the pages say."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit.agents.loading import TOOLS, load_interactions, load_tools, open_interaction, open_tools

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "tools.md").read_text()
OWN = (DOCS / "own_tools.md").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    python = re.findall(r"```python\n(.*?)```", OWN, re.DOTALL)
    tools, interaction = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mine.py").write_text("\n".join(python))
    (tmp_path / "tools.yaml").write_text(tools)
    (tmp_path / "interaction.yaml").write_text(interaction)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_tools_of_the_page_do_what_it_says(folder: Path) -> None:
    assert list(load_tools(Path("tools.yaml")).kinds) == ["calculator", "code_interpreter", "notes"]
    assert list(load_tools("mine.py").kinds) == ["weather", "notes"]
    assert all(f"`{name}`" in PAGE for name in TOOLS)

    async def use() -> list[Any]:
        weather, notes = open_tools("mine.py")
        await weather.create()
        await notes.create(ground_truth="b")
        found = [
            (await weather.execute({"city": "Ulm", "days": "2"})).text,
            (await weather.execute({"city": "Ulm", "days": 8})).status,
            (await notes.execute({"note": "b"})).text,
            await notes.reward(),
        ]
        await weather.release()
        await notes.release()
        return found

    assert asyncio.run(use()) == ["Ulm: dry for 2 days", "bad_call", "1 kept", 1.0]


def test_the_interactions_of_the_page_do_what_it_says(folder: Path) -> None:
    assert list(load_interactions(Path("interaction.yaml"))) == ["gsm8k"]

    async def use() -> list[Any]:
        one = open_interaction("mine.py:HigherLower", "higherlower")
        await one.start(ground_truth="7", data_source="x")
        turns = [await one.respond([{"role": "assistant", "content": guess}]) for guess in ("5", "7")]
        await one.finish()
        return [turns[0].text, turns[1].done]

    assert asyncio.run(use()) == ["higher", True]
