"""Keys that stand twice in a mapping of a YAML text: readers take the last without a word."""

from __future__ import annotations

import yaml


def key_that_stands_twice(text: bytes) -> str | None:
    """Return the first such key with its line, None if there is none."""
    waiting = [yaml.compose(text, Loader=yaml.SafeLoader)]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            for i, (key, inner) in enumerate(node.value):
                if isinstance(key, yaml.ScalarNode) and key.value in keys[:i]:
                    return f"'{key.value}' in line {key.start_mark.line + 1}"
                waiting.append(inner)
    return None
