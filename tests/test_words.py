"""One word for one thing: names that would fit many classes belong to one each (docs/design.md, Words)."""

import ast
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "server", "trainer", "datasets_prep")
MEANT_FOR_ONE = ("Options", "Answer", "Outcome", "Request", "Job", "Verdict", "Row")


def files() -> Iterator[Path]:
    """Our modules, once each: what stands behind the links in `rewardkit/` is listed where it lies."""
    for room in ROOMS:
        for folder, _, names in os.walk(ROOT / room):
            yield from (Path(folder, name) for name in names if name.endswith(".py"))


def _places() -> dict[str, list[str]]:
    """Where the classes and the aliases of types of each name stand."""
    found = defaultdict(list)
    for path in files():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(ROOT)))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id].append(str(path.relative_to(ROOT)))
    return found


def test_a_name_that_fits_many_things_is_that_of_one_class() -> None:
    places = _places()
    assert len(places) > 500  # it has looked at the code
    assert {name: places[name] for name in MEANT_FOR_ONE if len(places[name]) > 1} == {}
