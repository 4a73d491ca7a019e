"""Lookup of models by name in local folders, in the hub's cache and on the hub. No model is loaded.

Only this module decides which model names are accepted. If callers need other files besides config.json, they
check for these files themselves.
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from threading import Thread
from typing import Any

from rewardkit.errors import InputError, did_you_mean, message_of, reason_of
from rewardkit.json_objects import NOT_JSON

_ON_HUB = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def why_no_model(path: str, *, tokenizer_only: bool = False) -> str | None:
    """Return the reason why a model cannot be found, or None if it exists locally or on the hub.

    The function asks the hub last, only once, and for at most HF_HUB_ETAG_TIMEOUT (10 seconds by default). If
    the hub could not be reached, the loaders in transformers would retry many times.

    Args:
        path: Folder of the model, or its name on the hub.
        tokenizer_only: True if only the tokenizer is needed. A config.json is then not required.
    """
    folder = Path(path).expanduser()
    if folder.is_dir():
        return None if tokenizer_only else _why_no_model_in(folder, path)
    if folder.is_file():
        return f"{path} is a file; expected a model folder with config.json, weights and tokenizer"
    if read_config(path) is not None:  # the model is in the hub's cache
        return None
    if path.startswith(("/", ".", "~")) or path.count("/") > 1 or ("/" in path and folder.parent.is_dir()):
        return f"no such model folder: {path}{_folder_like(folder)}"
    if not _ON_HUB.fullmatch(path):
        hint = _folder_like(folder) or "; models on the hub are named owner/name (openai-community/gpt2)"
        return f"no such model folder: {path}{hint}"
    return _why_not_on_hub(path, tokenizer_only)


def model_folder(path: str) -> Path | None:
    """Return a model's folder, possibly in the hub's cache, or None if the model is not on this machine."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    try:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(path, "config.json")
    except (ImportError, ValueError):  # huggingface_hub is missing, or the name is not valid on the hub
        return None
    return Path(found).parent if isinstance(found, str) else None


def read_config(path: str) -> dict[str, Any] | None:
    """Return a model's config.json from its folder or the hub's cache, or None if neither has this file."""
    folder = model_folder(path)
    if folder is None or not (folder / "config.json").is_file():
        return None
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return config


def read_tensors(file: Path) -> dict[str, list[int]]:
    """Return the shape of each tensor in a safetensors file, by name. Only the header is read.

    Raises:
        InputError: The file is truncated or not a safetensors file.
    """
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header: dict[str, dict[str, Any]] = json.loads(opened.read(length))
        return {name: about["shape"] for name, about in header.items() if name != "__metadata__"}
    except (struct.error, *NOT_JSON, KeyError, AttributeError, OverflowError) as error:
        raise InputError(f"{file} is truncated or not a safetensors file: {reason_of(error)}") from None


def _why_no_model_in(folder: Path, path: str) -> str | None:
    if not (folder / "config.json").is_file():
        return f"{path} is not a model folder: config.json is missing"
    try:
        readable = isinstance(read_config(path), dict)
    except (OSError, ValueError):
        readable = False
    return None if readable else f"{path} is not a model folder: config.json is not a JSON object"


def _folder_like(folder: Path) -> str:
    """Return a hint that lists model folders with similar names next to this folder, or an empty string."""
    beside = folder.parent.glob("*/config.json") if folder.parent.is_dir() else ()
    return did_you_mean(folder.name, [found.parent.name for found in beside])


def _why_not_on_hub(name: str, tokenizer_only: bool) -> str | None:
    try:
        from huggingface_hub import constants
    except ImportError:  # loading the model reports the missing package
        return None
    limit = float(constants.HF_HUB_ETAG_TIMEOUT)
    answers: list[str | None] = []
    # A thread enforces the limit, because the timeout of a request does not cover the DNS lookup.
    asking = Thread(target=lambda: answers.append(_ask_hub(name, limit, tokenizer_only)), daemon=True)
    asking.start()
    asking.join(limit + 1)
    return answers[0] if answers else _unreached(name, f"no answer in {limit:g} s")


def _ask_hub(name: str, limit_s: float, tokenizer_only: bool) -> str | None:
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_url

    try:
        get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=limit_s)
    except errors.GatedRepoError:
        return f"{name} is gated on the hub; ask for access on the model's page there, and set HF_TOKEN"
    except errors.RepositoryNotFoundError:
        return f"{name} is neither a folder nor a model on the hub; if the model is private, set HF_TOKEN"
    except errors.EntryNotFoundError:
        no_model = f"{name} on the hub is not a transformers model: config.json is missing"
        return None if tokenizer_only else no_model
    except errors.OfflineModeIsEnabled:
        return f"{name} is neither a folder nor in the hub's cache, and HF_HUB_OFFLINE is set"
    except errors.HfHubHTTPError as error:
        return f"{name} is not a folder, and the hub does not return it: {message_of(error)}"
    except Exception as error:  # connection, proxy and TLS errors
        return _unreached(name, message_of(error))
    return None


def _unreached(name: str, why: str) -> str:
    return (
        f"{name} is neither a folder nor in the hub's cache, and the hub cannot be reached "
        f"({why}); check the name and the network, or pass a folder"
    )
