"""Before a command begins, an extra that is missing is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rewardkit.cli import run

ANSWERING = "generate prompts.jsonl --model owner/m --out made.parquet --engine"
SCORING = "score rows.jsonl --out made.jsonl"
PREPARING = "prep arithmetic --n-train 2 --n-test 2 --out made"

NEEDED = [
    ("openai", "openai", f"{ANSWERING} endpoint --url http://127.0.0.1:1/v1"),
    ("transformers", "train", f"{ANSWERING} hf"),
    ("vllm", "vllm", f"{ANSWERING} vllm"),
    ("ray", "ray", f"{ANSWERING} ray"),
    ("torch", "train", "eval arithmetic --model owner/m --engine hf --out made"),
    ("ray", "ray", f"{SCORING} --engine ray"),
    ("fsspec", "remote", "score s3://bucket/rows.jsonl --out made.jsonl"),
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
        left = list(Path().glob(f"{made}*"))
        if code != 2 or f"pip install 'rewardkit[{extra}]'" not in said or left:
            wrong[command] = (code, said, left)
    assert wrong == {}
