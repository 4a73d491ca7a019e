"""Rows that installed packages add to tables: imported when used, and refused in one line that names the package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest
from click.testing import CliRunner

from rewardkit import extensions
from rewardkit.cli import run
from rewardkit.commands import doctor
from rewardkit.errors import ExtensionError
from rewardkit.extensions import EXTRAS, Table, installed_rows
from rewardkit.registry import Registry
from tests.installed import install


def table(shipped: dict[str, int | str] | None = None) -> Table[int]:
    return Table("numbers", int, shipped if shipped is not None else {"one": 1})


def test_a_package_adds_a_row_behind_the_shipped_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {"numbers": {"two": "plug_ok:TWO"}}, name="plug_ok", source="TWO = 2\n")
    numbers = table()
    assert dict(numbers) == {"one": 1, "two": 2}
    assert "two" in numbers and "three" not in numbers and numbers.shipped == ("one",)


def test_a_row_is_imported_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "raise RuntimeError('imported')\n"
    install(tmp_path, monkeypatch, {"numbers": {"two": "plug_lazy:TWO"}}, name="plug_lazy", source=source)
    numbers = table()
    assert numbers["one"] == 1 and list(numbers) == ["one", "two"] and "two" in numbers
    with pytest.raises(ExtensionError, match=r"plug_lazy 1\.0.*imported"):
        numbers["two"]


def test_a_shipped_row_may_be_imported_on_first_use() -> None:
    found = Table("functions", object, {"join": "os.path:join"})["join"]
    assert found is __import__("os").path.join  # type: ignore[comparison-overlap]


def test_old_metadata_beside_a_source_does_not_hide_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build leaves such metadata, and it comes first on the path of those who run in that folder."""
    install(tmp_path, monkeypatch, {"numbers": {"two": "plug_new:TWO"}}, name="plug_new", source="TWO = 2\n")
    source = tmp_path / "source"
    install(source, monkeypatch, {"other": {"x": "plug_new:TWO"}}, name="plug_new", source="TWO = 2\n")
    assert dict(table()) == {"one": 1, "two": 2}


@pytest.mark.slow
def test_a_broken_package_stops_only_those_who_use_its_kinds(tmp_path: Path) -> None:
    folder = tmp_path / "plugs"
    with pytest.MonkeyPatch.context() as path:
        rows = {name: {"broken": "plug_broken:ROW"} for name in ("languages", "estimators", "trackers")}
        rows |= {name: {"broken": "plug_broken:ROW"} for name in ("datasets", "generation_engines")}
        install(folder, path, rows, name="plug_broken", source="raise RuntimeError('boom')\n")
    environment = {**os.environ, "PYTHONPATH": str(folder)}

    def tried(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rewardkit", *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)

    files = ("data.train_files=data/train.parquet", "data.val_files=data/test.parquet")
    for words in (
        ("prep", "arithmetic", "--level", "tiny", "--out", "data"),
        ("score", "sample://responses.jsonl", "--out", "scored.jsonl"),
        ("train", "--explain", "--config", "tiny-cpu", *files, "algorithm.adv_estimator=remax"),
    ):
        found = tried(*words)
        assert "boom" not in found.stdout + found.stderr, found.stderr
    found = tried("doctor")
    assert found.returncode == 1 and "SQLite" in found.stdout and "plug_broken 1.0" in found.stdout
    found = tried("prep", "broken", "--out", "data")
    assert found.returncode and "plug_broken 1.0" in found.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("target", "source", "told"),
    [
        ("plug_bad:TWO", "TWO = 'two'\n", "str; expected int"),
        ("plug_bad:THREE", "TWO = 2\n", "THREE"),
        ("plug_none:TWO", "", "plug_none"),
        ("plug_bad:TWO", "import nowhere_at_all\n", "nowhere_at_all"),
        ("plug_bad:TWO", "def (\n", "invalid syntax"),
        ("plug_bad:TWO", "raise SystemExit(3)\n", "SystemExit: 3 (plug_bad.py, line 1)"),
    ],
)
def test_a_broken_row_is_one_line_that_names_the_package(
    target: str, source: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(__import__("sys").modules, "plug_bad", raising=False)
    install(tmp_path, monkeypatch, {"numbers": {"two": target}}, name="plug_bad", source=source)
    with pytest.raises(ExtensionError) as error:
        table()["two"]
    said = str(error.value)
    assert "'plug_bad 1.0'" in said and "'two'" in said and told in said and "\n" not in said


@pytest.mark.parametrize("name", list(doctor.TABLES))
def test_doctor_finds_a_row_that_the_table_cannot_use(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(__import__("sys").modules, "plug_five", raising=False)
    install(tmp_path, monkeypatch, {name: {"five": "plug_five:FIVE"}}, name="plug_five", source="FIVE = 5\n")
    found = resolve_name(doctor.TABLES[name])
    if isinstance(found, Table):
        monkeypatch.setattr(found, "_added", None)
    problem = doctor.CheckedRow.of(extensions.added_rows(name)["five"]).problem
    if name in ("tools", "interactions"):  # their rows are checked with the settings of a run
        assert problem is None
    else:
        assert problem is not None and "'plug_five 1.0'" in problem and "\n" not in problem


DECLARED = """
import rewardkit

@rewardkit.reward("gsm8k", name="plug_taken")
def taken(response: str) -> float:
    return 1.0
"""


@pytest.mark.slow
def test_doctor_names_the_package_whose_reward_takes_a_source_of_ours(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as path:
        rows = {"rewards": {"taken": "plug_taken:taken"}}
        install(tmp_path, path, rows, name="plug_taken", source=DECLARED)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "rewardkit", "doctor", "--json"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    (problem,) = (row["problem"] for row in json.loads(done.stdout)["extensions"] if row["problem"])
    assert done.returncode == 1 and "'plug_taken 1.0'" in problem and "'gsm8k'" in problem


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "source"),
    [("odd", "raise ValueError('oops')"), ("odd", "return None"), ("go", "raise ValueError('oops')")],
)
def test_doctor_reports_whole_where_a_language_of_a_package_fails(
    entry: str, source: str, tmp_path: Path
) -> None:
    """It raises when it is looked for, has no tools, or has the name of another package's language."""
    with pytest.MonkeyPatch.context() as path:
        made = (
            "from dataclasses import replace\nfrom rewardkit.sandbox.languages import RUNNERS\n"
            f"def discover(*_):\n    {source}\n"
            f"ODD = replace(RUNNERS['bash'], name={entry!r}, discover=discover)\n"
        )
        install(tmp_path, path, {"languages": {entry: "plug_odd:ODD"}}, name="plug_odd", source=made)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "rewardkit", "doctor"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "plug_odd 1.0" in done.stdout and "escapes blocked" in done.stdout and "\nsql " in done.stdout
    assert "Traceback" not in done.stderr


def test_doctor_knows_all_tables_and_reports_rows_of_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[1]
    pages = "".join(page.read_text() for page in (root / "docs").glob("extending*.md"))
    assert set(re.findall(r'entry-points\."rewardkit\.(\w+)"', pages)) <= set(doctor.TABLES)
    assert set(extensions.installed_rows()) <= set(doctor.TABLES)
    install(tmp_path, monkeypatch, {"langauges": {"x": "plug_x:X"}}, name="plug_x", source="X = 5\n")
    (row,) = extensions.added_rows("langauges").values()
    assert "unknown table" in str(doctor.CheckedRow.of(row).problem)


def test_a_name_that_is_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path, monkeypatch, {"numbers": {"one": "plug_same:ONE"}}, name="plug_same", source="ONE = 1\n"
    )
    with pytest.raises(ExtensionError, match="plug_same"):
        list(table())
    assert list(table({})) == ["one"]
    install(
        tmp_path / "b", monkeypatch, {"numbers": {"one": "plug_b:ONE"}}, name="plug_b", source="ONE = 1\n"
    )
    with pytest.raises(ExtensionError, match=r"(?=.*plug_same)(?=.*plug_b)"):
        list(table({}))


