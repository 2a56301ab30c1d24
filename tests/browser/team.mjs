// The page of `veridiff serve --bot`, as a team uses it: a service with a bot before a host by a script is filled by webhooks, then one
// filters, opens, labels and takes back by the keyboard alone, without script, and behind a token; hostile texts do nothing; axe-core
// looks at every page at three widths, dark and light.
//
//     npm --prefix tests/browser install && node tests/browser/team.mjs target/release/veridiff
//
// needs Node 20, Python 3 and a Chromium ($CHROMIUM, else `chromium` on the path), and a binary with the feature `bots`. `--keep DIR`
// leaves pictures there, to be looked at. It ends with 1 if anything is other than it should be.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { chromium } from "playwright-core";

const WIDTHS = [400, 1000, 1600];
const SCHEMES = ["light", "dark"];
const SECRET = "a secret of many bytes";
const TOKEN = "a token of many bytes";

const args = process.argv.slice(2);
const kept = args.indexOf("--keep");
const keep = kept < 0 ? null : args.splice(kept, 2)[1];
const binary = resolve(args[0]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// ---- a host with pull requests: each with some comments, of which many are hostile or large ----
const HUNK = "@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height";
const FALSE = "`area` returns `width * width` now.";
const TRUE = "`width` is multiplied by `shape.height` now.";
const SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'</script><style>*{display:none}</style>\u202e\u0000";
const LONG = `@@ -1,2 +1,401 @@ def run():\n-    limit = 20\n${Array.from({ length: 400 }, (_, n) => `+    step(${n})${n === 350 ? "; limit = 30" : ""}`).join("\n")}\n     return limit`;
const WIDE = `@@ -1 +1 @@\n-limit = 20\n+limit = 30; words = "${"word".repeat(400)}"`;
const TEXTS = [
  [FALSE, HUNK], [TRUE, HUNK], ["Nice work, thank you!", HUNK], [`${FALSE} ${SCRIPT}`, `${HUNK}\n+    # ${SCRIPT}`],
  ["Lowers `limit` from 20 to 10.", LONG], ["`limit` is 40 now.", WIDE], ["`perimeter` calls `area`.", HUNK],
  [`${"This function multiplies the width by the height of the shape. ".repeat(30)}\n\n${FALSE}`, HUNK],
  [`Sets \`${"very_long_name_".repeat(30)}\` to 3.`, HUNK],
];
const N_REQUESTS = 40;
const comments = (number) => TEXTS.slice(0, 3 + (number % 7)).map(([body, diff_hunk], place) => ({
  id: 100 * number + place, node_id: `N${number}-${place}`, path: place === 3 ? `src/${SCRIPT}.py` : "src/area.py", line: 8, diff_hunk, body,
  user: { login: place % 2 ? "review-bot[bot]" : "other-bot" }, author_association: "NONE",
  reactions: { "+1": number % 5 === 0 && place === 1 ? 2 : 0, "-1": number % 4 === 0 && place === 0 ? 1 : 0 },
}));
const host = createServer((request, response) => {
  const path = request.url.split("?")[0];
  const answer = (status, body, type = "application/json") => {
    response.writeHead(status, { "content-type": type });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  request.on("data", () => {});
  request.on("end", () => {
    // a page of another site, with a link to the service and a form that would say something there
    if (path === "/evil") {
      const to = new URL(request.url, "http://evil").searchParams.get("to");
      return answer(200, `<!DOCTYPE html><title>evil</title><a id="link" href="${to}/">look</a>
        <form id="form" method="post" action="${to}/label"><input name="id" value="github:octocat/hello:100"><input name="value" value="true"></form>`, "text/html");
    }
    const found = /^\/repos\/octocat\/(hello|a-repository-with-a-long-name-that-goes-on-and-on)\/pulls\/(\d+)(\/comments)?$/.exec(path);
    if (request.method !== "GET" || !found) return answer(request.method === "GET" ? 404 : 200, { id: 1, message: `Not Found ${SCRIPT}` });
    const number = Number(found[2]);
    if (number > N_REQUESTS) return answer(404, { message: `Not Found ${SCRIPT}` });
    if (found[3]) return answer(200, comments(number));
    if (request.headers.accept.includes("diff")) return answer(200, `diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n${HUNK}\n`, "text/plain");
    return answer(200, { title: SCRIPT, head: { sha: String(number).padStart(40, "0") } });
  });
});
await new Promise((done) => { host.listen(0, "127.0.0.1", done); });
const hostAt = `http://127.0.0.1:${host.address().port}`;

// ---- the service ----
const folder = mkdtempSync(join(tmpdir(), "veridiff-team-"));
const config = join(folder, "bot.toml");
writeFileSync(config, `database = "bot.sqlite"\n[github]\napi = "${hostAt}"\ntoken = "BOT_TOKEN"\nsecret = "BOT_SECRET"\npause = 0.0
repositories = ["octocat/*"]\naccounts = ["review-bot[bot]", "other-bot"]\nreply = "contradicted"\n`);
const start = (env = {}) => new Promise((done, fail) => {
  const running = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--detector", "none", "--bot", config],
    { env: { ...process.env, BOT_TOKEN: "a token", BOT_SECRET: SECRET, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  running.stderr.on("data", (data) => {
    said += data;
    const found = /listening at (http:\S+)/.exec(said);
    if (found) done({ at: found[1].replace("127.0.0.1", "localhost"), stop: () => new Promise((ended) => { running.on("exit", ended).kill("SIGTERM"); }) });
  });
  running.on("exit", (status) => fail(new Error(`the service ended with ${status}: ${said}`)));
});
const deliver = async (at, name, number, repository) => {
  const body = JSON.stringify({ action: "opened", pull_request: { number }, repository: { full_name: repository } });
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  const headers = { "x-github-event": "pull_request", "x-github-delivery": name, "x-hub-signature-256": signature };
  assert.equal((await fetch(`${at}/hooks/github`, { method: "POST", body, headers })).status, 202);
};
// what no test can wait for: weeks, a detector's probabilities, and what many people say
const sql = (text) => execFileSync("python3", ["-c", "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], timeout=10)\nc.executescript(sys.argv[2])", join(folder, "bot.sqlite"), text]);
const labelsOf = async (at) => (await (await fetch(`${at}/v1/labels`)).text()).split("\n").filter(Boolean).map(JSON.parse);

let service = await start();
const executablePath = process.env.CHROMIUM ?? execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const faults = [];
/** A window in which everything is noted that a page does besides being shown. */
const open = async (options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1300, height: 1000 }, ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const may = new Set([service.at, hostAt]);
  page.on("console", (message) => {
    // that one must log in is told by a status, which a browser notes
    const is_told = /status of (401|403|404)/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !is_told) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error}`));
  page.on("dialog", (dialog) => { faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (!may.has(new URL(request.url()).origin) && !request.url().startsWith("data:")) faults.push(`request: ${request.url()}`); });
  return { context, page };
};
const ready = (page) => page.waitForSelector("html[data-ready]");
const keyed = (page) => page.evaluate(() => document.activeElement.closest("[data-row]")?.id ?? null);

let broken = 0;
/** Looks at a page at every width, dark and light. */
const look = async (name, path, { state, prepare } = {}) => {
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      // the page's own policy forbids the script that looks at it
      const { context, page } = await open({ viewport: { width, height: 1000 }, colorScheme, bypassCSP: true, storageState: state });
      await page.goto(service.at + path);
      await ready(page);
      if (prepare) await prepare(page);
      const called = `${name}-${width}-${colorScheme}`;
      if (keep) {
        await page.screenshot({ path: join(keep, `${called}.png`) });
        if (width !== 1000) await page.screenshot({ path: join(keep, `${called}-all.png`), fullPage: true });
      }
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const { id, impact, help, nodes } of violations) {
        const is_serious = ["serious", "critical"].includes(impact);
        broken += Number(is_serious);
        console.log(`${is_serious ? "BROKEN" : "note"} ${called}: ${impact} ${id}: ${help}; ${nodes.length} times, first ${nodes[0].target}`);
        if (is_serious) console.log(`    ${nodes[0].failureSummary.replaceAll("\n", "\n    ")}`);
      }
      const tooWide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (tooWide > 0) {
        broken += 1;
        console.log(`BROKEN ${called}: ${tooWide} pixels wider than the window`);
      }
      await context.close();
    }
  }
};
const done = (what) => console.log(`ok ${what}`);

try {
  // ---- nothing came in yet ----
  await look("empty", "/");
  await look("empty-figures", "/figures");
  for (let number = 1; number <= N_REQUESTS; number += 1) {
    await deliver(service.at, `d${number}`, number, number % 3 ? "octocat/hello" : "octocat/a-repository-with-a-long-name-that-goes-on-and-on");
  }
  await deliver(service.at, "gone", 999, "octocat/hello");
  const until = Date.now() + 120_000;
  for (;;) {
    const jobs = await (await fetch(`${service.at}/jobs`)).text();
    if (jobs.includes(`done (${N_REQUESTS})`) && jobs.includes("given up (1)")) break;
    assert(Date.now() < until, "the jobs do not end");
    await new Promise((next) => { setTimeout(next, 200); });
  }
  done(`${N_REQUESTS} requests came in by webhooks, and one is gone`);

  // ---- filters: by an ordinary form, and the link can be shared ----
  {
    const { context, page } = await open();
    await page.goto(service.at);
    await ready(page);
    const all = await page.textContent("#summary");
    await page.selectOption("select[name=verdict]", "contradicted");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await ready(page);
    assert(page.url().includes("verdict=contradicted"));
    const some = await page.textContent("#summary");
    assert.match(some, /^\d+ comments: \d+ contradicted$/);
    const other = await open();
    await other.page.goto(page.url());
    assert.equal(await other.page.textContent("#summary"), some);
    assert.equal(await other.page.inputValue("select[name=verdict]"), "contradicted");
    await other.context.close();
    await page.getByRole("link", { name: "Show all" }).click();
    assert.equal(await page.textContent("#summary"), all);
    await page.fill("input[name=from]", "2000-01-01");
    await page.fill("input[name=to]", "2000-01-02");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".empty");
    await context.close();
    done("filters by a form, and the same comments by its link");
  }

  // ---- labels by one key, and by the keyboard alone ----
  {
    const { context, page } = await open();
    await page.goto(`${service.at}/?label=no`);
    await ready(page);
    const first = await page.locator("[data-row]").nth(0).getAttribute("id");
    const second = await page.locator("[data-row]").nth(1).getAttribute("id");
    await page.keyboard.press("j");
    assert.equal(await keyed(page), first);
    await page.keyboard.press("j");
    assert.equal(await keyed(page), second);
    await page.keyboard.press("k");
    assert.equal(await keyed(page), first);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("f")]);
    await ready(page);
    assert.equal(await keyed(page), second, "the next one takes its place");
    let labels = await labelsOf(service.at);
    assert.deepEqual(labels.filter((row) => row.label_from === "page").map((row) => [row.id, row.label]), [[first, 1]]);
    // open it, say that it is true, take that back
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    await ready(page);
    assert(await page.locator("#diff .line").count() > 0 && await page.locator("#said .verdict").isVisible());
    const here = page.url();
    await Promise.all([page.waitForNavigation(), page.keyboard.press("t")]);
    await ready(page);
    assert.notEqual(page.url(), here);
    assert.match(await page.textContent("[role=status]"), /^You called a comment of .* true\.$/);
    labels = await labelsOf(service.at);
    assert.equal(labels.find((row) => row.id === second).label, 0);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("u")]);
    await ready(page);
    assert(new URL(page.url()).searchParams.get("id") === second);
    labels = await labelsOf(service.at);
    assert.equal(labels.find((row) => row.id === second)?.label_from === "page", false, "it was taken back");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("j")]);
    await ready(page);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("k")]);
    await ready(page);
    assert.equal(new URL(page.url()).searchParams.get("id"), second);
    await page.keyboard.press("?");
    assert(await page.locator("#help").isVisible());
    await page.keyboard.press("t");
    assert(await page.locator("#help").isVisible(), "behind the help no key does anything");
    await page.keyboard.press("Escape");
    assert(!await page.locator("#help").isVisible());
    await Promise.all([page.waitForNavigation(), page.keyboard.press("l")]);
    await ready(page);
    assert.equal(await keyed(page), second, "back to the list where one was");
    // in a field of a form a key is a letter
    await page.focus("select[name=account]");
    await page.keyboard.press("t");
    assert(page.url().includes("label=no"));
    await context.close();
    done("labels, undo, next and previous by keys");
  }

  // ---- every control can be reached by Tab, and is seen to be ----
  for (const path of ["/", "/figures", "/jobs?state=failed", `/comment?id=${encodeURIComponent("github:octocat/hello:404")}`]) {
    const { context, page } = await open();
    await page.goto(service.at + path);
    await ready(page);
    const wanted = await page.evaluate(() => [...document.querySelectorAll("a[href], button, select, input:not([type=hidden]), [tabindex='0']")].filter((e) => e.checkVisibility() && !e.closest("dialog")).length);
    const seen = new Set();
    for (let n = 0; n < 3 * wanted + 60; n += 1) {
      await page.keyboard.press("Tab");
      const [place, is_seen] = await page.evaluate(() => {
        const of = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(of);
        const all = [...document.querySelectorAll("a[href], button, select, input:not([type=hidden]), [tabindex='0']")].filter((e) => e.checkVisibility() && !e.closest("dialog"));
        return [all.indexOf(of), outlineStyle !== "none" && parseFloat(outlineWidth) > 0];
      });
      if (place < 0) continue;
      assert(is_seen, `${path}: the focus on the ${place}th control is not seen`);
      seen.add(place);
    }
    assert.equal(seen.size, wanted, `${path}: ${seen.size} of ${wanted} controls are reached`);
    await context.close();
  }
  done("every control by Tab, with a visible focus");

  // ---- a job that was given up is begun again ----
  {
    const { context, page } = await open();
    await page.goto(`${service.at}/jobs?state=failed`);
    await ready(page);
    assert.match(await page.textContent(".problem"), /Not Found/);
    await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Try again" }).click()]);
    assert(page.url().endsWith("/jobs?state=failed"));
    await context.close();
    done("a job that was given up says why, and is begun again");
  }

  // ---- without script ----
  {
    const { context, page } = await open({ javaScriptEnabled: false });
    await page.goto(service.at);
    await page.selectOption("select[name=label]", "no");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    const id = await page.locator("[data-row]").first().getAttribute("id");
    await page.locator("[data-row]").first().getByRole("button", { name: "True" }).click();
    assert.equal((await labelsOf(service.at)).find((row) => row.id === id).label, 0);
    await page.locator("[data-row] a.open").first().click();
    assert.match(await page.textContent("pre.plain"), /@@/);
    assert(await page.locator("pre.plain").isVisible() && !await page.locator(".drawn").isVisible());
    await context.close();
    done("without script: filter, label, open");
  }

  // ---- hostile texts and large changes are drawn as data ----
  {
    const { context, page } = await open();
    for (const id of [603, 604, 605, 607, 608].map((place) => `github:octocat/a-repository-with-a-long-name-that-goes-on-and-on:${place}`)) {
      await page.goto(`${service.at}/comment?id=${encodeURIComponent(id)}`);
      await ready(page);
      assert.equal(await page.locator("main script, main img, main style, main iframe").count(), 0);
      assert(await page.locator("#said .verdict").isVisible());
    }
    await context.close();
    done("script in comments, diffs, paths and titles does nothing");
  }

  // ---- weeks, probabilities and labels, for pictures ----
  sql(`UPDATE verdicts SET at = at - 7 * 86400 * (number % 11);
       UPDATE verdicts SET p = 0.05 + 0.9 * ((comment * 37) % 100) / 100.0 WHERE verdict != 'contradicted';
       UPDATE verdicts SET unlike = (comment * 13 + number) % 7 < (number % 4);
       INSERT OR REPLACE INTO feedback SELECT platform, repository, comment, 'page', 'reviewer',
         CASE WHEN (p * 100) > (comment * 53) % 100 THEN 'false' ELSE 'true' END, 1.0 FROM verdicts WHERE comment % 3 = 0;`);
  const long = "github:octocat/a-repository-with-a-long-name-that-goes-on-and-on";
  await look("list", "/");
  await look("list-focused", "/?label=yes", { prepare: (page) => page.keyboard.press("j") });
  await look("comment", `/comment?id=${encodeURIComponent("github:octocat/hello:400")}`);
  await look("comment-hostile", `/comment?id=${encodeURIComponent(`${long}:603`)}`);
  await look("comment-long", `/comment?id=${encodeURIComponent(`${long}:604`)}`);
  await look("comment-wide", `/comment?id=${encodeURIComponent(`${long}:605`)}`);
  await look("comment-words", `/comment?id=${encodeURIComponent(`${long}:607`)}`);
  await look("figures", "/figures");
  await look("jobs", "/jobs");
  await look("nothing", "/?from=2000-01-01&to=2000-01-02");
  await look("help", "/", { prepare: (page) => page.keyboard.press("?") });
  await look("refused", "/comment?id=x");
  done("looked at");

  // ---- from another site ----
  {
    const { context, page } = await open();
    const before = (await labelsOf(service.at)).length;
    await page.goto(`${hostAt}/evil?to=${encodeURIComponent(service.at)}`);
    const [answer] = await Promise.all([page.waitForNavigation(), page.evaluate(() => document.getElementById("form").submit())]);
    assert.equal(answer.status(), 403);
    assert.equal((await labelsOf(service.at)).length, before);
    await context.close();
    done("a form of another site says nothing");
  }

  // ---- behind a token ----
  await service.stop();
  service = await start({ VERIDIFF_SERVE_TOKEN: TOKEN });
  await look("login", "/");
  {
    const { context, page } = await open();
    await page.goto(`${service.at}/?verdict=contradicted`);
    await ready(page);
    assert.equal(await page.locator("[data-row]").count(), 0);
    await page.keyboard.type("no token of this service");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.match(await page.textContent("[role=alert]"), /no token/);
    await page.fill("#token", TOKEN);
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    await ready(page);
    assert(page.url().endsWith("/?verdict=contradicted"), page.url());
    const [cookie] = await context.cookies();
    assert.equal(`${cookie.httpOnly} ${cookie.sameSite} ${cookie.secure} ${cookie.value.includes("token")}`, "true Strict false false");
    assert(cookie.expires * 1000 > Date.now() + 11 * 3600_000);
    assert.equal(await page.evaluate(() => document.cookie), "");
    // a link that stands on another site leads in, though the browser sends no cookie with its first request
    await page.goto(`${hostAt}/evil?to=${encodeURIComponent(service.at)}`);
    await page.click("#link");
    await page.waitForSelector("[data-row]");
    // and a form of another site still says nothing
    await page.goto(`${hostAt}/evil?to=${encodeURIComponent(service.at)}`);
    const [answer] = await Promise.all([page.waitForNavigation(), page.evaluate(() => document.getElementById("form").submit())]);
    assert.equal(answer.status(), 401);
    // a label has the name of the token
    await page.goto(`${service.at}/?label=no`);
    await ready(page);
    await page.keyboard.press("j");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("t")]);
    await page.goto(`${service.at}/?label=yes`);
    const labels = await (await fetch(`${service.at}/v1/labels`, { headers: { authorization: `Bearer ${TOKEN}` } })).text();
    assert(labels.includes('"label_from":"page"'));
    await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Log out" }).click()]);
    assert.equal(await page.locator("#token").count(), 1);
    assert.equal((await context.cookies()).length, 0);
    await page.goBack();
    assert.equal(await page.locator("[data-row]").count(), 0, "what was seen is not kept");
    await context.close();
    done("log in, a shared link, log out");
  }
} finally {
  await browser.close();
  await service.stop().catch(() => {});
  host.close();
  rmSync(folder, { recursive: true });
}
for (const fault of faults) console.log(`FAULT ${fault}`);
console.log(`${WIDTHS.length} widths, ${SCHEMES.length} schemes: ${broken} serious findings; ${faults.length} faults`);
process.exit(broken + faults.length > 0 ? 1 : 0);
