"""Makes logs with the tools that write them, run in an environment that has those: `real_logs.py` starts it.

    PYTHON log_producers.py KIND FOLDER ROWS [MODEL]

The problems are sums; every second response is right. Not part of rewardkit, and imports nothing of it.
"""

import json
import os
import sys
from pathlib import Path


def problem(i):
    a, b = i, 7 * i % 100
    return f"What is {a} + {b}?", str(a + b)


def response(i, sample=0):
    question, answer = problem(i)
    said = answer if sample % 2 == 0 else str(int(answer) + 1)
    return f"{question[8:-1]} = {said}\n#### {said}"


def verl(folder, rows):
    """Its trainer's own writer, with 4 responses to a prompt, and a bare NaN as its rewards may give."""
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer

    numbers = [(i // 4, i % 4) for i in range(rows)]
    RayPPOTrainer._write_generations(
        [f"user\n{problem(p)[0]}\nassistant\n" for p, _ in numbers],
        [response(p, s) for p, s in numbers],
        [problem(p)[1] for p, _ in numbers],
        [float(s % 2 == 0) for _, s in numbers],
        {"acc": [s % 2 == 0 for _, s in numbers], "pred": [float("nan")] * rows},
        str(folder),
        40,
    )


def lm_eval(folder, rows):
    """Its evaluator and tracker, on a task of 2 repeats and 2 filters, with a model that knows the sums."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker

    class Model(LM):
        def generate_until(self, requests, disable_tqdm=False):
            seen = {}
            said = []
            for one in requests:
                i = int(one.args[0].split()[3])
                seen[i] = seen.get(i, -1) + 1
                said.append(response(i, seen[i]))
            return said

        def loglikelihood(self, requests, disable_tqdm=False):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    lines = [dict(zip(("question", "answer"), problem(i), strict=True)) for i in range(rows // 2)]
    data = Path(folder) / "questions.json"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pick = [{"function": "take_first"}]
    number = [{"function": "regex", "regex_pattern": "#### (\\d+)"}]
    task = {
        "task": "sums",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "Q: {{question}}\nA:",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["Q:"]},
        "repeats": 2,
        "filter_list": [{"name": "none", "filter": pick}, {"name": "number", "filter": [*number, *pick]}],
        "metric_list": [{"metric": "exact_match"}],
    }
    found = simple_evaluate(model=Model(), tasks=[task], log_samples=True, bootstrap_iters=0)
    tracker = EvaluationTracker(output_path=str(folder))
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    tracker.save_results_samples(task_name="sums", samples=samples["sums"])


def trl(folder, rows):
    """Its GRPO with log_completions on a tiny model that has learned nothing; a reward logs the answers."""
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<pad>", "<eos>", *letters])}
    inner = Tokenizer(models.BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, eos_token_id=1, **sizes))

    def reward(completions, ground_truth, log_extra=None, **_):
        if log_extra is not None:
            log_extra("ground_truth", ground_truth)
        return [float(len(text)) for text in completions]

    config = GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=rows,
        num_generations=4,
        max_completion_length=8,
        max_steps=1,
        log_completions=True,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,
    )
    prompts = [dict(zip(("prompt", "ground_truth"), problem(i), strict=True)) for i in range(rows)]
    GRPOTrainer(model, reward, config, Dataset.from_list(prompts), processing_class=tokenizer).train()


def inspect(folder, rows):
    """Its evaluation of 2 epochs by a model whose outputs are given."""
    import tiktoken

    class Bytes:  # its own is fetched from the network
        def encode(self, text, **_):
            return list(text.encode())

    tiktoken.get_encoding = lambda name: Bytes()
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import match

    samples = [Sample(input=problem(i)[0], target=problem(i)[1], id=i) for i in range(rows // 2)]

    def answer(messages, *_):
        i = int(messages[-1].text.split()[2])
        seen[i] = seen.get(i, -1) + 1
        return ModelOutput.from_content("mockllm/model", response(i, seen[i]))

    seen = {}
    task = Task(dataset=MemoryDataset(samples, name="gsm8k"), scorer=match(numeric=True), epochs=2)
    eval(task, model=get_model("mockllm/model", custom_outputs=answer), log_dir=str(folder), display="none")


def batch(folder, rows, model):
    """`vllm run-batch`, with 2 choices to each request; its build for CPUs has no command of that name."""
    import asyncio

    from vllm.entrypoints.launchers.run_batch import main, parse_args

    requests = []
    for i in range(rows // 2):
        chat = [{"role": "user", "content": problem(i)[0]}]
        body = {"model": model, "messages": chat, "n": 2, "max_tokens": 6, "temperature": 1.0}
        head = {"custom_id": f"q{i}", "method": "POST", "url": "/v1/chat/completions"}
        requests.append(json.dumps({**head, "body": body}) + "\n")
    asked = Path(folder) / "requests.jsonl"
    asked.write_text("".join(requests))
    out = str(Path(folder) / "out.jsonl")
    words = ["--model", model, "--max-model-len", "256", "--enforce-eager", "--disable-log-stats"]
    sys.argv = ["run-batch", "-i", str(asked), "-o", out, *words]
    asyncio.run(main(parse_args()))


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    kind, folder, rows, *rest = sys.argv[1:]
    globals()[kind](folder, int(rows), *rest)
