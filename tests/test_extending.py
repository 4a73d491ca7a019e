"""Everything that the pages docs/extending*.md say how to add can be added so, in the number of files that they say.

The blocks of code on those pages that name a file are put into a copy of the source tree; the addition is then used.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.trainer.running import Program

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "server", "trainer", "datasets_prep")
BLOCK = re.compile(
    r"^`([^`\n]+)`, (?:a new file|after `([^`\n]+)`):\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
NUMBERS = {"This changes one file": 1, "This changes two files": 2, "This changes three files": 3}


class Copy:
    """A copy of the source tree to which one section's additions have been made."""

    def __init__(self, root: Path, section: str) -> None:
        self.root = root
        self.environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
        for room in ROOMS:
            shutil.copytree(ROOT / room, root / room, symlinks=True)
        pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("extending*.md")]
        text = "\n".join(pages).split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
        touched = set()
        for name, after, code in BLOCK.findall(text):
            self._add(root / name, after, code)
            touched.add(name)
        said = next(number for words, number in NUMBERS.items() if text.lstrip().startswith(words))
        assert len(touched) == said

    def _add(self, path: Path, after: str, code: str) -> None:
        if not after:
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (place,) = (i for i, line in enumerate(lines) if line.strip() == after)
        lines.insert(place + 1, code)
        path.write_text("".join(lines), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """Run this tree's Python in its folder; return what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path, request: pytest.FixtureRequest) -> Copy:
    return Copy(tmp_path, request.param)


def added(section: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("copy", [section], indirect=True)


@added("A reward that ships with rewardkit")
def test_a_reward_of_ours_is_added_in_two_files(copy: Copy) -> None:
    rows = [{"data_source": "palindrome", "response": text, "ground_truth": ""} for text in ("Anna", "Anne")]
    (copy.root / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    copy.run("-m", "rewardkit", "score", "rows.jsonl", "--out", "scored.jsonl")
    scored = [json.loads(line) for line in (copy.root / "scored.jsonl").read_text().splitlines()]
    assert [(row["score"], row["scorer"]) for row in scored] == [(1.0, "palindrome@1"), (0.0, "palindrome@1")]


@added("A tool-call format")
def test_a_format_of_tool_calls_is_added_in_two_files(copy: Copy) -> None:
    use = """
from rewardkit import Sample
from rewardkit.rewards.tool_call import ToolCallOptions, score
from rewardkit.tool_calls.formats import detect, read

call = '{"name": "f", "arguments": {"x": 1}}'
print(read("phi4", f"I look. <|tool_call|>[{call}]<|/tool_call|>"))
print(read("phi4", f"<|tool_call|>[{call[:-1]}]")[1][0].error)
print(score(Sample("bfcl", f"<|tool_call|>[{call}]<|/tool_call|>", call), ToolCallOptions()).score)
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
def test_a_kind_of_log_is_added_in_one_file(copy: Copy) -> None:
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
    assert "'tries' must be a list of responses" in str(scored[1])


@added("A frame")
def test_a_frame_is_added_in_one_file(copy: Copy) -> None:
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
def test_a_unit_is_added_in_one_file(copy: Copy) -> None:
    use = """
from rewardkit.rewards.math import compare
for answer in (r"4.6\\text{ nat}", r"2\\text{ ban}", r"2\\text{ nat}", r"2\\text{ cm}"):
    print(compare(r"2\\text{ ban}", answer).outcome)
"""
    assert copy.run("-c", use).split() == ["equal", "equal", "not_equal", "not_equal"]


@added("A file format")
def test_a_file_format_is_added_in_two_files(copy: Copy) -> None:
    rows = "".join(f"- {{data_source: gsm8k, response: '#### {n}', ground_truth: '7'}}\n" for n in (7, 8))
    (copy.root / "rows.yaml").write_text(rows)
    copy.run("-m", "rewardkit", "score", "rows.yaml", "--out", "scored.jsonl")
    scored = [json.loads(line) for line in (copy.root / "scored.jsonl").read_text().splitlines()]
    assert [row["score"] for row in scored] == [1.0, 0.1]


@pytest.mark.slow
@added("A setting of the trainer")
def test_a_setting_of_the_trainer_is_added_in_three_files(copy: Copy) -> None:
    assert len(train_two_steps(copy, "trainer.rest_s=0.01")) == 2
    words = ["data.train_files=train.parquet", "actor_rollout_ref.model.path=model", "trainer.rest_s=-1"]
    wrong = [sys.executable, "-m", "rewardkit", "train", "--config", "tiny-cpu", *words]
    done = subprocess.run(wrong, cwd=copy.root, env=copy.environment, capture_output=True, text=True)
    assert done.returncode and "trainer.rest_s" in done.stderr and "0 or more" in done.stderr


@pytest.mark.slow
@added("A dataset")
def test_a_dataset_is_added_in_two_files(copy: Copy) -> None:
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
def test_a_wire_protocol_is_added_in_two_files(copy: Copy) -> None:
    use = """
import sys
from fastapi import FastAPI
from fastapi.testclient import TestClient
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.protocols import ROUTERS, ProtocolContext

with Scorer(workers=1) as scorer:
    async def score_samples(samples, *, timeout_s=None):
        return await scorer.ascore_batch(samples)
    app = FastAPI()
    for router in ROUTERS.values():
        app.include_router(router(ProtocolContext(score_samples)))
    body = {"pairs": [["#### 72", "72"], ["#### 73", "72"]]}
    print(TestClient(app).post("/plain_pairs/gsm8k", json=body).json())
"""
    assert json.loads(copy.run("-c", use).replace("'", '"')) == {"rewards": [1.0, 0.1]}


@added("A language")
def test_a_language_is_added_in_two_files(copy: Copy) -> None:
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
def test_an_answer_type_is_added_in_three_files(copy: Copy) -> None:
    use = """
from rewardkit.rewards.math import compare

for answer in ("#FF8000", "#ff8001", "8000"):
    verdict = compare("#ff8000", answer)
    print(verdict.outcome, verdict.tier)
"""
    assert copy.run("-c", use).splitlines() == ["equal tree", "not_equal tree", "not_equal tree"]


@added("A command")
def test_a_command_is_added_in_two_files(copy: Copy) -> None:
    assert "openai/gsm8k" in copy.run("-m", "rewardkit", "sources").splitlines()


ROWS = [
    {
        "data_source": "rewardkit/arithmetic",
        "prompt": [{"role": "user", "content": f"Tom has {n}. How many?"}],
        "ground_truth": str(n),
    }
    for n in range(8)
]


def train_two_steps(copy: Copy, *settings: str) -> list[dict[str, float]]:
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
    program = Program(
        *("rewardkit", "train", "--config", "tiny-cpu", "data.train_files=train.parquet"),
        *("data.train_batch_size=4", "data.max_response_length=4", "actor_rollout_ref.model.path=model"),
        *("actor_rollout_ref.actor.ppo_mini_batch_size=2", "actor_rollout_ref.rollout.name=hf"),
        *("trainer.total_training_steps=2", "trainer.val_before_train=false", "trainer.test_freq=-1"),
        *("trainer.logger=[jsonl]", "trainer.default_local_dir=out", *settings),
        folder=copy.root,
        environment=copy.environment,
        anew=True,
    )
    _, said = program.communicate(timeout=600)
    assert program.poll() == 0, said
    lines = (copy.root / "out" / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
@added("An advantage estimator and its loss")
def test_an_estimator_and_its_loss_are_added_in_two_files(copy: Copy) -> None:
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
def test_a_rollout_engine_is_added_in_two_files(copy: Copy) -> None:
    steps = train_two_steps(copy, "actor_rollout_ref.rollout.name=no_cache")
    from tests.closeness import K3  # not at the top: it needs torch, and other tests here do not

    assert all(step["training/rollout_actor_kl"] < K3 for step in steps)
