import assert from "node:assert/strict";
import { it } from "node:test";
import { parseSseEvents } from "../../src/lib/sse.ts";
import { type AskInit, ask, type Reply } from "./ask.ts";
import type { Expected } from "./notation.ts";

type Query = Readonly<Record<string, string>>;
type Fields = Readonly<Record<string, string>>;

/** What the notation does not say of a resource: how one gets hold of its items. */
export interface Thing {
  /** What a request that is otherwise complete has to say beside the item: the store of a file. */
  readonly where?: () => Promise<Query>;
  /** The parameter that names an item: `icecream_id`. */
  readonly idName?: string;
  /** A new item, by its id. */
  readonly make?: () => Promise<string>;
  /** Fields of a new item; `serial` differs each time. */
  readonly create?: (serial: number) => Fields;
  /** Fields that change, and how they are told afterwards. */
  readonly update?: Fields;
  /** Of an endpoint that is no list but does something: a query that it accepts. */
  readonly act?: () => Promise<Query>;
  /** Without them, an endpoint that does something answers 400. */
  readonly needs?: readonly string[];
  /** Nothing gets one of them by itself: whether it is there is told by the list. */
  readonly onlyListed?: true;
  /** What every request brings: a key. */
  readonly headers?: () => Record<string, string>;
}

export const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
export const FORMATS = ["json", "html", "ui", "stream", "zip", "xml", "JSON", ""];

const TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  html: "text/html",
  ui: "text/html",
  stream: "text/event-stream",
  zip: "application/zip",
  csv: "text/csv",
};

let serial = 0;

/** Everything that a line of the notation promises, asked of a server. */
export function checkExpected(url: () => string, expected: Expected, thing: Thing): void {
  const to = new Asker(url, expected, thing);
  it(`${expected.path}: a bare GET documents it as text`, () => to.checkDocumentation());
  it(`${expected.path}: other methods than ${expected.methods.join(" and ")} are refused`, () => to.checkMethods());
  it(`${expected.path}: other formats than ${expected.formats.join(", ")} are refused`, () => to.checkFormats());
  it(`${expected.path}: what is needed is missed, by its name`, () => to.checkMissing());
  const answers = {
    L: () => (thing.act ? to.checkAction() : to.checkList()),
    A: () => to.checkAction(),
    C: () => to.checkCreate(),
    G: () => to.checkGet(),
    U: () => to.checkUpdate(),
    D: () => to.checkDelete(),
  }[expected.letter];
  it(`${expected.path}: every format is answered, and does what it says`, answers);
}

class Asker {
  readonly #url: () => string;
  readonly #expected: Expected;
  readonly #thing: Thing;
  #unused: Promise<Query> | undefined;

  constructor(url: () => string, expected: Expected, thing: Thing) {
    this.#url = url;
    this.#expected = expected;
    this.#thing = thing;
  }

  async checkDocumentation(): Promise<void> {
    const { path, methods, formats, parameters } = this.#expected;
    for (const address of [path, `${path}/`, `${path}?`]) {
      const reply = await this.#send(`GET ${address}`);
      assert.equal(reply.status, 200);
      assert.match(reply.headers.get("content-type") ?? "", /^text\/plain; *charset=utf-8$/i);
      assert.ok(reply.text.startsWith(`${path}\n`), reply.text);
      assert.ok(reply.text.includes(`Method   ${methods.join(", ")}\n`), reply.text);
      const told = /^ {2}Format {3}(.*)$/m.exec(reply.text)?.[1]?.replace(" (default)", "").split(", ") ?? [];
      assert.deepEqual(told.toSorted(), [...formats].toSorted());
      for (const name of parameters) assert.match(reply.text, new RegExp(`^  ${name} `, "m"));
    }
  }

