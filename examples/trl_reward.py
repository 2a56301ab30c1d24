"""Pays reviews in a trainer of TRL by `veridiff lab checklist reward --stdio`.

    from trl import GRPOConfig, GRPOTrainer
    from trl_reward import ChecklistReward

    paid = ChecklistReward("lists.jsonl", "cases.jsonl", "openai:http://localhost:8080/v1#MODEL")
    GRPOTrainer(model=..., reward_funcs=paid, train_dataset=...)    # rows of `checklist reward --emit trl-prompt`, which have `case`

A review whose verdict is missing is paid None, which TRL leaves out; a zero would teach that the review was bad.
"""

import json
import subprocess
import threading


class ChecklistReward:
    """A reward function that keeps one process of veridiff for as long as it is used."""

    def __init__(self, checklists, cases, backend, *options, program="veridiff"):
        self.__name__ = "checklist_reward"
        command = [program, "checklist", "reward", "--stdio", "--checklists", checklists, "--cases", cases, "--backend", backend, *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.lock = threading.Lock()

    def answers(self, cases, texts):
        """What each text about each case is paid, with what that was made of, in order."""
        lines = "".join(json.dumps({"case": case, "completion": text}) + "\n" for case, text in zip(cases, texts, strict=True))
        with self.lock:
            # what is written may be more than a pipe holds, so it is written beside the reading
            writer = threading.Thread(target=self._write, args=(lines,))
            writer.start()
            answers = [self.process.stdout.readline() for _ in texts]
            writer.join()
        if "" in answers:
            raise RuntimeError(f"veridiff has ended with status {self.process.wait()}; its errors say why")
        return [json.loads(answer) for answer in answers]

    def _write(self, lines):
        try:
            self.process.stdin.write(lines)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, which reading finds out

    def __call__(self, completions, case, **_):
        """Called by TRL with the completions of a batch and the column `case` of its rows."""
        texts = [completion if isinstance(completion, str) else completion[-1]["content"] for completion in completions]
        return [answer["total"] for answer in self.answers(case, texts)]

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        return self.process.wait()
