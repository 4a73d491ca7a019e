"""The page of a training run, read as a browser reads it, from the log of a real run of six steps."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.cli import run as rewardkit
from rewardkit.errors import InputError
from rewardkit.evaluation.html.charts import POINTS, Chart, draw
from rewardkit.evaluation.html.run_page import charts_of, write_run_page

RUN = Path(__file__).parents[1] / "data" / "run"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RUN, tmp_path / "run"))


class Page(HTMLParser):
    """What is in a page: the points of its charts by title, its cards, its data."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.charts: dict[str, dict[str, list[list[float]]]] = {}
        self.scripts: dict[str, str] = {}
        self.tags: set[str] = set()
        self._points: Any = None
        self._inside = ""
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        if "data-points" in given:
            self._points = json.loads(given["data-points"] or "")
        self._inside = tag if tag != "script" else f"script {given.get('id')}"

    def handle_data(self, data: str) -> None:
        if self._inside == "figcaption" and self._points is not None:
            self.charts[data.strip()] = self._points
            self._points = None
        elif self._inside.startswith("script "):
            self.scripts[self._inside.removeprefix("script ")] = data

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    @property
    def about(self) -> Any:
        return json.loads(self.scripts["about"])

    @property
    def samples(self) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.scripts["samples"])))


def logged(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def log(run: Path, *rows: dict[str, Any]) -> None:
    (run / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_the_curves_are_those_of_the_log(run: Path) -> None:
    charts = Page(write_run_page(run)).charts
    entropy = [(row["training/global_step"], row["actor/entropy"]) for row in logged(run)[1:]]
    assert charts["Entropy"]["mean"] == [pytest.approx(point, rel=1e-4) for point in entropy]
    for title in ("Score", "Score components", "Divergence", "Response length", "Validation"):
        assert charts[title]
    phases = charts["Step time by phase"]
    for name, key in (("generation", "gen"), ("actor update", "update_actor"), ("validation", "testing")):
        assert phases[name][-1][1] == pytest.approx(logged(run)[-1].get(f"timing_s/{key}", 0.0), rel=1e-4)


def drawn_values(charts: list[Chart]) -> list[float]:
    """Return the values of all points of charts that are lines or edges of a band."""
    lines = [points for chart in charts for points in chart.lines.values()]
    edges = [edge for chart in charts for edge in chart.band or ()]
    return [value for points in (*lines, *edges) for _, value in points]


LOGGED = sorted(
    {key for line in (RUN / "metrics.jsonl").read_text().splitlines() for key in json.loads(line)}
)
NAMES = st.sampled_from(LOGGED) | st.from_regex(
    r"(val-core|val-aux|reward/part|reward|timing_s|ledger|actor|response_length|new)/[a-z]{1,4}(/(mean|min|max))?",
    fullmatch=True,
)


@given(st.sets(NAMES.filter(lambda name: not name.startswith(("alarm/", "reward/failed/")))))
def test_every_metric_is_drawn_once(names: set[str]) -> None:
    names -= {"training/global_step"}
    metrics = {name: float(value) for value, name in enumerate(sorted(names), 1)}
    charts, further = charts_of({1: {"training/global_step": 1.0, **metrics}})
    found = drawn_values([*charts, *further])
    assert sorted(found) == sorted(metrics.values())


def test_a_score_is_drawn_with_the_truth_on_one_scale():
    values = {1: (-3.0, 0.2), 5: (2.0, 0.5), 9: (3.0, 0.1)}
    steps = {
        step: {"overoptimization/score": score, "overoptimization/held/out/truth": truth}
        for step, (score, truth) in values.items()
    }
    main, further = charts_of(steps)
    assert not further
    (chart,) = [one for one in main if any(one.lines.values())]
    assert {name: [round(y, 3) for _, y in line] for name, line in chart.lines.items()} == {
        "score": [0.0, 0.833, 1.0],
        "held/out": [0.25, 1.0, 0.0],
    }


def test_a_run_that_was_resumed_or_cut_off_is_shown_as_it_went(run: Path) -> None:
    first, *rest = logged(run)
    again = [{**row, "actor/entropy": 1.25} for row in rest[2:4]]
    log(run, first, *rest[:4], *again)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"training/global_step": 5.0, "actor/ent')
    (run / "samples.jsonl").write_text(
        "".join(
            json.dumps({"step": step, "rows": [{"response": text}]}) + "\n"
            for step, text in ((3, "before"), (6, "lost"), (3, "after"))
        )
        + '{"step": 4, "ro'
    )
    page = Page(write_run_page(run, total_steps=9))
    assert [step for step, _ in page.charts["Entropy"]["mean"]] == [1, 2, 3, 4]
    assert [value for _, value in page.charts["Entropy"]["mean"]][2:] == [1.25, 1.25]
    assert [(one["step"], one["rows"][0]["response"]) for one in page.samples] == [(3, "after")]
    assert page.about["last"] == 4 and "4 of 9" in page.text


def test_no_text_of_a_model_is_markup_and_nothing_is_loaded(run: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>]]>-->\ud800 $x$"
    kept = {"step": 1, "rows": [{"response": hostile.replace("\ud800", ""), "prompt": hostile[:20]}]}
    (run / "samples.jsonl").write_text(json.dumps(kept) + "\n")
    first = logged(run)[1]
    log(run, {**first, "val-core/<img src=x>/acc/mean@1": 0.5, "reward/part/</script><b>": 1.0})
    page = Page(write_run_page(run))
    assert "img" not in page.tags and "onerror" not in page.text
    assert page.samples[0]["rows"][0]["response"].startswith("</script>")
    assert "default-src 'none'" in page.text
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page.text)


