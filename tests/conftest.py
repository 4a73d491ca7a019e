"""Shared by all tests: where real data lies, a registry left as it was, the same examples in every run."""

from __future__ import annotations

import copy
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import rewardkit.rewards  # noqa: F401  (ours are registered once, before the first test)
from rewardkit.agents.resolving import AGENTS  # the loops that ship are offered before the first test
from rewardkit.processes import unsearched_imports
from rewardkit.registry import REGISTRY, Registry
from tests.trainer.running import RUN

REFERENCE_DATA = Path(os.environ.get("REWARDKIT_REFERENCE_DATA") or "no reference data")
"""Folder of whole datasets as published, if there is one; without it, tests use excerpts or are skipped."""
EXCERPTS = Path(__file__).parent / "data"
"""Some rows of those whose licence allows it, in folders and files of the same names."""

# Every run meets the same examples, and no verdict is by the clock. New ones: pytest --hypothesis-profile search
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _UNTIMED, derandomize=True)
settings.register_profile("search", _UNTIMED, max_examples=1_000)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    """Heed SIGINT even where a script started this in its background: tests interrupt what they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault(RUN, str(os.getpid()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Look for no garbage among what tests import, now or later: torch alone makes half a million objects."""
    with unsearched_imports():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with slow tests first, of these the trainer's, so that no worker is left with one of them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, "trainer" not in item.path.parts))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show why a test failed that passed when it was run again (`--reruns`): it is a defect all the same."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"FAILED AT FIRST, AND WAS RUN AGAIN: {report.nodeid}", sep="!", red=True)
        terminalreporter.line(report.longreprtext)


@pytest.fixture
def reference_data() -> Path:
    """A folder of raw datasets: whole where they lie beside the checkout, excerpts otherwise."""
    return REFERENCE_DATA if REFERENCE_DATA.is_dir() else EXCERPTS


def needs(path: Path) -> Path:
    """Return the path; skip the test, saying so, where it is not there."""
    if not path.exists():
        pytest.skip(f"the excerpts in {EXCERPTS.name} do not hold {path.parent.name}/{path.name}")
    return path


@pytest.fixture(autouse=True)
def registry() -> Iterator[Registry]:
    """The global registry; what any test registers, a command's reward or agent file too, is gone after it."""
    with unchanged_registry():
        yield REGISTRY


@contextmanager
def unchanged_registry() -> Iterator[None]:
    """Forget afterwards which rewards and agents are registered in this block."""
    before = [
        (owner, {name: copy.copy(value) for name, value in vars(owner).items()})
        for owner in (REGISTRY, AGENTS)
    ]
    yield
    for owner, values in before:
        for name, value in values.items():
            setattr(owner, name, value)


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """The environment variables as they were, whatever the test, or what it called in this process, has set."""
    before = dict(os.environ)
    yield
    if dict(os.environ) != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def vision_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of tiny vision-language models by model type."""
    from tests.tiny_vision import KINDS, save_model

    return {kind: save_model(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS}
