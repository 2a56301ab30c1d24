"""Kills the service at random moments under load: clients that try again get every answer once, and it is back at once.

    python3 tests/service/killed.py target/release/veridiff [--times 50] [--longest 0.6] [--model]

`--model` has it hold the default model, which must be here. Ends with 1 if an answer is missing, is there twice, or is wrong.
"""

import argparse
import json
import random
import sys
import threading
import time

from service import Service, request, sample, split


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--longest", type=float, default=0.6, help="most seconds that it is up before it is killed")
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    options = ["--offline"] if args.model else ["--detector", "none"]

    holder = {"service": Service(args.binary, *options)}
    port = holder["service"].address[1]
    starts = [holder["service"].seconds_to_start]
    status, expected = holder["service"].post("/v1/check", sample("x"))
    assert status == 200, expected
    is_over = threading.Event()
    answers, lock, tries = {}, threading.Lock(), [0]

    def client(number):
        asked = 0
        while not is_over.is_set():
            name = f"{number}-{asked}"
            body = request("/v1/check", json.dumps(sample(name)).encode())
            # until there is a whole answer: one that broke off is asked for again
            while True:
                with lock:
                    tries[0] += 1
                try:
                    status, answer = split(holder["service"].send(body, timeout=30))
                    found = json.loads(answer) if status == 200 else None
                except (OSError, ValueError):
                    found = None
                if found:
                    break
                time.sleep(0.02)
            with lock:
                answers.setdefault(name, []).append(found)
            asked += 1

    clients = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    [thread.start() for thread in clients]
    for _ in range(args.times):
        time.sleep(random.uniform(0.05, args.longest))
        holder["service"].kill()
        holder["service"] = Service(args.binary, *options, address=f"127.0.0.1:{port}")
        starts.append(holder["service"].seconds_to_start)
    is_over.set()
    [thread.join() for thread in clients]
    ended = holder["service"].stop()

    expected = json.loads(expected)
    wrong = [name for name, found in answers.items() if len(found) != 1 or found[0] != {**expected, "id": name}]
    print(f"killed {args.times} times; {len(answers)} answers of {tries[0]} tries, {len(wrong)} missing, double or wrong")
    print(f"from start to listening: {sorted(starts)[len(starts) // 2]:.3f} s as a median, {max(starts):.3f} s at most")
    print(f"ended with {ended}")
    sys.exit(1 if wrong or ended else 0)


if __name__ == "__main__":
    main()
