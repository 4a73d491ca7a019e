"""Compares TRL's GRPOTrainer and RLOOTrainer with our trainer: advantages, loss and gradient for each
setting.

    python3 -m venv trl && trl/bin/pip install torch==2.13.0 trl==1.16.0
    python benchmarks/trl_losses.py --trl-python trl/bin/python [--cases 200] [--seed 0]

Both have the same tiny Llama and the same random ragged responses: four each to two prompts, some with a
tool's tokens inside, some cut off, some groups of equal reward. They come from an earlier state of the model,
by an engine whose log-probabilities are slightly off. Each side computes the rest by its own steps, in
float64, TRL in its own environment (`trl_losses_inside.py`): log-probabilities, advantages, weights, the loss
and its gradient by all parameters. Prints for each setting the number of cases, the largest difference of
advantages, loss and gradient, and the number of cases with one above 1e-6.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils._python_dispatch import TorchDispatchMode

EACH, PROMPT, WIDTH = 4, 5, 12
ROWS = 2 * EACH
PAD, END = 0, 1  # ids of `make_tokenizer`

MEAN, SUM, NORM = (f"loss_agg_mode=seq-mean-token-{name}" for name in ("mean", "sum", "sum-norm"))
MODE, SEQUENCE = "policy_loss.loss_mode", "importance_sampling_level=sequence"
PLAIN = {"loss_type=grpo": MEAN, "loss_type=dapo": "", "loss_type=dr_grpo": NORM}
CISPO = {"loss_type=cispo epsilon_high=1.28": f"{MODE}=cispo clip_ratio_low=1 clip_ratio_high=0.28"}
SAPO = {"loss_type=sapo": f"{MODE}=sapo {MEAN}"}
LUSPO = {f"loss_type=luspo {SEQUENCE}": f"{MODE}=luspo {SUM}"}
KL, OUR_KL = "beta=0.2 use_bias_correction_kl=False", "use_kl_loss=true kl_loss_coef=0.2"
IS, OUR_IS = "vllm_importance_sampling", "algorithm.rollout_correction.rollout_is"
BOUNDS = f"{OUR_IS}=sequence {OUR_IS}_threshold=1e-9_3.0"
MASKED, OUR_MASKED = "mask_truncated_completions=True", "algorithm.mask_truncated_completions=true"
SETTINGS = {
    **PLAIN | CISPO | SAPO | LUSPO,
    "loss_type=bnpo": "",
    "loss_type=luspo": SUM,
    "loss_type=vespo": f"{MODE}=vespo",
    **{f"{trl} {SEQUENCE}": f"{ours} {MODE}=gspo" for trl, ours in PLAIN.items()},
    **{f"{trl} {KL}": f"{ours} {OUR_KL}" for trl, ours in (PLAIN | CISPO | SAPO | LUSPO).items()},
    **{f"{trl} gradient_accumulation_steps=2": ours for trl, ours in (PLAIN | LUSPO).items()},
    **{f"{trl} {IS}_mode=sequence_mask": f"{ours} {BOUNDS}" for trl, ours in (PLAIN | CISPO | LUSPO).items()},
    f"{IS}_mode=sequence_truncate {IS}_clip_max=1.5": f"{OUR_IS}=sequence {OUR_IS}_threshold=1.5",
    f"{IS}_mode=token_truncate {IS}_clip_max=1.5": f"{OUR_IS}=token {OUR_IS}_threshold=1.5",
    f"{IS}_mode=token_mask {IS}_clip_min=0.7": f"{OUR_IS}=token {OUR_IS}_threshold=0.7_3.0",
    "epsilon_high=0.28 delta=1.5": "clip_ratio_high=0.28 clip_ratio_c=1.5",
    "entropy_coef=0.1": "entropy_coeff=0.1",
    MASKED: OUR_MASKED,
    f"loss_type=grpo {MASKED}": f"{MEAN} {OUR_MASKED}",
    "scale_rewards=group": "algorithm.norm_adv_by_std_in_grpo=true",
    "RLOOTrainer beta=0.2": f"{SUM} algorithm.adv_estimator=rloo algorithm.use_kl_in_reward=true",
}
"""TRL's settings, and our settings for the same numbers. Documented differences are removed from three: the
epsilon of `scale_rewards=group`, the count of empty responses in `loss_type=grpo`, and RLOO's ratio, the
product of the tokens' ratios (if it is 1, the gradient is ours, but the loss is not)."""
TRL = "loss_type=dapo scale_rewards=none num_iterations=2"
"""TRL's base settings; with two iterations it has old log-probabilities."""
OURS = "clip_ratio_c=1e9 algorithm.adv_estimator=grpo algorithm.norm_adv_by_std_in_grpo=false"


