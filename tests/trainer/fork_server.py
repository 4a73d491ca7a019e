"""One process that has imported what trainings and engines need, and forks the programs that `running.py` asks for.

Importing torch, transformers and vLLM takes most of the time of a small run. This process has no thread of its own,
and ends with the last of the processes that ask it.

    python -m tests.trainer.fork_server DESCRIPTOR      (of a listening socket)
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rewardkit.processes import large_imports

OURS = ("rewardkit", "tests", "benchmarks")
"""The packages of a source tree: a program that is to run another tree imports them anew."""
LIBRARIES = (
    "pandas",  # pyarrow imports it with the first column that is made of Python's values
    "rewardkit.cli",
    "rewardkit.commands.generate",
    "rewardkit.rewards.gsm8k",
    "rewardkit.trainer.run.main",
    "rewardkit.trainer.loop",
    "rewardkit.trainer.run.build",
    "transformers.models.llama.modeling_llama",
)
ENGINE = (
    "vllm.entrypoints.llm",
    "vllm.v1.worker.cpu_worker",
    "vllm.model_executor.model_loader",
    "vllm.model_executor.models.llama",
)
"""What vLLM imports when an engine starts."""
LONGEST_REQUEST = 1 << 17

Children = dict[int, tuple[int, socket.socket]]
"""Process id and connection of each program that runs, by the descriptor that tells of its end."""


def main(listener: socket.socket) -> None:
    """Import everything, then serve until nobody is connected."""
    with large_imports():
        for name in LIBRARIES + (ENGINE if find_spec("vllm") else ()):
            importlib.import_module(name)
        _load_models()
    serve(listener)
    os._exit(0)  # at once: while the socket is open, somebody may connect to it


def _load_models() -> None:
    """Load a tiny model in each way that a run does, which imports and works out more, once for all."""
    from rewardkit.demo.model import make_model, make_tokenizer, save
    from rewardkit.trainer.config.load import read_defaults
    from rewardkit.trainer.config.stages import SCHEMAS, schema_named
    from rewardkit.trainer.models.load import load_causal_lm, load_tokenizer, load_value_model

    with TemporaryDirectory() as folder:
        maker = os.fork()  # making a tokenizer starts threads
        if maker == 0:
            tokenizer = make_tokenizer([])
            save(make_model(tokenizer, seed=0), tokenizer, Path(folder))
            os._exit(0)
        os.waitpid(maker, 0)
        for load in (load_tokenizer, load_causal_lm, load_value_model):
            load(folder)
    for stage in SCHEMAS:
        read_defaults(schema_named(stage))


def serve(listener: socket.socket) -> None:
    """Fork a program for each request; a connection that is closed takes its program with it."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    children: Children = {}
    served = False
    while not served or len(selector.get_map()) > 1 or selector.select(0):
        for key, _ in selector.select():
            if key.fd == listener.fileno():
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                served = True
            elif key.fd in children:
                selector.unregister(key.fd)
                _tell_end(key.fd, *children.pop(key.fd))
            elif isinstance(key.fileobj, socket.socket):
                _hear(key.fileobj, selector, children)


def _hear(connection: socket.socket, selector: selectors.BaseSelector, children: Children) -> None:
    request, descriptors = b"", []
    with suppress(ConnectionResetError):  # whoever asked was killed before it heard the answer
        request, descriptors, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 2)
    if not request:
        selector.unregister(connection)
        for pid, asked in children.values():
            if asked is connection:
                os.kill(pid, signal.SIGKILL)
        connection.close()
        return
    pid = os.fork()
    if pid == 0:
        for key in selector.get_map().values():
            os.close(key.fd)
        _become(json.loads(request), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    with suppress(OSError):  # whoever asked has left, which is heard next
        connection.send(b"%d" % pid)
    ended = os.pidfd_open(pid)
    children[ended] = pid, connection
    selector.register(ended, selectors.EVENT_READ)


def _tell_end(descriptor: int, pid: int, connection: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(descriptor)
    with suppress(OSError):  # whoever asked has left
        connection.send(b"%d" % code)


def _become(request: Mapping[str, Any], descriptors: list[int]) -> None:
    """Be `python -m module words...`, and never return."""
    code = 1
    try:
        _enter(request, descriptors)
        sys.modules.pop(request["module"], None)  # it is to be __main__
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = _exit_code(ended.code)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _enter(request: Mapping[str, Any], descriptors: list[int]) -> None:
    """Take on the folder, the environment, the words and the streams of the program."""
    null = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in zip([null, *descriptors], (0, 1, 2), strict=True):
        os.dup2(descriptor, place)
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-m", *request["words"]]
    sys.path[:0] = [request["folder"], *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if request["anew"]:
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]


def _exit_code(said: object) -> int:
    """What an interpreter makes of the argument of `sys.exit`."""
    if said is None or isinstance(said, int):
        return said or 0
    print(said, file=sys.stderr)
    return 1


if __name__ == "__main__" and os.fork() == 0:  # it is nobody's child: tests look at theirs
    main(socket.socket(fileno=int(sys.argv[1])))
