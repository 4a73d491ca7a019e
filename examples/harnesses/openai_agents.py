"""Play an episode with an agent of the OpenAI Agents SDK."""

import json
import sys

from agents import Agent, AgentsException, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)  # otherwise the SDK sends traces to OpenAI


@function_tool
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"{a} + {b} = {a + b}"


row = json.load(sys.stdin)
agent = Agent(name="Adder", instructions="You add.", model="policy", tools=[add])
try:
    Runner.run_sync(agent, row["prompt"], max_turns=8)
except AgentsException as error:  # the model called an unknown tool, or did not end
    print(error, file=sys.stderr)
