#!/usr/bin/env bash
# Episodes with a calculator: play, look at one, train.
set -euo pipefail
demo=${DEMO:-demo}
rewardkit generate "$demo/data/test.parquet" --model "$demo/model" --engine hf --max-tokens 64 --tools calculator \
    --max-assistant-turns 4 --out episodes.parquet --score
rewardkit view episodes.parquet --row 0
rewardkit train --config tiny-cpu data.train_files="$demo/data/train.parquet" data.val_files="$demo/data/test.parquet" \
    actor_rollout_ref.model.path="$demo/model" data.train_batch_size=64 data.max_prompt_length=200 data.max_response_length=48 \
    actor_rollout_ref.rollout.multi_turn.tool_config_path=calculator actor_rollout_ref.rollout.multi_turn.max_assistant_turns=4 \
    actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent reward.mode=mixed trainer.total_training_steps=2 trainer.test_freq=-1 trainer.default_local_dir=agent-run
