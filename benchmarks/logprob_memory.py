"""What log-probabilities cost in memory: whole logits against chunks of them, forward and backward.

    python benchmarks/logprob_memory.py [--tokens 4096] [--vocab 49152] [--hidden 576] [--json]

Both ways score the same tokens with the same small model (one layer, so that the output layer dominates) in
a process of their own; the figure is the growth of its peak resident memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from rewardkit.trainer.algorithms.losses import token_log_probs
from rewardkit.trainer.models.heads import PolicyModel

WAYS = ("whole", "chunked")


def naive(model: LlamaForCausalLM, ids: Tensor) -> tuple[Tensor, Tensor]:
    """All logits, then log-probabilities and entropies."""
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    log_probs, entropies = token_log_probs(logits, ids[:, 1:], "loss")
    assert entropies is not None
    return log_probs.flatten(), entropies.flatten()


def chunked(model: LlamaForCausalLM, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The same through the trainer's own path."""
    rows, width = ids.shape
    places = torch.arange(rows * width).view(rows, width)[:, :-1].flatten()
    positions = torch.arange(width).expand(rows, width)
    policy = PolicyModel(model)
    log_probs, entropies = policy(ids, positions, places, ids[:, 1:].flatten(), 1.0, "loss")
    assert entropies is not None
    return log_probs, entropies


def measure(way: str, tokens: int, vocab: int, hidden: int) -> dict[str, float]:
    """Run one way here: peak MiB above the model, CPU seconds, and a checksum of values and gradient."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=1,
        num_attention_heads=hidden // 64,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(5, vocab, (tokens // 256, 256))
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    before, cpu = _peak_mib(), time.process_time()
    log_probs, entropies = (naive if way == "whole" else chunked)(model, ids)
    (log_probs.mean() + 0.01 * entropies.mean()).backward()
    gradient = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    return {
        "peak_mib": _peak_mib() - before,
        "cpu_s": time.process_time() - cpu,
        "log_prob_mean": float(log_probs.detach().mean()),
        "gradient_norm": float(gradient),
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Measure both ways in fresh processes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--vocab", type=int, default=49152)
    parser.add_argument("--hidden", type=int, default=576)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        print(json.dumps(measure(args.way, args.tokens, args.vocab, args.hidden)))
        return 0
    sizes = [f"--tokens={args.tokens}", f"--vocab={args.vocab}", f"--hidden={args.hidden}"]
    results = {}
    for way in WAYS:
        command = [sys.executable, __file__, f"--way={way}", *sizes]
        results[way] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    if args.json:
        print(json.dumps(results))
        return 0
    print(
        f"{args.tokens} tokens, vocabulary {args.vocab}, hidden {args.hidden}, float32, forward and backward"
    )
    print(f"{'':<10}{'peak MiB':>10}{'CPU s':>8}{'mean log p':>14}{'|gradient|':>14}")
    for way, r in results.items():
        print(
            f"{way:<10}{r['peak_mib']:>10.0f}{r['cpu_s']:>8.1f}{r['log_prob_mean']:>14.6f}"
            f"{r['gradient_norm']:>14.7f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
