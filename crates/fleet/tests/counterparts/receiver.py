"""A server that keeps the requests it gets, and answers them as a file says.

    receiver.py FOLDER [--port PORT] [--tls CERTIFICATE KEY]

Prints its port. A request is kept as FOLDER/NNNN.body, without its Content-Encoding, and NNNN.json, which
has the method, path, headers, the behaviour and the status of the answer (null: none).

FOLDER/behaviour has what happens to the next request, and may change at any time:

    ok                  200; with FOLDER/answer as the body, if that file exists
    status CODE [WAIT]  CODE and a text; with WAIT seconds as Retry-After
    half                200, and a tenth of the body
    close               no answer
    slow                an answer after 300 s, or when the behaviour changes
"""

import argparse
import gzip
import http.server
import json
import pathlib
import ssl
import threading
import time
import zlib


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.body()
        behaviour, *words = self.server.behaviour().split()
        status = {"status": lambda: int(words[0]), "close": lambda: None}.get(behaviour, lambda: 200)()
        if self.headers.get("Content-Encoding") == "gzip":
            try:
                body = gzip.decompress(body)
            except (OSError, EOFError, zlib.error):
                behaviour, words, status = "status", ["400"], 400
        self.server.keep(self, body, " ".join([behaviour, *words]), status)

        if behaviour == "close":
            self.close_connection = True
        elif behaviour == "half":
            self.say(200, b"0123456789", length=100)
            self.close_connection = True
        elif behaviour == "status":
            self.say(status, f"The behaviour is {status}.\n".encode(), *words[1:])
        else:
            if behaviour == "slow":
                self.server.wait_while("slow", 300)
            self.say(200, self.server.body_of_ok())

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)

    def say(self, status, body, wait=None, length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if status != 200:
            self.send_header("Content-Type", "text/plain")
        if wait is not None:
            self.send_header("Retry-After", wait)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, folder, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder = folder
        self.lock = threading.Lock()

    def behaviour(self):
        return self.read("behaviour").decode().strip() or "ok"

    def body_of_ok(self):
        return self.read("answer")

    def read(self, name):
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return b""

    def wait_while(self, behaviour, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.behaviour() == behaviour:
            time.sleep(0.05)

    def keep(self, request, body, behaviour, status):
        described = {
            "method": request.command,
            "path": request.path,
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "behaviour": behaviour,
            "status": status,
        }
        with self.lock:
            # A server that takes the place of another one continues its numbers.
            name = f"{len(list(self.folder.glob('[0-9]*.json'))):04}"
            (self.folder / f"{name}.body").write_bytes(body)
            part = self.folder / f"{name}.json.part"
            part.write_text(json.dumps(described, indent=2))
            # Renamed last: a reader that sees the name sees all of both files.
            part.rename(self.folder / f"{name}.json")

    def handle_error(self, request, client_address):
        # Clients that go away, and those that refuse the certificate, are part of the tests.
        pass


arguments = argparse.ArgumentParser()
arguments.add_argument("folder", type=pathlib.Path)
arguments.add_argument("--port", type=int, default=0)
arguments.add_argument("--tls", nargs=2)
arguments = arguments.parse_args()

server = Server(arguments.folder, arguments.port)
if arguments.tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*arguments.tls)
    # A handshake in accept() would let one client hold up all others.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
