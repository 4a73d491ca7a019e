"""TRL's side of `trl_losses.py`, which starts it in an environment with TRL; it imports nothing of ours.

    python benchmarks/trl_losses_inside.py FOLDER

Reads the cases and weights in FOLDER and writes TRL's numbers there, one file for each setting.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils import vector_to_parameters
from trl_losses import EACH, IS, ROWS, SETTINGS, TRL, WIDTH, Float64, read, summed


def trl_trainer(folder: Path, name: str, case: dict[str, Any]) -> Any:
    """Return one of TRL's trainers, which takes its responses and rewards from `case`."""
    import trl
    from datasets import Dataset
    from transformers import AutoTokenizer

    kind, setting = ("RLOO", read(name)) if name.startswith("RLOO") else ("GRPO", read(f"{TRL} {name}"))
    pieces = setting.get("gradient_accumulation_steps", 1)
    setting |= {"per_device_train_batch_size": ROWS // pieces, "num_generations": EACH}
    setting |= {"output_dir": str(folder / "trl"), "max_completion_length": WIDTH, "report_to": []}
    setting |= {"use_cpu": True, "bf16": False, "gradient_checkpointing": False}

    def reward(**_: Any) -> Any:
        return case["rewards"].tolist()

    def generate(prompts: list[Any]) -> tuple[Any, ...]:
        def cut(of: str) -> list[Any]:
            return [row[:n].tolist() for row, n in zip(case[of], case["length"], strict=True)]

        ids = [p[-n:].tolist() for p, n in zip(case["prompt"], case["prompt_length"], strict=True)]
        if kind == "RLOO":
            return ids, cut("response"), [""] * ROWS
        return ids, cut("response"), cut("own"), [""] * ROWS, cut("rollout_log_probs"), {}, None, []

    trainer = getattr(trl, f"{kind}Trainer")(
        model=str(folder),
        args=getattr(trl, f"{kind}Config")(**setting),
        reward_funcs=[reward],
        train_dataset=Dataset.from_dict({"prompt": ["a"] * ROWS}),
        processing_class=AutoTokenizer.from_pretrained(folder),
    )
    trainer._generate = generate
    trainer.use_vllm = IS in name  # it then corrects for the engine, whose log-probabilities are in `case`
    trainer.current_gradient_accumulation_steps = pieces
    return trainer


def trl_numbers(folder: Path, name: str, weights: dict[str, Any], given: dict[str, Any]) -> list[Any]:
    """Return advantages, loss and gradient of each case; runs where TRL is installed."""
    case: dict[str, Any] = {}
    trainer = trl_trainer(folder, name, case)
    model = trainer.model.double().train()
    vector_to_parameters(weights["old"], model.parameters())
    if trainer.ref_model is not None:
        vector_to_parameters(weights["ref"], trainer.ref_model.double().parameters())
    made = []
    for i in range(len(given["length"])):
        case.update({key: tensor[i] for key, tensor in given.items()})
        made.append(trainer._generate_and_score_completions([{"prompt": "a"}] * ROWS))
    if not name.startswith("RLOO"):
        vector_to_parameters(weights["now"], model.parameters())
    found = []
    for inputs in made:
        rows = torch.arange(ROWS).chunk(trainer.current_gradient_accumulation_steps)
        pieces = [{key: v[some] if v.dim() else v for key, v in inputs.items()} for some in rows]
        numbers = summed(model, (trainer.compute_loss(model, piece) for piece in pieces))
        found.append((inputs["advantages"], *numbers))
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    weights, given = torch.load(folder / "given.pt", weights_only=True)
    with Float64():
        for number, name in enumerate(SETTINGS):
            torch.save(trl_numbers(folder, name, weights, given), folder / f"{number}.pt")
            print(f"done: {name}", flush=True)


if __name__ == "__main__":
    main()
