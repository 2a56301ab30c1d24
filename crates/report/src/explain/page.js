(() => {
  // Attribution: a column for each token of the text, a byte for each place before it, the square root of its part of the largest.
  const columns = [];
  const column = (t) => {
    if (!columns[t]) {
      const bytes = atob(data.columns[t]);
      columns[t] = Float32Array.from(bytes, (byte) => data.scales[t] * (byte.charCodeAt(0) / 255) ** 2);
    }
    return columns[t];
  };
  const hasAttribution = data.columns.length > 0;

  // What tokens of the text rest on: shares of places, of lines and of the parts of the input.
  const sourcesOf = (tokens) => {
    const places = new Float32Array(data.kinds.length);
    let total = 0;
    for (const t of tokens) {
      column(t).forEach((value, place) => { places[place] += value; total += value; });
      total += data.start[t] ?? 0;
    }
    const parts = { c: 0, d: 0, p: 0, t: 0 };
    const lines = new Float32Array(data.lines.length);
    let most = 0;
    for (let place = 0; place < places.length; place++) {
      const share = total > 0 ? (places[place] /= total) : 0;
      const kind = data.kinds[place];
      parts[kind] += share;
      if (data.lineOf[place] >= 0) lines[data.lineOf[place]] += share;
      if (kind === "c" || kind === "d") most = Math.max(most, share);
    }
    if (total > 0) parts.p = Math.max(0, 1 - parts.c - parts.d - parts.t);
    return { places, lines, parts, most, mostOfLine: lines.reduce((a, b) => Math.max(a, b), 0) };
  };
  const sum = (places, [, first, count]) => {
    let share = 0;
    for (let place = first; place < first + count; place++) share += places[place];
    return share;
  };
  // Small shares stay visible: half of the largest has 0.66 of the shade.
  const shade = (part) => (part < 0.01 ? 0 : part ** 0.6);

  // ---- the text ----
  const words = [];
  for (const piece of data.text) {
    if (typeof piece === "string") { // no token has it
      show(byId("text"), piece);
      continue;
    }
    const [text, first, count = 1] = piece;
    const word = element("span", "word");
    if (/^\n+$/.test(text)) word.append(element("span", "feed", "↵"));
    show(word, text === "" ? "⟨special⟩" : text);
    word.setAttribute("role", "option");
    word.setAttribute("aria-selected", "false");
    word.tabIndex = words.length === 0 ? 0 : -1;
    byId("text").append(word);
    const tokens = Array.from({ length: count }, (_, k) => first - data.nPrompt + k);
    words.push({ word, text, first, count, tokens });
  }
  data.against.forEach((fact, index) => {
    if (fact === null) return;
    const { word } = words[index];
    word.classList.add("against");
    word.classList.toggle("accuses", data.said.facts[fact].accuses);
  });
  const of = (name, tokens, how) => tokens.map((t) => data.step[name][t]).reduce(how);
  const add = (a, b) => a + b;
  for (const entry of words) {
    const { tokens } = entry;
    entry.logprob = of("logprob", tokens, add);
    entry.entropy = of("entropy", tokens, add);
    entry.word.title = `probability ${number(Math.exp(entry.logprob))}, ln p ${fixed(entry.logprob, 2)}, entropy ${fixed(entry.entropy, 2)}, `
      + `logit ${fixed(of("logit", tokens, add) / tokens.length, 1)}`;
  }
  const SCALES = {
    against: { level: () => 0, low: "", high: "" },
    logprob: { level: (e) => -e.logprob / 8, low: "expected (0 nats)", high: "surprising (8 nats and more)" },
    probability: { level: (e) => 1 - Math.exp(e.logprob), low: "probability 1", high: "0" },
    entropy: { level: (e) => e.entropy / 6, low: "certain (0 nats)", high: "open (6 nats and more)" },
  };
  const scale = (place, low, className, high) => {
    place.replaceChildren();
    if (low) place.append(element("span", "", low), element("span", `ramp ${className}`), element("span", "", high));
  };
  let view = "against";
  const shadeText = (by) => {
    view = document.body.dataset.view = by;
    for (const entry of words) {
      const level = Math.min(1, Math.max(0, SCALES[by].level(entry)));
      entry.word.style.setProperty("--u", level.toFixed(3));
    }
    scale(byId("text-scale"), SCALES[by].low, "surprise", SCALES[by].high);
  };
  byId("shading").addEventListener("change", (event) => {
    hovered = null;
    shadeText(event.target.value);
    update();
  });

  // ---- the diff ----
  const KINDS = { "+": ["added", "added line"], "-": ["removed", "removed line"], " ": ["", ""], "@": ["header", "header"] };
  const digits = String(Math.max(0, ...data.lines.map((line) => Math.max(line.o ?? 0, line.n ?? 0)))).length;
  byId("diff").style.setProperty("--digits", `${digits}ch`);
  const LONG = 1000;
  const rows = data.lines.map((line, index) => {
    const row = element("div", `line ${KINDS[line.k][0]}`);
    row.setAttribute("role", "row");
    row.tabIndex = -1;
    row.dataset.line = index;
    const cell = (className, text) => {
      const made = element("span", className, text);
      made.setAttribute("role", "cell");
      row.append(made);
      return made;
    };
    const pct = cell("pct");
    const meter = cell("meter");
    meter.setAttribute("aria-hidden", "true");
    cell(`no old${line.o && !line.n ? " alone" : ""}`, line.o ?? "");
    // what a colour says to the eye
    cell(`no new${line.o && !line.n ? " absent" : ""}`, line.n ?? "").append(element("span", "unseen", KINDS[line.k][1]));
    const code = cell("code");
    const plain = line.u.map((piece) => (typeof piece === "string" ? piece : piece[0])).join("") + (line.x ?? "");
    if (plain.length > LONG) {
      code.classList.add("long");
      code.tabIndex = 0;
    }
    code.append(visible(plain));
    byId("diff").append(row);
    return { row, pct, meter, code, plain, tokens: null, stamp: -1 };
  });

  let current = null; // what the page shows the sources of
  let stamp = 0;
  const tokensOf = (entry, line) => {
    entry.code.textContent = "";
    entry.tokens = [];
    const textOf = (piece) => (typeof piece === "string" ? piece : piece?.[0] ?? "");
    let turned = null;
    line.u.forEach((piece, index) => {
      const isBetween = turned && /^\s+$/.test(textOf(piece)) && TURNED.test(textOf(line.u[index + 1]));
      if (!TURNED.test(textOf(piece)) && !isBetween) turned = null;
      else if (!turned) entry.code.append(turned = element("bdi"));
      const parent = turned ?? entry.code;
      if (typeof piece === "string") {
        show(parent, piece);
        return;
      }
      const [text, first, count = 1] = piece;
      const token = element("span", text === "" ? "tok feed" : "tok");
      if (text === "") token.append("↵");
      else show(token, text);
      parent.append(token);
      entry.tokens.push([token, first, count]);
    });
    if (line.x) {
      const unread = element("span", "unread");
      unread.title = "the model did not see this";
      show(unread, line.x);
      entry.code.append(unread);
    }
  };
  const paint = (index) => {
    const entry = rows[index];
    if (!entry.tokens) tokensOf(entry, data.lines[index]);
    if (entry.stamp === stamp || !current) return;
    entry.stamp = stamp;
    for (const token of entry.tokens) {
      const share = sum(current.places, token);
      token[0].style.setProperty("--s", current.most > 0 ? shade(share / current.most).toFixed(3) : "0");
      token[0].title = `${percent(share)} of the attribution`;
    }
  };
  // Only lines near the window have spans for their tokens: a diff of thousands of lines opens at once.
  const near = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const index = Number(target.dataset.line);
      if (isIntersecting) {
        near.add(index);
        paint(index);
      } else near.delete(index);
    }
  }, { rootMargin: "600px" });
  rows.forEach(({ row }) => watch.observe(row));
  for (const line of (data.said?.facts ?? []).flatMap((fact) => fact.lines)) rows[line.line]?.row.classList.add("against");
  addEventListener("beforeprint", () => rows.forEach((_, index) => paint(index)));
  byId("wrap").addEventListener("change", (event) => byId("diff").classList.toggle("unwrapped", !event.target.checked));

  // ---- choosing ----
  let anchor = null, head = null, hovered = null;
  const all = words.flatMap((entry) => entry.tokens).filter((t) => data.counted[t]);
  const range = () => (anchor === null ? (hovered === null ? null : [hovered, hovered]) : [Math.min(anchor, head), Math.max(anchor, head)]);
  const lineName = (index) => {
    const line = data.lines[index];
    if (line.n) return `${line.k === "+" ? "added line" : "line"} ${line.n}`;
    return line.o ? `removed line ${line.o}` : `row ${index + 1} of the diff`;
  };
  const PARTS = [["c", "changed", "changed lines"], ["d", "unchanged", "other lines of the diff"], ["p", "prompt", "the prompt around it"], ["t", "words", "earlier words"]];

  const readout = (chosen) => {
    byId("readout").hidden = isQuiet();
    const title = byId("chosen");
    title.replaceChildren();
    const entries = chosen ? words.slice(chosen[0], chosen[1] + 1) : words;
    const tokens = entries.flatMap((entry) => entry.tokens);
    if (chosen) {
      const quote = element("q");
      show(quote, entries.map((entry) => entry.text).join("").trim() || "⟨special⟩");
      title.append(quote, tokens.length === 1 ? " rests on" : " rest on");
    } else title.append("The whole text rests on");
    const logprob = of("logprob", tokens, add), n = tokens.length;
    byId("scores").textContent = n === 1
      ? `probability ${number(Math.exp(logprob))} · ln p ${fixed(logprob, 2)} · entropy ${fixed(data.step.entropy[tokens[0]], 2)} nats · logit ${fixed(data.step.logit[tokens[0]], 2)}`
      : `${n} tokens · mean ln p ${fixed(logprob / n, 2)} · mean entropy ${fixed(of("entropy", tokens, add) / n, 2)} nats`;
    if (!current) return;
    const stack = element("div", "stack"), keys = element("ul", "keys");
    for (const [kind, className, name] of PARTS) {
      const part = element("i", className);
      part.style.setProperty("--p", current.parts[kind].toFixed(4));
      stack.append(part);
      const key = element("li");
      key.append(element("i", className), `${name} ${percent(current.parts[kind])}`);
      keys.append(key);
    }
    byId("parts").replaceChildren(stack, keys);
    const best = Array.from(current.lines, (share, index) => [share, index]).filter(([share]) => share > 0);
    best.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    byId("lines").replaceChildren(...best.slice(0, 5).map(([share, index]) => {
      const item = element("li"), go = element("button");
      go.type = "button";
      const meter = element("span", "meter");
      meter.style.setProperty("--p", (share / current.mostOfLine).toFixed(4));
      const { k, o, n } = data.lines[index];
      const mark = k === "-" ? "−" : k === "+" ? "+" : "";
      const plain = visible(rows[index].plain.slice(0, 400));
      go.append(element("span", "pct", percent(share)), meter, element("span", "no", `${n ?? o ?? ""}${mark}`),
        element("span", "code", (mark ? plain.slice(1) : plain).trim()));
      go.title = `go to ${lineName(index)}`;
      go.addEventListener("click", () => goTo(index));
      item.append(go);
      return item;
    }));
    if (chosen) {
      byId("spoken").textContent = best.length
        ? `${entries.map((entry) => visible(entry.text)).join("").trim()}: most on ${lineName(best[0][1])}, ${percent(best[0][0])}`
        : "";
    }
  };
  const goTo = (index) => {
    const { row } = rows[index];
    document.querySelectorAll(".line.found").forEach((other) => other.classList.remove("found"));
    row.classList.add("found");
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
  };

  // Where nothing is chosen, what speaks against the text stands alone.
  const isQuiet = () => !hasAttribution || (view === "against" && range() === null);
  const update = () => {
    const chosen = range();
    byId("diff").classList.toggle("quiet", isQuiet());
    byId("diff-scale").hidden = isQuiet();
    words.forEach((entry, index) => {
      const inside = anchor !== null && index >= chosen[0] && index <= chosen[1];
      entry.word.setAttribute("aria-selected", String(inside));
      entry.word.classList.toggle("first", inside && index === chosen[0]);
      entry.word.classList.toggle("last", inside && index === chosen[1]);
    });
    if (hasAttribution) {
      current = sourcesOf(chosen ? words.slice(chosen[0], chosen[1] + 1).flatMap((entry) => entry.tokens) : all);
      stamp++;
      rows.forEach(({ pct, meter, plain }, index) => {
        const share = current.lines[index];
        pct.textContent = data.lines[index].c ? "unread" : percent(share);
        meter.style.setProperty("--p", current.mostOfLine > 0 ? (share / current.mostOfLine).toFixed(4) : "0");
      });
      near.forEach(paint);
      for (const { word, first, count } of words) {
        const share = chosen ? sum(current.places, [null, first, count]) : 0;
        word.style.setProperty("--s", current.most > 0 ? Math.min(1, shade(share / current.most)).toFixed(3) : "0");
      }
    }
    readout(chosen);
  };
  const choose = (index, extend) => {
    if (index < 0 || index >= words.length) return;
    if (anchor === null || !extend) anchor = index;
    head = index;
    words.forEach(({ word }, i) => { word.tabIndex = i === index ? 0 : -1; });
    words[index].word.focus({ preventScroll: false });
    update();
  };
  const letGo = () => {
    anchor = head = hovered = null;
    byId("spoken").textContent = "the whole text";
    update();
  };

  const text = byId("text");
  const indexOf = (target) => words.findIndex(({ word }) => word.contains(target));
  text.addEventListener("click", (event) => {
    const index = indexOf(event.target);
    if (index < 0) return;
    if (!event.shiftKey && anchor === index && head === index) letGo();
    else choose(index, event.shiftKey);
  });
  // shift and click would select the text in between
  text.addEventListener("mousedown", (event) => { if (event.shiftKey) event.preventDefault(); });
  text.addEventListener("pointerover", (event) => {
    const index = indexOf(event.target);
    if (view !== "against" && anchor === null && event.pointerType === "mouse" && index >= 0 && index !== hovered) {
      hovered = index;
      update();
    }
  });
  text.addEventListener("pointerleave", () => {
    if (hovered === null) return;
    hovered = null;
    if (anchor === null) update();
  });
  // The word above or below: the nearest one on the next row of text.
  const vertical = (from, step) => {
    const here = words[from].word.getBoundingClientRect();
    let best = -1, distance = Infinity, row = null;
    for (let index = from + step; index >= 0 && index < words.length; index += step) {
      const there = words[index].word.getBoundingClientRect();
      if (Math.abs(there.top - here.top) < here.height / 2) continue;
      row ??= there.top;
      if (Math.abs(there.top - row) > here.height / 2) break;
      const away = Math.abs(there.left - here.left);
      if (away < distance) [best, distance] = [index, away];
    }
    return best;
  };
  text.addEventListener("keydown", (event) => {
    const focused = indexOf(document.activeElement);
    if (focused < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const ahead = getComputedStyle(text).direction === "rtl" ? -1 : 1;
    const started = anchor !== null;
    const moves = {
      ArrowRight: () => focused + ahead, ArrowLeft: () => focused - ahead,
      ArrowDown: () => vertical(focused, 1), ArrowUp: () => vertical(focused, -1),
      Home: () => 0, End: () => words.length - 1,
    };
    if (event.key in moves) choose(moves[event.key](), event.shiftKey && started);
    else if (event.key === "Enter" || event.key === " ") {
      if (started && anchor === focused && head === focused) letGo();
      else choose(focused, event.shiftKey);
    } else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && anchor !== null) letGo();
  });

  // ---- what is said about the sample ----
  const title = byId("title");
  show(title, data.title);
  const meta = byId("meta");
  for (const part of data.meta) show(meta.appendChild(element("span")), part);
  for (const note of data.notes) show(byId("notes").appendChild(element("li")), note);
  byId("notes").hidden = data.notes.length === 0;
  if (data.said) showVerdict(byId("said"), data.said, goTo);

  const place = (percentile) => {
    if (percentile === null) return "";
    const rounded = Math.round(percentile);
    return rounded <= 0 ? "lowest of all" : rounded >= 100 ? "highest of all" : `above ${rounded}%`;
  };
  const TILES = [["attr_changed", "changed lines"], ["attr_unchanged", "the rest of the prompt"], ["attr_source", "any place of the prompt"], ["attr_target", "earlier words"]];
  for (const [name, about] of TILES) {
    const feature = data.features.find((feature) => feature.name === name && feature.column === `${name}@${data.scorer}`);
    if (!feature || feature.value === null) continue;
    const tile = element("div", "tile");
    tile.append(element("span", "", about), element("b", "", number(feature.value)),
      element("small", "", `${name}${feature.percentile === null ? "" : `, ${place(feature.percentile)}`}`));
    byId("aggregates").append(tile);
  }
  for (const part of data.how) show(byId("how").appendChild(element("span")), part);
  const among = byId("among");
  if (data.reference) show(among, `Percentiles among the ${data.reference.n} ${data.reference.rows}.`);
  else among.textContent = "Give --detector FILE or --table FILE to see where these values fall among other rows.";
  const largest = Math.max(1e-9, ...data.features.map((feature) => Math.abs(feature.contribution ?? 0)));
  const isJudged = data.features.some((feature) => feature.contribution !== null);
  const featureRow = (className, cells) => {
    const row = element("div", `feature ${className}`);
    row.setAttribute("role", "row");
    cells.forEach((cell) => {
      cell.setAttribute("role", className === "head" ? "columnheader" : "cell");
      row.append(cell);
    });
    byId("features").append(row);
  };
  featureRow("head", [element("span", "", "feature"), element("span", "value", "value"), element("span", "", data.reference ? "percentile" : ""),
    element("span", "", isJudged ? "speaks for unsupported" : "")]);
  for (const feature of data.features) {
    const name = element("span", "name");
    show(name, feature.column.endsWith(`@${data.scorer}`) ? feature.name : feature.column);
    if (feature.meaning) name.append(element("small", "", `${feature.meaning}; ${feature.unit}`));
    const where = element("span", "place"), says = element("span", "says");
    if (feature.percentile !== null) {
      const track = element("span", "track"), at = element("i");
      at.style.setProperty("--at", (feature.percentile / 100).toFixed(4));
      track.append(at);
      where.append(element("b", "", fixed(feature.percentile, 0)), track);
    }
    if (feature.contribution !== null) {
      const tilt = element("span", "tilt"), bar = element("i", feature.contribution < 0 ? "less" : "");
      bar.style.setProperty("--p", (feature.contribution / largest).toFixed(4));
      tilt.append(bar);
      says.append(element("b", "", `${feature.contribution < 0 ? "" : "+"}${fixed(feature.contribution, 2)}`), tilt);
    }
    featureRow("", [name, element("span", "value", number(feature.value)), where, says]);
  }
  if (data.sum) {
    for (const [name, value] of [["an average row", data.sum.intercept], ["sum", data.sum.logOdds]]) {
      const says = element("span", "says");
      says.append(element("b", "", `${value < 0 ? "" : "+"}${fixed(value, 2)}`));
      featureRow("sum", [element("span", "name", name), element("span", "value"), element("span", "place"), says]);
    }
  }

  shadeText("against");
  if (hasAttribution) scale(byId("diff-scale"), "share of the attribution: none", "heat", "the largest in the diff");
  if (data.chosen) {
    const inside = (entry) => entry.tokens.some((t) => t >= data.chosen[0] && t <= data.chosen[1]);
    anchor = words.findIndex(inside);
    head = words.findLastIndex(inside);
    if (anchor < 0) anchor = head = null;
  }
  update();
  document.documentElement.dataset.ready = "true";
})();
