"""`examples/trl_environment.py`, used as TRL uses an environment: made once, reset from row to row, rewarded."""

from __future__ import annotations

import importlib.util
import inspect
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import serve

EXAMPLE = Path(__file__).parents[2] / "examples" / "trl_environment.py"


def _example(url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("REWARDKIT_URL", url)
    monkeypatch.setenv("REWARDKIT_TOKEN", "secret")
    spec = importlib.util.spec_from_file_location("trl_environment", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _open(url: str) -> int:
    request = urllib.request.Request(f"{url}/episodes", headers={"Authorization": "Bearer secret"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(json.load(answer)["open"])


def test_an_environment_of_trls_runs_against_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n")
    options = ("--no-sandbox", "--token-file", str(tokens), "--tools", "calculator,calc_gsm8k_reward")
    with serve(*options) as server:
        module = _example(server.url, monkeypatch)
        one = module.Gsm8k()
        public = [name for name, _ in inspect.getmembers(one, inspect.ismethod) if not name.startswith("_")]
        assert public == ["calc_gsm8k_reward", "calculator", "get_reward", "reset"]
        prompt = [{"role": "user", "content": "6 * 12?"}]
        empty = {"create_kwargs": {"ground_truth": "", "question": ""}}
        info = {"tools_kwargs": {"search": empty}, "index": 0}
        assert (
            one.reset(prompt=prompt, ground_truth="72", extra_info=info, data_source="openai/gsm8k") is None
        )
        assert one.calculator("6 * 12") == "72"
        assert one.calculator(expression="6 *").startswith("Error: calculator: ")
        assert one.get_reward() == 0.0
        assert "reward: 1" in one.calc_gsm8k_reward(answer="72")
        assert one.get_reward() == 1.0
        one.reset(prompt=prompt, ground_truth="5")
        assert (one.get_reward(), _open(server.url)) == (0.0, 1)
        del one
        assert _open(server.url) == 0


def test_trls_own_trainer_runs_it(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("trl", minversion="1.16")
    with serve("--no-sandbox", "--tools", "calculator,calc_gsm8k_reward") as server:
        module = _example(server.url, monkeypatch)
        module.main()
    assert capfd.readouterr().out.count("calls a response") == 2
