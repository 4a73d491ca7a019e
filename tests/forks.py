"""Runs the tests in processes that are forked from one which has imported and collected them all.

    pytest --forks 4

The processes of pytest-xdist each import and collect everything, which takes ten seconds apiece, and exchange six
messages a test. Here a process takes the tests of a file at a time, in the order in which they were collected, and
sends two. What a process was running when it died has failed; another runs the rest.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryFile
from typing import Any

import pytest
from _pytest.capture import FDCapture
from _pytest.junitxml import xml_key

from rewardkit.processes import die_with_parent

_TURN = struct.Struct("H")


def run_in_forks(session: pytest.Session, count: int, file_of: Callable[[pytest.Item], str]) -> None:
    """Run the tests of a session, as pytest's own loop would.

    Args:
        count: how many processes.
        file_of: tests for which it says the same are run by one process, in order.

    Raises:
        pytest.Session.Failed, pytest.Session.Interrupted: there were as many failures as were asked for.
    """
    capture = session.config.pluginmanager.getplugin("capturemanager")
    capture.read_global_capture()  # what was printed while collecting, or each process would print it
    files = [
        list(group) for _, group in groupby(range(len(session.items)), lambda i: file_of(session.items[i]))
    ]
    taking, giving = os.pipe()
    os.write(giving, b"".join(map(_TURN.pack, range(len(files)))))
    os.close(giving)
    forks = {(fork := _Fork(session, files, taking, [])).receiving: fork for _ in range(count)}
    try:
        while forks:
            for connection in wait(list(forks)):
                fork = forks[connection]  # type: ignore[index]
                if fork.hear():
                    continue
                del forks[fork.receiving]
                if rest := fork.end():
                    again = _Fork(session, files, taking, rest)
                    forks[again.receiving] = again
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    finally:
        os.close(taking)
        for fork in forks.values():
            fork.process.kill()


@dataclass
class _Started:
    """Says that a test is begun, and which one comes next, by their places among the items."""

    item: int
    following: int | None


@dataclass
class _Ended:
    """What came of a test: its reports, and the warnings since the last one, as plain data."""

    reports: list[dict[str, Any]]
    warnings: list[tuple[str, str, int, str, str]]


class _Fork:
    """A process that runs tests, and what it has told."""

    def __init__(
        self, session: pytest.Session, files: list[list[int]], taking: int, first: list[int]
    ) -> None:
        self.session = session
        self.files = files
        self.started: _Started | None = None
        self.receiving, sending = get_context("fork").Pipe(duplex=False)
        self.process = get_context("fork").Process(
            target=_run_tests, args=(session, _turns(files, taking, first), sending, os.getpid())
        )
        self.process.start()
        sending.close()

    def hear(self) -> bool:
        """Take in one message; False when there will be none any more."""
        hook = self.session.config.hook
        try:
            message = self.receiving.recv()
        except EOFError:
            return False
        if isinstance(message, _Started):
            self.started = message
            hook.pytest_runtest_logstart(**_place(self.session.items[message.item]))
            return True
        for category, said, line, file, nodeid in message.warnings:
            text = UserWarning(f"{category}: {said}")
            warning = warnings.WarningMessage(text, UserWarning, file, line)
            record = {"warning_message": warning, "when": "runtest", "nodeid": nodeid, "location": None}
            hook.pytest_warning_recorded.call_historic(kwargs=record)
        for data in message.reports:
            report = hook.pytest_report_from_serializable(config=self.session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
        assert self.started is not None
        hook.pytest_runtest_logfinish(**_place(self.session.items[self.started.item]))
        return True

    def end(self) -> list[int]:
        """Reap it; where it died, report that, and return what it left of its file."""
        self.receiving.close()
        self.process.join()
        if not self.process.exitcode:
            return []
        why = f"the process that ran this test ended with {self.process.exitcode}"
        if self.started is None:
            pytest.exit(why.replace("ran this test", "was to run tests"), returncode=3)
        place = _place(self.session.items[self.started.item])
        report = pytest.TestReport(
            **place, keywords={}, outcome="failed", longrepr=why, when="call", duration=0.0
        )
        self.session.config.hook.pytest_runtest_logreport(report=report)
        if self.started.following is None:
            return []
        rest = next(file for file in self.files if self.started.following in file)
        return rest[rest.index(self.started.following) :]


def _place(item: pytest.Item) -> dict[str, Any]:
    return {"nodeid": item.nodeid, "location": item.location}


def _turns(files: list[list[int]], taking: int, first: Iterable[int]) -> Iterator[int]:
    """The tests of one process: those of a file that another one left, and of each file that is not taken yet."""
    yield from first
    while turn := os.read(taking, _TURN.size):
        yield from files[_TURN.unpack(turn)[0]]


class _Teller:
    """Collects what is reported of tests in a process that runs them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ended = _Ended([], [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.ended.reports.append(data)

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, nodeid: str) -> None:
        category, text = warning_message.category.__name__, str(warning_message.message)
        self.ended.warnings.append((category, text, warning_message.lineno, warning_message.filename, nodeid))

    def take(self) -> _Ended:
        ended, self.ended = self.ended, _Ended([], [])
        return ended


def _run_tests(session: pytest.Session, turns: Iterator[int], sending: Connection, parent: int) -> None:
    die_with_parent(parent)
    teller = _take_over(session.config)
    item = next(turns, None)
    while item is not None:
        following = next(turns, None)
        sending.send(_Started(item, following))
        next_item = None if following is None else session.items[following]
        session.config.hook.pytest_runtest_protocol(item=session.items[item], nextitem=next_item)
        sending.send(teller.take())
        item = following
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()


def _take_over(config: pytest.Config) -> _Teller:
    """Make the plugins of the process that collected ours: another folder for files, another capture."""
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    if (xml := config.stash.get(xml_key, None)) is not None:
        plugins.unregister(xml)
    teller = _Teller(config)
    plugins.register(teller)
    teller.take()  # the warnings of all times, which a plugin is told of when it is registered
    capturing = plugins.getplugin("capturemanager")._global_capturing
    for stream in (capturing.out, capturing.err):
        if isinstance(
            stream, FDCapture
        ):  # libraries keep the streams that they found, so the same over other files
            with TemporaryFile() as ours:
                os.dup2(ours.fileno(), stream.tmpfile.fileno())
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"process-{os.getpid()}"
    folders._basetemp.mkdir(mode=0o700)
    return teller
