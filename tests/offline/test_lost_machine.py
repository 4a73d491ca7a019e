"""A cluster of Ray loses a machine in mid-run, and has no other in its place: nothing is lost, nothing is twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit import Scorer
from rewardkit.files import formats
from rewardkit.generation.engines.ray import run_on_ray
from rewardkit.generation.types import Completion, EngineSettings, GenerationRequest, GenerationSettings
from rewardkit.offline import score_file
from rewardkit.offline.on_ray import RaySettings, RayWorkers
from rewardkit.registry import Registry, load_reward_file
from tests.generation.endpoints import Server
from tests.living import until

if find_spec("ray") is None:  # importing it takes a second, in each process that collects
    pytest.skip("Ray is not installed: pip install 'rewardkit[ray]'", allow_module_level=True)
pytestmark = pytest.mark.slow

REWARD = """
import time
from rewardkit import Sample, reward

@reward("my/slow", runs="inline")
def slow(sample: Sample) -> float:
    time.sleep(0.02)
    return float(sample.response)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A machine with one processor; its tests add and remove another."""
    import ray
    from ray.cluster_utils import Cluster

    size = 100 << 20
    head = {"wait": False, "num_cpus": 1, "object_store_memory": size, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def second(cluster: Any) -> Any:
    import ray

    before = {node["NodeID"] for node in ray.nodes()}
    # Ray's own waits end after 30 s, however busy the machine is.
    added = cluster.add_node(wait=False, num_cpus=1, object_store_memory=100 << 20)
    until(lambda: any(one["Alive"] and one["NodeID"] not in before for one in ray.nodes()), seconds=600)
    return added


def test_each_row_is_scored_once_and_in_order(
    cluster: Any, second: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry
) -> None:
    monkeypatch.setattr(formats, "CHUNK_ROWS", 10)
    (tmp_path / "mine.py").write_text(REWARD)
    load_reward_file(str(tmp_path / "mine.py"))
    path = tmp_path / "in.jsonl"
    rows = [{"data_source": "my/slow", "response": str(i), "ground_truth": ""} for i in range(400)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    removed: list[int] = []

    def on_progress(done: int, total: int | None) -> None:
        if done >= 100 and not removed:
            removed.append(done)
            cluster.remove_node(second, allow_graceful=False)

    with Scorer(workers=1) as scorer, RayWorkers(RaySettings(), scorer) as workers:
        assert workers.size == 4
        score_file(path, tmp_path / "out.parquet", scorer=scorer, workers=workers, on_progress=on_progress)
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert removed and [row["response"] for row in found] == [str(i) for i in range(400)]
    assert [row["score"] for row in found] == [float(i) for i in range(400)]


def test_each_request_is_answered_once(cluster: Any, second: Any) -> None:
    server = Server()
    engine = EngineSettings("endpoint", "m", url=server.url, concurrency=2)
    settings = GenerationSettings(max_tokens=8)
    slices = [[GenerationRequest(i, 0, [{"role": "user", "content": str(i)}], i)] for i in range(40)]
    found: list[Completion] = []

    def done(one: Completion) -> None:
        found.append(one)
        if len(found) == 10:
            cluster.remove_node(second, allow_graceful=False)

    run_on_ray(RaySettings(), engine, settings, slices, done)
    server.close()
    assert sorted(one.row for one in found) == list(range(40))
    assert all(one.text.startswith(f"{one.row} seed") for one in found)
