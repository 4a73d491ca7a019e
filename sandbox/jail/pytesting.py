"""Runs tests written for pytest or unittest with pytest itself, in the tests' process.

`checks.py` loads and selects the tests, and passes the module that contains them to pytest. Any exception
from the program is a failure, so the program cannot cause a test to be skipped, left out or expected to fail.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import types
from collections.abc import Callable, Generator
from typing import Any

import pytest

from . import proxies
from .channel import Stopped, describe
from .remote import run_coroutine

_FILE = "tests.py"
_LEFT_OUT = (
    "cacheprovider", "doctest", "faulthandler", "junitxml", "logging", "pastebin", "stepwise",
    "terminal", "threadexception", "tmpdir", "unraisableexception", "warnings",
)  # fmt: skip
"""Plugins that these tests do not need. They would take a third of the total time."""
_ARGUMENTS = ["--assert=plain", "--capture=no", f"-c{os.devnull}", "--rootdir=.", "--confcutdir=.", _FILE]
_NOT_RUN = ("__unittest_skip__", "__unittest_expecting_failure__")
"""Attributes by which unittest marks tests that are skipped or expected to fail."""

_main = pytest.main
_raises = pytest.raises

TestName = tuple[str, str | None]
"""Name of a test function and None, or the names of a test class and its method."""


def adapt() -> None:
    """Replace functions of pytest that do not work with a program in another process."""
    vars(pytest).update(raises=raises, main=lambda *_, **__: 0, importorskip=_imported)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def _imported(name: str, *_: Any, **__: Any) -> Any:
    """Import a module like `importorskip`, except that a missing module makes the tests unusable."""
    return importlib.import_module(name)


def raises(expected: Any = (), *args: Any, **kwargs: Any) -> Any:
    """Check like pytest's `raises`, but accept `Stopped` in place of a StopIteration from the program."""
    kinds = expected if isinstance(expected, tuple) else (expected,)
    if StopIteration in kinds:
        expected = (*kinds, Stopped)
    return _raises(expected, *args, **kwargs) if expected != () else _raises(*args, **kwargs)


def play(
    module: types.ModuleType, names: dict[str, Any], tests: list[str], run_all: Callable[[], None]
) -> None:
    """Have pytest collect the tests in a module, and call `run_all` when they are ready to run.

    Args:
        module: Module of the tests.
        names: Globals of the tests, to which the function `__run_test__` is added. This function runs the
            next test.
        tests: Calls to `__run_test__`, each with the name of a function, or the names of a class and its
            method.
        run_all: Function that makes these calls.
    """
    own = {name: value for name, value in names.items() if not isinstance(value, proxies.Proxy)}
    # pytest needs a file path for the tests, which exist only in memory.
    vars(module).update(own, __file__=os.path.abspath(_FILE))
    with open(_FILE, "w"):
        pass
    runner = TestsByPytest([_unit(test) for test in tests], run_all)
    names["__run_test__"] = runner.run
    plugins = [word for name in _LEFT_OUT for word in ("-p", f"no:{name}")]
    _main([*plugins, *_ARGUMENTS], plugins=[runner])
    if not runner.ran:
        run_all()


def _unit(test: str) -> TestName:
    call = ast.parse(test, mode="eval").body
    words = [
        word.id if isinstance(word, ast.Name) else ast.literal_eval(word)
        for word in getattr(call, "args", [])
    ]
    return words[0], words[1] if len(words) > 1 else None


class TestsByPytest:
    """A pytest plugin that runs the requested tests one at a time."""

    def __init__(self, units: list[TestName], run_all: Callable[[], None]) -> None:
        self.ran = False
        self._units = units
        self._run_all = run_all
        self._items: list[list[Any]] = []
        self._raised: list[BaseException] = []
        self._next = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = [[item for item in session.items if _is_of(item, unit)] for unit in self._units]
        self.ran = True
        self._run_all()
        return True

    def pytest_make_parametrize_id(self, argname: str) -> str:
        return argname  # the id omits the values, which may come from the program

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        function = pyfuncitem.obj
        if not inspect.iscoroutinefunction(function):
            return None
        run_coroutine(
            function(**{name: pyfuncitem.funcargs[name] for name in inspect.signature(function).parameters})
        )
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.excinfo is not None:
            self._raised.append(_as_failure(call.excinfo.value, item, call.when))
        elif report.failed:
            self._raised.append(AssertionError(report.longreprtext))
        return report

    def run(self, *_: Any) -> None:
        """Run the next test with all of its parameter sets, and raise its first exception if it fails.

        Raises:
            UnsupportedTest: The test is marked as skipped or expected to fail.
        """
        items = self._items[self._next] if self.ran else []
        following = [item for later in self._items[self._next + 1 :] for item in later]
        self._next += 1
        if not items or any(map(_says_no, items)):
            raise proxies.UnsupportedTest("pytest does not run this test, or expects the test to fail")
        self._raised = []
        for item, after in zip(items, [*items[1:], *following[:1], None], strict=False):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        if self._raised:
            raise self._raised[0]


def _is_of(item: pytest.Item, unit: TestName) -> bool:
    name, method = unit
    owner = getattr(item.cls, "__qualname__", None) if isinstance(item, pytest.Function) else None
    found = getattr(item, "originalname", "")
    return (owner, found) == ((None, name) if method is None else (name, method))


def _says_no(item: Any) -> bool:
    marked = any(item.get_closest_marker(name) for name in ("skip", "xfail"))
    return marked or any(getattr(owner, name, False) for owner in (item.obj, item.cls) for name in _NOT_RUN)


def _as_failure(error: BaseException, item: pytest.Item, when: str) -> BaseException:
    """Return the exception to report for a test that raised `error`.

    A test that skips itself counts as failed, unless it has a `skipif` mark that does not depend on the
    program.
    """
    if not isinstance(error, pytest.skip.Exception | pytest.xfail.Exception | pytest.exit.Exception):
        return error
    if when == "setup" and item.get_closest_marker("skipif") and "of_the_program" not in vars(error):
        return proxies.UnsupportedTest(f"pytest does not run it: {error}")
    return AssertionError(describe(error))
