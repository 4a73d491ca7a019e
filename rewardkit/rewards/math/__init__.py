"""The `math` reward, which compares the answer in a response with a ground truth in any notation.

`score` is the reward function. `extract`, `compare` and `explain` give access to its steps. Importing this
module loads neither SymPy, which runs only in a worker process, nor mpmath, which is loaded at the first
numeric comparison.
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
