"""Every command of the README, of docs/ and of the help's examples is one that works.

All are read by the command line itself, so that no option is a mistake; those that need no model, server or
foreign data are run as they stand, in a folder with the files that they name; where a page shows what a command
prints, that is what it prints.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewardkit
from rewardkit.cli import COMMANDS, cli, run
from rewardkit.user_files import user_module_name
from tests.docs.pages import PAGES, README, ROOT, commands, first_commands, script, write_code
from tests.generation.endpoints import Server
from tests.logs import written as logs

ONLY_READ = {
    "serve": "listens for ever; tests/server",
    "train": "tests/trainer",
    "sft": "tests/trainer/sft",
    "rm": "tests/trainer/pairs",
    "dpo": "tests/trainer/pairs",
    "demo": "takes minutes; tests/trainer",
    "export": "needs a checkpoint; tests/trainer/checkpoint",
    "doctor": "tries escapes; tests/sandbox",
    "prep": "foreign data; tests/datasets_prep",
    "check": "foreign data; tests/datasets_prep",
}
ONLY_READ_WITH = (
    *("--reward-model", "--judge", "--agent external", "--env", "math_verify", "sandbox.url", "--engine ray"),
    *("eval gsm8k --model", "eval gsm8k math500", "--suite"),
)
"""What needs a model, a judge, another library, a server, a cluster, or the hub."""


def _of_help() -> list[str]:
    context = click.Context(cli)
    groups = [cli, *(cli.get_command(context, name) for name in COMMANDS)]
    epilogs = [one.epilog or "" for one in groups if one is not None]
    examples = [re.sub(r"^Examples?: ", "", text) for text in epilogs]
    return sorted({one.strip() for text in examples for one in re.split(r";  | && ", text) if one.strip()})


def _words(command: str) -> list[str]:
    return shlex.split(command, comments=True)[1:]


def _is_only_read(command: str) -> bool:
    words = _words(command)
    if words[:2] == ["prep", "arithmetic"] or (words[:2] == ["prep", "gsm8k"] and "--raw" in words):
        return False
    return words[0] in ONLY_READ or any(word in command for word in ONLY_READ_WITH)


ALL = sorted({*(command for page in PAGES for command in commands(page.read_text())), *_of_help()})


@pytest.mark.parametrize("command", ALL)
def test_every_command_is_understood(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = ("train.parquet", *(f"data/{name}train.parquet" for name in ("", "arithmetic/", "mbpp/")))
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "rewards_server.yaml").write_text("port: 8000\n")
    group: Any = cli
    words = _words(command)
    with ExitStack() as stack:
        context = stack.enter_context(click.Context(group, info_name="rewardkit"))
        while isinstance(group, click.Group):
            name, *words = words
            found = group.get_command(context, name)
            assert found is not None, f"no command {name}"
            group, context = found, stack.enter_context(click.Context(found, info_name=name, parent=context))
        group.parse_args(context, words)


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("playground")
    sample = Path(rewardkit.__file__).parent / "assets" / "responses.jsonl"
    rows = [json.loads(line) for line in sample.read_text().splitlines()]
    lists = [rows[i] | {"responses": [row["response"] for row in rows[i : i + 4]]} for i in range(0, 80, 4)]
    for row in lists:
        del row["response"], row["finish_reason"]
    sources = {
        "math": "72",
        "instructions": json.dumps({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}),
    }
    others = [
        {
            **rows[0],
            "data_source": source,
            "ground_truth": truth,
            "prompt": [{"role": "user", "content": source}],
        }
        for source, truth in sources.items()
    ]
    composed = [{**row, "data_source": "my/math1"} for row in rows]
    for name, held in (
        ("responses", [*rows, *others]),
        ("out", rows),
        ("words", rows),
        ("composed", composed),
    ):
        pq.write_table(pa.Table.from_pylist(held), folder / f"{name}.parquet")
    pq.write_table(pa.Table.from_pylist(lists), folder / "lists.parquet")
    for place in ("data/test.parquet", "data/gsm8k/test.parquet", "data.parquet"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        bare = [{name: row[name] for name in ("data_source", "prompt", "ground_truth")} for row in rows[:8:4]]
        pq.write_table(pa.Table.from_pylist(bare), folder / place)
    rewardkit.prepare("mbpp", folder / "data/mbpp", raw=str(ROOT / "tests/data/mbpp"), limit=3, verify="off")
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    word = {"data_source": "my/spelling", "response": "word", "ground_truth": "word"}
    (folder / "words.jsonl").write_text(json.dumps(word) + "\n")
    (folder / "rollouts").mkdir()
    for path, dump in (("rollouts/40.jsonl", logs.verl_dump()), ("rollouts.jsonl", logs.verl_dump())):
        (folder / path).write_text("".join(json.dumps(row) + "\n" for row in dump))
    batch = "".join(json.dumps(row) + "\n" for row in logs.batch_output())
    (folder / "batch_output.jsonl").write_text(batch)
    answers = [{"id": f"q{i}", "answer": "7", "data_source": "gsm8k"} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(answers), folder / "questions.parquet")
    raw = folder / "grade-school-math" / "data"
    raw.mkdir(parents=True)
    for split in ("train", "test"):
        (raw / f"{split}.jsonl").write_bytes((ROOT / "tests/data/gsm8k" / f"{split}.jsonl").read_bytes())
    (folder / "generation.yaml").write_text("rollout: {name: vllm}\nray_init: {num_cpus: null}\n")
    (folder / "evaluation.yaml").write_text(
        "data: {response_key: responses, reward_model_key: reward_model}\n"
    )
    for page in PAGES:
        write_code(page, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")  # programs run our python
        for before, after in (("lists", "gen"), ("responses", "before"), ("responses", "after")):
            target = f"{after}.parquet" if after == "gen" else f"{after}.scored.parquet"
            assert run(["score", f"{before}.parquet", "--out", target]) == 0
        assert run(["score", "responses.parquet", "--out", "scored.parquet"]) == 0
        assert run(["diff", "responses.parquet", "--pin", "golden.jsonl"]) == 0
        assert run(["lock", "responses.parquet"]) == 0
        yield folder


WALKED = {command.strip() for page in PAGES for command in first_commands(page)} | {*commands(script(README))}
"""Typed in test_first_commands.py."""
RUN = sorted({*ALL} - WALKED)
RUN = [command for command in RUN if not _is_only_read(command)]


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN)
def test_a_command_runs_as_it_stands(
    playground: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(playground)
    monkeypatch.setenv("XDG_CACHE_HOME", str(playground / "cache"))
    for path in playground.glob("*.py"):  # as in a process of its own
        monkeypatch.delitem(sys.modules, user_module_name(path), raising=False)
    words = _words(command)
    if "rewards.yaml" in words:  # whose composition is for rows of its own
        words = [word.replace("responses.parquet", "composed.parquet") for word in words]
    server = Server() if words[0] == "generate" or "--model" in words else None
    if server is not None:
        words = [word.replace("http://HOST/v1", server.url) for word in words]
        words += [] if "--url" in words else ["--url", server.url]
    if words[0] in ("prep", "score", "generate", "eval", "lock"):
        words += ["--force"]
    try:
        assert run(words) == 0, capsys.readouterr().err
    finally:
        if server is not None:
            server.close()


def test_the_readme_s_python_prints_what_its_comment_says(capsys: pytest.CaptureFixture[str]) -> None:
    block = next(b for b in re.findall(r"```python\n(.*?)```", README.read_text(), re.S) if "Scorer" in b)
    exec(block, {})
    assert capsys.readouterr().out.split() == block.rpartition("#")[2].split()