def test_failures_are_counted_where_none_were_too(run: Path) -> None:
    rows = logged(run)
    rows[3]["reward/failed/timeout"] = 2.0
    log(run, *rows)
    page = Page(write_run_page(run))
    assert page.charts["Not scored, by status"]["timeout"] == [[1, 0], [2, 0], [3, 2], [4, 0], [5, 0], [6, 0]]


def test_a_metric_that_was_never_finite_is_left_out(run: Path) -> None:
    log(run, *({**row, "train/loss": None, "val/loss": None} for row in logged(run)))
    assert "val/loss" not in "".join(Page(write_run_page(run)).charts)


def test_a_long_run_makes_no_large_page(run: Path) -> None:
    row = logged(run)[-1]
    log(run, *({**row, "training/global_step": step, "actor/entropy": float(step)} for step in range(3_000)))
    path = write_run_page(run)
    entropy = Page(path).charts["Entropy"]["mean"]
    assert len(entropy) == POINTS and entropy[-1] == [2999, pytest.approx(2993, abs=1)]
    assert path.stat().st_size < 2_000_000


def test_what_cannot_be_drawn_is_left_out_and_constants_lie_in_the_middle() -> None:
    assert draw(Chart("nothing", {"a": []})) == ""
    drawn = draw(Chart("one", {"a": [(1, 5.0)], "b": []}))
    assert "<circle" in drawn and labels(drawn) == ["2", "4", "6", "8", "1"]
    assert "nan" not in draw(Chart("flat", {"a": [(0, 0.0), (1, 0.0)]}))


def test_areas_stand_on_top_of_each_other_also_where_one_has_no_value() -> None:
    drawn = draw(Chart("areas", {"a": [(1, 1.0), (2, 1.0)], "b": [(2, 3.0)]}, kind="areas"))
    first, second = (points.split() for points in re.findall('<polygon points="([^"]*)"', drawn))
    assert second[2:] == first[1::-1], "the second's ground is the first's top"
    assert second[0] == first[0] and labels(drawn)[:3] == ["0", "2", "4"]


def test_a_command_makes_the_page(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rewardkit(["view", str(run)]) == 0
    assert capsys.readouterr().out == f"written: {run / 'metrics.html'}\n"
    assert rewardkit(["view", str(run), "--html", str(run / "other.html")]) == 0
    assert Page(run / "other.html").charts["Score"]
    assert not Page(run / "other.html").about["running"]


def test_a_log_without_a_step_is_said_to_be_one(run: Path) -> None:
    (run / "metrics.jsonl").write_text("no JSON\n")
    with pytest.raises(InputError, match=r"metrics\.jsonl contains no training step"):
        write_run_page(run)
    assert not (run / "metrics.html").exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((-0.0004, 0.02), ["-0.01", "0", "0.01", "0.02"]),
        ((1_234_567.0, 1_234_567.9), ["1,234,567.0", "1,234,567.5", "1,234,568.0"]),
        ((-2e12, -1e12), ["-2.0e+12", "-1.5e+12", "-1.0e+12"]),
    ],
)
def test_the_labels_of_an_axis_are_round_and_tell_its_values_apart(
    values: tuple[float, float], said: list[str]
) -> None:
    drawn = draw(Chart("KL", {"mean": [(1, values[0]), (2, values[1])]}))
    assert labels(drawn)[:-2] == said


def labels(drawn: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*>([^<]*)<', drawn)
