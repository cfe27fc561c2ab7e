# As the report prints it.
docker run --name vllm-mid --gpus all --ipc=host --ulimit memlock=-1 \
  -v /srv/models:/models \
  -v /srv/models/.vllm-compile-cache-mid:/root/.cache/vllm \
  -v /srv/vllm-patches/flashinfer_fp8_cublas.py:/usr/local/lib/python3.12/dist-packages/vllm/utils/flashinfer.py:ro \
  -p 127.0.0.1:8001:8001 \
  ghcr.io/timothystewart6/vllm-gb10:v0.28.0-gb10.2 \
  vllm serve /models/Qwen3.6-35B-A3B-NVFP4 \
    --served-model-name qwen3.6-35b \
    --host 0.0.0.0 --port 8001 \
    --gpu-memory-utilization 0.45 \
    --max-model-len 262144 \
    --max-num-seqs 16 \
    --max-num-batched-tokens 8192 \
    --kv-cache-dtype fp8 \
    --reasoning-parser qwen3 \
    --enable-auto-tool-choice --tool-call-parser qwen3_coder \
    --no-enable-prefix-caching \
    --reasoning-config '{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}'