@pytest.mark.parametrize(
    ("entries", "command"),
    [
        ({"rewards": {"mine": "plug_cli:mine"}}, ["list"]),
        ({"commands": {"mine": "plug_cli:mine"}}, ["mine"]),
        ({"log_kinds": {"mine": "plug_cli:mine"}}, ["score", "sample://responses.jsonl", "--out", "{out}"]),
        ({"file_formats": {"mine": "plug_cli:mine"}}, ["score", "{rows}", "--out", "{out}"]),
    ],
)
def test_a_command_that_meets_a_broken_package_says_which_in_one_line(
    entries: dict[str, dict[str, str]],
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rewardkit import registry
    from rewardkit.files import formats
    from rewardkit.logs import kinds

    install(tmp_path, monkeypatch, entries, name="plug_cli", source="raise ImportError('no such thing')\n")
    monkeypatch.setattr(registry.REGISTRY, "_entry_points_loaded", False)
    for opened in (kinds.KINDS, formats.OPENERS):
        monkeypatch.setattr(opened, "_added", None)
    (tmp_path / "rows.mine").write_text("x")
    words = [word.format(out=tmp_path / "out.jsonl", rows=tmp_path / "rows.mine") for word in command]
    assert run(words) == 2
    said = capsys.readouterr().err
    assert "plug_cli 1.0" in said and "no such thing" in said and len(said.strip().splitlines()) == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_code_of_a_package_that_raises_is_one_line_and_a_traceback_with_debug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rewardkit.files import formats

    source = "def opened(source):\n    raise RuntimeError('boom')\n"
    install(tmp_path, monkeypatch, {"file_formats": {"raises": "plug_raises:opened"}}, name="plug_raises", source=source)  # fmt: skip
    monkeypatch.setattr(formats.OPENERS, "_added", None)
    (tmp_path / "rows.raises").write_text("x")
    words = ["score", str(tmp_path / "rows.raises"), "--out", str(tmp_path / "out.jsonl")]
    assert run(words) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and "'plug_raises 1.0'" in said[0] and "boom (plug_raises.py, line 2)" in said[0]
    with pytest.raises(RuntimeError, match="boom"):
        run(["--debug", *words])


def test_doctor_loads_every_row_and_fails_on_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SECURE", ())
    monkeypatch.setattr(doctor, "RUNNERS", {})
    sound = json.loads(CliRunner().invoke(doctor.command, ["--json"]).output)["extensions"]
    assert sound and not any(row["problem"] for row in sound)
    assert {row["package"] for row in sound} == {EXTRAS}
    install(tmp_path, monkeypatch, {"numbers": {"two": "plug_gone:TWO"}}, name="plug_gone")
    result = CliRunner().invoke(doctor.command, ["--json"])
    (broken,) = (row for row in json.loads(result.output)["extensions"] if row["problem"])
    assert (broken["name"], broken["package"], result.exit_code) == ("two", "plug_gone 1.0", 1)


def test_a_reward_without_the_decorator_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def mine(response):\n    return 1.0\n"
    install(tmp_path, monkeypatch, {"rewards": {"mine": "plug_plain:mine"}}, name="plug_plain", source=source)
    with pytest.raises(ExtensionError, match="plug_plain"):
        list(Registry())


def test_our_extras_are_told_from_other_packages() -> None:
    assert {row.package for row in installed_rows()["languages"]} == {EXTRAS}
