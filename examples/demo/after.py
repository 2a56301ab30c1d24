import threading
import time


class Cache:
    def __init__(self, ttl=60.0):
        self.ttl = ttl
        self.entries = {}
        self.lock = threading.Lock()

    def get(self, key):
        with self.lock:
            entry = self.entries.get(key)
        if entry is None or time.monotonic() - entry[1] > self.ttl:
            raise KeyError(key)
        return entry[0]

    def put(self, key, value):
        with self.lock:
            self.entries[key] = (value, time.monotonic())
