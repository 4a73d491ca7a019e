r"""Recipe of the golden numbers in `goldens/`: inputs, and what verl's and OpenRLHF's own functions make of
them. Not run by the tests; run it again only to add cases.

    pip install --target ORACLE --no-deps verl==0.9.1 tensordict==0.15.3 pyvers cloudpickle orjson \
        importlib_metadata zipp hydra-core codetiming
    PYTHONPATH=. python tests/trainer/algorithms/make_goldens.py --verl ORACLE --openrlhf CHECKOUT

verl's `core_algos` needs torch and omegaconf besides; ray and datasets are imported by it, never used, and
stubbed here. OpenRLHF has no package: of a checkout, `models/loss.py` (as of commit 09f5ace),
`models/utils.py` (02a2605) and `trainer/ppo_utils/experience_maker.py` (01359b4) are used.

With `--fresh N` nothing is written: N cases are drawn anew, and the tests of `test_goldens.py` compare ours with
verl's numbers for each.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch

GOLDENS = Path(__file__).parent / "goldens"
STUBS = (
    "ray ray.actor ray.util ray.util.collective ray.util.placement_group ray.util.scheduling_strategies "
    "ray.util.state ray.experimental ray.experimental.state ray.experimental.state.api ray._private "
    "torchdata torchdata.stateful_dataloader datasets hydra hydra.utils codetiming"
)
GAMMA, LAM = 0.99, 0.95


def inputs(seed: int = 0) -> dict[str, torch.Tensor]:
    """Six ragged responses of up to ten tokens, two to three to a prompt; some have a tool's tokens within."""
    generator = torch.Generator().manual_seed(seed)

    def normal(scale: float) -> torch.Tensor:
        drawn = torch.randn((6, 10), generator=generator, dtype=torch.float64) * scale
        return (drawn * 1e4).round() / 1e4

    lengths = torch.tensor([10, 7, 1, 9, 4, 6])
    tools = {0: slice(3, 5), 3: slice(4, 5)}
    outcomes = torch.tensor([1.0, 0.1, 0.0, 1.0, 0.4, 0.7], dtype=torch.float64)
    if seed:
        lengths = torch.randint(1, 11, (6,), generator=generator)
        begins = torch.randint(1, 9, (6,), generator=generator).tolist()
        ends = [min(begin + 2, length - 1) for begin, length in zip(begins, lengths.tolist(), strict=True)]
        tools = {row: slice(begin, end) for row, (begin, end) in enumerate(zip(begins, ends, strict=True))}
        outcomes = torch.randint(0, 11, (6,), generator=generator).double() / 10
    ragged = (torch.arange(10) < lengths[:, None]).double()
    mask = ragged.clone()
    for row, tokens in tools.items():
        mask[row, tokens] = 0
    last = torch.zeros(6, 10, dtype=torch.float64)
    last[torch.arange(6), lengths - 1] = outcomes
    old = normal(0.5) - 1.5
    found = {
        "mask": mask,
        "ragged": ragged,
        "outcome": last,
        "rewards": (normal(0.05) * mask + last * mask),
        "values": normal(0.4),
        "returns": normal(0.7),
        "old_log_probs": old,
        "sum_pi_squared": old.exp() ** 2 + 0.3 * (1 - old.exp()) ** 2,
        "log_probs": old + normal(1.2),
        "rollout_log_probs": old + normal(0.6),
        "ref_log_prob": old + normal(0.8),
        "advantages": normal(1.0),
        "baselines": torch.tensor([0.3, 0.3, 0.3, 0.5, 0.5, 0.5], dtype=torch.float64),
        "vpreds": normal(0.5),
        "groups": torch.tensor([0, 0, 0, 1, 1, 1]),
        "uneven": torch.tensor([4, 7, 7, 4, 9, 4]),
    }
    if seed:  # no probability is above 1, which some losses need
        names = [name for name in found if "log_prob" in name]
        found |= {name: torch.nn.functional.logsigmoid(found[name]) for name in names}
    return found


