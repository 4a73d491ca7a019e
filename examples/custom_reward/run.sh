#!/usr/bin/env bash
# A reward in Python, on a file, and in training.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
demo=${DEMO:-demo}

python - "$here/brief.py" <<'PYTHON'
import sys
from pathlib import Path

import rewardkit
from rewardkit.registry import load_reward_file

if __name__ == "__main__":
    load_reward_file(sys.argv[1])
    with rewardkit.Scorer() as scorer:
        for response in ("#### 72", "Six times twelve is seventy-two. #### 72", "#### 71"):
            score = scorer.score(rewardkit.Sample("my/brief", response, "72"))
            print(f"{score.score:.2f} {score.status} {response}")
PYTHON

rewardkit score sample://responses.jsonl --data-source my/brief --reward "$here/brief.py" --option my/brief:free=30 --out brief.jsonl
rewardkit explain --reward "$here/brief.py" --ground-truth 72 --response '#### 72'
rewardkit train --config tiny-cpu data.train_files="$demo/data/train.parquet" data.val_files="$demo/data/test.parquet" \
    actor_rollout_ref.model.path="$demo/model" custom_reward_function.path="$here/brief.py" custom_reward_function.name=brief \
    data.train_batch_size=64 trainer.total_training_steps=2 trainer.test_freq=-1 trainer.default_local_dir=brief-run
