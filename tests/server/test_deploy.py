"""What stands in `deploy/` fits the server: its figures exist, its flags are known, its files parse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from rewardkit import Scorer
from rewardkit.commands.serve import command
from rewardkit.server.app import create_app

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_every_figure_on_the_dashboard_is_one_that_the_server_has() -> None:
    with Scorer() as scorer:
        app = create_app(scorer)
    families = {family.name for family in app.entrance.metrics.registry.collect()}
    board = json.loads((DEPLOY / "grafana.json").read_text())
    wanted = {
        name
        for panel in board["panels"]
        for t in panel["targets"]
        for name in re.findall(r"rewardkit_\w+", t["expr"])
    }
    assert {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in wanted} == families


def test_the_manifests_flags_and_probes_are_the_servers() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    pod = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in container["args"] if word.startswith("--")} <= known
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    drain_s = float(container["args"][container["args"].index("--drain-s") + 1])
    assert pod["terminationGracePeriodSeconds"] > drain_s + 5


def test_the_image_starts_what_the_command_line_has() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    entrypoint = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    assert entrypoint == ["rewardkit", "serve", "--host", "0.0.0.0"]
