"""What models' chat templates write for a turn that calls tools, by format; small templates in their form.

Prompts are left out: what a model is told of its tools is not what it writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

Written = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and arguments of calls."""


@dataclass(frozen=True)
class Template:
    """How one model's template writes calls."""

    format: str
    text: str = ""
    """Jinja's, with `calls`, a list of names and arguments, or empty where `write` is given."""
    write: Callable[[Written], str] | None = None
    parallel: bool = True
    """Whether it writes several calls in a turn."""
    vllm: str = ""
    """vLLM's parser of it; empty: it has none of its own, or needs a tokenizer of the model."""

    def render(self, calls: Written) -> str:
        """Return the turn as the model writes it, with its special tokens but the one that ends it."""
        if self.write is not None:
            return self.write(calls)
        environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
        return environment.from_string(self.text).render(calls=calls)


def _pythonic(calls: Written) -> str:
    each = (f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in calls)
    return f"[{', '.join(each)}]"


def _react(calls: Written) -> str:
    ((name, given),) = calls
    return f"Thought: I look.\nAction: {name}\nAction Input: {json.dumps(given)}"


TEMPLATES: Mapping[str, Template] = {
    "qwen3": Template(
        "hermes",
        "{% for name, given in calls %}{{ '\n' if not loop.first }}<tool_call>\n"
        '{"name": "{{ name }}", "arguments": {{ given | tojson }}}\n</tool_call>{% endfor %}',
        vllm="hermes",
    ),
    "qwen3_coder": Template(
        "qwen3_coder",
        "{% for name, given in calls %}\n<tool_call>\n<function={{ name }}>\n"
        "{% for key, value in given.items() %}<parameter={{ key }}>\n"
        "{{ value if value is string else value | tojson }}\n</parameter>\n{% endfor %}"
        "</function>\n</tool_call>{% endfor %}",
        vllm="qwen3_coder",
    ),
    "llama3_1": Template(
        "llama3",
        "{% for name, given in calls %}"
        '{"name": "{{ name }}", "parameters": {{ given | tojson }}}{% endfor %}',
        parallel=False,
        vllm="llama3_json",
    ),
    "llama3_1_tag": Template(
        "llama3",
        "<|python_tag|>{% for name, given in calls %}{{ '; ' if not loop.first }}"
        '{"name": "{{ name }}", "parameters": {{ given | tojson }}}{% endfor %}<|eom_id|>',
    ),
    "llama4": Template("pythonic", write=_pythonic, vllm="pythonic"),
    "mistral": Template(
        "mistral",
        "[TOOL_CALLS] [{% for name, given in calls %}{{ ', ' if not loop.first }}"
        '{"name": "{{ name }}", "arguments": {{ given | tojson }}, "id": "abcdefgh{{ loop.index0 }}"}{% endfor %}]',
    ),
    "mistral_arguments": Template(
        "mistral",
        "{% for name, given in calls %}[TOOL_CALLS]{{ name }}[ARGS]{{ given | tojson }}{% endfor %}",
        vllm="mistral",
    ),
    "deepseek_v3": Template(
        "deepseek",
        "<｜tool▁calls▁begin｜>{% for name, given in calls %}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ name }}\n"
        "```json\n{{ given | tojson }}\n```<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>",
        vllm="deepseek_v3",
    ),
    "deepseek_v3_1": Template(
        "deepseek",
        "<｜tool▁calls▁begin｜>{% for name, given in calls %}<｜tool▁call▁begin｜>{{ name }}<｜tool▁sep｜>"
        "{{ given | tojson }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>",
        vllm="deepseek_v31",
    ),
    "deepseek_v3_2": Template(
        "minimax",
        "<｜DSML｜function_calls>\n{% for name, given in calls %}"
        '<｜DSML｜invoke name="{{ name }}">\n{% for key, value in given.items() %}'
        '<｜DSML｜parameter name="{{ key }}" string="{{ "true" if value is string else "false" }}">'
        "{{ value if value is string else value | tojson }}</｜DSML｜parameter>\n{% endfor %}"
        "</｜DSML｜invoke>\n{% endfor %}</｜DSML｜function_calls>",
        vllm="deepseek_v32",
    ),
    "minimax_m2": Template(
        "minimax",
        '\n<minimax:tool_call>\n{% for name, given in calls %}<invoke name="{{ name }}">\n'
        '{% for key, value in given.items() %}<parameter name="{{ key }}">'
        "{{ value if value is string else value | tojson }}</parameter>\n{% endfor %}"
        "</invoke>\n{% endfor %}</minimax:tool_call>",
        vllm="minimax_m2",
    ),
    "kimi_k2": Template(
        "kimi",
        "<|tool_calls_section_begin|>{% for name, given in calls %}<|tool_call_begin|>"
        "functions.{{ name }}:{{ loop.index0 }}<|tool_call_argument_begin|>{{ given | tojson }}<|tool_call_end|>"
        "{% endfor %}<|tool_calls_section_end|>",
        vllm="kimi_k2",
    ),
    "glm4_5": Template(
        "glm",
        "{% for name, given in calls %}\n<tool_call>{{ name }}\n{% for key, value in given.items() %}"
        "<arg_key>{{ key }}</arg_key>\n"
        "<arg_value>{{ value if value is string else value | tojson }}</arg_value>\n{% endfor %}"
        "</tool_call>{% endfor %}",
        vllm="glm45",
    ),
    "gpt_oss": Template(
        "harmony",
        "<|channel|>analysis<|message|>I look.<|end|>{% for name, given in calls %}<|start|>assistant"
        " to=functions.{{ name }}<|channel|>commentary json<|message|>{{ given | tojson }}<|call|>{% endfor %}",
    ),
    "react": Template("react", write=_react, parallel=False),
    "openai": Template(
        "json",
        '{"tool_calls": [{% for name, given in calls %}{{ ", " if not loop.first }}'
        '{"function": {"name": "{{ name }}", "arguments": {{ given | tojson | tojson }}}}{% endfor %}]}',
    ),
}
