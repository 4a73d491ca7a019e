#!/usr/bin/env bash
# Serve rewards, and ask for one as OpenRLHF does.
set -euo pipefail
port=${PORT:-8000}
rewardkit serve --port "$port" >serve.log 2>&1 &
trap 'kill %1' EXIT
until curl -fs "localhost:$port/healthz" >/dev/null; do sleep 0.2; kill -0 %1; done

curl -fs "localhost:$port/openrlhf/gsm8k" -H 'content-type: application/json' \
    -d '{"query": ["6 * 12 = ?\n#### 72", "6 * 12 = ?\n#### 71"], "prompts": ["6 * 12 = ?\n", "6 * 12 = ?\n"], "labels": ["72", "72"]}'
echo