def verl_goldens(given: dict[str, torch.Tensor], *, fresh: bool = False) -> dict[str, Any]:
    """Outputs of verl's registered functions, by `<kind>/<name>/<variant>`; with what is `fresh`, of all losses."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo import core_algos as verl
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights
    from verl.workers.config import ActorConfig, PolicyLossConfig

    out: dict[str, Any] = {}
    for mask_name in ("mask", "ragged"):
        mask = given[mask_name]
        out |= _verl_advantages(verl, OmegaConf, given, mask, mask_name)
        out |= _verl_losses(verl, ActorConfig, PolicyLossConfig, given, mask, mask_name, fresh)
        for level in ("token", "sequence"):
            weights, _ = compute_rollout_correction_weights(
                given["old_log_probs"] - given["rollout_log_probs"], mask, level, 2.0
            )
            out[f"rollout_is/{level}/{mask_name}"] = weights
    for name in ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "kl+", "abs+", "low_var_kl+", "k3+"):
        log_probs = given["log_probs"].clone().requires_grad_()
        kl = verl.kl_penalty(log_probs, given["ref_log_prob"], name)
        kl.sum().backward()
        out[f"kl/{name}"] = {"value": kl.detach(), "gradient": log_probs.grad}
    controller = verl.AdaptiveKLController(0.2, 0.1, 1000)
    steps = [0.3, 0.09, 0.0, 0.1, 0.11]
    out["kl_controller"] = [controller.update(kl, 64) or float(controller.value) for kl in steps]
    return out


def _verl_advantages(
    verl: Any, omega: Any, given: dict[str, torch.Tensor], mask: torch.Tensor, mask_name: str
) -> dict[str, Any]:
    rewards = given["rewards"] * mask
    config = omega.create({"gamma": GAMMA, "lam": LAM, "norm_adv_by_std_in_grpo": True})
    plain = omega.create({"gamma": GAMMA, "lam": LAM, "norm_adv_by_std_in_grpo": False})
    calls: dict[str, Any] = {"gae": {"values": given["values"], "gamma": GAMMA, "lam": LAM}}
    calls["remax"] = {"reward_baselines": given["baselines"], "config": config}
    calls["reinforce_plus_plus"] = {"config": config}
    for grouping in ("groups", "uneven"):
        index = given[grouping].numpy().astype(np.int64)
        for name in ("grpo", "rloo", "opo", "gpg", "reinforce_plus_plus_baseline"):
            calls[f"{name}/{grouping}"] = {"index": index, "config": config}
        calls[f"grpo_no_std/{grouping}"] = {"index": index, "norm_adv_by_std_in_grpo": False}
    index = given["groups"].numpy()
    calls["grpo_passk/groups"] = {"index": index, "config": config}
    calls["grpo_passk_no_std/groups"] = {"index": index, "config": plain}
    beside = {name: given[name] for name in ("old_log_probs", "sum_pi_squared")}
    for grouping in ("groups", "uneven"):
        of_tokens = {"index": given[grouping].numpy().astype(np.int64), **beside}
        calls[f"tir_optimal_token_baseline/{grouping}"] = of_tokens
        if mask_name == "ragged":  # with a tool's tokens within, verl's counts them
            calls[f"optimal_token_baseline/{grouping}"] = of_tokens
    out = {}
    for name, arguments in calls.items():
        function = verl.get_adv_estimator_fn(name.split("/")[0].removesuffix("_no_std"))
        advantages, returns = function(token_level_rewards=rewards.clone(), response_mask=mask, **arguments)
        out[f"advantages/{name}/{mask_name}"] = {"advantages": advantages * mask, "returns": returns * mask}
    return out


def _verl_losses(
    verl: Any,
    actor: Any,
    options: Any,
    given: dict[str, torch.Tensor],
    mask: torch.Tensor,
    mask_name: str,
    fresh: bool,
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    modes = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
    names = ["vanilla", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "cispo"]
    if fresh:
        modes += ["token-sum"]
        names += ["dppo_tv", "dppo_kl", "dro"]
    is_weights = (given["old_log_probs"] - given["rollout_log_probs"]).exp().clamp(max=2.0) * mask
    for mode in modes:
        out[f"aggregate/{mode}/{mask_name}"] = verl.agg_loss(given["advantages"], mask, mode)
        value, clipfrac = verl.compute_value_loss(
            given["vpreds"], given["returns"], given["values"], mask, 0.5, mode
        )
        out[f"value/{mode}/{mask_name}"] = {"loss": value, "vf_clipfrac": clipfrac}
        for name in names:
            for weights in (None, is_weights):
                config = actor(
                    strategy="fsdp",
                    rollout_n=1,
                    ppo_micro_batch_size_per_gpu=1,
                    clip_ratio_low=0.2,
                    clip_ratio_high=0.28,
                    # every candidate of clip_cov is chosen, so that no random draw decides
                    policy_loss=options(
                        loss_mode=name,
                        clip_cov_ratio=1.0,
                        clip_cov_lb=0.1,
                        clip_cov_ub=5.0,
                        kl_cov_ratio=0.2,
                        **({"dro_beta": 0.5} if name == "dro" else {}),
                    ),
                )
                log_probs = given["log_probs"].clone().requires_grad_()
                loss, metrics = verl.get_policy_loss_fn(name)(
                    given["old_log_probs"],
                    log_probs,
                    given["advantages"],
                    mask,
                    loss_agg_mode=mode,
                    config=config,
                    rollout_is_weights=weights,
                )
                loss.backward()
                variant = "plain" if weights is None else "weighted"
                stats = {k.removeprefix("actor/"): float(v) for k, v in metrics.items()}
                out[f"policy/{name}/{mode}/{variant}/{mask_name}"] = {
                    "loss": loss.detach(),
                    "gradient": log_probs.grad * mask,
                    **stats,
                }
    return out


def openrlhf_goldens(given: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Outputs of OpenRLHF's functions, where they mean the same: right-padded responses, no dual clip."""
    loss = importlib.import_module("openrlhf.models.loss")
    utils = importlib.import_module("openrlhf.models.utils")
    maker = importlib.import_module("openrlhf.trainer.ppo_utils.experience_maker").NaiveExperienceMaker
    mask = given["ragged"]
    rewards = given["rewards"] * mask
    out: dict[str, Any] = {}
    advantages, returns = maker.get_advantages_and_returns(None, given["values"], rewards, mask, GAMMA, LAM)
    out["gae"] = {"advantages": advantages * mask, "returns": returns * mask}
    out["cumulative_returns"] = maker.get_cumulative_returns(None, rewards, mask, GAMMA) * mask
    for token_level in (True, False):
        mode = "token-mean" if token_level else "seq-mean-token-mean"
        policy = loss.PolicyLoss(0.2, 0.28, token_level)
        value = loss.ValueLoss(0.5, token_level)
        out[f"policy/{mode}"] = policy(given["log_probs"], given["old_log_probs"], given["advantages"], mask)[
            0
        ]
        out[f"value/{mode}"] = value(given["vpreds"], given["values"], given["returns"], mask)
    for name in ("k1", "k2", "k3"):
        out[f"kl/{name}"] = utils.compute_approx_kl(given["log_probs"], given["ref_log_prob"], name)
    return out


