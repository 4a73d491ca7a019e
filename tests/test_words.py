"""One word for one thing: the name of a class is that of nothing else (CONTRIBUTING.md, Words)."""

import ast
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "server", "trainer", "datasets_prep")


def files() -> Iterator[Path]:
    """Our modules, once each: what stands behind the links in `rewardkit/` is listed where it lies."""
    for room in ROOMS:
        for folder, _, names in os.walk(ROOT / room):
            yield from (Path(folder, name) for name in names if name.endswith(".py"))


def _places() -> tuple[set[str], dict[str, list[str]]]:
    """The names of the classes at the top of our modules, and where each name of a class or an alias stands."""
    classes = set()
    places = defaultdict(list)
    for path in files():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes.add(node.name)
                places[node.name].append(str(path.relative_to(ROOT)))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                places[node.targets[0].id].append(str(path.relative_to(ROOT)))
    return classes, places


def test_the_name_of_a_class_is_that_of_nothing_else() -> None:
    classes, places = _places()
    assert len(classes) > 500  # it has looked at the code
    twice = {name: places[name] for name in sorted(classes) if len(places[name]) > 1}
    assert not twice, "give them telling prefixes, such as PrepSettings and CheckSettings"
