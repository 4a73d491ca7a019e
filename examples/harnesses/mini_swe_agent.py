"""Play an episode with mini-swe-agent, which uses a shell on this machine."""

import json
import sys

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

row = json.load(sys.stdin)
model = LitellmModel(model_name="openai/policy", cost_tracking="ignore_errors")
templates = {"system_template": "You use a shell.", "instance_template": "{{task}}"}
agent = DefaultAgent(model, LocalEnvironment(), **templates, step_limit=8)
agent.run(row["prompt"][-1]["content"])
