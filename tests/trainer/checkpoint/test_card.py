"""An exported model says how it was trained, and is uploaded with it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from rewardkit.errors import InputError
from rewardkit.trainer.checkpoint.card import write_card
from rewardkit.trainer.checkpoint.push import push
from rewardkit.trainer.config.load import as_dict, load_settings
from rewardkit.trainer.config.stages import SCHEMAS, schema_named


def _checkpoint(folder: Path, stage: str) -> Path:
    words = [
        "data.train_files=/home/someone/secret/train.parquet",
        "trainer.default_local_dir=/home/someone/run",
    ]
    model = "actor_rollout_ref.model.path" if stage == "ppo" else "model.path"
    config = load_settings(schema_named(stage), None, [*words, f"{model}=Qwen/Qwen3-0.6B"])
    checkpoint = folder / "run" / "global_step_4"
    checkpoint.mkdir(parents=True)
    loader = {"files": [("/home/someone/secret/train.parquet", "0123456789abcdef")]}
    facts = {"config": as_dict(config), "step": 4, "loader": loader}
    (checkpoint / "trainer.json").write_text(json.dumps(facts))
    name = "val-core/gsm8k/acc/mean@1" if stage == "ppo" else "val/loss"
    lines = [{"training/global_step": step, name: step / 10} for step in (0.0, 2.0, 4.0, 6.0)]
    (checkpoint.parent / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return checkpoint


@pytest.mark.parametrize("stage", ["ppo", "sft"])
def test_the_card_has_the_run_and_no_folder_of_the_machine(tmp_path: Path, stage: str) -> None:
    write_card(_checkpoint(tmp_path, stage), tmp_path)
    card = (tmp_path / "README.md").read_text()
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "base_model": "Qwen/Qwen3-0.6B",
        "tags": ["rewardkit", stage],
    }
    assert "| 0 | 0.4 |" in body, "the last step is the checkpoint's"
    assert "| `train.parquet` | `0123456789abcdef` |" in body
    settings = yaml.safe_load(body.partition("```yaml\n")[2].partition("```")[0])
    assert settings["data.train_files"] == "train.parquet"
    assert "someone" not in card


def test_every_stage_is_told_from_its_settings(tmp_path: Path) -> None:
    for stage in SCHEMAS:
        checkpoint = _checkpoint(tmp_path / stage, stage)
        write_card(checkpoint, checkpoint)
        assert f"- {stage}\n" in (checkpoint / "README.md").read_text()


class Hub(ThreadingHTTPServer):
    """The part of the hub that takes an upload."""

    def __init__(self, refuses: bool) -> None:
        super().__init__(("127.0.0.1", 0), Uploads)
        self.refuses = refuses
        self.files: dict[str, bytes] = {}
        self.created: dict[str, Any] = {}
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class Uploads(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.server.refuses:
            self._answer(403, {"error": "no"})
        elif self.path == "/api/repos/create":
            self.server.created = json.loads(body)
            self._answer(200, {"url": f"http://127.0.0.1:{self.server.server_port}/someone/model"})
        elif "/preupload/" in self.path:
            asked = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": path, "uploadMode": "regular", "shouldIgnore": False} for path in asked]
            self._answer(200, {"files": modes})
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            commit = f"http://127.0.0.1:{self.server.server_port}/someone/model/commit/1"
            self._answer(200, {"commitUrl": commit, "commitOid": "1", "success": True})
        else:
            self._answer(200, {})

    def do_GET(self) -> None:
        self._answer(200, {"id": "someone/model", "sha": "0" * 40, "siblings": []})

    def _answer(self, status: int, content: Any) -> None:
        said = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub(request.param)
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "README.md").write_text("card")
    (folder / "config.json").write_text("{}")
    return folder


@pytest.mark.parametrize("hub", [False], indirect=True)
def test_all_files_are_uploaded_to_a_private_repository(hub: Hub, model: Path) -> None:
    assert push(model, "someone/model").endswith("/someone/model")
    assert hub.files == {"README.md": b"card", "config.json": b"{}"}
    assert hub.created["name"] == "model"
    assert hub.created.get("private") is True or hub.created.get("visibility") == "private"


@pytest.mark.parametrize("hub", [True], indirect=True)
@pytest.mark.parametrize("name", ["someone/model", "not a name"])
def test_a_refused_upload_is_one_line_and_keeps_the_model(hub: Hub, model: Path, name: str) -> None:
    with pytest.raises(InputError) as refused:
        push(model, name)
    assert "\n" not in str(refused.value) and len(list(model.iterdir())) == 2
