// /openapi.json describes every route, parameter, body and response.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ROLES } from "../../src/contracts/access.ts";
import { createHttpApp } from "../../src/http/http-app.ts";
import { type AskInit, ask, type Reply } from "./ask.ts";
import { FORMATS, METHODS } from "./notation-checks.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly ParameterObject[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly "x-role"?: string;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly securitySchemes: Readonly<Record<string, { type: string; in?: string }>>;
  };
}

/** Their clients ask without parameters; what they take is told at /api. */
const ANSWER_BARE = ["/api/Search", "/api/SearchStatus"];

describe("/openapi.json", () => {
  let served: ServedWorld;
  let document: OpenApi;
  before(async () => {
    served = await serveWorld();
    document = (await ask(served.url, "GET /openapi.json")).json as unknown as OpenApi;
  });
  after(() => served?.close());

  /** Every operation that is an endpoint of ours, not the protocol we pass on. */
  function operations(): { path: string; method: string; operation: Operation }[] {
    return Object.entries(document.paths)
      .filter(([path]) => !path.startsWith("/openai"))
      .flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
      );
  }

  function formatsOf(path: string): readonly string[] {
    const parameters = Object.values(document.paths[path] ?? {}).flatMap((operation) => operation.parameters);
    return parameters.find(({ name }) => name === "format")?.schema.enum ?? [];
  }

  function resolve(schema: Schema | undefined): Schema | undefined {
    const name = schema?.$ref?.replace("#/components/schemas/", "");
    return name === undefined ? schema : document.components.schemas[name];
  }

  function readable(path: string): string {
    return formatsOf(path).includes("json") ? "json" : (formatsOf(path)[0] ?? "");
  }

  it("is OpenAPI 3.1 and says how to prove who one is", () => {
    assert.equal(document.openapi, "3.1.0");
    const schemes = Object.values(document.components.securitySchemes).map((one) =>
      `${one.type} ${one.in ?? ""}`.trim(),
    );
    assert.deepEqual(schemes.toSorted(), ["apiKey cookie", "apiKey header", "http"]);
  });

  it("has every route below /v2 and beside it, and /v2 lists the same", async () => {
    const routes = createHttpApp(served.world.app).routes.filter(({ method }) => method === "ALL");
    const paths = new Set(routes.map(({ path }) => path).filter((path) => /^\/(v2\/|api\/|query|describe)/.test(path)));
    assert.ok(paths.size > 40, [...paths].join());
    const { text } = await ask(served.url, "GET /v2");
    for (const path of paths) {
      const { get } = document.paths[path] ?? assert.fail(`${path} is not in the document`);
      const documents = get?.responses["200"]?.content?.["text/plain"] !== undefined;
      assert.equal(documents, !ANSWER_BARE.includes(path), `${path}: does it document itself?`);
      assert.match(text, new RegExp(`^  [A-Z, ]+ ${path} `, "m"));
    }
    assert.deepEqual(new Set(operations().map(({ path }) => path)), paths);
  });

  it("the table on the home page links every endpoint, and says what it changes and who may", async () => {
    const { text } = await ask(served.url, "GET /");
    for (const { path, operation } of operations().filter(({ operation }) => operation.parameters.length > 0)) {
      const row = text.split("<tr").find((one) => one.includes(`<a href="${path}"`)) ?? assert.fail(path);
      assert.ok(row.includes(`<td>${operation["x-role"]}</td>`), row);
    }
    const remove = text.split("<tr").find((one) => one.includes('<a href="/v2/jobs/delete"'));
    assert.match(remove ?? "", /DELETE, GET.*json, html.*Removes the job file\./s);
  });

  it("every reference leads somewhere, every operation has a name of its own", () => {
    const refs = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    let seen = 0;
    for (const [, target = ""] of refs) {
      let at: unknown = document;
      for (const part of target.split("/")) at = (at as Record<string, unknown> | undefined)?.[part];
      assert.equal(typeof at, "object", target);
      seen++;
    }
    assert.ok(seen > 50);
    const ids = Object.values(document.paths).flatMap((item) => Object.values(item).map((one) => one.operationId));
    assert.equal(new Set(ids).size, ids.length);
  });

  it("every operation says what it takes, what it answers and who may ask", () => {
    for (const { path, method, operation } of operations()) {
      const about = `${method} ${path}`;
      assert.notEqual(operation.summary, "", about);
      assert.ok(
        ROLES.some((role) => role === operation["x-role"]),
        about,
      );
      for (const parameter of operation.parameters) {
        assert.equal(parameter.in, "query", about);
        assert.match(parameter.description, /\S.*\.$/, `${about} ${parameter.name}`);
        assert.equal(typeof parameter.required, "boolean");
        assert.equal(typeof parameter.schema, "object");
      }
      const names = operation.parameters.map(({ name }) => name);
      assert.equal(new Set(names).size, names.length, about);
      const answers = operation.responses["200"]?.content ?? {};
      assert.ok(Object.keys(answers).length > 0, about);
      if (operation.parameters.length > 0) {
        assert.ok(names.includes("format"), about);
        for (const code of ["400", "401", "403", "404", "default"]) assert.ok(operation.responses[code], about);
      }
      assert.equal(formatsOf(path).includes("stream"), JSON.stringify(document.paths[path]).includes("event-stream"));
    }
  });

  it("bodies are described as JSON and as forms alike", () => {
    const bodies = operations().filter(({ operation }) => operation.requestBody);
    assert.ok(bodies.some(({ path }) => path === "/v2/domains/create"));
    for (const { path, operation } of bodies) {
      const content = operation.requestBody?.content ?? {};
      const types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"];
      assert.deepEqual(Object.keys(content), types, path);
      for (const type of types) assert.equal(resolve(content[type]?.schema)?.type, "object", path);
    }
  });

  it("the server does as it says: methods, formats, unknown and repeated parameters", async () => {
    for (const [path, item] of Object.entries(document.paths).filter(([one]) => !one.startsWith("/openai"))) {
      const doing = Object.entries(item).filter(([, operation]) => operation.parameters.length > 0);
      const methods = doing.map(([method]) => method.toUpperCase());
      const bare = await ask(served.url, `GET ${path}`);
      assert.equal(bare.type, ANSWER_BARE.includes(path) ? "application/json" : "text/plain", path);
      for (const method of METHODS.filter((one) => !methods.includes(one))) {
        const reply = await ask(served.url, `${method} ${path}?format=${readable(path)}`);
        assertRefused(reply, `HTTP method '${method}' not supported.`, `${method} ${path}`);
      }
      for (const format of FORMATS.filter((one) => !formatsOf(path).includes(one))) {
        const reply = await ask(served.url, `${methods[0]} ${path}?format=${format}`);
        assertRefused(reply, `Format '${format}' not supported.`, path);
      }
      const twice = await ask(served.url, `${methods[0]} ${path}?x=1&x=1&format=${readable(path)}`);
      assert.equal(twice.status, 400, path);
      assert.match(twice.text, /is given more than once/);
      if (!/^\/(v2|api)\//.test(path)) continue;
      const unknown = await ask(served.url, `${methods[0]} ${path}?dryrun=true&format=${readable(path)}`);
      assert.equal(unknown.status, 400, path);
      assert.match(unknown.text, /Unknown parameter .{1,5}dryrun.{1,5}\. Accepted: .*format\./);
    }
  });

  it("what changes something can be tried first", () => {
    const change = operations().filter(({ path }) =>
      /\/(create|update|delete|replicate|crawl|[a-z]+_data)$/.test(path),
    );
    for (const { path, method, operation } of change.filter(({ operation }) => operation.parameters.length > 0)) {
      const dry = operation.parameters.find(({ name }) => name === "dry_run");
      assert.equal(dry?.schema.default, false, `${method} ${path}`);
    }
  });

  it("is enough to call an endpoint by", async () => {
    const created = await call("post_v2_domains_create", { domain_id: "READ", name: "Read it" });
    assert.equal(created.json["data"]?.["domain_id"], "READ");
    assert.equal((await call("get_v2_domains_get", { domain_id: "READ" })).json["data"]?.["name"], "Read it");
    await call("put_v2_domains_update", { domain_id: "READ", name: "Read again" });
    const { json } = await call("get_v2_domains", { format: "json", filter: "again" });
    assert.equal((json["data"] as unknown as { name: string }[])[0]?.name, "Read again");
    const stream = await call("get_v2_crawler_crawl", { domain_id: "STORY", dry_run: "true", format: "stream" });
    assert.equal(stream.type, "text/event-stream");
    assert.equal((await call("delete_v2_domains_delete", { domain_id: "READ" })).status, 200);
    assert.equal((await call("post_query", { data: { query: "" } })).json["data"]?.["sources"]?.length, 0);
  });

  /** Knows nothing but the document. */
  async function call(operationId: string, args: Readonly<Record<string, unknown>>): Promise<Reply> {
    const found = operations().find(({ operation }) => operation.operationId === operationId);
    if (!found) return assert.fail(`no ${operationId}`);
    const { path, method, operation } = found;
    const query = new URLSearchParams();
    for (const { name, required } of operation.parameters) {
      if (args[name] !== undefined) query.set(name, String(args[name]));
      else assert.ok(!required, `${operationId} needs ${name}`);
    }
    const schema = resolve(operation.requestBody?.content["application/json"]?.schema);
    const fields = Object.keys(schema?.properties ?? {}).filter((name) => args[name] !== undefined && !query.has(name));
    for (const name of schema?.required ?? []) assert.ok(fields.includes(name), `${operationId} needs ${name}`);
    const init: AskInit = schema ? { json: Object.fromEntries(fields.map((name) => [name, args[name]])) } : {};
    const reply = await ask(served.url, `${method} ${path}${query.size > 0 ? `?${query}` : ""}`, init);
    assert.ok(operation.responses[String(reply.status)], `${operationId}: ${reply.status} ${reply.text}`);
    assert.ok(operation.responses["200"]?.content?.[reply.type], `${operationId}: ${reply.type}`);
    return reply;
  }
});

function assertRefused(reply: Reply, error: string, about: string): void {
  assert.equal(reply.status, 400, `${about}: ${reply.text}`);
  if (reply.type === "text/html") assert.ok(reply.text.includes(error.replaceAll("'", "&#39;")), about);
  else assert.equal(reply.json["error"], error, about);
}
