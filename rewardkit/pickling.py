"""Serialisation of objects and functions for another process.

Functions are sent by name, as in `pickle`. Functions that another process cannot import need cloudpickle,
which sends their code. These are functions defined in a notebook, in the main program or inside another
function.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

from rewardkit.errors import require

loads = pickle.loads
"""Inverse of `dumps`. Do not use it on bytes from any process that rewardkit did not start."""


class _NamelessError(Exception):
    """Error raised for a function or class that another process cannot import."""


class _ByName(pickle.Pickler):
    """Pickler that accepts only functions and classes that another process can import by name."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type) and (
            value.__module__ == "__main__" or "<" in value.__qualname__
        ):
            raise _NamelessError
        return NotImplemented


def dumps(value: Any) -> bytes:
    """Serialise an object for `loads` in another process.

    Raises:
        MissingDependencyError: The object contains a function defined in the main program or a notebook, and
            cloudpickle is not installed.
    """
    found = io.BytesIO()
    try:
        _ByName(found, pickle.HIGHEST_PROTOCOL).dump(value)
    except (_NamelessError, pickle.PicklingError, AttributeError, TypeError):
        require("a function of a notebook or of the main program", "cloudpickle", "notebook")
        import cloudpickle

        sent: bytes = cloudpickle.dumps(value)
        return sent
    return found.getvalue()
