"""The calls of tools in a model's text: agents execute them, and the reward `tool_call` compares them.

One file a format; `formats.py` has the table of them, `call.py` says what a call is.
"""
