"""ReAct loop for chat templates without tool support. Tool calls and observations are plain text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.agents.episode import Episode
from rewardkit.agents.loops.tool import tool_agent
from rewardkit.agents.registry import agent
from rewardkit.messages import with_text
from rewardkit.types import Message

INSTRUCTIONS = """Answer the question. You can use these tools:
{tools}

Write each step in this form, and then stop:
Thought: what you think
Action: the name of a tool
Action Input: its arguments as a JSON object
You are then told what the tool says, as "Observation: ...". When you know the answer, write:
Thought: why you know it
Final Answer: the answer"""


def with_instructions(messages: list[Message], schemas: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Insert descriptions of the tools and of the step format at the start of the first user message."""
    if not schemas:
        return messages
    text = INSTRUCTIONS.format(tools="\n".join(_line(schema["function"]) for schema in schemas))
    place = next((i for i, one in enumerate(messages) if one["role"] == "user"), 0)
    asked = with_text(messages[place], before=f"{text}\n\nQuestion: ")
    return [*messages[:place], asked, *messages[place + 1 :]]


@agent("react_agent", tools="text", prepare=with_instructions, calls="react")
async def react_agent(episode: Episode) -> None:
    """Play the episode like `tool_agent`, but with calls and observations in plain text."""
    await tool_agent(episode)


def _line(function: Mapping[str, Any]) -> str:
    """Describe a tool in one line with its name, arguments and description."""
    properties = (function.get("parameters") or {}).get("properties") or {}
    arguments = {name: about.get("type", "any") for name, about in properties.items()}
    return f"- {function['name']} {json.dumps(arguments)}: {function.get('description', '')}"
