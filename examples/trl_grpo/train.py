"""TRL's GRPOTrainer with rewardkit's rewards, on a model small enough for any machine.

    pip install rewardkit trl
    python train.py                                   # rewards computed in the trainer's process
    REWARDKIT_URL=http://127.0.0.1:8000 python train.py   # by `rewardkit serve`

The model is random and its vocabulary is digits and `#### `, so that some completions are right by chance.
One row cannot be scored: its reward is None, which TRL leaves out of the advantages.
"""

from __future__ import annotations

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import GRPOConfig, GRPOTrainer

from rewardkit.adapters.trl import reward

WORDS = ["<pad>", "<eos>", "####", *"0123456789", "+", "="]


def tokenizer() -> PreTrainedTokenizerFast:
    """Whole words, written with spaces between them."""
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")


def model() -> LlamaForCausalLM:
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, eos_token_id=1, **size))


def rows() -> Dataset:
    """Sums of one digit; the last has no number for a ground truth."""
    sums = [(a, b) for a in range(1, 5) for b in range(1, 5)][:15]
    prompts = [f"{a} + {b} =" for a, b in sums] + ["1 + 1 ="]
    ground_truths = [str(a + b) for a, b in sums] + ["two"]
    return Dataset.from_dict(
        {"prompt": prompts, "data_source": ["gsm8k"] * len(prompts), "ground_truth": ground_truths}
    )


def main() -> None:
    set_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=6,
            max_steps=4,
            logging_steps=1,
            learning_rate=1e-2,
            report_to="none",
            save_strategy="no",
            seed=0,
        )
        trainer = GRPOTrainer(
            model=model(),
            reward_funcs=reward,
            args=config,
            train_dataset=rows(),
            processing_class=tokenizer(),
        )
        trainer.train()
        for entry in trainer.state.log_history:
            if "reward" in entry:
                shown = ("reward", "reward_std", "rewardkit/correct", "rewardkit/format", "rewardkit/failed")
                print({name: round(entry[name], 3) for name in shown if name in entry})


if __name__ == "__main__":
    main()
