"""Script that writes the tasks of a verifiers 0.4 taskset as JSON lines: `python -P FILE TARGET MOST`.

The script runs in the interpreter that has verifiers installed, and depends on nothing else. A taskset may
print text while it loads, so the script redirects standard output to standard error.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from typing import Any


def tasks_of(target: str) -> Any:
    """Load the taskset at `module:Class`, or with an id from verifiers."""
    module, colon, name = target.partition(":")
    loaders = importlib.import_module("verifiers.v1.utils.loaders")
    if not colon:
        return loaders.taskset_class(target)(loaders.taskset_config_type(target)(id=target))
    found = getattr(importlib.import_module(module), name)
    taskset = importlib.import_module("verifiers.v1.taskset").Taskset
    config = importlib.import_module("verifiers.v1.configs.taskset").TasksetConfig
    kind = importlib.import_module("verifiers.v1.utils.generic").concrete_type(found, config, origin=taskset)
    return found((kind or config)(id=module))


def main(target: str, most: int) -> None:
    """Write the data of the first `most` tasks to standard output."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for task in itertools.islice(tasks_of(target), most):
        lines.write(json.dumps(task.data.model_dump(mode="json")) + "\n")
    lines.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
