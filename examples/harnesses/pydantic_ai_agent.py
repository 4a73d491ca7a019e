"""Play an episode with an agent of Pydantic AI."""

import json
import sys

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError

row = json.load(sys.stdin)
agent = Agent("openai:policy", instructions="You add.")


@agent.tool_plain
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"{a} + {b} = {a + b}"


try:
    agent.run_sync(row["prompt"][-1]["content"])
except AgentRunError as error:  # the model called a tool wrongly several times, or did not end
    print(error, file=sys.stderr)
