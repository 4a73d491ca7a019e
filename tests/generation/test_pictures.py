"""Generation with pictures: the model sees the pictures of its row, and what cannot see them refuses."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

import rewardkit
from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.trainer.models.vision import Vision, has_own_positions
from tests.generation.endpoints import Server, completion
from tests.process_state import left_as_found
from tests.tiny_vision import KINDS, picture, prompts_with_pictures

SETTINGS: dict[str, Any] = {"n": 2, "max_tokens": 2, "log_probs": True, "dtype": "float32"}


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("prompts") / "p.parquet"
    pq.write_table(prompts_with_pictures(), path)
    return path


def generated(prompts: Path, out: Path, **settings: Any) -> list[dict[str, Any]]:
    rewardkit.generate(prompts, out, **{**SETTINGS, **settings})
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_ragged_pictures_is_computed_as_one_by_one(
    kind: str, vision_models: dict[str, Path], prompts: Path, tmp_path: Path
) -> None:
    folder = vision_models[kind]
    rows = generated(prompts, tmp_path / "out.parquet", engine="hf", model=str(folder))
    assert [row["images"] for row in rows] == [row["images"] for row in pq.read_table(prompts).to_pylist()]
    assert_one_by_one(folder, rows, 1e-5)
    other = {**rows[0], "images": [{"bytes": picture("blue", place=16), "path": None}]}
    controls = [one_by_one(folder, other, response) for response in rows[0]["responses"]]
    far = [
        abs(a - b)
        for told, control in zip(rows[0]["log_probs"], controls, strict=True)
        for a, b in zip(told, control, strict=False)
    ]
    assert max(far) > 0.03


def assert_one_by_one(
    folder: Path, rows: list[dict[str, Any]], within: float, *, barred: bool = True
) -> None:
    compared = 0
    for row in rows:
        for response, told in zip(row["responses"], row["log_probs"], strict=True):
            alone = one_by_one(folder, row, response, barred=barred)
            if len(alone) == len(told):  # no special token, which the text lacks
                assert told == pytest.approx(alone, abs=within)
                compared += 1
    assert compared >= len(rows)


def one_by_one(folder: Path, row: dict[str, Any], response: str, *, barred: bool = True) -> list[float]:
    """Return the log-probabilities of a response's tokens from one forward pass of transformers' model.

    With `barred`, tokens that stand for pictures have no probability.
    """
    from transformers import AutoModelForImageTextToText, AutoTokenizer

    from rewardkit.pictures import with_pictures

    tokenizer = AutoTokenizer.from_pretrained(folder)
    vision = Vision.of(str(folder), tokenizer)
    assert vision is not None
    prompt = vision.encode(with_pictures(row, row["prompt"]))
    said = tokenizer(response, add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[*prompt.long_ids, *said]])
    model = AutoModelForImageTextToText.from_pretrained(folder)
    kinds = (ids == vision.mark).int()
    with torch.no_grad():
        more = {"mm_token_type_ids": kinds} if has_own_positions(model) else {}
        out = model(input_ids=ids, **more, **vision.tensors(prompt.pictures))
    logits = out.logits[0]
    if barred:
        logits[:, vision.placeholders] = -torch.inf
    found = logits.log_softmax(-1)[range(len(prompt.long_ids) - 1, ids.shape[1] - 1), said]
    return [float(one) for one in found]


@pytest.mark.slow
def test_vllm_computes_what_transformers_computes(
    vision_models: dict[str, Path], prompts: Path, tmp_path: Path
) -> None:
    pytest.importorskip("vllm")
    given = {"model": str(vision_models["idefics3"]), "gpu_memory_utilization": 0.5}
    with left_as_found():
        rows = generated(prompts, tmp_path / "v.parquet", engine="vllm", **given)
    # vLLM reports the probabilities before it bars tokens.
    assert_one_by_one(vision_models["idefics3"], rows, 1e-4, barred=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as server:
        yield server


def test_an_endpoint_gets_the_pixels_as_data_urls(server: Server, tmp_path: Path) -> None:
    clear = Image.new("RGBA", (3, 2), (255, 0, 0, 0))
    file = io.BytesIO()
    clear.save(file, "PNG")
    row = {"prompt": "What is <image>?", "image": file.getvalue()}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "p.parquet")
    rewardkit.generate(tmp_path / "p.parquet", tmp_path / "o.parquet", model="m", url=server.url)
    ((message,),) = [one["messages"] for one in server.asked]
    before, image, after = message["content"]
    assert (before["text"], after["text"]) == ("What is ", "?")
    url = image["image_url"]["url"]
    shown = Image.open(io.BytesIO(base64.b64decode(url.removeprefix("data:image/png;base64,"))))
    assert (image["type"], shown.size, shown.getpixel((0, 0))) == ("image_url", (3, 2), (255, 255, 255))


def test_a_run_with_other_pictures_does_not_resume_a_journal(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(colour: str) -> Path:
        rows = [{"prompt": f"<image>{i}", "image": picture(colour)} for i in range(3)]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
        return tmp_path / "p.parquet"

    def fails_once(body: dict[str, Any]) -> tuple[int, Any]:
        last = body["messages"][-1]["content"][-1]["text"] == "1" and len(server.asked) < 4
        return (400, {"error": "no"}) if last else (200, completion(body, "x"))

    server.says = fails_once
    given = ("--url", server.url, "--model", "m", "--out", str(tmp_path / "o.parquet"), "--retries", "0")
    assert run(["generate", str(write("red")), *given]) != 0
    assert run(["generate", str(write("blue")), *given, "--resume"]) == 2
    assert "different values for prompts" in capsys.readouterr().err
    assert run(["generate", str(write("red")), *given, "--resume"]) == 0
    assert len(server.asked) == 4


def test_models_and_agents_of_text_refuse_pictures_before_anything_is_loaded(
    prompts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text"
    text.mkdir()
    (text / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(InputError, match=r"row 0: .*for text"):
        generated(prompts, tmp_path / "o.parquet", engine="hf", model=str(text))
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "gemma3", "vision_config": {}}')
    for command in ("generate", "eval"):
        given = ("--model", str(other), "--engine", "vllm", "--out", str(tmp_path / "o.parquet"))
        assert run([command, str(prompts), *given]) == 2
        assert "gemma3" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"row 0: .*agents"):
        given = {"url": "http://127.0.0.1:1/v1", "model": "m", "agent": "tool_agent", "dtype": None}
        generated(prompts, tmp_path / "o.parquet", **given)


def test_broken_pictures_are_refused_with_their_row(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "image": None}, {"prompt": "b", "image": b"GIF89a"}]
    pq.write_table(
        pa.Table.from_pylist(rows, pa.schema({"prompt": pa.string(), "image": pa.binary()})),
        tmp_path / "p.parquet",
    )
    with pytest.raises(InputError, match="row 1: "):
        given = {"url": "http://127.0.0.1:1/v1", "model": "m", "dtype": None}
        generated(tmp_path / "p.parquet", tmp_path / "o.parquet", **given)
