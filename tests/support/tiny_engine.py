"""A small server that misbehaves on request, for tests of launchers. Standard library only, so that it starts at once.

python tiny_engine.py PORT [ignore-term] [child] [double-fork] [clean-child] [daemon] [close-fds] [die=CODE] [mute]
"""

import contextlib
import http.server
import os
import signal
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"object":"list","data":[{"id":"tiny"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(port, *how):
    say(sys.stdout, f"tiny engine on {port}: {' '.join(how)}")
    for word in how:
        if word.startswith("die="):
            say(sys.stderr, "RuntimeError: Engine core initialization failed")
            sys.exit(int(word[4:]))
    fork(how)
    if "close-fds" in how:
        os.closerange(0, 256)
    if "mute" in how:
        rest()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


def fork(how):
    if "ignore-term" in how:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "daemon" in how and (os.fork() or os.setsid() or os.fork()):
        os._exit(0)
    if "child" in how and os.fork() == 0:
        rest()
    if "double-fork" in how and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            rest()
        os._exit(0)
    if "clean-child" in how and os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {"PATH": "/usr/bin"})


def say(stream, text):
    stream.write(text + "\n")
    stream.flush()


def rest():
    time.sleep(600)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
