"""The page of `veridiff check --html` in a real browser: by the keyboard alone, and what it saves is read by the program.

    pip install -r tests/browser/requirements.txt && python3 tests/browser/batch.py

needs `cargo build --release` before, and a Chromium (see browser.py). `--keep DIR` leaves pictures there, to be looked at; `--input FILE`
takes other samples, of which at most 200 are labelled.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

from browser import SCHEMES, WIDTHS, chromium, is_within, shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTILE = {
    "id": "</script><img src=x onerror=alert(1)>",
    "diff": "@@ -1 +1 @@\n-a = '</script><script>alert(2)</script>'\n+b = '\u202e<b>'\n",
    "text": "Adds `a`. \u001b[31m<style>*{display:none}</style> \u202e",
    "generator": "<i>one</i>",
}


def label_all(page, n):
    """Every text by one key, as fast as a page can be read by nobody: what the program takes of a sitting."""
    start = time.monotonic()
    for place in range(n):
        page.keyboard.press("ftu"[place % 3])
    return time.monotonic() - start


def check_keys(page, n):
    assert page.locator("#list button").count() == n
    verdicts = page.locator("#list .dot").evaluate_all("all => all.map(e => e.className.split(' ')[1])")
    order = ["failed", "nothing_to_check", "clear", "abstain", "unsupported", "contradicted"]
    ranks = [order.index(verdict) for verdict in verdicts]
    assert ranks == sorted(ranks, reverse=True), "the worst first"
    first = page.text_content("#title")
    page.keyboard.press("n")
    second = page.text_content("#title")
    assert second != first
    page.keyboard.press("p")
    assert page.text_content("#title") == first
    page.keyboard.press("f")
    assert page.text_content("#title") == second, "an answer goes on"
    assert page.text_content("#progress") == f"1 of {n} labelled" and "false" in page.text_content("#spoken")
    page.keyboard.press("s")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.text_content("#progress") == f"1 of {n} labelled", "the browser keeps the answer"
    page.keyboard.press("x")
    assert page.text_content("#progress") == f"0 of {n} labelled"
    # by Tab alone: every control can be reached and is seen to be
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")
    select = page.locator("#filters select").first
    values = select.locator("option").evaluate_all("all => all.map(e => e.value)")
    select.select_option(values[1])
    few = page.locator("#list li:not([hidden])").count()
    assert 0 < few <= n and f"({few})" in select.locator("option").nth(1).text_content()
    select.select_option("")
    page.locator("#detail").focus()


def check_blind(page, n, summary):
    """Whoever labels blind sees nothing of what is said: no verdict, no count, no order, no filter by it; a page that is opened so at
    once, and one that is opened again."""
    given = page.evaluate("JSON.parse(document.getElementById('data').textContent).rows.sort((a, b) => a.place - b.place).map(row => row.id)")

    def hidden():
        assert page.text_content("#summary") == f"{n} texts" and page.title().startswith(f"{n} texts")
        assert page.locator("#said, #notes, .says").evaluate_all("all => all.every(e => !e.checkVisibility())")
        assert "worst" not in page.text_content("#shown")
        seen = page.evaluate("document.body.innerText").lower()
        for word in ("contradicted", "unsupported", "no objection", "cannot tell", "nothing to check", "improbable", "vd0"):
            assert word not in seen, word
        order = []
        for _ in range(n):
            order.append(page.text_content("#title"))
            page.keyboard.press("n")
        assert order == given, "the order given"

    page.wait_for_selector("html[data-ready]")
    hidden()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    hidden()
    page.locator("#filters input").uncheck()
    assert page.text_content("#summary") == summary and "the worst first" in page.text_content("#shown")
    select = page.locator("#filters select").first
    select.select_option(index=1)
    page.locator("#filters input").check()
    assert select.input_value() == "" and page.locator("#list li:not([hidden])").count() == n


def long_change():
    """A change of 500 lines in which one sentence is contradicted near the end."""
    lines = [f"+    step({n})" for n in range(480)]
    lines[450] = "+    limit = 30"
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,{len(lines) + 1} @@\n def run():\n-    limit = 20\n" + "\n".join(lines) + "\n"
    return {"id": "long", "diff": diff, "text": "Lowers `limit` from 20 to 10."}


def check_fold(page):
    """Of a long change what is told of stands open, the rest behind a button; labelling blind folds nothing, which would tell."""
    folds, against = page.locator("#diff .fold button"), page.locator("#diff .line.against")
    assert against.count() > 0 and folds.count() > 0, (against.count(), folds.count())
    assert against.evaluate_all("all => all.every(e => e.checkVisibility())")
    n_open = page.locator("#diff .line:not(.fold):visible").count()
    assert n_open < 200, n_open
    n_folds = folds.count()
    folds.first.focus()
    page.keyboard.press("Enter")
    assert folds.count() == n_folds - 1 and page.locator("#diff .line:not(.fold):visible").count() > n_open
    assert page.evaluate("document.activeElement.classList.contains('line')"), "the focus stays in the change"
    page.locator("#filters input").check()
    assert folds.count() == 0 and page.locator("#diff .line[hidden]").count() == 0
    page.locator("#filters input").uncheck()


def saved(page, button):
    if not page.locator("#labelling details").evaluate("e => e.open"):
        page.locator("#labelling summary").click()
    with page.expect_download() as download:
        page.click(button)
    return [json.loads(line) for line in pathlib.Path(download.value.path()).read_text(encoding="utf-8").splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veridiff", type=pathlib.Path, default=ROOT / "target/release/veridiff", help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for pictures")
    parser.add_argument("--input", type=pathlib.Path, default=ROOT / "examples/demo.jsonl", help="samples")
    parser.add_argument("--detector", default="none", help="the detector of `check`")
    args = parser.parse_args()
    veridiff = args.veridiff.resolve()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = pathlib.Path(temporary)
        lines = args.input.read_text(encoding="utf-8").splitlines()[:199] + [json.dumps(HOSTILE)]
        (folder / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [veridiff, "check", "--detector", args.detector, "--input", "in.jsonl", "--html", "page.html", "--exit-zero"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (folder / "long.jsonl").write_text(json.dumps(long_change()) + "\n", encoding="utf-8")
        command = [veridiff, "check", "--detector", "none", "long.jsonl", "--html", "long.html", "--exit-zero"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for width in WIDTHS:
            with shown(browser, folder / "long.html", width) as page:
                page.wait_for_selector("html[data-ready]")
                assert is_within(page), f"wider than {width}"
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=args.keep / f"long-{width}.png")
                check_fold(page)
        for width in WIDTHS:
            for scheme in SCHEMES:
                with shown(browser, folder / "page.html", width, scheme=scheme) as page:
                    page.wait_for_selector("html[data-ready]")
                    assert is_within(page), f"wider than {width}"
                    assert page.locator("script").count() == 2 and page.locator("img, #detail b, #detail i, #detail style").count() == 0
                    if args.keep:
                        args.keep.mkdir(parents=True, exist_ok=True)
                        page.screenshot(path=args.keep / f"batch-{width}-{scheme}.png")
        with shown(browser, folder / "page.html") as page:
            page.wait_for_selector("html[data-ready]")
            check_keys(page, len(lines))
            page.keyboard.press("Home")
            seconds = label_all(page, len(lines))
            assert page.text_content("#progress") == f"{len(lines)} of {len(lines)} labelled"
            samples, answers = saved(page, "#samples"), saved(page, "#annotations")
            summary = page.text_content("#summary")
        with shown(browser, folder / "page.html", fragment="#blind") as page:
            check_blind(page, len(lines), summary)
        assert [sample["label"] for sample in samples].count(1) == -(-len(lines) // 3) and samples[0].keys() >= {"id", "diff", "text"}
        for name, rows in (("labelled", samples), ("me", answers)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

        def read_by(*command):
            return subprocess.run([veridiff, *command], cwd=folder, check=True, capture_output=True, text=True, input="q\n").stderr

        read_by("score", "--input", "labelled.jsonl", "--features", "grounding", "--output", "t.parquet")
        read_by("fit", "--input", "t.parquet", "--output", "d.json", "--bootstrap", "0")
        told = read_by("annotate", "--input", "in.jsonl", "--output", "me.jsonl", "--annotator", "me", "--all")
        assert f"{len(lines)} of {len(lines)} answered" in told, told
        size = (folder / "page.html").stat().st_size // 1024
    print(f"ok: {len(lines)} texts, {size} KB, {len(lines)} keys in {seconds:.1f} s")


if __name__ == "__main__":
    main()
