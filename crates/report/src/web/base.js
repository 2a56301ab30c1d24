"use strict";
// What every page has. The data is text from strangers: it reaches a page through textContent alone.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");
const number = (value) => {
  if (value === null) return "–";
  const size = Math.abs(value);
  return (size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : value.toFixed(size < 10 ? 3 : 2)).replace("-", "−");
};

// What would hide, move its neighbours or end a line is shown as a box with its name.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/u;
const CONTROLS = ("NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US").split(" ");
const codeOf = (char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
const nameOf = (char) => CONTROLS[char.codePointAt(0)] ?? codeOf(char);
// Letters written from right to left. A run of them is isolated, so that what stands beside it keeps its place.
const TURNED = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const parted = (text) => text.split(new RegExp(`(${HIDDEN.source})`, "u")).filter((part) => part !== "");
const isHidden = (part) => part.length <= 2 && HIDDEN.test(part);
const visible = (text) => parted(text).map((part) => (isHidden(part) ? nameOf(part) : part)).join("");
const show = (parent, text) => {
  if (!HIDDEN.test(text)) {
    parent.append(text);
    return;
  }
  for (const part of parted(text)) {
    if (!isHidden(part)) parent.append(part);
    else {
      const box = element("span", "hidden-char", nameOf(part));
      box.title = `the character ${codeOf(part)}`;
      parent.append(box);
    }
  }
};

// The verdict on a text: the word for it, how probable, what speaks against it, each with its lines of the change, and which
// words a model would rather have read otherwise. `goTo` is
// called with the index of a line; without it lines are not to be gone to.
const showVerdict = (parent, said, goTo) => {
  const head = element("p", "verdict");
  head.append(element("strong", said.verdict, said.words));
  show(head.appendChild(element("span")), said.reason);
  parent.append(head);
  if (said.odds) {
    const { p, threshold, says } = said.odds;
    const line = element("div", "odds"), gauge = element("span", `gauge${p >= threshold ? " over" : ""}`), mark = element("b");
    const filled = element("i");
    filled.style.setProperty("--p", p);
    mark.style.setProperty("--at", Math.min(1, threshold));
    gauge.append(filled, mark);
    gauge.setAttribute("aria-hidden", "true");
    line.append(gauge, element("span", "", says));
    parent.append(line);
  }
  for (const fact of said.facts) {
    const item = element("div", `fact${fact.accuses ? " accuses" : ""}`);
    const sentence = item.appendChild(element("p"));
    show(sentence.appendChild(element("q")), fact.words);
    show(sentence.appendChild(element("span")), ` ${fact.rule}: ${fact.says}`);
    for (const { at, text, line } of fact.lines) {
      const row = item.appendChild(element("p", "at"));
      const place = row.appendChild(element(goTo ? "button" : "span", "place"));
      show(place, at);
      if (goTo) {
        place.type = "button";
        place.title = "show this line in the diff";
        place.addEventListener("click", () => goTo(line));
      }
      show(row.appendChild(element("code", text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "")), text);
    }
    parent.append(item);
  }
  for (const says of said.likelier) show(parent.appendChild(element("p", "likelier")), says);
};

const THEMES = ["system", "light", "dark"];
byId("theme").addEventListener("click", (event) => {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % THEMES.length];
  document.documentElement.dataset.theme = next;
  event.target.textContent = `Theme: ${next}`;
});
// What a link leads to is opened.
for (const link of document.querySelectorAll("nav a")) {
  link.addEventListener("click", () => {
    const target = byId(link.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  });
}
