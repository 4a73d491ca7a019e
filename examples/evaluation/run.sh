#!/usr/bin/env bash
# Generate with two models, report on one, compare both.
set -euo pipefail
demo=${DEMO:-demo}
for temperature in 0.5 1.0; do
    rewardkit generate "$demo/data/test.parquet" --model "$demo/model" --engine hf -n 4 --max-tokens 16 \
        --temperature $temperature --out "t$temperature.parquet" --score
done
rewardkit eval t0.5.parquet --report report.html
rewardkit compare t0.5.parquet t1.0.parquet
