// What stands between the bot and GitHub: each call is held to GitHub's descriptions, and some are refused as GitHub does under load.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { schema } from "@octokit/graphql-schema";
import { buildSchema, graphqlSync } from "graphql";

const require = createRequire(import.meta.url);
// what is published defines a field twice, which says nothing of ours
const published = buildSchema(schema.idl, { assumeValidSDL: true });
const DESCRIPTION = require.resolve("@octokit/openapi/generated/api.github.com.json");

export const description = require(DESCRIPTION);

const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replace(/[.+]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`),
    n: path.split("{").length,
    operationId,
  })),
);
// those with the fewest parameters first, so that a name comes before `{name}`
operations.sort((a, b) => a.n - b.n);

export class Judge {
  seen = new Map();
  wrong = [];
  /// How the next changes are refused: `{status, headers, body, seconds}`.
  refusals = [];
  /// Seconds that were asked for and that passed until the next call.
  waits = [];

  /// Listens, before a server that `serve` starts when it is told where the bot asks.
  async listen(serve) {
    this.server = createServer((request, response) => this.#take(request, response));
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    const upstream = await serve(this.origin);
    const port = this.server.address().port + 1;
    const prism = require.resolve("@stoplight/prism-cli/dist/index.js");
    const args = [prism, "proxy", DESCRIPTION, upstream, "--port", String(port), "--multiprocess", "false", "-v", "error"];
    this.prism = spawn(process.execPath, args, { stdio: "ignore" });
    this.proxy = `http://127.0.0.1:${port}`;
    while (!(await fetch(this.proxy).then(() => true, () => false))) await new Promise((done) => setTimeout(done, 100));
  }

  close() {
    this.prism.kill();
    this.server.close();
    this.server.closeAllConnections();
  }

  #see(id) {
    this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
  }

  async #take(request, response) {
    let body = "";
    for await (const part of request) body += part;
    const now = performance.now() / 1000;
    if (this.refused) {
      this.waits.push({ asked: this.refused.seconds, passed: now - this.refused.at });
      this.refused = undefined;
    }
    if (request.method !== "GET" && !request.url.startsWith("/app/") && this.refusals.length) {
      const refusal = this.refusals.shift();
      this.refused = { seconds: refusal.seconds, at: now };
      response.writeHead(refusal.status, { "content-type": "application/json", ...refusal.headers });
      return response.end(JSON.stringify(refusal.body));
    }
    return request.url === "/graphql" ? this.#graphql(JSON.parse(body), response) : this.#rest(request, body, response);
  }

  /// By the schema: the document, its variables, and what is answered.
  #graphql({ query, variables }, response) {
    const rootValue = {
      minimizeComment: () => ({ minimizedComment: { __typename: "PullRequestReviewComment", isMinimized: true } }),
    };
    const result = graphqlSync({ schema: published, source: query, variableValues: variables, rootValue });
    this.#see(`graphql: ${Object.keys(result.data ?? {}).join(", ")}`);
    (result.errors ?? []).forEach((error) => this.wrong.push(`graphql: ${error.message}`));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(result));
  }

  /// By prism, which holds the call and its answer to the description.
  async #rest(request, body, response) {
    const path = request.url.split("?")[0];
    const { host, connection, "content-length": _, ...headers } = request.headers;
    const of = operations.find((it) => it.method === request.method && it.pattern.test(path));
    const id = of?.operationId ?? `${request.method} ${path}`;
    this.#see(id);
    if (!headers["user-agent"]) this.wrong.push(`${id}: no user-agent`);
    const answer = await fetch(this.proxy + request.url, { method: request.method, headers, body: body || undefined });
    const text = await answer.text();
    const violations = JSON.parse(answer.headers.get("sl-violations") ?? "[]").filter(({ severity }) => severity === "Error");
    // the description of a pull request has its JSON alone; that it can be asked for as a diff stands in its text
    const isDiff = id === "pulls/get" && headers.accept.includes("diff");
    const counts = ({ location }) => !(isDiff && location[0] === "response");
    violations.filter(counts).forEach((it) => this.wrong.push(`${id}: ${it.location.join(".")}: ${it.message}`));
    if (text.includes("stoplight.io/prism/errors")) this.wrong.push(`${id}: ${text.slice(0, 300)}`);
    const type = answer.headers.get("content-type");
    const link = answer.headers.get("link");
    response.writeHead(answer.status, { ...(type && { "content-type": type }), ...(link && { link }) });
    response.end(text);
  }
}
