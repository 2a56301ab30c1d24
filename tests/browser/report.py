"""The page of `veridiff eval --out` in a real browser.

    pip install -r tests/browser/requirements.txt && python3 tests/browser/report.py

needs `cargo build --release` before, and a Chromium (see browser.py). `--keep DIR` leaves pictures there, to be looked at;
`--table FILE` takes another feature table.
"""

import argparse
import pathlib
import subprocess
import tempfile

from browser import SCHEMES, WIDTHS, chromium, is_within, shown

ROOT = pathlib.Path(__file__).resolve().parents[2]

# every line of text in a picture that reaches beyond it, in CSS pixels
CUT_OFF = """() => [...document.querySelectorAll('.plot svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(text => text.textContent); })"""

# contrast of text with the page, by WCAG 2.1, of the elements that the selector finds
CONTRAST = """selector => {
  const parts = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const luminance = colour => parts(colour).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)|transparent/.test(colour)) return colour; } return 'rgb(255, 255, 255)'; };
  return Math.min(...[...document.querySelectorAll(selector)].map(e => {
    const style = getComputedStyle(e), ink = luminance(e.closest('svg') ? style.fill : style.color), paper = luminance(ground(e));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); })); }"""


def check(page, width, scheme):
    assert is_within(page), f"wider than {width}"
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") == (scheme == "light")
    pictures = page.locator(".plot svg").count()
    assert pictures >= 5 and page.locator("figcaption").count() == pictures
    assert page.evaluate(CUT_OFF) == []
    # numbers in cells have an ink of their own, which the Rust tests measure
    for selector in ("p, li, th, td, a, figcaption, .what, .beside, .value", ".plot text.fill-ink, .plot text.fill-muted"):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    empty = page.evaluate("[...document.querySelectorAll('p, li, h2, h3, figcaption, dt, dd')].filter(e => !e.textContent.trim()).length")
    assert empty == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--veridiff", type=pathlib.Path, default=ROOT / "target/release/veridiff", help="the program")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for pictures")
    parser.add_argument("--table", type=pathlib.Path, default=ROOT / "notebooks-export/sample.csv", help="a feature table")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        report = pathlib.Path(temporary) / "report"
        command = [args.veridiff.resolve(), "eval", "--input", args.table, "--out", report]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for width in WIDTHS:
            for scheme in SCHEMES:
                with shown(browser, report / "index.html", width, scheme=scheme) as page:
                    check(page, width, scheme)
                    if args.keep:
                        args.keep.mkdir(parents=True, exist_ok=True)
                        page.screenshot(path=args.keep / f"report-{width}-{scheme}.png", full_page=True)
        with shown(browser, report / "index.html") as page:
            page.locator("nav a").last.click()
            assert page.evaluate("location.hash") == "#notes"
            assert page.evaluate("document.activeElement") is not None
    print("ok")


if __name__ == "__main__":
    main()