class Float64(TorchDispatchMode):
    """Makes torch use float64 where code requests float32 by name, as for norms, softmax and logits."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def wide(value: Any) -> Any:
            return torch.float64 if value is torch.float32 else value

        return func(*map(wide, args), **{name: wide(value) for name, value in (kwargs or {}).items()})


def read(words: str) -> dict[str, Any]:
    """Return TRL's settings by name: numbers, names, True or False."""
    pairs = [word.split("=") for word in words.split() if "=" in word]
    return {name: ast.literal_eval(word if word[0] in "0123456789TF" else repr(word)) for name, word in pairs}


def draw(count: int, seed: int) -> dict[str, Any]:
    """Return `count` cases: tokens, lengths, the policy's tokens, rewards, the engine's errors."""
    generator = torch.Generator().manual_seed(seed)

    def whole(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, (count, *shape), generator=generator)

    steps = torch.arange(WIDTH)
    length = whole(1, WIDTH + 4, ROWS).clamp(max=WIDTH)
    last, within = steps == length[..., None] - 1, steps < length[..., None]
    ends = (length < WIDTH) | (whole(0, 2, ROWS) == 1)
    start, tokens = whole(1, WIDTH, ROWS, 1), whole(0, 4, ROWS, 1)
    rewards = whole(0, 5, ROWS) / 4
    rewards[whole(0, 4) == 0, :EACH] = 1.0
    return {
        "prompt": whole(4, 260, 2, PROMPT).repeat_interleave(EACH, dim=1),
        "prompt_length": whole(1, PROMPT + 1, 2).repeat_interleave(EACH, dim=1),
        "response": whole(4, 260, ROWS, WIDTH).masked_fill(last & ends[..., None], END),
        "length": length,
        "own": within & ((steps < start) | (steps >= start + tokens) | last),
        "rewards": rewards,
        "error": torch.randn((count, ROWS, WIDTH), generator=generator) * 0.3,
    }


