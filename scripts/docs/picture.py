"""What a command prints on a terminal, as an SVG picture: the one at the top of the README.

    python3 scripts/docs/picture.py docs/demo.svg target/release/veridiff demo --no-open --offline

runs the command in a folder of its own, with colours, and draws what it wrote to stdout. Nothing in the picture is written by hand.
`--lines A:B` keeps lines A to B (from 1), and `--as TEXT` is shown as the command's line.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unicodedata
from xml.sax.saxutils import escape

SGR = re.compile(r"\x1b\[([0-9;]*)m")
# of the 16 colours, those that the pages of the program use, on the ground below
COLOURS = {31: "#ff8a7a", 32: "#7fd88f", 33: "#e6c07b", 34: "#7aa8ff", 36: "#7fd0d8"}
INK, SOFT, GROUND, FRAME = "#e6e6e6", "#9aa4ad", "#15181c", "#2f363c"
SIZE, LEAD, PAD = 14, 20, 18
ADVANCE = SIZE * 0.6021  # of the usual fonts of one width


def runs(line):
    """The line's pieces with their styles."""
    colour, bold, dim, underline = INK, False, False, False
    at = 0
    for match in list(SGR.finditer(line)) + [None]:
        text = line[at:match.start() if match else len(line)]
        if text:
            yield text, SOFT if dim else colour, bold, underline
        if match is None:
            return
        at = match.end()
        for code in [int(code or 0) for code in match.group(1).split(";")]:
            if code == 0:
                colour, bold, dim, underline = INK, False, False, False
            elif code == 1:
                bold = True
            elif code == 2:
                dim = True
            elif code == 4:
                underline = True
            elif code in COLOURS:
                colour = COLOURS[code]


def columns(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def svg(lines, title):
    width = max(columns(SGR.sub("", line)) for line in lines) * ADVANCE + 2 * PAD
    height = len(lines) * LEAD + 2 * PAD
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f'<rect x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="10" fill="{GROUND}" stroke="{FRAME}"/>',
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="{SIZE}">',
    ]
    for number, line in enumerate(lines):
        at = 0
        for text, colour, bold, underline in runs(line):
            n, shown = columns(text), text.strip().replace("  ", "\u00a0\u00a0")
            start, m = at + columns(text[:len(text) - len(text.lstrip())]), columns(shown)
            if shown:
                look = (' font-weight="bold"' if bold else "") + (' text-decoration="underline"' if underline else "")
                # each piece has its own place and length, so that a font of another width moves nothing
                out.append(
                    f'<text x="{PAD + start * ADVANCE:.1f}" y="{PAD + number * LEAD + SIZE:.0f}" textLength="{m * ADVANCE:.1f}" '
                    f'lengthAdjust="spacingAndGlyphs" fill="{colour}"{look}>{escape(shown)}</text>'
                )
            at += n
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default=":", help="A:B, the lines that are kept")
    parser.add_argument("--as", dest="shown", help="the command's line as it is shown")
    parser.add_argument("picture", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    program = shutil.which(args.command[0]) or args.command[0]
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(pathlib.Path(program).resolve()), *args.command[1:]]
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    # `check` ends with 1 where it objects to something
    if done.returncode not in (0, 1):
        raise SystemExit(f"the command ended with {done.returncode}")
    first, _, last = args.lines.partition(":")
    lines = done.stdout.rstrip("\n").split("\n")[int(first or 1) - 1:int(last) if last else None]
    shown = args.shown or "veridiff " + " ".join(args.command[1:])
    lines = [f"\x1b[2m$\x1b[0m \x1b[1m{shown}\x1b[0m", *lines]
    args.picture.write_text(svg(lines, f"what `{shown}` prints"))
    print(f"{args.picture}: {len(lines)} lines, {args.picture.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
