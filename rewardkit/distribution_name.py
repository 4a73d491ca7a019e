"""Detection of other distributions that install a package or a command named `rewardkit`.

Two distributions that install the same package overwrite each other's files. The order of installation then
determines which of the packages is imported or run.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

OURS = "rewardkit"


@dataclass(frozen=True, slots=True)
class NameOwner:
    """Another distribution that installs a package or a command named `rewardkit`."""

    name: str
    imports: bool
    """True if the distribution installs files into a package named `rewardkit`."""
    script: bool
    """True if the distribution installs a command named `rewardkit`."""

    def __str__(self) -> str:
        what = " and ".join(word for word, has in (("import", self.imports), ("command", self.script)) if has)
        return (
            f"the distribution '{self.name}' also installs the {what} '{OURS}' and overwrites ours or is "
            f"overwritten. Remove both and install one again (pip uninstall {self.name} {OURS}), or use two "
            "environments"
        )


def other_owners() -> list[NameOwner]:
    """Return the other distributions that use the name `rewardkit`, sorted by distribution name."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if not name or name.lower().replace("_", "-") == OURS:
            continue
        owner = NameOwner(name, _imports(distribution), _has_script(distribution))
        if owner.imports or owner.script:
            found[name] = owner
    return [found[name] for name in sorted(found)]


def _imports(distribution: importlib.metadata.Distribution) -> bool:
    named = (distribution.read_text("top_level.txt") or "").split()
    return OURS in named or any(file.parts[:1] == (OURS,) for file in distribution.files or ())


def _has_script(distribution: importlib.metadata.Distribution) -> bool:
    return any(entry.group == "console_scripts" and entry.name == OURS for entry in distribution.entry_points)