def give(folder: Path, count: int, seed: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Write a model and the inputs of both sides; return it, its weights at three times, and the cases."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from rewardkit.demo.model import make_tokenizer, save
    from rewardkit.trainer.distributed import World
    from rewardkit.trainer.workers.actor import Reference
    from rewardkit.trainer.workers.batching import Batching

    torch.manual_seed(seed)
    tokenizer = make_tokenizer([])
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    special = {"pad_token_id": PAD, "eos_token_id": END, "bos_token_id": None, "vocab_size": len(tokenizer)}
    model = LlamaForCausalLM(LlamaConfig(initializer_range=0.2, **size, **special))
    save(model, tokenizer, folder)
    old = parameters_to_vector(model.parameters()).detach()
    now = old + 0.04 * torch.randn_like(old)
    weights = {"old": old, "now": now, "ref": now + 0.01 * torch.randn_like(old)}
    given = draw(count, seed)
    scorer = Reference(model, World(0, 1, torch.device("cpu")), Batching(), temperature=1.0)
    for name, time in (("old_log_probs", "old"), ("ref_log_prob", "ref")):
        vector_to_parameters(weights[time], model.parameters())
        given[name] = torch.stack([scorer.log_probs(our_batch(given, i)) for i in range(count)])
    given["rollout_log_probs"] = given["old_log_probs"] + given["error"]
    torch.save((weights, given), folder / "given.pt")
    return model, weights, given


def summed(model: Any, losses: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sum of micro-batches' losses, and its gradient."""
    total = torch.zeros(())
    for loss in losses:
        loss.backward()
        total += loss.detach()
    gradient = parameters_to_vector(p.grad for p in model.parameters())
    model.zero_grad()
    return total, gradient


def our_batch(given: dict[str, Any], i: int, whole: bool = False) -> Any:
    """Return a case as the trainer's batch; with `whole`, all of its tokens are the policy's."""
    from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts

    prompts = zip(given["prompt"][i], given["prompt_length"][i], strict=True)
    rows = [PromptRow("x", "", "", {}, prompt[-n:].tolist()) for prompt, n in prompts]
    within = torch.arange(WIDTH) < given["length"][i][:, None]
    own = within if whole else given["own"][i]
    masks = own.double(), (within & ~own).double()
    return make_batch(rows, *pad_prompts(rows, PROMPT, PAD), given["response"][i] * within, *masks)


def our_numbers(name: str, model: Any, weights: dict[str, Any], given: dict[str, Any]) -> list[Any]:
    """Return advantages, loss and gradient of each case, by the trainer's own steps."""
    from rewardkit.trainer.algorithms.kl import KlController
    from rewardkit.trainer.algorithms.reductions import count
    from rewardkit.trainer.batch import last_tokens
    from rewardkit.trainer.config.load import load_config
    from rewardkit.trainer.distributed import World
    from rewardkit.trainer.steps.advantages import compute_advantages
    from rewardkit.trainer.workers.actor import Actor
    from rewardkit.trainer.workers.batching import Batching

    setting, rloo = read(name), name.startswith("RLOO")
    words = f"{OURS} {SETTINGS[name]}".split()
    words = [word if word.startswith("algorithm.") else f"actor_rollout_ref.actor.{word}" for word in words]
    words += ["data.train_files=x", "actor_rollout_ref.model.path=x", f"data.max_response_length={WIDTH}"]
    config, kl, world = load_config(None, words), KlController(0.2), World(0, 1, torch.device("cpu"))
    run: Any = SimpleNamespace(config=config, world=world, kl=kl, eos_ids=[END])
    plain = {"samples_per_prompt": EACH, "temperature": 1.0, "log_prob_batching": Batching()}
    actor = Actor(model, world, config.actor_rollout_ref.actor, **plain)
    vector_to_parameters(weights["old" if rloo else "now"], model.parameters())
    found = []
    for i in range(len(given["length"])):
        batch, scores = our_batch(given, i, whole=rloo), given["rewards"][i]
        last = torch.nn.functional.one_hot(last_tokens(batch["response_mask"]), WIDTH)
        batch["token_level_scores"] = last * scores[:, None]
        batch["scored"], batch["groups"] = torch.ones(ROWS).bool(), torch.arange(ROWS) // EACH
        batch.tensors |= {
            key: given[key][i] for key in ("old_log_probs", "ref_log_prob", "rollout_log_probs")
        }
        compute_advantages(run, batch)
        totals = count(batch["response_mask"], world.sum)
        if name == "scale_rewards=group":
            std = scores.view(2, EACH).std(dim=1).repeat_interleave(EACH)[:, None]
            batch["advantages"] *= (std + 1e-6) / (std + 1e-4)
        if setting.get("loss_type") == "grpo":
            totals = replace(totals, sequences=torch.tensor(ROWS))
        pieces = batch.split(ROWS // setting.get("gradient_accumulation_steps", 1))
        loss, gradient = summed(model, (actor.loss(piece, totals)[0] for piece in pieces))
        found.append((batch["advantages"][:, 0], loss * torch.nan if rloo else loss, gradient))
    return found


def beside_trl(folder: Path, python: str, count: int, seed: int) -> None:
    """Run TRL and our side, and print a line for each setting."""
    model, weights, given = give(folder, count, seed)
    command = [python, str(Path(__file__).parent / "trl_losses_inside.py"), str(folder)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    print(f"cases  advantages        loss    gradient  apart  TRL's settings, beside {TRL}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as trl:
        for number, name in enumerate(SETTINGS):
            ours = our_numbers(name, model, weights, given)
            if f"done: {name}\n" not in trl.stdout:  # type: ignore[operator]
                sys.exit(f"TRL ended at {name}")
            theirs = torch.load(folder / f"{number}.pt", weights_only=True)
            pairs = [zip(*pair, strict=True) for pair in zip(theirs, ours, strict=True)]
            apart = torch.tensor([[float((a - b).abs().max()) for a, b in pair] for pair in pairs])
            most = "".join(f"{value:12.0e}" for value in apart.amax(dim=0).tolist())
            print(f"{count:>5}{most}{int((apart > 1e-6).any(dim=1).sum()):>7}  {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trl-python", required=True, help="Python of an environment with TRL")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    with tempfile.TemporaryDirectory() as folder, Float64():
        beside_trl(Path(folder), args.trl_python, args.cases, args.seed)


if __name__ == "__main__":
    main()
