"""Parsers for tool calls in a model's text, used by agents and by the reward `tool_call`.

Each format has its own file. `formats.py` lists the formats, and `call.py` defines a call.
"""
