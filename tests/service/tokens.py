"""Tokens of the service: who has none or a wrong one is refused, who is taken out of the file is refused after SIGHUP, rate and quota
end in 429, a wrong token takes as long as another, and no secret is in what the service writes.

    python3 tests/service/tokens.py target/release/veridiff [--rounds N]
"""

import argparse
import hashlib
import json
import pathlib
import random
import secrets
import signal
import statistics
import tempfile
import time

from service import Service, sample, split

TEXT = "a text that stands in no log"


def entry(name, token, more=""):
    return f'[[token]]\nname = "{name}"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n{more}\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=4000)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    tokens, audit = folder / "tokens.toml", folder / "audit.jsonl"
    known = {name: secrets.token_hex(24) for name in ("kept", "revoked", "rated", "quoted")}
    of_rated, of_quoted = entry("rated", known["rated"], "per_second = 2"), entry("quoted", known["quoted"], "per_day = 3")
    of_kept = entry("kept", known["kept"])
    tokens.write_text(of_kept + entry("revoked", known["revoked"]) + of_rated + of_quoted)

    with Service(args.binary, "-v", "--detector", "none", "--tokens", str(tokens), "--audit", str(audit)) as service:
        heard = []

        def ask(token, n=1):
            headers = [f"Authorization: Bearer {token}"] if token is not None else []
            body = {"samples": [sample(str(i), TEXT) for i in range(n)]}
            answer = service.post("/v1/check", body, headers)
            heard.append(answer[1])
            return answer[0]

        def said(name, got, expected):
            print(f"{'ok' if got == expected else 'WRONG'}: {name}: {got}", flush=True)
            return got == expected

        right = said("no token", ask(None), 401)
        right &= said("a wrong token", ask(secrets.token_hex(24)), 401)
        right &= said("a token", ask(known["kept"]), 200)
        right &= said("one that is taken out, before", ask(known["revoked"]), 200)
        tokens.write_text(of_kept + of_rated + of_quoted)
        service.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        right &= said("one that is taken out, after SIGHUP", ask(known["revoked"]), 401)
        right &= said("a rate of 2 a second", [ask(known["rated"]) for _ in range(3)], [200, 200, 429])
        time.sleep(1.1)
        right &= said("a second later", ask(known["rated"]), 200)
        right &= said("a quota of 3 samples", [ask(known["quoted"], 2), ask(known["quoted"], 2), ask(known["quoted"], 1)], [200, 429, 200])
        tokens.write_text("[[token]]\nname = 3")
        service.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        right &= said("a file that cannot be read leaves the tokens as they were", ask(known["kept"]), 200)

        # the first letter wrong, the last one wrong, another length: in turns, on one connection each
        true = known["kept"]
        other = lambda letter: "1" if letter == "0" else "0"
        kinds = {"first letter wrong": other(true[0]) + true[1:], "last letter wrong": true[:-1] + other(true[-1]), "another": secrets.token_hex(24)}
        times = {kind: [] for kind in kinds}
        with service.connect() as connection:
            for _ in range(args.rounds):
                for kind in random.sample(list(kinds), len(kinds)):
                    head = f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {kinds[kind]}\r\n\r\n".encode()
                    begun = time.perf_counter()
                    connection.sendall(head)
                    assert b" 401 " in connection.recv(1 << 16)[:20]
                    times[kind].append(time.perf_counter() - begun)
        median = {kind: statistics.median(of) * 1e6 for kind, of in times.items()}
        # how far medians of halves of one kind are apart by chance
        halves = [statistics.median(of[:: 2]) - statistics.median(of[1:: 2]) for of in times.values()]
        noise = max(abs(half) for half in halves) * 1e6
        print(f"µs of a refusal, as medians of {args.rounds}: {median}; halves of one kind differ by up to {noise:.2f}")
        right &= said("no kind stands out", max(median.values()) - min(median.values()) < max(3 * noise, 5.0), True)

        metrics = service.send(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {true}\r\nConnection: close\r\n\r\n".encode())
        assert split(metrics)[0] == 200
        everything = b"\n".join([service.said().encode(), audit.read_bytes(), metrics, *heard])
        found = [name for name, token in known.items() if token.encode() in everything]
        found += [name for name, token in known.items() if hashlib.sha256(token.encode()).hexdigest().encode() in everything]
        written = b"\n".join([service.said().encode(), audit.read_bytes(), metrics])
        found += [text for text in (TEXT, "shape.height") if text.encode() in written]
        right &= said(f"secrets and texts in {len(everything)} bytes of log, audit, metrics and answers", found, [])
        lines = [json.loads(line) for line in audit.read_text().splitlines()]
        right &= said("who was refused stands in the audit log", sum(line["status"] == 401 for line in lines) >= 3, True)
        right &= said("the end", service.stop(), 0)
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
