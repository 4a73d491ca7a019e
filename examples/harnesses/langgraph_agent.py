"""Play an episode with an agent of LangChain, which runs on LangGraph."""

import json
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.errors import GraphRecursionError


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"{a} + {b} = {a + b}"


row = json.load(sys.stdin)
agent = create_agent(ChatOpenAI(model="policy"), tools=[add], system_prompt="You add.")
try:
    agent.invoke({"messages": row["prompt"]}, {"recursion_limit": 16})
except GraphRecursionError as error:  # the model did not end
    print(error, file=sys.stderr)