  async checkMethods(): Promise<void> {
    const { methods, path } = this.#expected;
    const query = new URLSearchParams({ ...(await this.#refusable()), format: this.#expected.formats[0] ?? "" });
    const bodies: AskInit[] = [{ json: { name: "x" } }, { form: { name: "x" } }, {}];
    for (const method of METHODS.filter((one) => !methods.includes(one))) {
      for (const body of method === "GET" ? [{}] : bodies) {
        const reply = await this.#send(`${method} ${path}?${query}`, body);
        assert.equal(reply.status, 400, `${method}: ${reply.text}`);
        assertError(reply, `HTTP method '${method}' not supported.`);
      }
    }
    if (methods.includes("GET")) return;
    const bare = await this.#send(`POST ${path}`);
    if (!methods.includes("POST")) assertError(bare, "HTTP method 'POST' not supported.");
  }

  async checkFormats(): Promise<void> {
    const { methods, formats, path } = this.#expected;
    for (const method of methods) {
      for (const format of FORMATS.filter((one) => !formats.includes(one))) {
        const query = new URLSearchParams({ ...(await this.#refusable()), format });
        const reply = await this.#send(`${method} ${path}?${query}`);
        assert.equal(reply.status, 400, `${method} ${format}: ${reply.text}`);
        assertError(reply, `Format '${format}' not supported.`);
      }
    }
  }

  async checkMissing(): Promise<void> {
    const { letter, methods, path } = this.#expected;
    const { idName, needs = [] } = this.#thing;
    const takesId = letter === "G" || letter === "U" || letter === "D";
    const complete = await this.#refusable();
    for (const name of takesId && idName ? [idName] : needs) {
      const { [name]: _left, ...rest } = complete;
      for (const method of methods) {
        for (const query of [rest, { ...rest, [name]: "" }]) {
          const params = new URLSearchParams({ ...query, ...(this.#has("json") && { format: "json" }) });
          if (params.size === 0) continue;
          const reply = await this.#send(`${method} ${path}?${params}`);
          assert.equal(reply.status, 400, `${method} ${params}: ${reply.text}`);
          assert.deepEqual(reply.json, { ok: false, error: `Missing '${name}'.`, data: {} });
        }
      }
    }
  }

  async checkList(): Promise<void> {
    const where = (await this.#thing.where?.()) ?? {};
    for (const format of this.#expected.formats) {
      const reply = await this.#ask("GET", { ...where, format });
      await this.#assertFormat(reply, format);
      if (format === "json") assert.ok(Array.isArray(reply.json["data"]), reply.text);
    }
  }

  async checkAction(): Promise<void> {
    const byDefault = this.#expected.formats[0] ?? "";
    for (const method of this.#expected.methods) {
      for (const format of this.#expected.formats) {
        const reply = await this.#ask(method, { ...(await this.#thing.act?.()), format });
        await this.#assertFormat(reply, format);
      }
      await this.#assertFormat(await this.#ask(method, (await this.#thing.act?.()) ?? {}), byDefault);
    }
  }

  async checkGet(): Promise<void> {
    const known = await this.#known(await this.#make());
    const byDefault = await this.#ask("GET", known);
    await this.#assertFormat(byDefault, "json");
    for (const format of this.#expected.formats) {
      const reply = await this.#ask("GET", { ...known, format });
      await this.#assertFormat(reply, format);
      if (format === "json") assert.equal(reply.text, byDefault.text);
    }
    assert.equal((await this.#ask("GET", await this.#known(unknownId(await this.#make())))).status, 404);
  }

  async checkCreate(): Promise<void> {
    const { formats } = this.#expected;
    for (const how of ["json", "form", "multipart"] as const) {
      for (const format of [undefined, ...formats]) {
        const before = await this.#count();
        await this.#assertFormat(
          await this.#create(how, { dry_run: "true", ...(format && { format }) }),
          format ?? "json",
        );
        assert.equal(await this.#count(), before, `a dry run (${how}, ${format}) created something`);
        await this.#assertFormat(await this.#create(how, { ...(format && { format }) }), format ?? "json");
        assert.equal(await this.#count(), before + 1, `${how}, ${format}: nothing was created`);
      }
    }
  }

  async checkUpdate(): Promise<void> {
    const { update = {}, idName = "" } = this.#thing;
    const id = await this.#make();
    const known = await this.#known(id);
    const before = await this.#single(id);
    for (const how of ["json", "form", "multipart"] as const) {
      for (const format of [undefined, ...this.#expected.formats]) {
        const asked = { ...known, ...(format && { format }) };
        await this.#assertFormat(
          await this.#ask("PUT", { ...asked, dry_run: "true" }, sent(how, update)),
          format ?? "json",
        );
        if (how === "json" && format === undefined) {
          assert.deepEqual(await this.#single(id), before, "a dry run changed something");
        }
        await this.#assertFormat(await this.#ask("PUT", asked, sent(how, update)), format ?? "json");
      }
    }
    const { [idName]: _inBody, ...rest } = known;
    await this.#assertFormat(await this.#ask("PUT", rest, { json: { ...update, [idName]: id } }), "json");
    const after = await this.#single(id);
    for (const [name, value] of Object.entries(update)) assert.equal(after[name], value);
    const nobody = await this.#ask("PUT", await this.#known(unknownId(id)), { json: update });
    assert.equal(nobody.status, 404, nobody.text);
  }

  async checkDelete(): Promise<void> {
    for (const method of this.#expected.methods) {
      for (const format of [undefined, ...this.#expected.formats]) {
        const id = await this.#make();
        const known = { ...(await this.#known(id)), ...(format && { format }) };
        await this.#assertFormat(await this.#ask(method, { ...known, dry_run: "true" }), format ?? "json");
        assert.ok(await this.#isThere(id), `a dry run (${method}, ${format}) deleted it`);
        await this.#assertFormat(await this.#ask(method, known), format ?? "json");
        assert.ok(!(await this.#isThere(id)), `${method}, ${format}: it is still there`);
        assert.equal((await this.#ask(method, known)).status, 404);
      }
    }
  }

  /** A complete query for requests that are refused: those leave what it names as it is, so one does for all of them. */
  #refusable(): Promise<Query> {
    this.#unused ??= this.#known("nobody");
    return this.#unused;
  }

  /** Everything a complete request has in its query, of this item. */
  async #known(id: string): Promise<Query> {
    const { letter } = this.#expected;
    const { idName, where, act } = this.#thing;
    if (act) return act();
    const takesId = idName !== undefined && (letter === "G" || letter === "U" || letter === "D");
    return { ...(await where?.()), ...(takesId && { [idName]: id }) };
  }

  #has(format: string): boolean {
    return this.#expected.formats.includes(format);
  }

  async #make(): Promise<string> {
    assert.ok(this.#thing.make, `nobody says how to make one of ${this.#expected.resource}`);
    return this.#thing.make();
  }

  #send(what: string, init: AskInit = {}): Promise<Reply> {
    return ask(this.#url(), what, { ...init, headers: { ...this.#thing.headers?.(), ...init.headers } });
  }

  async #isThere(id: string): Promise<boolean> {
    if (this.#thing.onlyListed) return (await this.#list()).some((row) => row[this.#thing.idName ?? ""] === id);
    const { status, text } = await this.#askFor(id);
    assert.ok(status === 200 || status === 404, text);
    return status === 200;
  }

  #ask(method: string, query: Query, init: AskInit = {}): Promise<Reply> {
    return this.#send(`${method} ${this.#expected.path}?${new URLSearchParams({ ...query })}`, init);
  }

  async #askFor(id: string): Promise<Reply> {
    const query = { ...(await this.#thing.where?.()), [this.#thing.idName ?? ""]: id };
    return this.#send(`GET ${this.#expected.resource}/get?${new URLSearchParams(query)}`);
  }

  async #single(id: string): Promise<Readonly<Record<string, unknown>>> {
    return (await this.#askFor(id)).json["data"] as unknown as Record<string, unknown>;
  }

  #create(how: BodyKind, query: Query): Promise<Reply> {
    const fields = this.#thing.create?.(++serial) ?? assert.fail("nobody says what to create");
    const params = new URLSearchParams({ ...query });
    const address = params.size === 0 ? this.#expected.path : `${this.#expected.path}?${params}`;
    return this.#send(`POST ${address}`, sent(how, fields));
  }

  async #count(): Promise<number> {
    return (await this.#list()).length;
  }

  async #list(): Promise<readonly Fields[]> {
    const rows: unknown = (await this.#send(`GET ${this.#expected.resource}?format=json`)).json["data"];
    return Array.isArray(rows) ? (rows as Fields[]) : assert.fail("the list is no list");
  }

  async #assertFormat(reply: Reply, format: string): Promise<void> {
    assert.equal(reply.status, 200, `${this.#expected.path} ${format}: ${reply.text.slice(0, 2000)}`);
    if (TYPES[format]) assert.equal(reply.type, TYPES[format]);
    if (format === "json") {
      assert.deepEqual(Object.keys(reply.json).slice(0, 3), ["ok", "error", "data"]);
      assert.deepEqual([reply.json["ok"], reply.json["error"]], [true, ""], reply.text.slice(0, 2000));
      assert.equal(typeof reply.json["data"], "object");
    }
    if (format === "html" || format === "ui") assert.match(reply.text, /^<!doctype html>/i);
    if (format === "stream") await this.#assertStream(reply.text);
  }

  /** A whole job, and whoever watches it later sees the very same bytes; or an answer, which nobody sees again. */
  async #assertStream(text: string): Promise<void> {
    const events = parseSseEvents(text);
    const names = events.map(({ event }) => event);
    assert.deepEqual([names[0], names.at(-1)], ["start_json", "end_json"]);
    assert.deepEqual(
      names.slice(1, -1).filter((event) => event !== "log" && event !== "sentence"),
      [],
    );
    const end = JSON.parse(events.at(-1)?.data ?? "") as { job_id?: string; result: { ok: boolean; error: string } };
    assert.deepEqual([end.result.ok, end.result.error], [true, ""]);
    if (end.job_id === undefined) return;
    const again = await this.#send(`GET /v2/jobs/monitor?job_id=${end.job_id}&format=stream`);
    assert.equal(again.text, text);
  }
}

/** An id of the same form that no item has. */
function unknownId(id: string): string {
  return /^jb_\d+$/.test(id) ? "jb_999999" : id.replace(/.$/, (last) => (last === "Z" ? "Y" : "Z"));
}

type BodyKind = "json" | "form" | "multipart";

function sent(how: BodyKind, fields: Fields): AskInit {
  if (how === "json") return { json: fields };
  if (how === "form") return { form: { ...fields } };
  const lines = Object.entries(fields).map(
    ([name, value]) => `--edge\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return { body: `${lines.join("")}--edge--\r\n`, headers: { "content-type": "multipart/form-data; boundary=edge" } };
}

function assertError(reply: Reply, message: string): void {
  // A page says it on a page.
  if (reply.type === "text/html") {
    assert.ok(reply.text.includes(message.replaceAll("'", "&#39;")), reply.text);
    return;
  }
  assert.equal(reply.type, "application/json", reply.text);
  assert.deepEqual(reply.json, { ok: false, error: message, data: {} });
}
