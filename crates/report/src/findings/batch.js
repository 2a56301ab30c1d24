(() => {
  const { rows } = data;

  // ---- labels: what a person says, kept by the browser where it keeps anything ----
  const ANSWERS = [["t", "true", "True", 0], ["f", "false", "False", 1], ["u", "unsure", "Unsure", null]];
  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem(data.key) ?? "{}");
    } catch {
      return {};
    }
  };
  const labels = new Map(Object.entries(kept()).filter(([, label]) => ANSWERS.some(([, name]) => name === label.answer)));
  const keep = () => {
    try {
      localStorage.setItem(data.key, JSON.stringify(Object.fromEntries(labels)));
    } catch {
      byId("progress").textContent += " (this browser keeps nothing: save them before you leave)";
    }
  };

  // ---- filters ----
  const verdictOf = (row) => row.said.words;
  const FILTERS = [
    ["verdict", "verdict", (row) => [verdictOf(row)]],
    ["rule", "rule", (row) => row.said.facts.map((fact) => fact.rule)],
    ["file", "file", (row) => (row.file === null ? [] : [row.file])],
    ["generator", "written by", (row) => [row.sample.generator ?? row.sample.author ?? []].flat()],
    ["label", "labelled", (row) => [labels.get(row.id)?.answer ?? "not yet"]],
  ];
  // filters by what veridiff says
  const SAY = new Set(["verdict", "rule"]);
  const filters = byId("filters");
  const selects = new Map();
  for (const [key, name, valuesOf] of FILTERS) {
    const counts = new Map();
    if (key === "label") for (const value of ["not yet", "true", "false", "unsure"]) counts.set(value, null);
    else rows.forEach((row) => new Set(valuesOf(row)).forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1)));
    if (key !== "label" && counts.size < 2) continue;
    const label = element("label", "", name), select = element("select");
    const option = (value, text) => {
      const made = element("option");
      made.value = value;
      show(made, text);
      select.append(made);
    };
    option("", "all");
    const ordered = key === "verdict" ? [...counts] : [...counts].sort(([a], [b]) => a.localeCompare(b));
    for (const [value, n] of key === "label" ? [...counts] : ordered) option(`=${value}`, n === null ? value : `${value} (${n})`);
    label.append(select);
    if (SAY.has(key)) label.classList.add("says");
    filters.append(label);
    selects.set(select, { key, valuesOf });
  }

  // ---- labelling blind: nothing of what veridiff says may be seen, in counts, in the order or in what is filtered ----
  const worstFirst = rows.map((_, index) => index);
  const asGiven = [...worstFirst].sort((a, b) => rows[a].place - rows[b].place);
  const blind = element("input");
  blind.type = "checkbox";
  filters.append(element("label"));
  filters.lastChild.append(blind, "hide what veridiff says");
  const isBlind = () => blind.checked;
  const keyOfBlind = `${data.key} blind`;
  try {
    blind.checked = location.hash === "#blind" || localStorage.getItem(keyOfBlind) === "1";
  } catch {
    // a browser that keeps nothing has the link alone
  }
  const hide = () => {
    document.body.classList.toggle("blind", isBlind());
    const title = isBlind() ? `${rows.length} texts` : data.summary;
    byId("summary").replaceChildren();
    show(byId("summary"), title);
    document.title = `${visible(title)} · veridiff check`;
    for (const [select, { key }] of selects) if (isBlind() && SAY.has(key)) select.value = "";
    (isBlind() ? asGiven : worstFirst).forEach((index) => byId("list").append(buttons[index].item));
  };
  blind.addEventListener("change", () => {
    try {
      localStorage.setItem(keyOfBlind, isBlind() ? "1" : "0");
    } catch {
      // then it holds until the page is left
    }
    hide();
    if (current >= 0) open(current);
  });
  filters.addEventListener("submit", (event) => event.preventDefault());

  // ---- the list ----
  const buttons = rows.map((row, index) => {
    const item = element("li"), button = element("button");
    button.type = "button";
    const is_sure = row.said.facts.some((fact) => fact.accuses);
    const dot = element("span", `dot ${row.said.verdict}${is_sure ? " full" : ""}`);
    dot.setAttribute("aria-hidden", "true");
    const words = element("span", "words");
    show(words, row.text.map(([text]) => text).join("").trim().slice(0, 160));
    words.prepend(element("span", "unseen says", `${verdictOf(row)}: `));
    button.append(dot, words, element("span", "label"));
    button.addEventListener("click", () => open(index));
    item.append(button);
    byId("list").append(item);
    return { item, button };
  });

  let current = -1, since = performance.now(), shown = [];
  const mark = (index) => {
    const label = labels.get(rows[index].id);
    buttons[index].button.lastChild.textContent = { true: "✓", false: "✗", unsure: "?" }[label?.answer] ?? "";
    buttons[index].button.lastChild.title = label?.answer ?? "";
  };
  const count = () => {
    const n = rows.filter((row) => labels.has(row.id)).length;
    byId("progress").textContent = `${n} of ${rows.length} labelled`;
  };
  const filter = () => {
    shown = (isBlind() ? asGiven : worstFirst).filter((index) =>
      [...selects].every(([select, { valuesOf }]) => select.value === "" || valuesOf(rows[index]).includes(select.value.slice(1))));
    buttons.forEach(({ item }) => { item.hidden = true; });
    shown.forEach((index) => { buttons[index].item.hidden = false; });
    const order = isBlind() ? "in the order given" : "the worst first";
    byId("shown").textContent = `${shown.length === rows.length ? rows.length : `${shown.length} of ${rows.length}`} ${rows.length === 1 ? "text" : "texts"}, ${order}`;
  };
  filters.addEventListener("change", () => {
    filter();
    if (shown.length > 0) open(shown.includes(current) ? current : shown[0]);
  });

  // ---- one text ----
  const open = (index) => {
    if (current >= 0) buttons[current].button.removeAttribute("aria-current");
    current = index;
    since = performance.now();
    const row = rows[index], { button } = buttons[index];
    button.setAttribute("aria-current", "true");
    button.scrollIntoView({ block: "nearest" });
    byId("place").textContent = `${shown.indexOf(index) + 1} of ${shown.length}`;
    // whoever is told nothing sees the whole change
    drawText(row, !isBlind());
    answered();
  };
  const answered = () => {
    const answer = labels.get(rows[current].id)?.answer;
    for (const button of byId("answers").children) button.setAttribute("aria-pressed", String(button.value === answer));
  };
  const step = (by, wanted = () => true) => {
    const place = shown.indexOf(current);
    for (let at = place + by; at >= 0 && at < shown.length; at += by) {
      if (!wanted(shown[at])) continue;
      open(shown[at]);
      scrollTo({ top: 0 });
      byId("detail").focus({ preventScroll: true });
      return;
    }
  };
  const answer = (name) => {
    const { id } = rows[current];
    if (name === null) labels.delete(id);
    else labels.set(id, { answer: name, seconds: Number(((performance.now() - since) / 1000).toFixed(1)) });
    mark(current);
    count();
    keep();
    answered();
    byId("spoken").textContent = `${name ?? "no answer"}; ${byId("progress").textContent}`;
    if (name !== null) step(1);
  };
  for (const [key, name, word] of ANSWERS) {
    const button = element("button", "", `${word} `);
    button.append(element("kbd", "", key));
    button.type = "button";
    button.value = name;
    button.setAttribute("aria-keyshortcuts", key);
    button.addEventListener("click", () => answer(name));
    byId("answers").append(button);
  }
  const KEYS = {
    ...Object.fromEntries(ANSWERS.map(([key, name]) => [key, () => answer(name)])),
    x: () => answer(null),
    n: () => step(1), ArrowRight: () => step(1), j: () => step(1),
    p: () => step(-1), ArrowLeft: () => step(-1), k: () => step(-1),
    s: () => step(1, (index) => !labels.has(rows[index].id)),
  };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || current < 0) return;
    if (event.target.closest("select, input, textarea")) return;
    const act = KEYS[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });

  // ---- files ----
  const save = (name, lines) => {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([lines.map((line) => `${JSON.stringify(line)}\n`).join("")], { type: "application/jsonl" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const labelled = () => rows.filter((row) => labels.has(row.id)).map((row) => [row, labels.get(row.id)]);
  byId("samples").addEventListener("click", () => {
    const label = (name) => ANSWERS.find(([, known]) => known === name)[3];
    save("labelled.jsonl", labelled().map(([row, { answer }]) => ({ ...row.sample, label: label(answer) })));
  });
  const OUTCOMES = {
    true: ["non-hallucination", "informative", 0], false: ["hallucination", "others", 1], unsure: ["unsure", "unsure", null],
  };
  byId("annotations").addEventListener("click", () => {
    const annotator = byId("annotator").value.trim() || "me";
    save(`${annotator.replace(/[^\p{L}\p{N}._-]/gu, "-")}.jsonl`, labelled().map(([row, { answer, seconds }]) => {
      const [category, label_type, label] = OUTCOMES[answer];
      const { task, generator } = row.sample;
      return { annotator, round: 1, id: row.id, category, label_type, label, answers: {}, note: null, task, generator, texts: row.texts, seconds };
    }));
  });

  rows.forEach((_, index) => mark(index));
  count();
  hide();
  filter();
  if (rows.length > 0) open(shown[0]);
  document.documentElement.dataset.ready = "true";
})();
