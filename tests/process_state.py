"""What an engine must leave in a process as it found it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def left_as_found() -> Iterator[None]:
    """Check that the block leaves Python's generator, environment and threads alone, and threads settable."""
    before = _state()
    yield
    assert _state() == before
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    assert torch.get_num_threads() == threads + 1
    torch.set_num_threads(threads)


def _state() -> Any:
    return random.getstate(), dict(os.environ), torch.get_num_threads()
