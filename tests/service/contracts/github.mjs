// GitHub as a server of three pull requests: what it answers are the examples of its description, with what the bot posted put in.
import { createServer } from "node:http";

const HUNK = "@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height";
const DIFF = `diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n${HUNK}\n`;
export const FALSE = "`area` returns `width * width` now.";

const PER_PAGE = 100;

export class GitHub {
  /// `n_comments` says how many false comments each pull request has, by its number.
  constructor(description, comments) {
    this.examples = description.components.examples;
    this.comments = new Map(Object.entries(comments).map(([number, n]) => [number, this.#falseComments(Number(number), n)]));
    this.runs = [];
    this.batches = [];
    this.id = 1_000_000;
  }

  /// Listens; `origin` is where the bot asks.
  async listen(origin) {
    this.origin = origin;
    this.server = createServer((request, response) => this.#answer(request, response));
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  #example(name) {
    return structuredClone(this.examples[name].value);
  }

  #comment(id, body, login) {
    const comment = this.#example("pull-request-review-comment");
    Object.assign(comment, { id, node_id: `N${id}`, path: "src/area.py", line: 8, diff_hunk: HUNK, body });
    comment.user.login = login;
    delete comment.in_reply_to_id;
    return comment;
  }

  #falseComments(number, n) {
    return Array.from({ length: n }, (_, place) => this.#comment(1000 * number + place, FALSE, "bot"));
  }

  #run(body, before) {
    const run = before ?? { ...this.#example("check-run"), id: this.id++, output: { annotations_count: 0 } };
    const { output, ...rest } = body;
    this.batches.push(output.annotations.length);
    const count = run.output.annotations_count + output.annotations.length;
    const url = `${run.url}/annotations`;
    Object.assign(run, { conclusion: null, completed_at: null }, rest);
    run.output = { title: output.title, summary: output.summary, text: null, annotations_count: count, annotations_url: url };
    return run;
  }

  async #answer(request, response) {
    let text = "";
    for await (const part of request) text += part;
    const body = text ? JSON.parse(text) : undefined;
    const url = new URL(request.url, this.origin);
    const [status, answer] = this.#said(request, url, body, response);
    const isText = typeof answer === "string";
    response.writeHead(status, { "content-type": isText ? "application/vnd.github.diff" : "application/json" });
    response.end(isText ? answer : JSON.stringify(answer));
  }

  #said({ method, headers }, url, body, response) {
    const path = url.pathname.split("/").slice(1);
    const [, , , kind, number, part] = path;
    const isDiff = headers.accept?.includes("diff");
    if (path.at(-1) === "installation") return [200, this.#example("installation")];
    if (path.at(-1) === "access_tokens") return [201, this.#example("installation-token")];
    if (path.at(-1) === "sarifs") return [202, this.#example("code-scanning-sarif-upload")];
    if (path.at(-1) === "labels") return [200, this.#example("label-items")];
    if (kind === "check-runs" && method === "POST") {
      this.runs.push(this.#run(body));
      return [201, this.runs.at(-1)];
    }
    if (kind === "check-runs") return [200, this.#run(body, this.runs.find((run) => run.id === Number(number)))];
    if (kind === "commits" && part === "check-runs") {
      const runs = this.runs.filter((run) => run.head_sha === number && run.name === url.searchParams.get("check_name"));
      return [200, { total_count: runs.length, check_runs: runs }];
    }
    if (kind === "commits" && isDiff) return [200, DIFF];
    if (path.at(-1) === "replies") {
      const reply = { ...this.#comment(this.id++, body.body, "veridiff[bot]"), in_reply_to_id: Number(path.at(-2)) };
      this.comments.get(number).push(reply);
      return [201, reply];
    }
    if (part === "comments") {
      const [all, page] = [this.comments.get(number) ?? [], Number(url.searchParams.get("page") ?? 1)];
      if (all.length > PER_PAGE * page) {
        const next = `${this.origin}${url.pathname}?per_page=${PER_PAGE}&page=${page + 1}`;
        response.setHeader("link", `<${next}>; rel="next"`);
      }
      return [200, all.slice(PER_PAGE * (page - 1), PER_PAGE * page)];
    }
    if (kind === "pulls" && isDiff) return [200, DIFF];
    // the example's team lacks what the description wants of one
    if (kind === "pulls") return [200, { ...this.#example("pull-request"), requested_teams: [] }];
    return [404, { message: "Not Found", documentation_url: "https://docs.github.com/rest" }];
  }
}
