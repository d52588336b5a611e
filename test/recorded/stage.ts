import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { BRISK } from "../engine/world.ts";
import { type AskInit, ask, type Reply } from "../http/ask.ts";
import type { ActClock } from "./act-clock.ts";
import { type Called, callCommands } from "./call-commands.ts";
import { Normaliser, showJson } from "./normalise.ts";
import { Recording, type View } from "./recording.ts";

const SHAREPOINT = ["01_files", "02_lists", "03_sitepages"];
const MAPS = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"];
/** Of these lists nobody promised an order, or only by times that are often the same. */
const UNORDERED =
  /^\/(v2\/inventory\/(files|vector_stores\/files)|openai\/v1\/(files|vector_stores\/[^/]+\/files))(\?|$)/;
/** What a manifest holds for the product's own use. */
const INNER = ["layout", "snapshot", "updated_at", "look", "stamp", "node"];

type Json = Record<string, unknown>;

/** The product behind a real port, and what its users see of it, recorded act by act. */
export class RecordedStage {
  readonly storage: string;
  readonly recording = new Recording();
  readonly normaliser: Normaliser;
  readonly clock: ActClock;
  readonly settings: Readonly<Record<string, string>>;
  app!: App;
  url = "";
  readonly #place: string;
  #closeServer: () => Promise<void> = async () => undefined;
  readonly #atEnd: (() => Promise<void>)[] = [];

  private constructor(place: string, clock: ActClock, settings: Readonly<Record<string, string>>) {
    this.#place = place;
    this.storage = join(place, "storage");
    this.clock = clock;
    this.normaliser = new Normaliser(clock);
    this.settings = { PERSISTENT_STORAGE_PATH: this.storage, ...settings };
    this.normaliser.place(this.storage, "/storage");
    this.normaliser.place(place, "/place");
  }

  static async open(clock: ActClock): Promise<RecordedStage> {
    return new RecordedStage(await mkdtemp(join(tmpdir(), "lockstep-recorded-")), clock, {});
  }

