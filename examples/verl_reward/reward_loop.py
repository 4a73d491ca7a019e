"""verl's own reward loop with rewardkit's rewards: the configuration, the loader and the reward manager are
verl's; nothing of it is edited.

    pip install rewardkit verl
    python reward_loop.py                                   # rewards computed in this process
    REWARDKIT_URL=http://127.0.0.1:8000 python reward_loop.py    # by `rewardkit serve`

In a training run the same three words go on verl's command line:

    reward.custom_reward_function.path=pkg://rewardkit.adapters.verl
    reward.custom_reward_function.name=acompute_score
    +reward.custom_reward_function.reward_kwargs.on_failure=0.0
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.reward import get_custom_reward_fn

ROWS = [
    ("openai/gsm8k", "6 * 12 = 72\n#### 72", "72"),
    ("openai/gsm8k", "#### 71", "72"),
    ("lighteval/MATH", "So it is $\\boxed{\\frac{1}{2}}$.", "0.5"),
    ("lighteval/MATH", "So it is $\\boxed{3}$.", "0.5"),
    ("openai/gsm8k", "#### 72", "no number"),
]
LENGTH = 48


class Letters:
    """A tokenizer of code points, which is all that the reward manager needs."""

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool = True) -> str:
        return "".join(chr(i) for i in ids.tolist())


def batch() -> DataProto:
    """The rows as verl holds them after generation: one prompt token, then the response, padded."""
    lengths = torch.tensor([len(response) for _, response, _ in ROWS])
    responses = torch.tensor([[ord(c) for c in response.ljust(LENGTH)] for _, response, _ in ROWS])
    mask = torch.cat([torch.ones(len(ROWS), 1), torch.arange(LENGTH) < lengths[:, None]], dim=1).long()
    tensors = {"prompts": torch.zeros(len(ROWS), 1).long(), "responses": responses, "attention_mask": mask}
    objects = {
        "data_source": np.array([source for source, _, _ in ROWS], dtype=object),
        "reward_model": np.array(
            [{"style": "rule", "ground_truth": ground_truth} for *_, ground_truth in ROWS], dtype=object
        ),
        "extra_info": np.array([{"index": i} for i in range(len(ROWS))], dtype=object),
    }
    return DataProto.from_dict(tensors=tensors, non_tensors=objects)


async def score(name: str) -> list[dict[str, Any]]:
    """Run verl's reward manager over every row with the function of this name."""
    config = OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://rewardkit.adapters.verl",
                    "name": name,
                    "reward_kwargs": {"on_failure": 0.0},
                }
            }
        }
    )
    manager = NaiveRewardManager(config, Letters(), get_custom_reward_fn(config))
    data = batch()
    return await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))


async def main() -> None:
    for name in ("compute_score", "acompute_score"):
        results = await score(name)
        print(name)
        keys = {tuple(result["reward_extra_info"]) for result in results}
        assert len(keys) == 1, "verl wants the same keys for every sample"
        for (source, _, ground_truth), result in zip(ROWS, results, strict=True):
            info = result["reward_extra_info"]
            print(f"  {source:15} ground truth {ground_truth:10} pred {info['pred'] or '-':14}", end=" ")
            print(f"reward {result['reward_score']:.1f} acc {info['acc']:.0f} status {info['status']}")


if __name__ == "__main__":
    asyncio.run(main())
