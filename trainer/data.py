"""Parquet files to tokenised prompts, and the order in which training sees them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from rewardkit.errors import InputError
from rewardkit.trainer.batch import Row
from rewardkit.trainer.config import DataConfig


def file_list(files: Any) -> list[Path]:
    """Return `data.train_files` or `data.val_files`, one path or a list of them, as a list."""
    if files is None:
        return []
    return [Path(str(f)).expanduser() for f in (files if isinstance(files, (list, tuple)) else [files])]


def read_rows(path: Path, prompt_key: str) -> list[dict[str, Any]]:
    """Read the columns that training needs: `data_source`, `prompt`, `ground_truth`, `extra_info`.

    Raises:
        InputError: the file is missing, is no parquet, is empty, or lacks a column or a value.
    """
    if not path.is_file():
        raise InputError(f"no such training file: {path}; `rewardkit prep` makes one")
    try:
        parquet = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not a parquet file: {str(error).splitlines()[0]}") from None
    columns = set(parquet.schema_arrow.names)
    truth = "ground_truth" if "ground_truth" in columns else "reward_model"
    for needed in ("data_source", prompt_key, truth):
        if needed not in columns:
            raise InputError(f"{path} has no column '{needed}'; it has: {', '.join(sorted(columns))}")
    wanted = ["data_source", prompt_key, truth, *(["extra_info"] if "extra_info" in columns else [])]
    rows = parquet.read(columns=wanted).to_pylist()
    if not rows:
        raise InputError(f"{path} has no rows")
    return [_checked(row, i, path, prompt_key, truth) for i, row in enumerate(rows)]


def _checked(row: dict[str, Any], i: int, path: Path, prompt_key: str, truth: str) -> dict[str, Any]:
    value = row[truth]
    if truth == "reward_model":
        value = value.get("ground_truth") if isinstance(value, dict) else None
    prompt = row[prompt_key]
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    for name, found in (("data_source", row["data_source"]), ("ground_truth", value), (prompt_key, prompt)):
        if found in (None, "", []) or found != found:  # NaN alone is not itself
            raise InputError(f"{path}, row {i}: {name} is empty; `rewardkit prep` never writes such a row")
    return {
        "data_source": row["data_source"],
        "prompt": prompt,
        "ground_truth": value if isinstance(value, str) else json.dumps(value),
        "extra_info": row.get("extra_info") or {},
    }


def load_rows(files: Any, tokenizer: Any, config: DataConfig, max_samples: int = -1) -> list[Row]:
    """Read and tokenise the first `max_samples` prompts (-1: all) of the files together.

    Overlong ones are left out, cut, or an error, as the config says.
    """
    rows: list[Row] = []
    named = (
        (path, i, raw)
        for path in file_list(files)
        for i, raw in enumerate(read_rows(path, config.prompt_key))
    )
    for path, i, raw in islice(named, max_samples if max_samples >= 0 else None):
        ids = _fit(_tokenise(tokenizer, raw["prompt"], config), config, f"{path}, row {i}")
        if ids is not None:
            rows.append(Row(token_ids=ids, **raw))
    return rows


def _tokenise(tokenizer: Any, prompt: list[dict[str, Any]], config: DataConfig) -> list[int]:
    messages = [{"role": m["role"], "content": m["content"]} for m in prompt]
    if not tokenizer.chat_template:
        raise InputError(
            f"the tokenizer of '{tokenizer.name_or_path}' has no chat template; use an instruct model"
        )
    extra = config.apply_chat_template_kwargs
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **extra)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def _fit(ids: list[int], config: DataConfig, where: str) -> list[int] | None:
    limit = config.max_prompt_length
    if len(ids) <= limit:
        return ids
    if config.filter_overlong_prompts:
        return None
    if config.truncation == "left":
        return ids[-limit:]
    if config.truncation == "right":
        return ids[:limit]
    if config.truncation == "middle":
        return ids[: limit // 2] + ids[limit // 2 - limit :]
    raise InputError(
        f"{where}: the prompt has {len(ids)} tokens, over data.max_prompt_length={limit}; raise it, or set "
        "data.filter_overlong_prompts=true or data.truncation=left"
    )


class PromptLoader:
    """Serves the training prompts in batches, epoch after epoch, in an order that the seed alone decides."""

    def __init__(self, rows: Sequence[Row], batch_size: int, *, shuffle: bool, seed: int) -> None:
        if len(rows) < batch_size:
            raise InputError(
                f"data.train_batch_size={batch_size}, but only {len(rows)} prompts are within "
                "data.max_prompt_length; lower the first or raise the second"
            )
        self._rows, self._batch_size, self._shuffle, self._seed = rows, batch_size, shuffle, seed
        self.steps_per_epoch = len(rows) // batch_size
        self.epoch = 0
        """The epoch (from 0) of the batch that was served last."""
        self._served = 0
        self._order = self._order_of(0)

    def take(self) -> list[Row]:
        """Return the next `batch_size` prompts. The last, partial batch of an epoch is left out."""
        if self._served + self._batch_size > len(self._rows):
            self.epoch, self._served = self.epoch + 1, 0
            self._order = self._order_of(self.epoch)
        chosen = self._order[self._served : self._served + self._batch_size]
        self._served += self._batch_size
        return [self._rows[i] for i in chosen]

    def state_dict(self) -> dict[str, int]:
        """Return the position: epoch, prompts of it already served, and how many prompts there are."""
        return {"epoch": self.epoch, "served": self._served, "rows": len(self._rows)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go to a position; InputError when it was taken among another number of prompts."""
        if state["rows"] != len(self._rows):
            raise InputError(
                f"the checkpoint was made with {state['rows']} training prompts, data.train_files now has "
                f"{len(self._rows)}; give it the same files, or start anew with trainer.resume_mode=disable"
            )
        self.epoch, self._served = state["epoch"], state["served"]
        self._order = self._order_of(self.epoch)

    def _order_of(self, epoch: int) -> list[int]:
        if not self._shuffle:
            return list(range(len(self._rows)))
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        order: list[int] = torch.randperm(len(self._rows), generator=generator).tolist()
        return order
