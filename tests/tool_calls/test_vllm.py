"""vLLM's own parsers read the same calls from what models' templates write."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from rewardkit.agents.tools.arguments import fit
from rewardkit.tool_calls.formats import read
from tests.tool_calls.templates import TEMPLATES
from tests.tool_calls.test_templates import PARAMETERS, calls_for

needs_vllm = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")

MARKS = (
    *("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>"),
    *("[TOOL_CALLS]", "[ARGS]", "<think>", "</think>", "<|python_tag|>", "｜DSML｜"),
    *(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜tool▁sep｜>",
    ),
    *(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_end|>",
    ),
    *("<|tool_call_argument_begin|>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<minimax:tool_call>", "</minimax:tool_call>"),
)
CALLS = (
    ("search", {"text": "<b> \"x\" & 'y' é 漢", "count": 3, "rows": [1, "a", {"k": None}]}),
    ("get_time", {"text": "UTC", "sure": True, "share": -2.25, "more": {"a": [True]}}),
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = {char: i for i, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made)
    fast.add_tokens(list(MARKS))
    return fast


@pytest.mark.slow
@needs_vllm
@pytest.mark.parametrize("name", [name for name, template in TEMPLATES.items() if template.vllm])
def test_vllm_reads_the_same_calls(name: str, tokenizer: Any) -> None:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers import ToolParserManager

    calls = calls_for(name, CALLS)
    tools = [
        {"type": "function", "function": {"name": tool, "parameters": PARAMETERS}}
        for tool in dict.fromkeys(tool for tool, _ in calls)
    ]
    request = ChatCompletionRequest(messages=[{"role": "user", "content": "x"}], model="m", tools=tools)
    text = TEMPLATES[name].render(calls)
    parser = ToolParserManager.get_tool_parser(TEMPLATES[name].vllm)(tokenizer, request.tools)
    theirs = parser.extract_tool_calls(text, request).tool_calls
    _, ours = read(TEMPLATES[name].format, text)
    assert [(call.name, fit(PARAMETERS, call.arguments)) for call in ours] == [
        (one.function.name, json.loads(one.function.arguments)) for one in theirs
    ]
