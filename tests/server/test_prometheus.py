"""A real Prometheus reads the figures with the rules of `deploy/`, and shows what was scored."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewardkit import Client, Sample
from tests.living import until
from tests.server.serving import serve

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
REWARD = """
from rewardkit import reward

@reward("test/given", timeout_s=30)
def given(sample):
    return float(sample.response)
"""


class Prometheus:
    """A Prometheus that reads one server every second, with our rules."""

    def __init__(self, folder: Path, port: int) -> None:
        scrapes = [{"job_name": "rewardkit", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]
        settings = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "scrape_configs": scrapes,
            "rule_files": [str(DEPLOY / "alerts.yaml")],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.port = 0
        for line in self.process.stderr:
            if found := re.search(r'msg="Listening on".* address=127\.0\.0\.1:(\d+)', line):
                self.port = int(found[1])
                break
        assert self.port, "it did not start"

    def ask(self, path: str, **query: str) -> dict[str, object]:
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url) as answer:
            data: dict[str, object] = json.loads(answer.read())["data"]
            return data

    def value(self, expression: str) -> float | None:
        result: Any = self.ask("query", query=expression)["result"]
        return float(result[0]["value"][1]) if result else None

    def healths(self) -> set[str]:
        groups: Any = self.ask("rules")["groups"]
        return {rule["health"] for group in groups for rule in group["rules"]}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="no prometheus here (Debian's package of the name)"
)
def test_prometheus_shows_a_negative_mean_on_the_dashboard_and_in_the_rules(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text(REWARD)
    board = json.loads((DEPLOY / "grafana.json").read_text())
    (mean,) = [panel for panel in board["panels"] if panel["title"] == "Mean score, by data source"]
    expression = mean["targets"][0]["expr"].replace("$__rate_interval", "10s")
    with (
        serve("--no-sandbox", "--reward", str(tmp_path / "rewards.py")) as server,
        Client(server.url) as client,
    ):
        prometheus = Prometheus(tmp_path, server.port)
        try:

            def seen(asked: str) -> bool:
                client.score_batch([Sample("test/given", score, "") for score in ("-2.0", "0.8")])
                return prometheus.value(asked) == pytest.approx(-0.6)

            for asked in (expression, "data_source:rewardkit_score:mean15m"):
                until(lambda asked=asked: seen(asked))
            until(lambda: prometheus.healths() == {"ok"})
        finally:
            prometheus.close()
