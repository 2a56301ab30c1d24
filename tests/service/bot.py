"""Kills the service at random moments while webhooks come, and come again: no job is lost, and nothing is answered twice.

    python3 tests/service/bot.py target/release/veridiff [--times 50] [--requests 200]

The binary must have the feature `bots`. GitHub is a script here: it keeps what is posted, and answers after a random time. Then hostile
deliveries are tried. Ends with 1 if a comment that should be answered is not, or is twice, or if a hostile delivery does anything.
"""

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from service import Service, request, split

SECRET = "a secret of many bytes"
HUNK = "@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height"
DIFF = f"diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n{HUNK}\n"
FALSE = "`area` returns `width * width` now."


class GitHub(BaseHTTPRequestHandler):
    """Pull requests with a false comment each, and all that was said below it."""

    lock = threading.Lock()
    replies, runs, labels, hidden, odd = Counter(), {}, Counter(), Counter(), []
    said = {}

    def log_message(self, *_):
        pass

    def answer(self, body, status=200):
        # a kill comes most often between what is done here and that the bot knows of it
        time.sleep(random.uniform(0, 0.02 if self.command == "GET" else 0.15))
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass

    def do_GET(self):
        path = self.path.split("?")[0]
        if found := re.fullmatch(r"/repos/octocat/hello/pulls/(\d+)(/comments)?", path):
            number = int(found[1])
            if found[2]:
                with self.lock:
                    return self.answer([comment(number, FALSE), *self.said.get(number, [])])
            if "diff" in self.headers["accept"]:
                return self.answer(DIFF)
            return self.answer({"head": {"sha": f"{number:040x}"}})
        if found := re.fullmatch(r"/repos/octocat/hello/commits/([0-9a-f]{40})/check-runs", path):
            with self.lock:
                return self.answer({"check_runs": self.runs.get(found[1], [])})
        self.odd.append(f"GET {self.path}")
        self.answer({}, 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            if found := re.fullmatch(r"/repos/octocat/hello/pulls/(\d+)/comments/(\d+)/replies", self.path):
                number = int(found[1])
                self.replies[number] += 1
                mine = {**comment(number, body["body"]), "id": 10**6 + number, "in_reply_to_id": number}
                self.said.setdefault(number, []).append({**mine, "user": {"login": "veridiff"}})
            elif self.path == "/repos/octocat/hello/check-runs":
                body.update(id=1, output={**body["output"], "annotations_count": len(body["output"]["annotations"])})
                self.runs.setdefault(body["head_sha"], []).append(body)
            elif found := re.fullmatch(r"/repos/octocat/hello/issues/(\d+)/labels", self.path):
                self.labels[int(found[1])] += 1
            elif self.path == "/graphql":
                self.hidden[body["variables"]["id"]] += 1
            else:
                self.odd.append(f"POST {self.path}")
        self.answer({"id": 1})

    def do_DELETE(self):
        self.odd.append(f"DELETE {self.path}")
        self.answer({}, 404)


def comment(number, body):
    return {"id": number, "node_id": f"N{number}", "path": "src/area.py", "line": 8, "diff_hunk": HUNK, "body": body,
            "user": {"login": "bot"}, "author_association": "NONE"}


def signed(body):
    return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def payload(number, **more):
    of = {"action": "opened", "pull_request": {"number": number}, "repository": {"full_name": "octocat/hello"}, **more}
    return json.dumps(of).encode()


def deliver(service, name, body, signature=None, event="pull_request"):
    headers = [f"X-GitHub-Event: {event}", f"X-GitHub-Delivery: {name}"]
    headers.append(f"X-Hub-Signature-256: {signed(body) if signature is None else signature}")
    return split(service.send(request("/hooks/github", body, headers), timeout=30))


def running(database):
    """How many jobs were under way."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT count(*) FROM jobs WHERE state = 'running'").fetchone()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    host = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=host.serve_forever, daemon=True).start()

    folder = tempfile.TemporaryDirectory()
    config = os.path.join(folder.name, "bot.toml")
    with open(config, "w") as file:
        file.write(f'database = "bot.sqlite"\n[github]\napi = "http://127.0.0.1:{host.server_port}"\ntoken = "BOT_TOKEN"\n'
                   'secret = "BOT_SECRET"\nrepositories = ["octocat/hello"]\naccounts = ["bot"]\npause = 0.0\n'
                   'check = "unsupported"\nreply = "contradicted"\nlabel = "contradicted"\nhide = "contradicted"\n')
    env = {"BOT_TOKEN": "a token", "BOT_SECRET": SECRET}

    def start(address="127.0.0.1:0"):
        return Service(args.binary, "--detector", "none", "--bot", config, address=address, env=env)

    holder = {"service": start()}
    port = holder["service"].address[1]
    numbers, lock, counts = iter(range(1, args.requests + 1)), threading.Lock(), Counter()

    def client():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            # as a code host does: the same again until it is taken, and some of it once more
            again = random.choice([1, 1, 2, 3])
            while again:
                try:
                    status, _ = deliver(holder["service"], f"delivery-{number}", payload(number))
                except OSError:
                    status = 0
                with lock:
                    counts[status] += 1
                again -= status in (200, 202)
                time.sleep(random.uniform(0, 0.2))

    clients = [threading.Thread(target=client) for _ in range(8)]
    [thread.start() for thread in clients]
    interrupted = 0
    for _ in range(args.times):
        time.sleep(random.uniform(0.02, 0.4))
        holder["service"].kill()
        interrupted += running(os.path.join(folder.name, "bot.sqlite"))
        holder["service"] = start(f"127.0.0.1:{port}")
    [thread.join() for thread in clients]
    everyone = set(range(1, args.requests + 1))
    end = time.monotonic() + 120
    while time.monotonic() < end and (set(GitHub.replies) != everyone or len(GitHub.runs) != args.requests):
        time.sleep(0.2)

    twice = [number for number, n in GitHub.replies.items() if n != 1]
    runs_twice = [sha for sha, runs in GitHub.runs.items() if len(runs) != 1]
    missing = everyone - set(GitHub.replies)
    print(f"killed {args.times} times, {interrupted} of them within a job; {args.requests} requests, deliveries by status {dict(counts)}")
    print(f"replies: {len(missing)} missing, {len(twice)} twice; check runs: {args.requests - len(GitHub.runs)} missing, "
          f"{len(runs_twice)} twice; labels {len(GitHub.labels)}, minimised {len(GitHub.hidden)}")

    before = sum(GitHub.replies.values())
    body = payload(args.requests + 1)
    attempts = [
        ("forged signature", dict(body=body, signature="sha256=" + "0" * 64), 401),
        ("no signature", dict(body=body, signature=""), 401),
        ("cut off", dict(body=body[:-10], signature=signed(body)), 401),
        ("replayed under another name", dict(body=payload(1)), 200),
        ("another repository", dict(body=payload(7, repository={"full_name": "mallory/hello"})), 200),
        ("a path that goes up", dict(body=payload(7, repository={"full_name": "octocat/../user"})), 200),
        ("a header in a name", dict(body=payload(7, repository={"full_name": "octocat/hello\r\nX-Evil: 1"})), 200),
        ("a number that is none", dict(body=payload("../7")), 200),
        ("configuration in the payload", dict(body=payload(7, veridiff={"accounts": ["a person"]}, action="edited")), 200),
        ("5 MB", dict(body=b"x" * (5 << 20)), 413),
        ("deep JSON", dict(body=b"[" * 10000), 400),
    ]
    wrong = []
    for place, (what, how, expected) in enumerate(attempts):
        status, said = deliver(holder["service"], f"hostile-{place}", **how)
        print(f"| {what} | {status} {said.decode(errors='replace')[:60]} |")
        wrong += [what] if status != expected else []
    time.sleep(1)
    quiet = sum(GitHub.replies.values()) == before and not GitHub.odd
    print(f"hostile deliveries: {len(wrong)} with another status {wrong}; answers that came of them: "
          f"{sum(GitHub.replies.values()) - before}, odd calls {GitHub.odd}")
    ended = holder["service"].stop()
    sys.exit(1 if missing or twice or runs_twice or wrong or not quiet or ended else 0)


if __name__ == "__main__":
    main()
