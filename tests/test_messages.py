"""The text of a message is read at one place: a prompt in any form scores alike through every entrance."""

from __future__ import annotations

import ast
import asyncio
import csv
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from rewardkit import Sample, Score, Scorer, score_frame
from rewardkit.adapters import backend, trl
from rewardkit.adapters.columns import samples_from
from rewardkit.foreign import load_reward
from rewardkit.messages import content_text, message_text, plain_message, plain_prompt, with_text
from rewardkit.offline import score_file
from rewardkit.registry import Registry
from rewardkit.rewards.judge.file import register_judge
from rewardkit.rows import prompt_of
from rewardkit.server.app import create_app
from tests.rewards.judge.conftest import JudgeServer, text_in

ROOT = Path(__file__).parent.parent
ASKED = "A box holds 12 eggs.\nHow many eggs are in Tom's 6 boxes?"
RESPONSE = "Sure.\n\nQuestion: A box holds 12 eggs. How many eggs are in Tom's 6 boxes?\n\n#### 72"
"""It restates the question, in a line that would open a next turn if it were not the prompt's."""
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
FORMS: dict[str, Any] = {
    "string": ASKED,
    "message": [{"role": "user", "content": ASKED}],
    "parts": [{"role": "user", "content": [{"type": "text", "text": ASKED}]}],
    "two parts": [
        {"role": "user", "content": [{"type": "text", "text": t} for t in (ASKED[:20], ASKED[20:])]}
    ],
    "parts of the responses API": [{"role": "user", "content": [{"type": "input_text", "text": ASKED}]}],
    "parts filled up with nulls": [
        {"role": "user", "content": [{"type": "text", "text": ASKED, "image": None}]}
    ],
    "a picture among parts": [{"role": "user", "content": [IMAGE, {"type": "text", "text": ASKED}]}],
}


def _row(prompt: Any) -> dict[str, Any]:
    return {"data_source": "gsm8k", "prompt": prompt, "response": RESPONSE, "ground_truth": "72"}


def _sample(prompt: Any, source: str = "gsm8k") -> Sample:
    return Sample(source, RESPONSE, "72", prompt)


def _verdict(score: Score | dict[str, Any]) -> tuple[float, str]:
    said = score.as_dict() if isinstance(score, Score) else score
    return said["score"], said["status"]


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(workers=1) as made:
        yield made


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    backend.close()


def _in_a_file(name: str) -> Callable[[Any, Scorer, Path], tuple[float, str]]:
    def scored(prompt: Any, scorer: Scorer, folder: Path) -> tuple[float, str]:
        path, row = folder / name, _row(prompt)
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist([row]), path)
        elif path.suffix == ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
                writer.writerow(row | {"prompt": prompt if isinstance(prompt, str) else json.dumps(prompt)})
        else:
            path.write_text(json.dumps(row) + "\n")
        score_file(path, folder / "scored.jsonl", scorer=scorer)
        return _verdict(json.loads((folder / "scored.jsonl").read_text()))

    return scored


def _over_http(prompt: Any, scorer: Scorer, folder: Path) -> tuple[float, str]:
    with TestClient(create_app(scorer)) as http:
        one, (listed,) = (http.post("/score", json=body).json() for body in (_row(prompt), [_row(prompt)]))
    assert _verdict(one) == _verdict(listed)
    return _verdict(one)


def _by_trl(prompt: Any, scorer: Scorer, folder: Path) -> tuple[float, str]:
    (sample,) = samples_from([RESPONSE], {"answer": ["72"]}, prompts=[prompt], data_source="gsm8k")
    assert isinstance(sample, Sample)
    (value,) = asyncio.run(trl.make_reward("gsm8k")([RESPONSE], [prompt], answer=["72"]))
    assert value == scorer.score(sample).score
    return float(value or 0.0), "ok"


def _in_a_frame(prompt: Any, scorer: Scorer, folder: Path) -> tuple[float, str]:
    frame = pa.Table.from_pylist([_row(prompt)]).to_pandas()  # lists are arrays in it
    (row,) = score_frame(frame, scorer=scorer).to_dict("records")
    return _verdict(row)


