"""`rewardkit lock`: the same bytes on another machine, and one line for each thing that moved."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from rewardkit.composition import compose
from rewardkit.digests import path_digest, source_digests
from rewardkit.evaluation.rescoring import Pin
from rewardkit.foreign import load_reward
from rewardkit.identity.changes import changes
from rewardkit.identity.reward_identity import identities, identity
from rewardkit.identity.run_folders import write_identities
from rewardkit.lock.checking import FORM, Lock, check
from rewardkit.registry import REGISTRY, Registry, Reward, Running, load_reward_file
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.model import ModelOptions
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score
from tests.lock.projects import WORDS, elsewhere, make_project


def test_a_lock_made_on_one_machine_checks_on_another_and_names_a_changed_source(tmp_path: Path) -> None:
    first = make_project(tmp_path / "one/project")
    second = tmp_path / "another/place/clone"
    shutil.copytree(first, second)
    code, said = elsewhere(first, "lock", "rows.jsonl", *WORDS, home=str(tmp_path), seed="1")
    assert code == 0, said
    lines = (second / "rows.jsonl").read_text().splitlines(keepends=True)
    (second / "rows.jsonl").write_text("".join(reversed(lines)))
    absolute = [word.replace("rewards.py", str(second / "rewards.py")) for word in WORDS]
    code, said = elsewhere(second, "lock", "rows.jsonl", *absolute, seed="2")
    assert (first / "rewardkit.lock").read_bytes() == (second / "rewardkit.lock").read_bytes(), said
    assert str(tmp_path) not in (first / "rewardkit.lock").read_text()

    lock = str(second / "rewardkit.lock")
    code, said = elsewhere(tmp_path, "lock", "--check", "--lock", lock, seed="3")
    assert (code, said) == (0, "no changes (data sources: 3, pinned rows: 36)\n")
    (second / "closeness.py").write_text("def close(said, wanted):\n    return float(said != wanted)\n")
    code, said = elsewhere(tmp_path, "lock", "--check", "--lock", lock, seed="4")
    assert code == 1
    assert "mine: source closeness.py: changed from sha256:" in said
    assert "mine: pin 1: " in said
    assert said.count("mine: advantages of 4 ") == 3


def _changed(facts: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    facts = copy.deepcopy(facts)
    inner = facts
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    return facts


CHANGES = [
    (("reward",), "r@2", "s: version: changed from r@1 to r@2"),
    (("reward",), "q@1", "s: reward: changed from r@1 to q@1"),
    (("options", "method"), "loose", "s: option method: changed from strict to loose"),
    (("options", "depth"), 3, "s: option depth: changed from nothing to 3"),
    (("source", "r.py"), "sha256:2", "s: source r.py: changed from sha256:1 to sha256:2"),
    (("sandbox", "level"), "guard", "s: sandbox level: changed from warm to guard"),
    (("packages", "torch"), "3.0", "s: package torch: changed from nothing to 3.0"),
    (("timeout_s",), 2.0, "s: timeout_s: changed from 1.0 to 2.0"),
    (("items", "sum.b", "options", "k"), 2, "s: member sum.b option k: changed from 1 to 2"),
    (("items", "sum.b", "weight"), 0.5, "s: member sum.b weight: changed from 1.0 to 0.5"),
    (("items", "sum.b", "reward"), "b@2", "s: member sum.b version: changed from b@1 to b@2"),
    (("items", "sum.c"), {"reward": "c@1"}, "s: member sum.c: changed from nothing to c@1"),
]


def test_each_thing_that_moved_is_named_in_one_line() -> None:
    member = {"reward": "b@1", "options": {"k": 1}, "weight": 1.0}
    before = {
        "reward": "r@1",
        "options": {"method": "strict"},
        "source": {"r.py": "sha256:1"},
        "sandbox": {"level": "warm"},
        "timeout_s": 1.0,
        "items": {"sum.b": member},
    }
    assert changes({"s": before}, {"s": copy.deepcopy(before)}) == []
    for path, value, line in CHANGES:
        found = changes({"s": before}, {"s": _changed(before, path, value)})
        assert [str(one) for one in found] == [line]
    assert [str(one) for one in changes({"s": before}, {})] == ["s: reward: changed from r@1 to nothing"]
    long = [_changed(before, ("options", "prompt"), f"{'a' * 500}{end}{'b' * 500}") for end in "xy"]
    (line,) = map(str, changes({"s": long[0]}, {"s": long[1]}))
    assert "ax" in line and "ay" in line and len(line) < 200


def test_an_identity_holds_all_options_and_no_secret_or_place(tmp_path: Path) -> None:
    judge = JudgeOptions(url="http://me:secret@host:8000/v1", model="m", api_key_env="KEY")
    found = identity(Reward("j", 2, score_nothing, ("j",)), judge)
    assert found["options"]["url"] == "http://host:8000/v1" and "secret" not in json.dumps(found)
    assert found["options"]["retries"] == JudgeOptions.retries

    for place in ("a", "b"):
        (tmp_path / place / "rm").mkdir(parents=True)
        (tmp_path / place / "rm/config.json").write_text("{}")
    models = [ModelOptions(path=str(tmp_path / place / "rm")) for place in ("a", "b")]
    reward = Reward("rm", 1, score_nothing, ("rm",))
    first, second = (identity(reward, one) for one in models)
    assert first == second and str(tmp_path) not in json.dumps(first)
    (tmp_path / "b/rm/config.json").write_text('{"changed": true}')
    assert identity(reward, models[1]) != first


def score_nothing(samples: list[Sample]) -> list[Score]:
    raise NotImplementedError


def test_members_of_a_composition_have_their_own_identity(tmp_path: Path) -> None:
    path = tmp_path / "own_member.py"
    path.write_text(
        "import rewardkit\n\n@rewardkit.reward('own', name='own_member')\ndef own(sample):\n    return 1.0\n"
    )
    load_reward_file(str(path))
    compose("made", {"sum": ["own_member", {"reward": "gsm8k", "weight": 2.0}]}, ["made"], registry=REGISTRY)
    items = identities(Scorer(), ["made"])["made"]["items"]
    assert items["sum.own_member"]["source"] == source_digests(path)
    assert items["sum.gsm8k"]["weight"] == 2.0 and items["sum.gsm8k"]["options"]["method"] == "strict"


def test_the_options_of_somebody_else_s_function_are_named(tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text("def compute_score(solution_str, ground_truth, bonus):\n    return bonus\n")
    facts = []
    for bonus in (1, 2):
        (reward,) = load_reward(f"their/source={path}:compute_score?bonus={bonus}")
        facts.append({"their/source": identity(reward, reward.make_options({}))})
    lines = [str(one) for one in changes(*facts)]
    assert any(line.startswith("their/source: option bonus: ") for line in lines)
    assert not any("source theirs.py" in line for line in lines)


def test_a_digest_covers_what_a_file_imports_from_its_folder_and_no_more(tmp_path: Path) -> None:
    files = {
        "main.py": "import json, one\nfrom pack.inner import f\n\ndef late():\n    import two\n",
        "one.py": "import main\n",
        "two.py": "",
        "pack/__init__.py": "",
        "pack/inner.py": "from . import __init__\n",
        "other.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = source_digests(tmp_path / "main.py")
    assert list(found) == sorted(files.keys() - {"other.py"})
    (tmp_path / "two.py").write_bytes(b"x = 1\r\n")
    changed = source_digests(tmp_path / "main.py")
    assert [name for name in found if changed[name] != found[name]] == ["two.py"]
    (tmp_path / "two.py").write_bytes(b"x = 1\n")
    assert source_digests(tmp_path / "main.py") == changed, "as another machine's git writes the line's end"


def test_a_digest_of_a_package_s_module_covers_its_siblings(tmp_path: Path) -> None:
    files = {
        "pack/__init__.py": "",
        "pack/main.py": "from . import one\nfrom .two import f\n",
        "pack/one.py": "",
        "pack/two.py": "",
        "pack/three.py": "",
    }
    (tmp_path / "pack").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert list(source_digests(tmp_path / "pack/main.py")) == ["pack/main.py", "pack/one.py", "pack/two.py"]
    (tmp_path / "pack/one.py").write_text("import pack.three\n")
    assert "pack/three.py" in source_digests(tmp_path / "pack/main.py")


def test_a_digest_of_weights_sees_a_change_anywhere_near_its_pieces(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    with open(weights, "wb") as file:
        file.truncate(80 << 20)
    before = path_digest(weights)
    for place in (0, (80 << 20) - 1):
        with open(weights, "r+b") as file:
            file.seek(place)
            file.write(b"x")
        assert path_digest(weights) != before
        before = path_digest(weights)


def test_a_score_that_moves_equally_for_a_group_moves_no_advantage() -> None:
    registry = Registry()
    scores = {"a": 1.0, "b": 0.0}
    registry.register(
        Reward(
            "r",
            1,
            lambda samples: [Score(scores[s.response]) for s in samples],
            ("s",),
            running=Running(batch=True, runs="inline"),
        )
    )
    pins = [Pin("s", text, "", scores[text], f"{scores[text]:g}", group="p") for text in ("a", "b")]
    with Scorer(registry=registry) as scorer:
        lock = Lock(FORM, [], ".", identities(scorer, ["s"]), pins)
        assert check(lock, scorer).lines() == []
        scores |= {"a": 2.0, "b": 1.0}
        moved = check(lock, scorer)
        assert len(moved.pins) == 2 and moved.groups == []
        scores |= {"a": 1.0, "b": 2.0}
        (group,) = check(lock, scorer).groups
    assert group.was == pytest.approx([0.5**0.5, -(0.5**0.5)], rel=1e-4)
    assert group.now == pytest.approx([-(0.5**0.5), 0.5**0.5], rel=1e-4)


def test_a_lock_of_prepared_prompts_pins_their_right_reference_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["prep", "arithmetic", "--out", "data", "--n-train", "20", "--n-test", "5"]) == 0
    assert run(["lock", "data/train.parquet", "--pins", "3"]) == 0
    pins = json.loads(Path("rewardkit.lock").read_text())["pins"]
    assert [pin["verdict"] for pin in pins] == ["right"] * 3
    assert run(["lock", "data/train.parquet"]) == 2, "a lock is replaced with --force only"
    capsys.readouterr()
    assert run(["lock", "--check", "--json", "--option", "gsm8k:format_score=0.5"]) == 1
    (change,) = json.loads(capsys.readouterr().out)["rewards"]
    assert (change["what"], change["was"], change["now"]) == ("option format_score", None, 0.5)


def test_a_run_s_folder_is_compared_with_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"data_source": "gsm8k", "response": "#### 1", "ground_truth": "1"}\n')
    assert run(["lock", "rows.jsonl"]) == 0
    with Scorer() as same, Scorer(options={"gsm8k": {"method": "flexible"}}) as other:
        for name, scorer in (("same", same), ("other", other)):
            Path(name).mkdir()
            write_identities(identities(scorer, ["gsm8k"]), Path(name))
    capsys.readouterr()
    assert run(["lock", "--check", "same"]) == 0
    assert run(["lock", "--check", "same", "other"]) == 1
    assert "other: gsm8k: option method: " in capsys.readouterr().out
    assert run(["lock", "--check", "."]) == 2


def test_a_path_that_a_clone_will_not_have_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("rows.jsonl").write_text('{"data_source": "gsm8k", "response": "#### 1", "ground_truth": "1"}\n')
    for folder in (tmp_path / "project", tmp_path):
        (folder / "options.yaml").write_text("gsm8k: {method: flexible}\n")
        given = ["--options-file", str(folder / "options.yaml"), "--lock", f"{folder.name}.lock"]
        assert run(["lock", "rows.jsonl", *given]) == 0
        assert ("outside this folder" in capsys.readouterr().err) == (folder == tmp_path)
