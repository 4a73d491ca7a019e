"""No circle between files: each can be read, tested and moved without those that use it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

grimp = pytest.importorskip("grimp", reason="grimp reads the imports: pip install 'rewardkit[dev]'")


def circles(imports: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield the groups of files that import each other, directly or through others of the group."""
    reached = {name: set(direct) for name, direct in imports.items()}
    for middle in imports:
        for targets in reached.values():
            if middle in targets:
                targets |= reached[middle]
    seen: set[str] = set()
    for name in sorted(imports):
        group = {other for other in reached[name] if name in reached[other]}
        if group and name not in seen:
            seen |= group
            yield sorted(group)


def test_a_circle_is_found_whatever_its_length() -> None:
    assert list(circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == [["a", "b", "c"]]
    assert list(circles({"a": {"b"}, "b": set(), "c": {"a", "b"}})) == []


def test_no_files_import_each_other_not_even_for_their_types() -> None:
    graph = grimp.build_graph("rewardkit", exclude_type_checking_imports=False, cache_dir=None)
    imports = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    assert not list(circles(imports))
