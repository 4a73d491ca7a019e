"""Everything that the pages docs/extending*.md say how to add can be added so, in the core and in a package.

The blocks of code on those pages are put into a copy of the source tree, in the number of files that the page says; and
into a package that is installed beside rewardkit. The same test then uses the addition, wherever it comes from.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.trainer.running import Program

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "server", "trainer", "datasets_prep")
BLOCK = re.compile(
    r"^`([^`\n]+)`, (?:a new file|after `([^`\n]+)`):\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
PACKAGE = re.compile(
    r"^In a package, `(\w+)\.py`(?: is the new file above(.*?)|:)\n\n(?:```python\n(.*?)^```\n\n)?```toml\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBERS = {"This changes one file": 1, "This changes two files": 2, "This changes three files": 3}


def sections() -> Mapping[str, str]:
    """Return the text of each section of the pages, by heading."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("extending*.md"))]
    parts = [part.partition("\n") for page in pages for part in page.split("\n## ")[1:]]
    return {heading: text for heading, _, text in parts}


class Place:
    """A folder in which rewardkit has an addition, in its own source tree or from an installed package."""

    def __init__(self, root: Path, python: str, path: str, *installed: Path) -> None:
        """Take a folder, an interpreter, where it finds rewardkit, and folders in which only it has packages."""
        self.root = root
        self.python = python
        self.installed = installed
        self.environment = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin"}

    def run(self, *arguments: str) -> str:
        """Run Python in the folder; return what it printed."""
        done = self.tried(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tried(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the folder, whatever its exit code."""
        return subprocess.run(
            [self.python, *arguments], cwd=self.root, env=self.environment, capture_output=True, text=True
        )


def in_a_copy(root: Path, section: str) -> Place:
    """Return a copy of the source tree to which a section's additions have been made."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, root / room, symlinks=True)
    text = sections()[section]
    touched = set()
    for name, after, code in BLOCK.findall(text):
        _add(root / name, after, code)
        touched.add(name)
    said = next(number for words, number in NUMBERS.items() if text.lstrip().startswith(words))
    assert len(touched) == said
    return Place(root, sys.executable, str(root))


def _add(path: Path, after: str, code: str) -> None:
    if not after:
        assert not path.exists()
        path.write_text(code, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    (place,) = (i for i, line in enumerate(lines) if line.strip() == after)
    lines.insert(place + 1, code)
    path.write_text("".join(lines), encoding="utf-8")


class Row(NamedTuple):
    """A section's addition as a part of a package."""

    module: str
    source: str
    entry_points: str


def row_of(text: str) -> Row | None:
    """Return what a section adds in a package; None for an addition that only the core can have."""
    found = PACKAGE.search(text)
    if found is None:
        return None
    module, behind, code, entry_points = found.groups()
    new = next((code for _, after, code in BLOCK.findall(text) if not after), "")
    source = code if behind is None else new + (code or "")
    return Row(module, source, entry_points)


class Environment:
    """A Python environment beside ours, which has all that ours has and one package more."""

    def __init__(self, root: Path) -> None:
        self.root = root
        venv.create(root / "venv", with_pip=False, symlinks=True)
        self.python = str(root / "venv" / "bin" / "python")
        (self.libraries,) = (root / "venv" / "lib").glob("python*/site-packages")
        ours = [folder for folder in site.getsitepackages() if os.path.isdir(folder)]
        (self.libraries / "ours.pth").write_text(
            "".join(f"import site; site.addsitedir({one!r})\n" for one in ours)
        )

    def pip(self, *words: str) -> None:
        """Run pip for the environment."""
        command = [sys.executable, "-m", "pip", "--python", self.python, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def install(self) -> None:
        """Install a package with the rows of all sections."""
        folder = self.root / "package"
        folder.mkdir()
        rows = [row for text in sections().values() if (row := row_of(text)) is not None]
        for row in rows:
            (folder / f"{row.module}.py").write_text(row.source, encoding="utf-8")
        (head,) = re.findall(
            r"```toml\n(\[build-system\].*?)^```$", sections()["A package of your own"], re.M | re.S
        )
        head = head.partition("[project.entry-points")[0]
        modules = json.dumps([row.module for row in rows])
        head = re.sub(r"py-modules = .*", f"py-modules = {modules}", head)
        (folder / "pyproject.toml").write_text(head + "\n".join(row.entry_points for row in rows))
        self.pip("install", "--no-index", "--no-deps", "--no-build-isolation", str(folder))

    def at(self, root: Path) -> Place:
        """Return a folder to work in with this environment."""
        return Place(root, self.python, str(ROOT), self.libraries)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    pytest.importorskip("setuptools", minversion="77", reason="a package is built with setuptools")
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install()
    return made


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    section, where = request.param
    if where == "core":
        return in_a_copy(tmp_path, section)
    made: Environment = request.getfixturevalue("environment")
    return made.at(tmp_path)


def added(section: str) -> pytest.MarkDecorator:
    """Run a test with a section's addition, in the core and in a package if it can be in one."""
    places = ["core"] if row_of(sections()[section]) is None else ["core", "package"]
    return pytest.mark.parametrize("copy", [(section, one) for one in places], ids=places, indirect=True)


def test_uninstalling_a_package_leaves_no_trace(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77", reason="a package is built with setuptools")
    environment = Environment(tmp_path)
    place = environment.at(tmp_path)
    before = place.run("-m", "rewardkit", "list")
    environment.install()
    during = place.run("-m", "rewardkit", "list")
    for row in filter(None, map(row_of, sections().values())):
        for name in re.findall(r"^([\w-]+) = ", row.entry_points, re.M):
            assert re.search(rf"\b{name}\b", during), name
    assert "my-kinds 1.0" in during
    environment.pip("uninstall", "--yes", "my-kinds")
    assert place.run("-m", "rewardkit", "list") == before


def test_the_pages_show_a_row_for_every_table() -> None:
    """Only rewardkit's own extras add rows in the form of another project's scripts (`row_forms`)."""
    opened = re.compile(r'\b(?:Table\(|added_rows\()\s*"(\w+)"')
    files = [
        path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "__pycache__" not in path.parts
    ]
    tables = {name for path in files for name in opened.findall(path.read_text(encoding="utf-8"))}
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    shown = set(re.findall(r"\brewardkit\.(\w+)[\"`]", pages))
    assert len(tables) > 15
    assert tables - shown == {"row_forms"}


@added("A reward that ships with rewardkit")
def test_a_reward_of_ours_is_added_in_two_files(copy: Place) -> None:
    rows = [{"data_source": "palindrome", "response": text, "ground_truth": ""} for text in ("Anna", "Anne")]
    (copy.root / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    copy.run("-m", "rewardkit", "score", "rows.jsonl", "--out", "scored.jsonl")
    scored = [json.loads(line) for line in (copy.root / "scored.jsonl").read_text().splitlines()]
    assert [(row["score"], row["scorer"]) for row in scored] == [(1.0, "palindrome@1"), (0.0, "palindrome@1")]


@added("A tool-call format")
def test_a_format_of_tool_calls_is_added_in_two_files(copy: Place) -> None:
    use = """
from rewardkit import Sample
from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.tool_calls.formats import detect, read

call = '{"name": "f", "arguments": {"x": 1}}'
print(read("phi4", f"I look. <|tool_call|>[{call}]<|/tool_call|>"))
print(read("phi4", f"<|tool_call|>[{call[:-1]}]")[1][0].error)
options = ToolCallOptions(formats=("phi4",))
print(score(Sample("bfcl", f"<|tool_call|>[{call}]<|/tool_call|>", call), options).score)
print(detect("{{ tools }}<|tool_call|>"))
"""
    read, error, score, found = copy.run("-c", use).splitlines()
    assert (
        read
        == "('I look.', [" + "Call(name='f', arguments={'x': 1}, id='call_0', error=None, untyped=False)])"
    )
    assert error.startswith("the call is not JSON")
    assert (score, found) == ("1.0", "phi4")


@added("A kind of log")
def test_a_kind_of_log_is_added_in_one_file(copy: Place) -> None:
    tries = ["#### 7", "#### 8"]
    rows = [
        {"question": "3+4?", "tries": tries, "solution": "7"},
        {"question": "?", "tries": None, "solution": "7"},
    ]
    (copy.root / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    copy.run("-m", "rewardkit", "score", "answers.jsonl", "--data-source", "gsm8k", "--out", "scored.jsonl")
    scored = [json.loads(line) for line in (copy.root / "scored.jsonl").read_text().splitlines()]
    assert [(row["score"], row["status"]) for row in scored] == [
        ([1.0, 0.1], ["ok", "ok"]),
        ([None], ["invalid"]),
    ]
    assert "'tries' must be a list" in str(scored[1])


@added("A frame")
def test_a_frame_is_added_in_one_file(copy: Place) -> None:
    use = """
from rewardkit import Sample, Scorer
with Scorer() as scorer:
    for source, response, truth in (
        ("mmlu", "A or [[B]].", "B"), ("number", "[[7]] no [[8]]", "8"), ("squad", "[[Paris]]", "Paris"),
    ):
        found = scorer.score(Sample(source, response, truth, "Which?\\nA. x\\nB. y"))
        print(found.score, found.extracted)
"""
    assert copy.run("-c", use).splitlines() == ["1.0 B", "1.0 8", "1.0 Paris"]


@added("A unit of measure")
def test_a_unit_is_added_in_one_file(copy: Place) -> None:
    use = """
from rewardkit.rewards.math import compare
for answer in (r"4.6\\text{ nat}", r"2\\text{ ban}", r"2\\text{ nat}", r"2\\text{ cm}"):
    print(compare(r"2\\text{ ban}", answer).outcome)
"""
    assert copy.run("-c", use).split() == ["equal", "equal", "not_equal", "not_equal"]


@added("A file format")
def test_a_file_format_is_added_in_three_files(copy: Place) -> None:
    rows = "".join(f"- {{data_source: gsm8k, response: '#### {n}', ground_truth: '7'}}\n" for n in (7, 8))
    (copy.root / "rows.yaml").write_text(rows)
    copy.run("-m", "rewardkit", "score", "rows.yaml", "--out", "scored.jsonl")
    scored = [json.loads(line) for line in (copy.root / "scored.jsonl").read_text().splitlines()]
    assert [row["score"] for row in scored] == [1.0, 0.1]


@pytest.mark.slow
@added("A setting of the trainer")
def test_a_setting_of_the_trainer_is_added_in_two_files(copy: Place) -> None:
    assert len(train_two_steps(copy, "trainer.rest_s=0.01")) == 2
    words = ["data.train_files=train.parquet", "actor_rollout_ref.model.path=model", "trainer.rest_s=-1"]
    done = copy.tried("-m", "rewardkit", "train", "--config", "tiny-cpu", *words)
    assert done.returncode and "trainer.rest_s" in done.stderr and "0 or more" in done.stderr


@pytest.mark.slow
@added("A dataset")
def test_a_dataset_is_added_in_two_files(copy: Place) -> None:
    raw = copy.root / "raw"
    raw.mkdir()
    for split in ("train", "test"):
        row = {"beginning": f"Better late ({split})", "end": "than never"}
        (raw / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    copy.run("-m", "rewardkit", "prep", "proverbs", "--raw", "raw", "--out", "made", "--no-verify")
    printed = copy.run(
        "-c", "import pyarrow.parquet as p; print(p.read_table('made/test.parquet')['ground_truth'])"
    )
    assert "than never" in printed


@added("A wire protocol")
def test_a_wire_protocol_is_added_in_two_files(copy: Place) -> None:
    use = """
import sys
from fastapi import FastAPI
from fastapi.testclient import TestClient
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.protocols import ROUTERS, ProtocolContext
from rewardkit.server.request_scoring import RequestScorer

with Scorer(workers=1) as scorer:
    app = FastAPI()
    for router in ROUTERS.values():
        app.include_router(router(ProtocolContext(RequestScorer(scorer))))
    body = {"pairs": [["#### 72", "72"], ["#### 73", "72"]]}
    print(TestClient(app).post("/plain_pairs/gsm8k", json=body).json())
"""
    assert json.loads(copy.run("-c", use).replace("'", '"')) == {"rewards": [1.0, 0.1]}


@added("A language")
def test_a_language_is_added_in_two_files(copy: Place) -> None:
    if shutil.which("perl", path="/usr/bin:/bin") is None:
        pytest.skip("the example is Perl, which is not on this machine")
    use = """
import json
from rewardkit import Sample
from rewardkit.rewards.code.code_reward import CodeOptions, score

program = "```pl\\nmy $s = 0; $s += $_ for split ' ', <STDIN>; print qq{$s\\\\n};\\n```"
for expected in ("42", "43"):
    truth = json.dumps({"tests": [{"input": "40 2", "output": expected}]})
    found = score(Sample("apps", program, truth), CodeOptions())
    print(found.status, found.score, found.detail)
"""
    right, wrong = copy.run("-c", use).splitlines()
    if "no isolation level works" in right:
        pytest.skip(right)
    assert right.startswith("ok 1.0 1/1 tests passed; perl, level")
    assert wrong.startswith("ok 0.0 0/1")


@added("An answer type")
def test_an_answer_type_is_added_in_three_files(copy: Place) -> None:
    use = """
from rewardkit.rewards.math import compare

for answer in ("#FF8000", "#ff8001", "8000"):
    verdict = compare("#ff8000", answer)
    print(verdict.outcome, verdict.tier)
"""
    assert copy.run("-c", use).splitlines() == ["equal tree", "not_equal tree", "not_equal tree"]


@added("A command")
def test_a_command_is_added_in_two_files(copy: Place) -> None:
    assert "openai/gsm8k" in copy.run("-m", "rewardkit", "sources").splitlines()


ROWS = [
    {
        "data_source": "rewardkit/arithmetic",
        "prompt": [{"role": "user", "content": f"Tom has {n}. How many?"}],
        "ground_truth": str(n),
    }
    for n in range(8)
]


def train_two_steps(copy: Place, *settings: str) -> list[dict[str, float]]:
    """Train a tiny model with the copy of the source tree; return the metrics of its steps."""
    pytest.importorskip("omegaconf", reason="the trainer needs omegaconf: pip install 'rewardkit[train]'")
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.Table.from_pylist(ROWS), copy.root / "train.parquet")
    pytest.importorskip("torch", reason="the trainer needs torch: pip install 'rewardkit[train]'")
    from rewardkit.demo.model import make_model, make_tokenizer, save

    tokenizer = make_tokenizer(
        ["Tom has 3 apples and buys 4 more. How many now?", "1+2=3\n#### 3"], vocab_size=320
    )
    save(make_model(tokenizer, seed=0), tokenizer, copy.root / "model")
    words = (
        *("rewardkit", "train", "--config", "tiny-cpu", "data.train_files=train.parquet"),
        *("data.train_batch_size=4", "data.max_response_length=4", "actor_rollout_ref.model.path=model"),
        *("actor_rollout_ref.actor.ppo_mini_batch_size=2", "actor_rollout_ref.rollout.name=hf"),
        *("trainer.total_training_steps=2", "trainer.val_before_train=false", "trainer.test_freq=-1"),
        *("trainer.logger=[jsonl]", "trainer.default_local_dir=out", *settings),
    )
    # A server has torch imported already, and is told where packages lie that it does not have.
    path = os.pathsep.join([copy.environment["PYTHONPATH"], *map(str, copy.installed)])
    environment = copy.environment | {"PYTHONPATH": path}
    program = Program(*words, folder=copy.root, environment=environment, anew=True)
    _, said = program.communicate(timeout=600)
    assert program.poll() == 0, said
    lines = (copy.root / "out" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
@added("An advantage estimator and its loss")
def test_an_estimator_and_its_loss_are_added_in_two_files(copy: Place) -> None:
    steps = train_two_steps(
        copy,
        "algorithm.adv_estimator=median",
        "actor_rollout_ref.actor.policy_loss.loss_mode=unclipped",
        "actor_rollout_ref.rollout.n=3",
    )
    assert [step["actor/pg_clipfrac"] for step in steps] == [0.0, 0.0]
    assert "critic/vf_loss" not in steps[0], "the table says that it needs no critic"


@added("A rollout engine")
@pytest.mark.slow
def test_a_rollout_engine_is_added_in_two_files(copy: Place) -> None:
    steps = train_two_steps(copy, "actor_rollout_ref.rollout.name=no_cache")
    from tests.closeness import K3  # not at the top: it needs torch, and other tests here do not

    assert all(step["training/rollout_actor_kl"] < K3 for step in steps)


@pytest.mark.slow
@added("A tracker")
def test_a_tracker_is_added_in_one_file(copy: Place) -> None:
    train_two_steps(copy, "trainer.logger=[jsonl,csv]")
    assert "critic/rewards/mean" in (copy.root / "out" / "metrics.csv").read_text()


@added("A kind of foreign reward")
def test_a_kind_of_foreign_reward_is_added_in_two_files(copy: Place) -> None:
    use = """
from rewardkit import Sample, Scorer
from rewardkit.foreign import load_reward

load_reward("pattern:^yes")
with Scorer(workers=1) as scorer:
    print([scorer.score(Sample("any", response, "")).score for response in ("yes!", "no")])
"""
    assert copy.run("-c", use).strip() == "[1.0, 0.0]"


ROW = '{"data_source": "my/row", "prompt": [{"role": "user", "content": "3+4?"}], "ground_truth": "7"}\n'


@added("An engine for `generate`")
def test_an_engine_is_added_in_two_files(copy: Place) -> None:
    (copy.root / "rows.jsonl").write_text(ROW)
    words = ("generate", "rows.jsonl", "--engine", "repeat", "--model", "none", "--out", "said.jsonl")
    copy.run("-m", "rewardkit", *words)
    assert "3+4?" in json.loads((copy.root / "said.jsonl").read_text())["responses"]


@added("An agent loop")
def test_an_agent_loop_is_added_in_two_files(copy: Place) -> None:
    use = """
import rewardkit.agents.resolving
from rewardkit.agents.registry import AGENTS

print(AGENTS.resolve("ask_twice").tools, "ask_twice" in AGENTS.names())
"""
    assert copy.run("-c", use).split() == ["none", "True"]


@added("An environment")
def test_an_environment_is_added_in_two_files(copy: Place) -> None:
    use = """
import asyncio
from rewardkit.agents.environments.environment import make_environment, read_spec
from rewardkit.agents.episode_row import EpisodeRow

async def play():
    row = EpisodeRow([], extra_info={"env_kwargs": {"number": 3}})
    environment = make_environment(read_spec("guess:9"), row)
    print((await environment.open()).text)
    for guess in ("2", "3"):
        print(await environment.say(guess))

asyncio.run(play())
"""
    opening, low, right = copy.run("-c", use).splitlines()
    assert "1 to 9" in opening and "Too low." in low and "done=True" in right


@added("A judge's preset")
def test_a_preset_is_added_in_one_file(copy: Place) -> None:
    (copy.root / "judge.yaml").write_text("url: http://localhost:1\nmodel: m\npreset: yes-or-no\n")
    use = """
from pathlib import Path
from rewardkit.rewards.judge.file import judge_of_file

print(judge_of_file(Path("judge.yaml")).make_options({}).verdicts)
"""
    assert "'Yes': 1.0" in copy.run("-c", use)


@pytest.mark.slow
@added("A metric and its chart")
def test_a_metric_and_its_chart_are_added_in_three_files(copy: Place) -> None:
    steps = train_two_steps(copy)
    assert all(0 <= step["response_length/full_share"] <= 1 for step in steps)
    copy.run("-m", "rewardkit", "view", "out")
    assert "Full responses" in (copy.root / "out" / "metrics.html").read_text()


@pytest.mark.slow
def test_the_additions_pass_the_linters(tmp_path: Path) -> None:
    """All of them in one copy: style, format, and the direction of imports."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, symlinks=True)
    for name in ("pyproject.toml", "extras", "rewardkit_extras"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    touched = set()
    for text in sections().values():
        for name, after, code in BLOCK.findall(text):
            _add(tmp_path / name, after, code)
            touched.add(name)
    for text in filter(None, map(row_of, sections().values())):
        (tmp_path / f"{text.module}.py").write_text(text.source, encoding="utf-8")
    place = Place(tmp_path, sys.executable, str(tmp_path))
    files = sorted(touched)
    lint = place.tried("-m", "ruff", "check", *files)
    assert lint.returncode == 0, lint.stdout
    style = place.tried("-m", "ruff", "format", "--check", "--diff", *files)
    assert style.returncode == 0, style.stdout
    imports = place.tried(
        "-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    assert imports.returncode == 0, imports.stdout
