"""How long does a forward and backward of packed rows take, under a dense mask and sequence by sequence?

    python benchmarks/packed_attention.py [--layers 4] [--rounds 3] [--threads 2]

The shape of SmolLM2-135M with few layers and random weights, float32 on the CPU, no checkpointing. Both get
the same responses: under a mask they are stacked in rows of up to twice the longest, as costs least there;
sequence by sequence they stand in one row. Turn by turn in one process, so that the machine's mood hits both.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.workers.forward import lay_out, response_log_probs

CASES = {
    # sequences, shortest and longest
    "64 of 20 to 60 tokens": (64, 20, 60),
    "12 of 60 to 300 tokens": (12, 60, 300),
    "4 of 600 to 1,200 tokens": (4, 600, 1200),
}


def make_model(layers: int, attention: str | None) -> Any:
    """Return a policy that packs, with the attention that is asked for; None: what training takes."""
    config = LlamaConfig(
        vocab_size=4096,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=layers,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    changes = {"attn_implementation": attention} if attention else {}
    options = ModelConfig("-", enable_gradient_checkpointing=False, override_config=changes)
    return prepare(LlamaForCausalLM(config).eval(), options, torch.device("cpu"), FsdpConfig("float32"))


def make_batch(count: int, shortest: int, longest: int) -> Batch:
    """Return responses of random lengths, each to a prompt of one token."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(shortest, longest + 1, (count,), generator=generator)
    ids = torch.randint(3, 4096, (count, longest), generator=generator)
    mask = (torch.arange(longest) < lengths.unsqueeze(1)).long()
    return Batch({"input_ids": ids * mask, "attention_mask": mask, "responses": ids[:, 1:]}, [])


def seconds(model: Any, batch: Batch) -> float:
    """Return how long one forward and backward takes."""
    model.zero_grad()
    begin = time.perf_counter()
    response_log_probs(model, batch, 1.0, entropy="no")[0].sum().backward()
    return time.perf_counter() - begin


def main() -> int:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    masked, packed = make_model(args.layers, "sdpa"), make_model(args.layers, None)
    print(f"{'responses':<28}{'tokens':>8}{'rows':>14}{'masked, s':>12}{'by sequence, s':>16}{'times':>8}")
    for name, case in CASES.items():
        batch = make_batch(*case)
        for model in (masked, packed):
            seconds(model, batch)  # the first is left out
        pairs = [(seconds(masked, batch), seconds(packed, batch)) for _ in range(args.rounds)]
        slow, fast = (min(times) for times in zip(*pairs, strict=True))
        height, width = lay_out(batch, "rows").ids.shape
        tokens = int(batch["attention_mask"].sum())
        shape = f"{height} x {width}"
        print(f"{name:<28}{tokens:>8}{shape:>14}{slow:>12.2f}{fast:>16.2f}{slow / fast:>8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
