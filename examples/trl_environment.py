"""A TRL environment (`environment_factory`) whose tools run on a rewardkit server.

    rewardkit serve --tools calculator,calc_gsm8k_reward
    python examples/trl_environment.py     # REWARDKIT_URL, if it is not http://127.0.0.1:8000

TRL shows the model every public method but `reset` and `get_reward` as a tool, makes a few instances, and
resets them from row to row: the episode of the row before is released then. Rows are those that `rewardkit
prep gsm8k --agent tool_agent` writes, or any with a `ground_truth`. Run by itself, this trains a random model
whose words are digits and whole calls, so that some are right by chance.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import urllib.error
import urllib.request
import weakref
from pathlib import Path
from typing import Any

URL = os.environ.get("REWARDKIT_URL", "http://127.0.0.1:8000")


class Gsm8k:
    """Word problems, with a calculator and a check of the answer."""

    def __init__(self) -> None:
        self._open: list[str] = []
        """The session of the episode, once there is one."""
        weakref.finalize(self, _release, self._open)

    def reset(self, ground_truth: str, extra_info: dict[str, Any] | None = None, **row: Any) -> None:
        """Begin an episode for a row of the dataset."""
        _release(self._open)
        asked = {
            "tools": ["calculator", "calc_gsm8k_reward"],
            "ground_truth": ground_truth,
            "extra_info": extra_info or {},
        }
        self._open.append(_ask("POST", "/episodes", asked)["session"])

    def calculator(self, expression: str) -> str:
        """Calculate an arithmetic expression.

        Args:
            expression: Such as (12 + 3) * 4.
        """
        return self._call("calculator", expression=expression)

    def calc_gsm8k_reward(self, answer: str) -> str:
        """Check an answer to the problem.

        Args:
            answer: The final number.
        """
        return self._call("calc_gsm8k_reward", answer=answer)

    def get_reward(self) -> float:
        """What the best answer of the episode was worth."""
        worth = _ask("POST", f"/episodes/{self._open[0]}/reward")["tools"]
        return float(worth["calc_gsm8k_reward"] or 0.0)

    def _call(self, name: str, **arguments: Any) -> str:
        asked = {"name": name, "arguments": arguments}
        return str(_ask("POST", f"/episodes/{self._open[0]}/call", asked)["text"])


def _release(sessions: list[str]) -> None:
    """Release what is open; the server does so by itself after a time in which nothing is asked."""
    while sessions:
        with contextlib.suppress(OSError, RuntimeError):
            _ask("DELETE", f"/episodes/{sessions.pop()}")


def _ask(method: str, path: str, body: Any = None) -> Any:
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("REWARDKIT_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {path}: {error.code}: {error.read().decode()[:300]}") from None


def main() -> None:
    """Train for two steps."""
    import trl
    from datasets import Dataset
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, set_seed

    call = '<tool_call>{"name":"%s","arguments":{"%s":"%s"}}</tool_call>'
    calls = [call % ("calc_gsm8k_reward", "answer", n) for n in range(2, 9)]
    words = [
        "<pad>",
        "<|im_end|>",
        *calls,
        call % ("calculator", "expression", "1+1"),
        *"0123456789",
        "+",
        "=",
    ]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<pad>"))
    made.pre_tokenizer, made.decoder = pre_tokenizers.WhitespaceSplit(), decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<|im_end|>")
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text()
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    set_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(vocab_size=len(words), pad_token_id=0, eos_token_id=1, **size, **heads)
    )
    sums = [(a, b) for a in range(1, 5) for b in range(1, 5)]
    prompts = [[{"role": "user", "content": f"{a} + {b} ="}] for a, b in sums]
    rows = Dataset.from_dict({"prompt": prompts, "ground_truth": [str(a + b) for a, b in sums]})
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=16,
            num_generations=8,
            max_completion_length=48,
            max_steps=2,
            logging_steps=1,
            report_to="none",
        )
        trainer = trl.GRPOTrainer(
            model, args=config, train_dataset=rows, processing_class=tokenizer, environment_factory=Gsm8k
        )
        trainer.train()
        for step in trainer.state.log_history:
            if "reward" in step:
                print(f"reward {step['reward']:.2f}, calls a response {step['tools/call_frequency']:.1f}")


if __name__ == "__main__":
    main()