  /** Starts the product, or starts it again. */
  async serve(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.stopServer();
    Object.assign(this.settings, settings);
    const now = (): Date => this.clock.later();
    const pace = { searchesHere: true, now, web: { restMs: 0, now }, ...BRISK };
    this.app = await compose(readConfig(this.settings), pace);
    const server = await serveHttp(this.app, { host: "127.0.0.1", port: 0, log: () => undefined });
    this.url = server.url;
    this.normaliser.place(server.url, "http://lockstep.example");
    this.#closeServer = async () => {
      await server.close();
      await this.app.close();
    };
  }

  async stopServer(): Promise<void> {
    await this.#closeServer();
    this.#closeServer = async () => undefined;
  }

  atEnd(close: () => Promise<void>): void {
    this.#atEnd.push(close);
  }

  async close(): Promise<void> {
    await this.stopServer();
    for (const close of this.#atEnd.reverse()) await close();
    await rm(this.#place, { recursive: true, force: true });
  }

  /** A folder beside the storage. */
  beside(...path: string[]): string {
    return join(this.#place, ...path);
  }

  act(title: string): void {
    this.recording.begin(`t${this.clock.next()} ${title}`);
  }

  /** Asks, and records the answer. */
  async ask(what: string, init: AskInit = {}): Promise<Reply> {
    const reply = await ask(this.url, what, init);
    if (!/^GET .*format=json$/.test(what)) await this.#learnIds();
    const sent = init.json === undefined ? "" : ` ${JSON.stringify(this.normaliser.json(init.json))}`;
    const body =
      reply.json === undefined ? this.#text(reply.text) : showJson(this.#sorted(what, this.#json(reply.json)));
    const type = reply.type === "application/json" ? "" : ` ${reply.type}`;
    this.#note("answers", this.#text(`${what}${sent}`), `${reply.status}${type}\n${body}`);
    return reply;
  }

  /** Asks without recording. */
  async quietly(what: string, init: AskInit = {}): Promise<Reply> {
    const reply = await ask(this.url, what, init);
    if (reply.status !== 200) throw new Error(`${what}: ${reply.status} ${reply.text}`);
    return reply;
  }

  /** Runs a job of the product and records its stream: the lines of its log, and its end. */
  async job(address: string): Promise<void> {
    const { status, text } = await ask(this.url, `GET ${address}${address.includes("?") ? "&" : "?"}format=stream`);
    await this.#learnIds();
    if (status !== 200) return this.#note("jobs", address, `${status}\n${this.#text(text)}`);
    const events = text.split("\n\n").filter((event) => event !== "");
    const logged = events.filter((event) => event.startsWith("event: log")).map(dataOf);
    const ended = events.find((event) => event.startsWith("event: end_json"));
    const end = ended ? showJson(this.#json(JSON.parse(dataOf(ended)))) : "no end";
    this.#note("jobs", this.#text(address), [...inOrder(logged.map((line) => this.#text(line))), end].join("\n"));
  }

  async crawl(domain: string, wishes = "mode=incremental", verb = "crawl"): Promise<void> {
    await this.job(`/v2/crawler/${verb}?domain_id=${domain}&${wishes}`);
  }

  /** Records what lies on disk for users: maps, mirror, metadata, manifests and texts. */
  async look(domain: string): Promise<void> {
    await this.#learnIds();
    await this.#noteMetadata(domain);
    const top = join(this.storage, "crawler", domain);
    for (const kind of await namesIn(top)) {
      for (const source of await namesIn(join(top, kind))) {
        const place = `${kind}/${source}`;
        const folder = join(top, kind, source);
        await this.#noteMaps(SHAREPOINT.includes(kind) ? "maps" : "maps-of-web-folders-blobs", place, folder);
        await this.#noteManifest(place, folder);
        await this.#noteTexts(place, folder);
        await this.#noteMirror(place, folder);
      }
    }
  }

  /** Records what a search answers. */
  async search(domain: string, ...queries: string[]): Promise<void> {
    for (const query of queries) {
      const reply = await ask(
        this.url,
        `GET /v2/search?query=${encodeURIComponent(query)}&domain_id=${domain}&format=json`,
      );
      this.#note("search", `${domain}: ${query}`, showJson(this.#json(reply.json)));
    }
  }

  /** Records what commands print, and their exit codes. The server is stopped meanwhile. */
  async commands(calls: readonly (readonly string[])[]): Promise<void> {
    await this.stopServer();
    const called = await callCommands(calls, {
      clock: this.clock,
      settings: this.settings,
      folder: this.#place,
    });
    await this.serve();
    await this.#learnIds();
    for (const one of called) this.#noteCall(one);
  }

  #noteCall({ args, code, out, err }: Called): void {
    const streams = [out && `${out}`, err && `(on stderr)\n${err}`].filter(Boolean).join("\n");
    const lines = inOrder(this.#text(streams).replace(/\n+$/, "").split("\n"));
    this.#note("command-line", this.#text(["lockstep", ...args].join(" ")), `exit ${code}\n${lines.join("\n")}`);
  }

  /** Folders and files below the storage that belong to domains. */
  async tree(): Promise<void> {
    const found: string[] = [];
    for (const part of ["domains", "crawler"]) found.push(...(await filesBelow(join(this.storage, part), part)));
    this.#note(
      "mirror",
      "files of all domains",
      found
        .map((path) => this.#text(path))
        .sort()
        .join("\n"),
    );
  }

  #note(view: View, subject: string, text: string): void {
    this.recording.note(view, subject, text);
  }

  async #noteMetadata(domain: string): Promise<void> {
    const text = await readFile(join(this.storage, "domains", domain, "files_metadata.json"), "utf8").catch(() => "");
    const entries = text === "" ? [] : (this.#json(JSON.parse(text)) as Json[]);
    const shown = entries.map((entry) => showJson(entry)).sort();
    this.#note("files-metadata", domain, text === "" ? "none" : shown.join("\n"));
  }

  async #noteMaps(view: View, place: string, folder: string): Promise<void> {
    for (const map of MAPS) {
      const text = await readFile(join(folder, map), "utf8").catch(() => undefined);
      this.#note(view, `${place}/${map}`, text === undefined ? "none" : this.#map(text));
    }
  }

  /** Rows in an order of their own: that of the file is not promised. Of an id with several rows the last one counts. */
  #map(text: string): string {
    const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
    const id = decodeCsvRow(header).indexOf("sharepoint_unique_file_id");
    const valid = new Map(rows.map((row) => [decodeCsvRow(row)[id] ?? row, row]));
    return [header, ...[...valid.values()].map((row) => this.#text(row)).sort()].join("\n");
  }

  async #noteManifest(place: string, folder: string): Promise<void> {
    const text = await readFile(join(folder, "manifest.json"), "utf8").catch(() => undefined);
    if (text === undefined) return;
    const manifest = outer(JSON.parse(text) as Json) as { files?: Json; displaced?: Json };
    const lines = (part: Json = {}): string[] =>
      Object.entries(part).map(([key, entry]) => `${this.#text(key)}: ${showJson(this.#json(outer(entry as Json)))}`);
    const displaced = lines(manifest.displaced).sort();
    this.#note(
      "manifest",
      `${place}/manifest.json`,
      [...lines(manifest.files).sort(), ...(displaced.length > 0 ? ["displaced:", ...displaced] : [])].join("\n"),
    );
  }

  async #noteTexts(place: string, folder: string): Promise<void> {
    const top = join(folder, "knowledge_base", "documents");
    const files = await filesBelow(top, "");
    if (files.length === 0) return;
    const shown = await Promise.all(
      files.map(async (file) => {
        const text = await readFile(join(top, file), "utf8");
        const said = file.endsWith(".json") ? showJson(this.#json(JSON.parse(text))) : JSON.stringify(this.#text(text));
        return `${this.#text(file)}: ${said}`;
      }),
    );
    this.#note("knowledge-base", place, shown.sort().join("\n"));
  }

  async #noteMirror(place: string, folder: string): Promise<void> {
    const files: string[] = [];
    for (const part of ["01_originals", "02_embedded", "03_failed"]) {
      for (const file of await filesBelow(join(folder, part), part)) {
        const text = this.#text(await readFile(join(folder, file), "utf8"));
        const sum = createHash("sha256").update(text).digest("hex").slice(0, 12);
        files.push(`${this.#text(file)} ${text.length} ${sum}`);
      }
    }
    this.#note("mirror", place, files.sort().join("\n"));
  }

  #text(text: string): string {
    return this.normaliser.text(text);
  }

  #json(value: unknown): unknown {
    return this.normaliser.json(value);
  }

  #sorted(what: string, answer: unknown): unknown {
    if (!UNORDERED.test(what.split(" ")[1] ?? "")) return answer;
    const { data, ...rest } = answer as { data?: unknown };
    if (!Array.isArray(data)) return answer;
    return {
      ...rest,
      data: data
        .map((one) => ({ one, key: JSON.stringify(one) }))
        .sort(byKey)
        .map(({ one }) => one),
    };
  }

  /** Random ids get the names of what they stand for, in an order that is the same every time. */
  async #learnIds(): Promise<void> {
    if (this.url === "") return;
    const { domains } = await this.app.domains.list();
    for (const { domainId, sources } of domains) {
      if (sources.some(({ sourceType }) => ["folder_sources", "blob_sources"].includes(sourceType))) {
        const documents = await this.#rows(`/v2/documents?domain_id=${domainId}&format=json`);
        for (const one of inOrderOf(documents, ["path", "status"])) this.#learn(one["doc_id"], "doc", one["path"]);
      }
    }
    for (const one of inOrderOf(await this.#rows("/v2/ingest/items?format=json"), ["url", "source_uri"])) {
      this.#learn(one["id"], "item", one["url"] ?? one["source_uri"]);
    }
    for (const store of inOrderOf(await this.#rows("/v2/inventory/vector_stores?format=json"), [
      "created_at",
      "name",
    ])) {
      this.#learn(store["id"], "vs", store["name"]);
      const files = await this.#rows(`/v2/inventory/vector_stores/files?vector_store_id=${store["id"]}&format=json`);
      const keyed = files.map((one) => ({
        one,
        key: `${one["filename"]} ${JSON.stringify(this.#json(one["attributes"]))}`,
      }));
      for (const { one } of keyed.sort(byKey)) this.#learn(one["id"], "file", one["filename"]);
    }
  }

  #learn(id: unknown, kind: string, label: unknown): void {
    if (typeof id === "string") this.normaliser.learn(id, kind, this.#text(String(label ?? "")));
  }

  async #rows(address: string): Promise<Json[]> {
    const { json } = await ask(this.url, `GET ${address}`);
    const data = json?.["data"] as unknown;
    return Array.isArray(data) ? (data as Json[]) : [];
  }
}

