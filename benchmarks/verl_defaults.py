"""Writes the tables of verl's defaults from a folder of verl's YAML files, with one folder for each release.

    python benchmarks/verl_defaults.py FOLDER --main 0.10.0.dev

`FOLDER/RELEASE/verl/trainer/config` has the files of a release. The trainer's are those of
`_generated_ppo_trainer.yaml`, or before 0.5 of `ppo_trainer.yaml`; SFT has two, in some releases both. An
interpolation is kept both as written and resolved. The table has a line for each key: its values, each with
the releases that had it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from rewardkit.trainer.verl.hydra import compose
from rewardkit.verl_keys import flatten

DEFAULTS = Path(__file__).parents[1] / "rewardkit" / "verl_defaults"
TABLES = {
    "training.json": ("_generated_ppo_trainer.yaml", "ppo_trainer.yaml"),
    "generation.json": ("generation.yaml",),
    "evaluation.json": ("evaluation.yaml",),
}
"""Table -> the source file; the next one is used if a release does not have the first."""
ALL_OF = {"sft.json": ("sft_trainer.yaml", "sft_trainer_engine.yaml")}
"""Table -> the source files, each with the parts that it names."""


def releases(folder: Path) -> list[Path]:
    """Return the folders of the releases, oldest first; `main` is the last."""
    found = [path for path in folder.iterdir() if path.is_dir()]
    return sorted(found, key=lambda p: ([int(n) for n in re.findall(r"\d+", p.name)] or [99], p.name))


def values(loaded: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a config with their values; interpolations are also yielded resolved."""
    plain: Any = OmegaConf.to_container(loaded)
    for key, value in flatten(plain):
        yield key, value
        if isinstance(value, str) and "${" in value:
            found = OmegaConf.select(loaded, key, throw_on_missing=False)
            if not OmegaConf.is_dict(found):
                yield key, OmegaConf.to_container(found) if OmegaConf.is_list(found) else found


def spans(held: Iterable[str], names: list[str]) -> str:
    """Return releases as spans: `0.2-0.4.1, 0.6.0`."""
    numbers = [names.index(name) for name in held]
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(names[a] if a == b else f"{names[a]}-{names[b]}" for a, b in pairs)


def configs(folder: Path, name: str) -> list[Any]:
    """Return a release's configs for a table."""
    if name in ALL_OF:
        return [compose(folder / file) for file in ALL_OF[name] if (folder / file).is_file()]
    there = (folder / file for file in TABLES[name] if (folder / file).is_file())
    return [OmegaConf.load(path) for path in there][:1]


def table(folders: Mapping[str, Path], table_name: str) -> str:
    """Return the JSON of one table."""
    found: dict[str, dict[str, list[str]]] = {}
    with_files = []
    for name, folder in folders.items():
        loaded = configs(folder / "verl" / "trainer" / "config", table_name)
        if not loaded:
            continue
        with_files.append(name)
        for key, value in (pair for config in loaded for pair in values(config)):
            held = found.setdefault(key, {}).setdefault(json.dumps(value), [])
            held.extend([name] if name not in held else [])
    lines = []
    for key in sorted(found):
        pairs = [f"[{value}, {json.dumps(spans(held, with_files))}]" for value, held in found[key].items()]
        lines.append(f"    {json.dumps(key)}: [{', '.join(pairs)}]")
    head = f'{{\n  "releases": {json.dumps(with_files)},\n  "defaults": {{\n'
    return head + ",\n".join(lines) + "\n  }\n}\n"


def main() -> None:
    """Write all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--main", default="main", help="What the folder `main` is called in the tables.")
    asked = parser.parse_args()
    folders = {
        asked.main if path.name == "main" else path.name.removeprefix("v"): path
        for path in releases(asked.folder)
    }
    for name in (*TABLES, *ALL_OF):
        (DEFAULTS / name).write_text(table(folders, name), encoding="utf-8")
        print(f"{name}: {(DEFAULTS / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
