(() => {
  // ---- colours: kept for the next page ----
  const root = document.documentElement, theme = byId("theme");
  const named = () => { theme.textContent = `Theme: ${root.dataset.theme ?? "system"}`; };
  theme.hidden = false;
  named();
  theme.addEventListener("click", () => {
    try {
      localStorage.setItem("veridiff theme", root.dataset.theme);
    } catch {
      // then it holds until the page is left
    }
  });

  // ---- one comment ----
  if (data !== null) drawText(data, true);

  // ---- keys: each presses a button or follows a link that names it, in the list that of one comment ----
  const rows = [...document.querySelectorAll("[data-row]")];
  const current = () => document.activeElement?.closest("[data-row]") ?? null;
  const focus = (row) => {
    row.querySelector("a, button, [tabindex]")?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const at = rows.indexOf(current());
    const to = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
    if (rows[to]) focus(rows[to]);
    else document.querySelector(by > 0 ? "[rel=next]" : "[rel=prev]")?.focus();
  };
  const help = byId("help");
  let is_sent = false;
  document.addEventListener("submit", (event) => {
    // a key that is held sends one form
    if (is_sent) event.preventDefault();
    is_sent = true;
  });
  addEventListener("pageshow", () => { is_sent = false; });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    if (event.target.closest("select, input, textarea")) return;
    if (event.key === "?" && help) {
      if (help.open) help.close();
      else help.showModal();
      event.preventDefault();
      return;
    }
    if (help?.open) return;
    // where a form leads back to, the browser has the row itself in focus
    if (event.key === "Enter" && event.target.matches("[data-row]")) {
      event.target.querySelector("a")?.click();
      return;
    }
    if (rows.length > 0 && (event.key === "j" || event.key === "k")) {
      step(event.key === "j" ? 1 : -1);
      event.preventDefault();
      return;
    }
    if (!/^[a-z]$/.test(event.key)) return;
    const named = (rows.length > 0 ? current() : document)?.querySelector(`[data-key=${event.key}]`)
      ?? document.querySelector(`[data-key-anywhere=${event.key}]`);
    if (!named) return;
    named.click();
    event.preventDefault();
  });
  for (const button of document.querySelectorAll("[data-help]")) {
    button.hidden = false;
    button.addEventListener("click", () => help?.showModal());
  }
  root.dataset.ready = "true";
})();
