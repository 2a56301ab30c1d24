"""The page of `veridiff explain --html` in a real browser.

    pip install -r tests/browser/requirements.txt && python3 tests/browser/explain.py

needs `cargo build --release` before, and a Chromium (see browser.py). `--keep DIR` leaves the pages and their pictures there, to be
looked at; `--page FILE` takes pictures of one more page.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

from browser import SCHEMES, WIDTHS, chromium, is_within, shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "tests/fixtures/llama_tied"

# markup, scripts, terminal escapes, characters that turn, hide or join, tabs, a very long line
HOSTILE = [
    ("-", "\tif (a < b) { return '</script><script>alert(1)</script>'; }"),
    ("-", "<img src=x onerror=alert(2)><!-- <style>*{display:none}</style>"),
    ("+", "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x08\x7f"),
    ("+", "if (level != \"user\u202e \u2066// admins only\u2069 \u2066\") {"),
    ("+", "zero\u200bwidth \u2028 \ufeffmark {{data}} ${1+1} &amp; &lt;"),
    ("+", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd = 1; \u65e5\u672c\u8a9e \U0001f469\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308 e\u0301"),
    ("+", "x" * 2500 + " " + "long words " * 230),
]


def run(binary, folder, diff, text, *more):
    (folder / "in.diff").write_text(diff, encoding="utf-8", newline="")
    (folder / "in.txt").write_text(text, encoding="utf-8", newline="")
    command = [binary, "explain", "--offline", "--diff", folder / "in.diff", "--text", folder / "in.txt", *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def roomy_model(folder):
    """The smallest fixture with room for a thousand lines."""
    shutil.copytree(FIXTURE, folder / "roomy")
    config = folder / "roomy/config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": 65536}))
    return folder / "roomy"


def hunk(lines):
    old = sum(mark in " -" for mark, _ in lines)
    new = sum(mark in " +" for mark, _ in lines)
    return f"@@ -10,{old} +10,{new} @@ def f():\n" + "".join(mark + line + "\n" for mark, line in lines)


def make_pages(binary, folder):
    sample = next(s for s in map(json.loads, open(ROOT / "examples/demo.jsonl")) if s["id"] == "add-tag-b")
    table, detector = folder / "t.parquet", folder / "d.json"
    small = ["--model", FIXTURE]
    for command in (
        [binary, "score", "--offline", *small, "--input", ROOT / "examples/demo.jsonl", "--output", table],
        [binary, "fit", "--input", table, "--output", detector, "--bootstrap", "0"],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run(binary, folder, sample["diff"], sample["text"], *small, "--detector", detector, "--html", folder / "sample.html")
    roomy = ["--model", roomy_model(folder)]
    text = "see \x1b[2J\u202ethis</script><b>bold</b> \U0001f469\u200d\U0001f4bb\n\nand \u05e9\u05dc\u05d5\u05dd"
    run(binary, folder, hunk(HOSTILE), text, *roomy, "--html", folder / "hostile.html")
    marks = [" ", "+", "-", " ", "+"]
    lines = [(marks[i % 5], f"    v{i} = f({i})") for i in range(1000)]
    run(binary, folder, hunk(lines), "Renames v7.", *roomy, "--html", folder / "long.html")


def shades(page):
    """Every token of the diff near the window with its shade."""
    return page.eval_on_selector_all(".tok", "all => all.map(e => e.style.getPropertyValue('--s'))")


def check_choosing(page):
    """A click, the keys and Escape choose tokens, and the diff shows what they rest on."""
    # what speaks against the text stands alone until something else is asked for
    assert page.locator("#diff.quiet").count() == 1 and page.locator("#readout").is_hidden()
    assert page.locator("#features-panel[open]").count() == 0
    page.locator("nav a", has_text="Features").click()
    assert page.locator("#features-panel[open]").count() == 1, "what a link leads to is opened"
    page.check("input[value=logprob]")
    everything = shades(page)
    assert len(everything) > 20 and max(map(float, everything)) == 1.0
    assert page.text_content("#chosen") == "The whole text rests on"
    words = page.locator(".word")
    words.nth(2).click()
    assert words.nth(2).get_attribute("aria-selected") == "true"
    one = shades(page)
    assert one != everything and "rests on" in page.text_content("#chosen")
    percents = [float(t.rstrip("%")) for t in page.locator("#lines .pct").all_text_contents()]
    assert percents == sorted(percents, reverse=True) and percents[0] > 0
    gutter = [float(t.rstrip("%")) for t in page.locator("#diff .pct").all_text_contents()]
    assert max(gutter) == percents[0], "the readout names the line with the largest share"
    parts = page.locator("#parts .keys li").all_text_contents()
    assert abs(sum(float(part.split()[-1].rstrip("%")) for part in parts) - 100) < 0.3, parts

    words.nth(4).click(modifiers=["Shift"])
    assert page.locator(".word[aria-selected=true]").count() == 3 and "rest on" in page.text_content("#chosen")
    assert shades(page) != one
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".word[aria-selected=true]").count() == 4
    page.keyboard.press("ArrowLeft")
    assert page.locator(".word[aria-selected=true]").count() == 1
    assert words.nth(4).get_attribute("aria-selected") == "true"
    page.keyboard.press("Home")
    assert words.nth(0).evaluate("e => e === document.activeElement")
    assert page.locator(".word[tabindex='0']").count() == 1, "one stop for the Tab key"
    page.keyboard.press("Enter")
    assert page.locator(".word[aria-selected=true]").count() == 0, "Enter lets go of what is chosen"
    page.keyboard.press("Enter")
    assert words.nth(0).get_attribute("aria-selected") == "true"
    assert "most on" in page.text_content("#spoken")
    page.keyboard.press("Escape")
    assert shades(page) == everything and page.text_content("#chosen") == "The whole text rests on"

    page.locator("#lines button").first.click()
    assert page.locator(".line.found").count() == 1
    before = words.nth(1).evaluate("e => e.style.getPropertyValue('--u')")
    page.check("input[value=entropy]")
    assert words.nth(1).evaluate("e => e.style.getPropertyValue('--u')") != before
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def check_hostile(page):
    assert page.title().endswith("veridiff explain")
    assert page.evaluate("document.querySelectorAll('img, b.bold, #diff script, #diff style, #text b').length") == 0
    assert page.locator("script").count() == 2, "the data and the page's own"
    rows = page.locator(".line")
    assert rows.count() == 1 + len(HOSTILE)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")  # spans for every line
    text = [row.locator(".code").text_content() for row in rows.all()]
    assert "</script><script>alert(1)</script>" in text[1] and "\t" in text[1]
    assert "<img src=x onerror=alert(2)>" in text[2]
    assert "ESC[31mredESC[0m" in text[3] and "U+009B" in text[3] and "\x1b" not in text[3]
    assert "U+202E" in text[4] and "U+2066" in text[4] and "\u202e" not in text[4]
    assert "zeroU+200Bwidth" in text[5] and "{{data}} ${1+1} &amp; &lt;" in text[5]
    assert "\U0001f469\u200d\U0001f4bb" in text[6]
    emoji = page.evaluate("[...document.querySelectorAll('.tok')].filter(e => e.textContent.includes('\U0001f469')).length")
    assert emoji == 1, "an emoji is one token on the page"
    assert text[7].startswith("+" + "x" * 2500)
    # marks turn nothing, and letters that run from the right move nothing beside them
    boxes = """([row, wanted]) => {
      const line = document.querySelectorAll('.line')[row].querySelector('.code');
      const range = document.createRange(), walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      const out = {};
      for (let node; (node = walker.nextNode());) for (let i = 0; i < node.length; i++) {
        range.setStart(node, i); range.setEnd(node, i + 1);
        const box = range.getBoundingClientRect();
        if (wanted.includes(node.data[i]) && !(node.data[i] in out)) out[node.data[i]] = box.left + 1e5 * box.top;
      }
      return out; }"""
    at = page.evaluate(boxes, [4, "ful"])
    assert at["f"] < at["l"] < at["u"], at
    at = page.evaluate(boxes, [6, "\u05e9\u05dd=1"])
    assert at["\u05dd"] < at["\u05e9"] < at["="] < at["1"], at


def check_long(browser, path):
    paints = []
    for _ in range(3):
        with shown(browser, path, height=900) as page:
            page.wait_for_selector(".tok")
            paint, nodes = page.evaluate("""() => [performance.getEntriesByName('first-contentful-paint')[0].startTime,
                                                   document.querySelectorAll('*').length]""")
            paints.append(paint)
            choose = page.evaluate("""() => { const start = performance.now();
                document.querySelectorAll('.word')[1].click(); document.body.getBoundingClientRect();
                return performance.now() - start; }""")
            page.evaluate("document.querySelectorAll('.line')[990].scrollIntoView()")
            # not by a function: the page's policy forbids what would evaluate it
            page.locator(".line").nth(990).locator(".tok").first.wait_for()
    print(f"1,000 lines: first paint {min(paints):.0f} ms (best of 3), {nodes} elements, a choice {choose:.0f} ms, "
          f"{path.stat().st_size // 1024} KB")
    # a reader begins to wait after about a second; 0.7 s and 0.1 s on two cores that four builds shared
    assert min(paints) < 1000 and choose < 300


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veridiff", type=pathlib.Path, default=ROOT / "target/release/veridiff", help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the pages and their pictures")
    parser.add_argument("--page", type=pathlib.Path, action="append", default=[], help="one more page to take pictures of")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = pathlib.Path(temporary)
        make_pages(args.veridiff.resolve(), folder)
        pages = [folder / name for name in ("sample.html", "hostile.html", "long.html")] + args.page
        for path in pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    with shown(browser, path, width, scheme=scheme) as page:
                        page.wait_for_selector("html[data-ready]")
                        assert is_within(page), f"{path.name} is wider than {width}"
                        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 23)"
                        assert dark == (scheme == "dark")
                        if args.keep:
                            args.keep.mkdir(parents=True, exist_ok=True)
                            page.screenshot(path=args.keep / f"{path.stem}-{width}-{scheme}.png")
                            page.locator(".word").nth(1).click()
                            page.screenshot(path=args.keep / f"{path.stem}-{width}-{scheme}-chosen.png")
            if args.keep:
                shutil.copy(path, args.keep)
        for width in WIDTHS:
            with shown(browser, folder / "sample.html", width) as page:
                page.wait_for_selector("html[data-ready]")
                check_choosing(page)
            with shown(browser, folder / "hostile.html", width) as page:
                page.wait_for_selector("html[data-ready]")
                check_hostile(page)
        check_long(browser, folder / "long.html")
    print("ok")


if __name__ == "__main__":
    main()
