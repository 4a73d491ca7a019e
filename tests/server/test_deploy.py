"""What stands in `deploy/` fits the server: its figures exist, its flags are known, its files parse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rewardkit import Client, Sample, Scorer
from rewardkit.commands.serve import command
from rewardkit.server.app import create_app
from tests.server.serving import serve
from tests.server.test_metrics import SUFFIX

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_every_figure_on_the_dashboard_is_one_that_the_server_has() -> None:
    with Scorer() as scorer:
        app = create_app(scorer)
    families = {SUFFIX.sub("", family.name) for family in app.state.metrics.registry.collect()}
    board = json.loads((DEPLOY / "grafana.json").read_text())
    wanted = {
        name
        for panel in board["panels"]
        for t in panel["targets"]
        for name in re.findall(r"rewardkit_\w+", t["expr"])
    }
    assert {SUFFIX.sub("", name) for name in wanted} == families


def test_the_manifests_flags_and_probes_are_the_servers() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    pod = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in container["args"] if word.startswith("--")} <= known
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    drain_s = float(container["args"][container["args"].index("--drain-s") + 1])
    assert pod["terminationGracePeriodSeconds"] > drain_s + 5


def test_the_files_that_train_on_several_machines_start_a_recipe_that_exists() -> None:
    service, job = yaml.safe_load_all((DEPLOY / "train.yaml").read_text())
    words = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert f"--rdzv-endpoint={service['metadata']['name']}-0.{service['metadata']['name']}:29500" in words
    named = {word.partition("=")[2] for word in words if word.startswith("--config=")}
    named |= set(re.findall(r"--config (\S+)", (DEPLOY / "train.slurm").read_text()))
    assert named
    assert all((DEPLOY.parent / "trainer" / "recipes" / f"{one}.yaml").is_file() for one in named)


def test_the_image_starts_what_the_command_line_has() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    entrypoint = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    assert entrypoint == ["rewardkit", "serve", "--host", "0.0.0.0"]
    text = (DEPLOY / "Dockerfile.run-code").read_text()
    added = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    assert set(added) <= {name for parameter in command.params for name in parameter.opts}


LIKE_THE_MANIFEST = (
    "mount --make-rprivate / && mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp && unset TMPDIR"
    ' && exec setpriv {user} --bounding-set=-all --inh-caps=-all --no-new-privs "$@"'
)
ANOTHER_USER = "--reuid 10001 --regid 10001 --clear-groups"


def private(path: Path) -> bool:
    """Whether other users may not use what lies there."""
    return any(not folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make its root read-only")
def test_code_is_scored_with_what_the_manifest_leaves_the_server() -> None:
    """No capability, no new privileges, nothing to write to but /tmp; another user, if one may use it."""
    user = "" if private(Path(sys.executable).resolve()) else ANOTHER_USER
    before = ["unshare", "--mount", "sh", "-c", LIKE_THE_MANIFEST.format(user=user), "sh"]
    if subprocess.run([*before, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("no mount namespace here")
    tests = json.dumps({"inputs": ["1\n"], "outputs": ["2\n"]})
    sample = Sample("apps", "```python\nprint(int(input()) + 1)\n```", tests)
    with serve("--run-code", before=before) as server, Client(server.url) as client:
        score = client.score(sample)
        assert (score.status, score.correct) == ("ok", True), score.detail
        assert server.stop() == 0


def test_the_manifest_gives_the_server_no_more_than_it_needs() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    pod = next(d for d in documents if d["kind"] == "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["automountServiceAccountToken"] is False
    writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/tmp"]


def test_where_the_manifest_has_several_servers_each_client_stays_with_one() -> None:
    """ROLL's results and sessions are kept by the one that was asked first."""
    documents = {d["kind"]: d for d in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}
    assert documents["Deployment"]["spec"]["replicas"] > 1
    assert documents["Service"]["spec"]["sessionAffinity"] == "ClientIP"


def test_the_composition_starts_what_the_server_prometheus_and_the_dashboard_need() -> None:
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    server = composed["services"]["server"]
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in server["command"] if word.startswith("--")} <= known
    assert (DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]).is_file()
    drain_s = float(server["command"][server["command"].index("--drain-s") + 1])
    assert float(server["stop_grace_period"].removesuffix("s")) > drain_s + 5
    configs = composed["configs"]
    mounted = {
        one["source"] for service in composed["services"].values() for one in service.get("configs", ())
    }
    assert mounted == set(configs)
    assert all((DEPLOY / one["file"]).is_file() for one in configs.values() if "file" in one)
    scraping = yaml.safe_load(configs["prometheus"]["content"])
    (job,) = scraping["scrape_configs"]
    alerts = (DEPLOY / "alerts.yaml").read_text()
    assert set(re.findall(r'job="(\w+)"', alerts)) == {job["job_name"]}
    assert job["static_configs"][0]["targets"] == [f"server:{server['ports'][0].rpartition(':')[2]}"]
    paths = {one["target"] for one in composed["services"]["prometheus"]["configs"]}
    assert {f"/etc/prometheus/{name}" for name in scraping["rule_files"]} <= paths


def test_only_the_server_listens_beyond_this_machine() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    public = {name for name, one in services.items() if any(p.count(":") < 2 for p in one.get("ports", ()))}
    assert public == {"server"}
