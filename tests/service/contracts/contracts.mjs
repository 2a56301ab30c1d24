// Holds the bot to GitHub's published contracts: every call that it makes to the OpenAPI description, by prism, and to the schema of
// GraphQL, and every payload that GitHub publishes as an example to the bot.
//
//     npm --prefix tests/service/contracts install
//     node tests/service/contracts/contracts.mjs target/release/veridiff
//
// The binary must have the feature `bots`. Takes two minutes, one of which the bot waits as GitHub asks it to. Ends with 1 if a call or an
// answer is not as it is described, if one of the bot's actions is not seen, if an example is not taken, or if a wait is cut short.
import { spawn } from "node:child_process";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FALSE, GitHub } from "./github.mjs";
import { description, Judge } from "./judge.mjs";

const require = createRequire(import.meta.url);
const examples = JSON.parse(readFileSync(require.resolve("@octokit/webhooks-examples/api.github.com/index.json")));

const SECRET = "a secret of many bytes";
const MANY = 300;
const BATCH = 50;
const ACTIONS = [
  "apps/get-repo-installation",
  "apps/create-installation-access-token",
  "pulls/get",
  "pulls/list-review-comments",
  "pulls/create-reply-for-review-comment",
  "repos/get-commit",
  "issues/add-labels",
  "checks/list-for-ref",
  "checks/create",
  "checks/update",
  "code-scanning/upload-sarif",
  "graphql: minimizeComment",
];
const REFUSALS = [
  { status: 429, headers: { "retry-after": "2" }, body: {}, seconds: 2 },
  { status: 403, headers: { "retry-after": "3" }, body: {}, seconds: 3 },
  { status: 403, headers: {}, body: { message: "You have exceeded a secondary rate limit." }, seconds: 60 },
];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (is, seconds) => {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end && !is(); ) await pause(50);
};

function start(binary, api) {
  const folder = mkdtempSync(join(tmpdir(), "bot-"));
  const config = join(folder, "bot.toml");
  writeFileSync(
    config,
    `database = "bot.sqlite"\n[github]\napi = "${api}"\napp = 1\nkey = "BOT_KEY"\nsecret = "BOT_SECRET"\n` +
      `repositories = ["Codertocat/*", "octocat/*"]\naccounts = ["bot"]\npause = 0.0\ncheck = "unsupported"\nsarif = "unsupported"\n` +
      `reply = "contradicted"\nlabel = "contradicted"\nhide = "contradicted"\nmessages = "unsupported"\n`,
  );
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const env = { ...process.env, BOT_KEY: privateKey.export({ type: "pkcs1", format: "pem" }), BOT_SECRET: SECRET };
  const service = spawn(binary, ["serve", "--listen", "127.0.0.1:0", "--detector", "none", "--bot", config], { env });
  service.log = "";
  service.stderr.on("data", (part) => (service.log += part));
  return service;
}

async function deliver(address, event, payload, name) {
  const body = JSON.stringify(payload);
  const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
  const headers = {
    "content-type": "application/json", "x-github-event": event, "x-github-delivery": name, "x-hub-signature-256": signature,
  };
  const answer = await fetch(`${address}/hooks/github`, { method: "POST", headers, body });
  return { status: answer.status, said: (await answer.json()).delivery };
}

const github = new GitHub(description, { 7: MANY, 8: 1 });
const judge = new Judge();
await judge.listen((origin) => github.listen(origin));
// a judge that finds nothing wrong with these would find nothing
const label = { method: "POST", headers: { "content-type": "application/json", "user-agent": "x" }, body: '{"labels": [7]}' };
await fetch(`${judge.origin}/repos/octocat/Hello-World/issues/7/labels`, label);
await fetch(`${judge.origin}/graphql`, { ...label, body: JSON.stringify({ query: "mutation { minimizeComment { x } }" }) });
const found = judge.wrong.splice(0).map((problem) => problem.split(":")[0]);
if (!found.includes("issues/add-labels") || !found.includes("graphql")) judge.wrong.push(`only ${found} were found wrong`);
judge.seen.clear();
const service = start(process.argv[2], judge.origin);
await until(() => service.log.includes("listening at "), 60);
const address = /listening at (\S+)/.exec(service.log)[1];

const taken = new Map();
let n = 0;
for (const { name, examples: of } of examples) {
  for (const payload of of) {
    const { status, said } = await deliver(address, name, payload, `example-${n++}`);
    taken.set(`${status} ${said}`, (taken.get(`${status} ${said}`) ?? 0) + 1);
    if (status !== 200 && status !== 202) judge.wrong.push(`the example of ${name}: ${status}`);
  }
}
const of = { repository: { full_name: "octocat/Hello-World" } };
const opened = (number) => ({ action: "opened", pull_request: { number }, ...of });
await deliver(address, "pull_request", opened(7), "own-1");
const [after, message] = ["b".repeat(40), FALSE];
const commits = [{ id: after, message, distinct: true }];
await deliver(address, "push", { ref: "refs/heads/main", after, deleted: false, commits, ...of }, "own-2");
const isDone = (sha) => github.runs.some((run) => run.head_sha === sha && run.status === "completed");
await until(() => isDone(after) && judge.seen.has("code-scanning/upload-sarif"), 120);

judge.refusals.push(...REFUSALS);
await deliver(address, "pull_request", opened(8), "own-3");
await until(() => judge.seen.get("code-scanning/upload-sarif") === 2, 120);

service.kill();
judge.close();
github.server.close();

console.log(`${n} examples of GitHub's: ${[...taken].map(([key, count]) => `${count} ${key}`).join(", ")}`);
[...judge.seen].sort().forEach(([id, count]) => console.log(`| ${id} | ${count} |`));
console.log(`annotations a request: ${github.batches.join(", ")}`);
judge.waits.forEach(({ asked, passed }) => console.log(`left alone for ${asked} s: ${passed.toFixed(1)} s`));

const { wrong } = judge;
ACTIONS.filter((id) => !judge.seen.has(id)).forEach((id) => wrong.push(`${id} was not seen`));
[...judge.seen.keys()].filter((id) => !ACTIONS.includes(id)).forEach((id) => wrong.push(`${id} was not expected`));
const replies = (number) => github.comments.get(number).filter((comment) => comment.in_reply_to_id).length;
if (replies("7") !== MANY || replies("8") !== 1) wrong.push(`${replies("7")} and ${replies("8")} replies`);
if (github.batches.filter((size) => size === BATCH).length !== MANY / BATCH) wrong.push("other batches");
if (github.batches.some((size) => size > BATCH)) wrong.push(`a batch of more than ${BATCH}`);
if (judge.waits.length !== REFUSALS.length) wrong.push(`${judge.waits.length} waits`);
judge.waits.filter(({ asked, passed }) => passed < asked).forEach(({ asked }) => wrong.push(`no wait of ${asked} s`));
[...new Set(wrong)].forEach((problem) => console.log(`wrong: ${problem}`));
console.log(`${wrong.length} wrong`);
process.exit(wrong.length ? 1 : 0);
