"""The `math` reward: compares the answer in a response with a ground truth in any notation.

`score` is the reward; `compare`, `extract` and `explain` are its steps. Importing this module loads neither
SymPy (which only runs in a worker process) nor mpmath (loaded at the first numeric comparison).
"""

from rewardkit.rewards.math.comparing.grade import MathVerdict as MathVerdict
from rewardkit.rewards.math.comparing.grade import compare as compare
from rewardkit.rewards.math.explanation import MathExplanation as MathExplanation
from rewardkit.rewards.math.explanation import explain as explain
from rewardkit.rewards.math.math_reward import DapoOptions as DapoOptions
from rewardkit.rewards.math.math_reward import score as score
from rewardkit.rewards.math.math_reward import score_dapo as score_dapo
from rewardkit.rewards.math.policies import MathOptions as MathOptions
from rewardkit.rewards.math.reading.extraction import Extraction as Extraction
from rewardkit.rewards.math.reading.extraction import extract as extract
