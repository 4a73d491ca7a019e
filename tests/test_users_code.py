"""What users' code raises is told with its line, once for each kind, and what it prints never mixes with rows;
own and imported rewards alike, in every command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit import cli
from rewardkit.composition import compose
from rewardkit.errors import OptionsError
from rewardkit.foreign import parse_spec
from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.runner import RewardRunner
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score
from rewardkit.users_code import running, told

Capture = pytest.CaptureFixture[str]

OWN = """
import json
from rewardkit import reward

print("at import")

def deeper(text):
    print("deep\\nand deeper")
    return json.loads(text)          # line 9

@reward("users/alone", replace_existing=True)
def users_alone(sample):
    return float(deeper(sample.response))

@reward("users/inline", runs="inline", replace_existing=True)
def users_inline(sample):
    return float(deeper(sample.response))

@reward("users/async", replace_existing=True)
async def users_async(sample):
    return float(deeper(sample.response))

@reward("users/batch", batch=True, replace_existing=True)
def users_batch(samples):
    return [float(deeper(one.response)) for one in samples]

@reward("users/group", batch="group", replace_existing=True)
def users_group(samples):
    return [float(deeper(one.response)) for one in samples]
"""
THEIRS = """print("at import")

def users_theirs(response, ground_truth):
    print("deep\\nand deeper")
    import json
    return json.loads(response)