def as_json(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return as_json(value.tolist())
    if isinstance(value, dict):
        return {k: as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    return round(float(value), 9)


def write(name: str, found: dict[str, Any]) -> None:
    GOLDENS.mkdir(exist_ok=True)
    lines = [f"{json.dumps(k)}: {json.dumps(as_json(v), separators=(',', ':'))}" for k, v in found.items()]
    (GOLDENS / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compare(seeds: range) -> None:
    """Print how many numbers of fresh cases are verl's, and each that is not."""
    from tests.trainer.algorithms import test_goldens as ours

    tests = {
        "advantages": ours.test_advantages_and_returns_are_verl_s,
        "aggregate": ours.test_aggregation_is_verl_s,
        "policy": ours.test_policy_losses_and_their_gradients_are_verl_s,
        "value": ours.test_the_value_loss_is_verl_s,
        "kl": ours.test_kl_estimates_and_their_gradients_are_verl_s,
        "rollout_is": ours.test_importance_weights_are_verl_s,
    }
    equal, others = 0, []
    for seed in seeds:
        ours.GIVEN = inputs(seed)
        ours.VERL = verl_goldens(ours.GIVEN, fresh=True)
        for key in ours.VERL:
            if key == "kl_controller":
                continue
            try:
                tests[key.partition("/")[0]](key)
                equal += 1
            except AssertionError as error:
                others.append(f"case {seed}, {key}: {' '.join(str(error).split())[:200]}")
    print(
        "\n".join([*others, f"{equal} comparisons equal to 1e-6, {len(others)} not, in {len(seeds)} cases"])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verl", required=True)
    parser.add_argument("--openrlhf")
    parser.add_argument("--fresh", type=int, metavar="N")
    arguments = parser.parse_args()
    sys.path += [arguments.verl, *([arguments.openrlhf] if arguments.openrlhf else [])]
    sys.modules.update({name: MagicMock() for name in STUBS.split()})
    if arguments.fresh:
        return compare(range(1, arguments.fresh + 1))
    given = inputs()
    write("inputs.json", given)
    write("verl.json", verl_goldens(given))
    write("openrlhf.json", openrlhf_goldens(given))


if __name__ == "__main__":
    main()