ENTRANCES: dict[str, Callable[[Any, Scorer, Path], tuple[float, str]]] = {
    "Scorer": lambda prompt, scorer, folder: _verdict(scorer.score(_sample(prompt))),
    "jsonl": _in_a_file("rows.jsonl"),
    "parquet": _in_a_file("rows.parquet"),
    "csv": _in_a_file("rows.csv"),
    "a frame of pandas": _in_a_frame,
    "POST /score": _over_http,
    "TRL": _by_trl,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_prompt_in_any_form_scores_alike_through_every_entrance(
    entrance: str, form: str, scorer: Scorer, tmp_path: Path
) -> None:
    assert ENTRANCES[entrance](FORMS[form], scorer, tmp_path) == (1.0, "ok")


@pytest.mark.parametrize("form", FORMS)
def test_functions_of_others_and_own_ones_get_the_text_of_a_prompt(
    form: str, tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "theirs.py").write_text(
        f"ASKED = {ASKED!r}\n"
        "def forge(prompt: str, response: str, target: str = None): return float(prompt == ASKED)\n"
        "def task(task_info, action): return float(task_info['question'] == ASKED)\n"
        "def chat(prompts: list[str], completions: list[str], **_): return [float(p == ASKED) for p in prompts]\n"
        "def plain(prompt, response, ground_truth):\n"
        "    return float((prompt if isinstance(prompt, str) else prompt[-1]['content']) == ASKED)\n"
    )
    (tmp_path / "own.py").write_text(
        "from rewardkit import reward\n"
        f"@reward('own/mine')\ndef mine(prompt): return float(prompt == {ASKED!r} or prompt[-1]['content'] == {ASKED!r})\n"
    )
    sources = ["their/forge", "their/task", "their/chat"]
    if form != "a picture among parts":  # whose parts are kept
        sources += ["their/plain", "own/mine"]
        load_reward(f"own/mine={tmp_path / 'own.py'}:mine")
    for source in sources[:4]:
        load_reward(f"{source}={tmp_path / 'theirs.py'}:{source.partition('/')[2]}")
    with Scorer(workers=1) as scorer:
        scores = scorer.score_batch([_sample(FORMS[form], source) for source in sources])
    assert list(map(_verdict, scores)) == [(1.0, "ok")] * len(sources), scores


@pytest.mark.parametrize("form", FORMS)
def test_a_judge_is_shown_the_text_of_a_prompt(form: str, tmp_path: Path, registry: Registry) -> None:
    with JudgeServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        path = tmp_path / "judge.yaml"
        path.write_text(f"url: {server.url}\nmodel: m\n")
        register_judge(path, ["judged"], registry=registry)
        with Scorer(registry=registry, workers=1) as scorer:
            score = scorer.score(_sample(FORMS[form], "judged"))
        server.shutdown()
    if form == "a picture among parts":
        assert score.status == "invalid" and not server.bodies, "judges see only text"
        return
    assert _verdict(score) == (0.7, "ok")
    (body,) = server.bodies
    assert ASKED in text_in(body) and "'type'" not in text_in(body) and "data:," not in text_in(body)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""), ("a", "a"), ([], ""), (7, "7"), ("", ""), ([{"type": "text", "text": "a"}, "b"], "ab"),
        ([IMAGE], ""), ([{"type": "image", "text": None}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "thinking", "thinking": "no"}, {"type": "reasoning", "text": "no"}, {"text": "a"}], "a"),
        ({"type": "text", "text": "a"}, "a"), (({"type": "text", "text": "a"},), "a"),
        (np.array([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab"),
        ([{"type": "text"}, {"type": "text", "text": 7}, 7, None], ""),
    ],
)  # fmt: skip
def test_the_text_of_a_content_is_its_text_parts(content: Any, text: str) -> None:
    assert content_text(content) == message_text({"role": "user", "content": content}) == text
    assert message_text({"from": "human", "value": content}) == text


def test_a_prompt_of_text_parts_becomes_plain_messages_and_others_keep_their_parts() -> None:
    plain = [{"role": "user", "content": ASKED}]
    mixed = FORMS["a picture among parts"]
    assert prompt_of(FORMS["parts"]) == prompt_of(FORMS["two parts"]) == prompt_of(plain) == plain
    assert prompt_of(FORMS["parts"][0]) == plain
    assert prompt_of(mixed) == plain_prompt(mixed) == mixed
    assert plain_prompt(plain) is plain and plain_prompt(ASKED) is ASKED
    call = {"role": "assistant", "content": None, "tool_calls": [{}]}
    assert plain_message(call) == call and plain_prompt(["text"]) == ["text"]


def test_text_is_added_to_a_message_in_any_form() -> None:
    for form in ("message", "parts", "a picture among parts"):
        made = with_text(FORMS[form][0], before="a ", after=" b")
        assert message_text(made) == f"a {ASKED} b"
        assert made["content"] == message_text(made) or IMAGE in made["content"]
    assert with_text({"role": "user", "content": None}, after="b")["content"] == "b"


# No reader beside it.

_TEXTS = frozenset({"str", "repr", "format"})


def _is_content(node: ast.AST) -> bool:
    """Whether an expression is the content of a message: `m["content"]`, `m.get("content", "") or ""`."""
    if isinstance(node, ast.BoolOp):
        return any(map(_is_content, node.values))
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "content"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == "content"
    return False


def _texts_made_of_contents(tree: ast.AST) -> Iterator[int]:
    """Lines where a content becomes a text without being looked at: `str(...)`, an f-string, `join(...)`."""
    for node in ast.walk(tree):
        inner: list[ast.AST] = []
        if isinstance(node, ast.FormattedValue):
            inner = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TEXTS:
            inner = [*node.args]
        elif isinstance(node, ast.Return):
            inner = [node.value] if node.value else []
        if any(map(_is_content, inner)):
            yield node.lineno  # type: ignore[attr-defined]


def test_the_scan_finds_each_spelling_of_such_a_reading() -> None:
    for code in (
        'str(message["content"])', 'str(one.get("content") or "")', 'f"{turn[\'content\']}"', 'repr(m.get("content", ""))',
        'def f(prompt): return prompt[-1].get("content", "")',
    ):  # fmt: skip
        assert list(_texts_made_of_contents(ast.parse(code))), code
    assert not list(
        _texts_made_of_contents(ast.parse('message_text(m), m["content"] == "a", {"content": str(x)}'))
    )


def test_no_content_is_made_a_text_but_by_the_one_reader() -> None:
    folders = ("rewardkit", "server", "trainer", "datasets_prep")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    files = [path for path in paths if not any(parent.is_symlink() for parent in path.parents)]
    assert len(files) > 300
    allowed = {"rewardkit/messages.py", "datasets_prep/custom/columns.py"}  # the reader, and messages it made
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in _texts_made_of_contents(ast.parse(path.read_text()))
    }
    assert not {place for place in found if place.partition(":")[0] not in allowed}, found
