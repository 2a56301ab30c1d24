"""lm-evaluation-harness reads log-probabilities of the service, and gets those of transformers.

    pip install "lm_eval[api]" accelerate && pip install -r benches/requirements.txt
    python3 tests/service/harness.py target/release/veridiff MODEL.gguf

A task of a few choices runs with the harness's `local-completions` against the service, and with its `hf` on the same weights in f32.
Ends with 1 if the log-probability of any choice differs by more than 1e-3, or if the service takes another for the likeliest.
"""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "reference"))

from gguf_reference import load_gguf  # noqa: E402
from lm_eval import simple_evaluate  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from service import Service  # noqa: E402

QUESTIONS = [
    ("The capital of France is", ["Paris", "a small fish", "London"], 0),
    ("def area(width, height):\n    return width *", ["height", "None", "area(width)"], 0),
    ("The change adds a retry to `fetch`. The reviewer asks how often it", ["retries", "sings", "is purple"], 0),
    ("Zwei und zwei sind", ["vier", "fünf", "naïveté"], 0),
    ("1, 2, 3, 4,", ["5", "seven", "1"], 0),
]

TASK = """
task: tiny
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: choices
doc_to_target: answer
metric_list:
  - metric: acc
"""


def choices(model, manager, **arguments):
    """The log-probability of every choice, and whether it is the likeliest."""
    results = simple_evaluate(model=model, tasks=["tiny"], task_manager=manager, log_samples=True, bootstrap_iters=0, **arguments)
    samples = sorted(results["samples"]["tiny"], key=lambda sample: sample["doc_id"])
    told = [(float(lp), bool(greedy)) for sample in samples for ((lp, greedy),) in sample["resps"]]
    return told, results["results"]["tiny"]["acc,none"]


def main():
    binary, gguf = sys.argv[1:3]
    folder = pathlib.Path(tempfile.mkdtemp())
    lines = [json.dumps({"question": q, "choices": c, "answer": a}) for q, c, a in QUESTIONS]
    (folder / "tiny.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "tiny.yaml").write_text(TASK.format(file=folder / "tiny.jsonl"))
    model, tokenizer = load_gguf(gguf)
    tokenizer.save_pretrained(folder / "tokenizer")
    manager = TaskManager(include_path=str(folder))
    expected, accuracy = choices(HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, device="cpu"), manager)
    with Service(binary, "--offline", "--detector", "none", "--model", f"tiny={gguf}") as service:
        url = "http://{}:{}/v1/completions".format(*service.address)
        arguments = f"model=tiny,base_url={url},tokenizer_backend=huggingface,tokenizer={folder / 'tokenizer'},num_concurrent=4,max_length=2048"
        got, accuracy_of_service = choices("local-completions", manager, model_args=arguments)
    worst = max(abs(a - b) for (a, _), (b, _) in zip(expected, got, strict=True))
    greedy = all(a == b for (_, a), (_, b) in zip(expected, got, strict=True))
    print(f"{len(got)} choices: log-probabilities differ by {worst:.2e} at most; likeliest the same: {greedy}; accuracy {accuracy} and {accuracy_of_service}")
    sys.exit(0 if worst < 1e-3 and greedy and accuracy == accuracy_of_service else 1)


if __name__ == "__main__":
    main()
