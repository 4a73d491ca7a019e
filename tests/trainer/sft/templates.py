"""A chat template that marks what the assistant says, and templates of the shapes of well-known models."""

MARKED = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|end|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

_THOUGHT = (
    "{% set answer = m['content'].split('</think>')[-1].lstrip('\n') %}"
    "{% set thought = m['content'].split('</think>')[0].split('<think>')[-1].strip('\n') "
    "if '</think>' in m['content'] else '' %}"
)
_LAST_QUESTION = (
    "{% set ns = namespace(question=-1) %}{% for m in messages %}"
    "{% if m['role'] == 'user' %}{% set ns.question = loop.index0 %}{% endif %}{% endfor %}"
)
_ASKED = "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

QWEN3 = (
    _LAST_QUESTION
    + "{% for m in messages %}{% if m['role'] == 'assistant' %}"
    + _THOUGHT
    + "{{ '<|assistant|>' }}{% if loop.index0 > ns.question %}"
    "{{ '<think>\n' + thought + '\n</think>\n\n' }}{% endif %}{{ answer + '<|end|>' }}"
    "{% else %}{{ '<|user|>' + m['content'] }}{% endif %}{% endfor %}" + _ASKED
)
"""Only turns after the last question have a thought, which may be empty."""

GLM = (
    _LAST_QUESTION
    + "{% for m in messages %}{% if m['role'] == 'assistant' %}"
    + _THOUGHT
    + "{{ '<|assistant|><think>' }}{% if loop.index0 > ns.question %}{{ thought }}{% endif %}"
    "{{ '</think>' + answer }}{% else %}{{ '<|user|>' + m['content'] }}{% endif %}{% endfor %}" + _ASKED
)
"""Earlier thoughts are empty, and nothing but the next message ends a turn."""

R1 = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}"
    + _THOUGHT
    + "{{ '<|assistant|>' + answer + '<|end|>' }}{% else %}{{ '<|user|>' + m['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% endif %}"
)
"""No turn has a thought, but the generation prompt begins one."""

GPT_OSS = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}"
    "{% if loop.last and m['thinking'] is defined %}"
    "{{ '<|assistant|>:analysis:' + m['thinking'] + '<|end|>' }}{% endif %}"
    "{{ '<|assistant|>:final:' + m['content'] + '<|end|>' }}"
    "{% else %}{{ '<|user|>' + m['content'] }}{% endif %}{% endfor %}" + _ASKED
)
"""A thought has a channel of its own, which only the last turn keeps."""
