// The pages of this program, looked at by axe-core's rules of accessibility, at three widths, dark and light, as they open and with
// everything unfolded.
//
//     npm --prefix tests/browser install && node tests/browser/axe.mjs PAGE.html …
//
// needs Node 20 and a Chromium ($CHROMIUM, else `chromium` on the path). `--keep DIR` leaves pictures there, to be looked at. It ends
// with 1 if a rule is broken that axe calls serious or critical.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const WIDTHS = [400, 1000, 1600];
const SCHEMES = ["light", "dark"];
const SERIOUS = ["serious", "critical"];

const args = process.argv.slice(2);
const at = args.indexOf("--keep");
const keep = at < 0 ? null : args.splice(at, 2)[1];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const executablePath = process.env.CHROMIUM ?? execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let broken = 0;
for (const path of args) {
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      // the page's own policy forbids the script that looks at it, so this context goes without
      const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme, bypassCSP: true });
      const page = await context.newPage();
      await page.goto(pathToFileURL(resolve(path)).href);
      const name = `${basename(path, ".html")}-${width}-${colorScheme}`;
      if (keep) await page.screenshot({ path: join(keep, `${name}.png`) });
      for (const state of ["as it opens", "unfolded"]) {
        if (state === "unfolded") {
          await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
          if (keep) await page.screenshot({ path: join(keep, `${name}-all.png`), fullPage: true });
        }
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        for (const { id, impact, help, nodes } of violations) {
          const is_serious = SERIOUS.includes(impact);
          broken += Number(is_serious);
          console.log(`${is_serious ? "BROKEN" : "note"} ${name} ${state}: ${impact} ${id}: ${help}; ${nodes.length} times, first ${nodes[0].target}`);
          if (is_serious) console.log(`    ${nodes[0].failureSummary.replaceAll("\n", "\n    ")}`);
        }
        const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (tooWide > 0) {
          broken += 1;
          console.log(`BROKEN ${name} ${state}: ${tooWide} pixels wider than the window`);
        }
      }
      await context.close();
    }
  }
}
await browser.close();
console.log(`${args.length} pages, ${WIDTHS.length} widths, ${SCHEMES.length} schemes: ${broken} serious findings`);
process.exit(broken > 0 ? 1 : 0);
