# As the report prints it.
docker run --name vllm-nemotron --gpus all --ipc=host --ulimit memlock=-1 \
  -v /srv/models:/models \
  -v /srv/models/.vllm-compile-cache-nemotron:/root/.cache/vllm \
  -p 127.0.0.1:8002:8002 \
  ghcr.io/timothystewart6/vllm-gb10:v0.28.0-gb10.2 \
  vllm serve /models/Nemotron-3.5-Lightning-30B-A3B-NVFP4 \
    --served-model-name nemotron-3.5-lightning \
    --host 0.0.0.0 --port 8002 \
    --gpu-memory-utilization 0.28 \
    --max-model-len 262144 \
    --max-num-seqs 16 \
    --max-num-batched-tokens 8192 \
    --kv-cache-dtype fp8 \
    --mamba-cache-mode align \
    --mamba-backend flashinfer \
    --moe-backend marlin \
    --reasoning-parser nemotron_v3 \
    --reasoning-config '{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}' \
    --tool-call-parser qwen3_coder --enable-auto-tool-choice \
    --enable-prefix-caching \
    --speculative_config.model /models/Nemotron-3.5-Lightning-DSpark \
    --speculative_config.num_speculative_tokens 3
