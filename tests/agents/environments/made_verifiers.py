"""A package of the shape that verifiers 0.4 has, as far as its tasksets are played here; written for a test."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "verifiers/__init__.py": "",
    "verifiers/v1/__init__.py": "",
    "verifiers/v1/configs/__init__.py": "",
    "verifiers/v1/utils/__init__.py": "",
    "verifiers/v1/configs/taskset.py": "class TasksetConfig:\n    def __init__(self, id=''): self.id = id\n",
    "verifiers/v1/configs/agent.py": "class WireAgentConfig: pass\n",
    "verifiers/v1/taskset.py": "class Taskset:\n    def __init__(self, config): self.config = config\n",
    "verifiers/v1/utils/generic.py": "def concrete_type(found, base, origin=None): return None\n",
    "verifiers/v1/utils/loaders.py": "",
    "verifiers/v1/types.py": """
class AssistantMessage:
    def __init__(self, content): self.content = content
UserMessage = AssistantMessage
""",
    "verifiers/v1/graph.py": """
class MessageNode:
    def __init__(self, message, parent=None, sampled=False):
        self.message, self.sampled = message, sampled
""",
    "verifiers/v1/trace.py": """
class AgentInfo:
    def __init__(self, config): pass
class TraceTask:
    def __init__(self, type, data): self.data = data
class Trace:
    def __init__(self, task, agent):
        self.task, self.nodes, self.rewards, self.metrics = task, [], {}, {}
    @property
    def last_reply(self): return [n.message.content for n in self.nodes if n.sampled][-1]
    @property
    def reward(self): return sum(self.rewards.values())
""",
    "sums.py": """
from verifiers.v1.taskset import Taskset

class Data:
    class Field:
        def __init__(self, needed): self.needed = needed
        def is_required(self): return self.needed
    model_fields = {"idx": Field(False), "prompt": Field(False), "answer": Field(True)}
    def __init__(self, **values): self.__dict__.update(values)
    @classmethod
    def model_validate(cls, values): return cls(**values)
    def model_dump(self, mode): return {**self.__dict__, "system_prompt": "Add."}

class Sum:
    def __init__(self, data, config=None): self.data = data
    @classmethod
    def data_type(cls): return Data
    @classmethod
    def config_type(cls): return dict
    def hooks(self, kind): return []
    def plugged_judges(self): return []
    async def score(self, trace, runtime):
        if trace.last_reply == "raise":
            raise RuntimeError("no")
        trace.rewards["right"] = float(self.data.answer == trace.last_reply)

class Sums(Taskset):
    @classmethod
    def task_type(cls): return Sum
    def load(self):
        print("loading")
        for i in range(9):
            yield Sum(Data(idx=i, prompt=f"{i}+1", answer=str(i + 1)))
    def __iter__(self): return iter(self.load())
""",
}


def write_verifiers(folder: Path) -> Path:
    """Write the package and a taskset, `sums:Sums`; return the folder to import them from."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
