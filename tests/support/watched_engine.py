"""A server that generates, refuses, hangs or counts on, as the word in a file says. Standard library only.

python watched_engine.py PORT MODE_FILE
"""

import http.server
import json
import sys
import time
from pathlib import Path

TOKENS = [1000]
STATUSES = {"error": 500, "key": 401, "model": 404, "busy429": 429, "loading": 503}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/metrics":
            return self.answer(200, b'{"object":"list","data":[{"id":"m"}]}')
        if mode() in {"saturated", "busy"}:
            TOKENS[0] += 10
        waiting = 5 if mode() == "saturated" else 0
        text = (
            f'vllm:generation_tokens_total{{model_name="m"}} {TOKENS[0]}\n'
            f'vllm:num_requests_running{{model_name="m"}} 2\nvllm:num_requests_waiting{{model_name="m"}} {waiting}\n'
        )
        return self.answer(200, text.encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        how = mode()
        if how in STATUSES:
            return self.answer(STATUSES[how], json.dumps({"error": {"message": f"{how}: no"}}).encode())
        if how != "ok":
            time.sleep(30)
        reply = {
            "choices": [{"message": {"role": "assistant", "content": "", "reasoning": "The"}}],
            "usage": {"completion_tokens": 1},
        }
        return self.answer(200, json.dumps(reply).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def mode():
    return Path(sys.argv[2]).read_text().strip()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
