"""Sizes that follow from a model's shape."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from rewardkit.model_shapes import CPU_CACHE_BYTES, cpu_cache_bytes

LEAST, MOST = CPU_CACHE_BYTES
EACH = 4 * 2 * 64 * 4 * 8
"""Bytes of a token in float32: keys and values, of 64 numbers, in 4 heads, in 8 layers."""


def model(folder: Path) -> str:
    """Write a model's config.json and the header of its weights."""
    sizes = {"hidden_size": 256, "num_hidden_layers": 8, "vocab_size": 100, "num_attention_heads": 4}
    (folder / "config.json").write_text(json.dumps(sizes))
    header = json.dumps(
        {"lm_head.weight": {"dtype": "F32", "shape": [0, 256], "data_offsets": [0, 0]}}
    ).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    return str(folder)


def test_a_cache_on_a_cpu_has_room_for_the_tokens_and_always_for_the_longest_sequence(tmp_path: Path) -> None:
    path = model(tmp_path)
    assert cpu_cache_bytes(path, 1_000, 10_000) == EACH * 10_000
    assert cpu_cache_bytes(path, 10, 100) == LEAST
    assert cpu_cache_bytes(path, 1_000, 10**9) == MOST
    assert cpu_cache_bytes(path, MOST // EACH + 10, 1) == EACH * (MOST // EACH + 10)


def test_a_cache_takes_at_most_half_of_the_free_memory_and_knows_no_shape_of_an_absent_model(
    tmp_path: Path,
) -> None:
    assert cpu_cache_bytes(model(tmp_path), 10**12, 1) < EACH * 10**12 / 1_000
    assert cpu_cache_bytes(str(tmp_path / "absent"), 10**12, 1) <= MOST