function inOrderOf(rows: readonly Json[], fields: readonly string[]): Json[] {
  return rows
    .map((one) => ({ one, key: fields.map((field) => String(one[field] ?? "")).join(" ") }))
    .sort(byKey)
    .map(({ one }) => one);
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : Number(a.key > b.key);
}

function dataOf(event: string): string {
  return event
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? line.slice("data: ".length) : []))
    .join("\n");
}

/** Items are worked on side by side: lines that count them come in any order, and so do their numbers. */
function inOrder(lines: readonly string[]): string[] {
  const result: string[] = [];
  let counted: string[] = [];
  for (const line of [...lines, ""]) {
    if (/^\[ \d+ \/ \d+ \]/.test(line)) {
      counted.push(line.replace(/^\[ \d+/, "[ #"));
      continue;
    }
    result.push(...counted.sort(), line);
    counted = [];
  }
  return result.slice(0, -1);
}

function outer(entry: Json): Json {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !INNER.includes(key)));
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => !name.startsWith(".")).sort();
}

/** Hidden files and folders are the product's own affair. */
async function filesBelow(folder: string, prefix: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const shown = entries.filter(({ name }) => !name.startsWith(".") && name !== "kept.json");
  const found = await Promise.all(
    shown.map(async (entry) => {
      const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      return entry.isDirectory() ? await filesBelow(join(folder, entry.name), path) : [path];
    }),
  );
  return found.flat();
}
