"use strict";
// Before anything is drawn: the colours that were chosen last.
try {
  const kept = localStorage.getItem("veridiff theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // a browser that keeps nothing has the system's
}
