"""Imports verl's rewards alone, because verl's own `__init__` needs torch, tensordict and more."""

VERL_REWARDS_ALONE = """
import importlib.util, sys, types
verl = types.ModuleType("verl")
verl.__path__ = list(importlib.util.find_spec("verl").submodule_search_locations)
sys.modules["verl"] = verl
for name in ("utils", "utils.reward_score"):
    package = types.ModuleType("verl." + name)
    package.__path__ = [verl.__path__[0] + "/" + name.replace(".", "/")]
    sys.modules["verl." + name] = package
"""
"""Lines of a program; after them, `verl.utils.reward_score` can be imported."""