"""
PLACES = {"theirs": "(theirs.py, line 6)"}
SOURCES = ["alone", "inline", "async", "batch", "group", "theirs"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "theirs.py").write_text(THEIRS)
    return tmp_path


def rows(path: Path, name: str, responses: list[str]) -> str:
    made = [
        {"data_source": f"users/{name}", "prompt": "p", "response": one, "ground_truth": "g"}
        for one in responses
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return str(path)


def reward_words(name: str, options: str = "") -> list[str]:
    theirs = ["--reward", f"users/theirs=theirs.py:users_theirs{options}"]
    return theirs if name == "theirs" else ["--reward", "own.py"]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("debug", [False, True])
def test_an_exception_has_its_line_and_is_logged_once_for_each_kind(
    name: str, debug: bool, project: Path, capfd: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    # Groups, and batches, have one call for all rows: each row is a prompt of its own.
    file = rows(project / "rows.jsonl", name, ["{"] * 12)
    words = ["score", file, *reward_words(name), "--out", "-", *(["--timeout", "50"])]
    assert cli.run(["--debug"] * debug + words) == 1
    out, err = capfd.readouterr()
    place = PLACES.get(name, "(own.py, line 9)")
    scored = [json.loads(line) for line in out.splitlines()]
    assert len(scored) == 12 and {row["status"] for row in scored} == {"error"}
    assert all(row["detail"].startswith("JSONDecodeError: Expecting") for row in scored)
    assert all(row["detail"].endswith(place) for row in scored)
    said = err + "\n".join(record.getMessage() for record in caplog.records)
    assert said.count("raised JSONDecodeError") == 1 and said.count("Traceback") == int(debug)
    assert ("/json/decoder.py" in said) == debug


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    "command",
    [
        ["score", "rows.jsonl", "--out", "-"],
        ["score", "rows.jsonl", "--out", "scored.jsonl", "--json"],
        ["explain", "--data-source", "SOURCE", "--response", "1", "--ground-truth", "g", "--json"],
        ["eval", "rows.jsonl", "--json"],
    ],
    ids=["score to stdout", "score --json", "explain", "eval"],
)
def test_prints_go_to_standard_error_under_the_rewards_name(
    command: list[str], name: str, project: Path, capfd: Capture
) -> None:
    rows(project / "rows.jsonl", name, ["1", "1"])
    words = [f"users/{name}" if word == "SOURCE" else word for word in command]
    assert cli.run([*words, *reward_words(name)]) == 0
    out, err = capfd.readouterr()
    for text in [out] if words[-1] == "--json" else out.splitlines():
        json.loads(text)
    said = [line for line in err.splitlines() if "deep" in line]
    assert all(line in (f"users_{name}: deep", f"users_{name}: and deeper") for line in said)
    assert said


def test_import_shows_what_a_function_prints_and_what_its_exceptions_mean(
    project: Path, capfd: Capture
) -> None:
    assert cli.run(["import", "theirs.py:users_theirs"]) == 1
    out, err = capfd.readouterr()
    assert "users_theirs: deep\nusers_theirs: and deeper\n" in err and "deep" not in out
    assert "exception: error" in out and "(theirs.py, line 6)" in out
    assert cli.run(["import", "theirs.py:users_theirs?on_exception=0", "--json", "--out", "t.yaml"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["on_exception"] == "0" and found["tried"]["score"] == 0.0
    rows(project / "rows.jsonl", "theirs", ["{", "1"])
    text = (project / "t.yaml").read_text()
    (project / "t.yaml").write_text(
        f"{text}  data_sources: [users/theirs]\n".replace("  data_sources: []\n", "")
    )
    assert cli.run(["score", "rows.jsonl", "--rewards", "t.yaml", "--out", "-"]) == 0
    scored = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [(row["score"], row["status"]) for row in scored] == [(0.0, "ok"), (1.0, "ok")]


@pytest.mark.parametrize("name", SOURCES)
def test_where_exceptions_are_0_the_score_says_so_and_nothing_is_masked(
    name: str, project: Path, capfd: Capture
) -> None:
    rows(project / "rows.jsonl", name, ["{"])
    (project / "options.yaml").write_text(f"users/{name}:\n  on_exception: 0\n")
    for words in (
        [*reward_words(name), "--option", f"users/{name}:on_exception=0"],
        [*reward_words(name), "--options-file", "options.yaml"],
    ):
        assert cli.run(["score", "rows.jsonl", *words, "--out", "-"]) == 0
        (scored,) = map(json.loads, capfd.readouterr().out.splitlines())
        assert (scored["score"], scored["status"], scored["correct"]) == (0.0, "ok", False)
        assert "the reward raised JSONDecodeError" in scored["detail"]


def test_half_a_surrogate_pair_in_an_exception_does_not_end_the_worker(
    tmp_path: Path, capfd: Capture
) -> None:
    """A model's response may contain one as a JSON escape, and the reward may say it."""
    (tmp_path / "half.py").write_text(
        "import json\nfrom rewardkit import Sample, reward\n\n"
        "@reward('users/half', on_exception='0')\n"
        "def half(sample: Sample):\n"
        "    raise ValueError(json.loads(sample.response))\n"
    )
    given = [
        {"data_source": "users/half", "response": text, "ground_truth": "g"} for text in ('"\\ud800"', '"b"')
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    words = [str(tmp_path / "rows.jsonl"), "--reward", str(tmp_path / "half.py"), "--workers", "1"]
    assert cli.run(["score", *words, "--out", "-"]) == 0
    scored = list(map(json.loads, capfd.readouterr().out.splitlines()))
    assert [(row["score"], row["status"]) for row in scored] == [(0.0, "ok")] * 2
    assert all("ValueError" in row["detail"] for row in scored)


def failing(sample: Sample) -> float:
    raise {"m": MemoryError, "k": KeyError}[sample.response]("why")


def unusable(sample: Sample) -> Any:
    return "a text"


def one(target: Any, **more: Any) -> Score:
    made = Reward(
        "users_one", 1, target, ("users/one",), **more, running=Running(runs="inline", on_exception="0")
    )
    return RewardRunner(made, made.make_options({})).run([Sample("users/one", more.pop("r", "m"), "")])[0]


def test_what_is_no_exception_of_the_response_is_a_failure_always() -> None:
    assert one(failing).status == "error"  # no memory
    assert one(unusable).status == "error"


def test_a_setting_that_is_neither_is_refused(project: Path, capfd: Capture) -> None:
    with pytest.raises(OptionsError, match="on_exception must be error or 0"):
        parse_spec("theirs.py:users_theirs?on_exception=1")
    with pytest.raises(OptionsError, match="on_exception must be error or 0"):
        Reward("x", 1, failing, (), running=Running(on_exception="mask"))  # type: ignore[arg-type]
    rows(project / "rows.jsonl", "alone", ["1"])
    words = ["--reward", "own.py", "--option", "users/alone:on_exception=no", "--out", "o.jsonl"]
    assert cli.run(["score", "rows.jsonl", *words]) == 2
    assert "on_exception must be error or 0" in capfd.readouterr().err


def test_a_member_of_a_composition_has_the_setting_too() -> None:
    registry = Registry()
    registry.register(Reward("users_member", 1, failing, ("users/member",), running=Running(runs="inline")))
    items = [{"reward": "users_member", "options": {"on_exception": 0}}]
    compose("users_composed", {"data_sources": ["users/c"], "sum": items}, registry=registry)
    with Scorer(registry=registry) as scorer:
        found = scorer.score(Sample("users/c", "k", ""))
    assert (found.score, found.status) == (0.0, "ok")


def test_a_file_that_fails_to_import_says_its_line(project: Path, capfd: Capture) -> None:
    for word, text in (("bad.py", "import rewardkit\nprint('x')\nnothing_of_that_name\n"),):
        (project / word).write_text(text)
        rows(project / "rows.jsonl", "alone", ["1"])
        assert cli.run(["score", "rows.jsonl", "--reward", word, "--out", "-"]) == 2
        out, err = capfd.readouterr()
        assert not out and "bad.py: x\n" in err and "(bad.py, line 3)" in err


def test_list_shows_what_exceptions_mean(project: Path, capfd: Capture) -> None:
    assert cli.run(["list", "users/alone", "--reward", "own.py"]) == 0
    assert "on_exception  error" in capfd.readouterr().out


def test_an_exception_that_cannot_be_shown_and_one_of_a_server_say_no_secret() -> None:
    class Unshowable(Exception):
        def __str__(self) -> str:
            raise ValueError

    def call(error: Exception) -> str:
        try:
            raise error
        except Exception as found:
            return told("users", found)

    assert call(Unshowable()).startswith("Unshowable (test_users_code.py")
    text = call(ConnectionError("403 for url: https://u:s3cret@h/v1?key=s3cret"))
    assert text.startswith("ConnectionError: 403 for url: https://h/v1 (test_users_code.py")


def test_names_of_tasks_at_the_same_time_are_not_mixed(capsys: Capture) -> None:
    async def prints(who: str) -> None:
        with running(who):
            for number in range(3):
                print(number, end=" ")
                await asyncio.sleep(0)
            print()

    async def both() -> None:
        await asyncio.gather(prints("a"), prints("b"))

    asyncio.run(both())
    print("of nobody")
    out, err = capsys.readouterr()
    assert out == "of nobody\n" and sorted(err.splitlines()) == ["a: 0 1 2 ", "b: 0 1 2 "]
