// One text with what is said of it and its change, in the elements of text.html. `folds_away` is whether lines far from what is told of
// a long change are folded away.
const drawText = (() => {
  const KINDS = { "+": ["added", "added line"], "-": ["removed", "removed line"], " ": ["", ""], "@": ["header", "header"] };
  // of a long change, lines far from what is told of it are folded away
  const LONG = 200, AROUND = 15;
  let drawn = [], folds = new Map();
  const unfold = (line) => {
    const fold = folds.get(line);
    if (!fold) return;
    fold.row.remove();
    fold.lines.forEach((other) => { other.hidden = false; folds.delete(other); });
  };
  const fold = (near) => {
    if (drawn.length <= LONG) return;
    const isNear = (at) => near.length === 0 ? at < LONG : near.some((told) => Math.abs(told - at) <= AROUND);
    for (let at = 0; at < drawn.length;) {
      let end = at;
      while (end < drawn.length && !isNear(end)) end++;
      // a few lines are not worth a button
      if (end - at > AROUND) {
        const lines = drawn.slice(at, end), row = element("div", "line fold"), button = element("button", "", `${lines.length} more lines`);
        row.setAttribute("role", "row");
        const cell = row.appendChild(element("span"));
        cell.setAttribute("role", "cell");
        button.type = "button";
        button.addEventListener("click", () => {
          unfold(lines[0]);
          lines[0].focus({ preventScroll: true });
        });
        cell.append(button);
        lines[0].before(row);
        lines.forEach((line) => {
          line.hidden = true;
          folds.set(line, { row, lines });
        });
      }
      at = Math.max(end, at + 1);
    }
  };
  const goTo = (index) => {
    const line = drawn[index];
    if (!line) return;
    unfold(line);
    document.querySelectorAll(".line.found").forEach((other) => other.classList.remove("found"));
    line.classList.add("found");
    line.scrollIntoView({ block: "center" });
    line.focus({ preventScroll: true });
  };
  return (row, folds_away) => {
    for (const part of ["title", "meta", "said", "notes", "text", "diff"]) byId(part).replaceChildren();
    show(byId("title"), row.id);
    const { generator, language, task } = row.sample;
    for (const part of [task === "commit" ? "commit message" : "review comment", generator && `written by ${generator}`, language, row.file]) {
      if (part) show(byId("meta").appendChild(element("span")), part);
    }
    showVerdict(byId("said"), row.said, goTo);
    for (const note of row.notes) show(byId("notes").appendChild(element("li")), note);
    byId("notes").hidden = row.notes.length === 0;
    for (const [text, fact] of row.text) {
      const piece = byId("text").appendChild(element("span"));
      if (fact !== null) {
        piece.classList.add("against");
        piece.classList.toggle("accuses", row.said.facts[fact].accuses);
      }
      text.split("\n").forEach((line, at) => {
        if (at > 0) piece.append("\n");
        show(piece, line);
      });
    }
    const against = new Set(row.said.facts.flatMap((fact) => fact.lines.map((line) => line.line)));
    const most = Math.max(0, ...row.lines.map(([, before, after]) => Math.max(before ?? 0, after ?? 0)));
    byId("diff").style.setProperty("--digits", `${String(most).length}ch`);
    [drawn, folds] = [[], new Map()];
    row.lines.forEach(([kind, before, after, text], at) => {
      const line = element("div", `line ${KINDS[kind][0]}`);
      line.setAttribute("role", "row");
      line.tabIndex = -1;
      line.classList.toggle("against", against.has(at));
      const cell = (className, what) => {
        const made = element("span", className, what);
        made.setAttribute("role", "cell");
        line.append(made);
        return made;
      };
      const isGone = before !== null && after === null;
      cell(`no old${isGone ? " alone" : ""}`, before ?? "");
      cell(`no new${isGone ? " absent" : ""}`, after ?? "").append(element("span", "unseen", KINDS[kind][1]));
      if (against.has(at)) line.children[1].append(element("span", "unseen says", ", speaks against the text"));
      cell("", kind === "@" ? "" : kind);
      show(cell("code"), text);
      byId("diff").append(line);
      drawn.push(line);
    });
    if (folds_away) fold([...against, ...(row.line === null ? [] : [row.line])]);
  };
})();
