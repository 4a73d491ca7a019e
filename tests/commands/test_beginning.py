"""Before a command begins: an extra that is missing is named, and an output's folder is made."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rewardkit.cli import run
from tests.generation.endpoints import Server

ANSWERING = "generate prompts.jsonl --model owner/m --out made/o.parquet --engine"
SCORING = "score rows.jsonl --out made/o.jsonl"
PREPARING = "prep arithmetic --n-train 2 --n-test 2 --out made"

NEEDED = [
    ("openai", "openai", f"{ANSWERING} endpoint --url http://127.0.0.1:1/v1"),
    ("transformers", "train", f"{ANSWERING} hf"),
    ("vllm", "vllm", f"{ANSWERING} vllm"),
    ("ray", "ray", f"{ANSWERING} ray"),
    ("torch", "train", "eval arithmetic --model owner/m --engine hf --out made"),
    ("ray", "ray", f"{SCORING} --engine ray"),
    ("fsspec", "remote", "score s3://bucket/rows.jsonl --out made/o.jsonl"),
    ("math_verify", "math-verify", f"{SCORING} --data-source math --option math:compat=math_verify"),
    ("rapidfuzz", "metrics", f"{SCORING} --data-source rouge_l"),
    ("sacrebleu", "metrics", f"{SCORING} --data-source bleu"),
    ("regex", "structure", f"{SCORING} --data-source regex"),
    ("reasoning_gym", "reasoning-gym", f"{SCORING} --data-source reasoning_gym/chain_sum"),
    ("rapidfuzz", "metrics", "explain --data-source rouge_l --response a --ground-truth a"),
    ("datasets", "hub", "prep gsm8k --out made"),
    ("rensa", "dedup", f"{PREPARING} --dedup"),
    ("transformers", "model", f"{PREPARING} --max-prompt-tokens 9 --tokenizer model"),
    ("transformers", "model", "check prompts.jsonl --tokenizer model"),
    ("fastapi", "server", "serve"),
    ("opentelemetry", "otel", "serve --otel --no-sandbox"),
    ("omegaconf", "train", "train"),
    ("omegaconf", "train", "export checkpoint made"),
    ("omegaconf", "train", "demo --out made"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    row = {"data_source": "gsm8k", "prompt": "p", "ground_truth": "1"}
    Path("prompts.jsonl").write_text(json.dumps(row) + "\n")
    Path("rows.jsonl").write_text(json.dumps({**row, "response": "#### 1"}) + "\n")
    other = {"response": "a", "ground_truth": "a", "prompt": "p"}
    Path("others.jsonl").write_text(json.dumps(other) + "\n")
    Path("model").mkdir()


def test_what_a_command_lacks_is_named_with_its_extra_before_work_begins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {}
    for i, (package, extra, command) in enumerate(NEEDED):
        made = f"made{i}"
        command = command.replace("made", made)
        if "--data-source" in command:
            command = command.replace("rows.jsonl", "others.jsonl")
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            code = run(command.split())
        said = capsys.readouterr().err
        if code != 2 or f"pip install 'rewardkit[{extra}]'" not in said or Path(made).exists():
            wrong[command] = (code, said, Path(made).exists())
    assert wrong == {}


def test_the_folder_of_an_output_is_made() -> None:
    outputs = {
        "score rows.jsonl --out": "a/b/scored.parquet",
        "eval rows.jsonl --force --report": "c/d/page.html",
        "view rows.jsonl --html": "e/f/page.html",
        "diff rows.jsonl --pin": "g/h/golden.jsonl",
        "labels prompts.jsonl --responses rows.jsonl --out": "i/j/list.jsonl",
        "prep arithmetic --n-train 2 --n-test 2 --out": "k/l",
    }
    for command, out in outputs.items():
        run([*command.split(), out])
    with closing(Server()) as server:
        outputs["generate"] = "m/n/o.parquet"
        assert (
            run(
                [
                    "generate",
                    "prompts.jsonl",
                    "--model",
                    "m",
                    "--url",
                    server.url,
                    "--out",
                    outputs["generate"],
                ]
            )
            == 0
        )
    assert [out for out in outputs.values() if not Path(out).exists()] == []
