"""Play an episode with an agent of smolagents that writes code."""

import json
import sys

from smolagents import CodeAgent, OpenAIModel

row = json.load(sys.stdin)
agent = CodeAgent(tools=[], model=OpenAIModel("policy"), max_steps=8, verbosity_level=0)
print(agent.run(row["prompt"][-1]["content"]))
