import time


class Cache:
    def __init__(self, ttl=300):
        self.ttl = ttl
        self.entries = {}

    def get(self, key):
        entry = self.entries.get(key)
        if entry is None or time.time() - entry[1] > self.ttl:
            return None
        return entry[0]

    def put(self, key, value):
        self.entries[key] = (value, time.time())
