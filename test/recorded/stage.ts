import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { BRISK } from "../engine/world.ts";
import { type AskInit, ask, type Reply } from "../http/ask.ts";
import { readMapText } from "../read-map-text.ts";
import type { ActClock } from "./act-clock.ts";
import { type Called, callCommands } from "./call-commands.ts";
import { csvInOrder, dataOf, linesInOrder, streamInOrder } from "./in-order.ts";
import { Normaliser, showJson } from "./normalise.ts";
import { Recording, type View } from "./recording.ts";

const SHAREPOINT = ["01_files", "02_lists", "03_sitepages"];
const MAPS = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"];
/** Of these lists nobody promised an order, or only by times that are often the same. */
const UNORDERED =
  /^\/(v2\/inventory\/(files|vector_stores\/files)|v2\/domains\/generations\/difference|openai\/v1\/(files|vector_stores\/[^/]+\/files))(\?|$)/;
/** These tell the times and sizes of our own files, which hold times and places. */
const OF_FILES = /^\w+ \/v2\/(jobs|reports)/;
const MAY_MAKE_THINGS = /^(?!GET )|^GET .*(\/crawler\/|delete|rebuild|replicate|rollback|release)/;
const ON_DEMAND = /\/0[456]_\w+\/[^/]+\/([^/]+\.csv|manifest\.json|knowledge_base\/.*)$/;
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
    if (MAY_MAKE_THINGS.test(what)) await this.learnNames();
    this.#learn(reply.json?.["data"]?.["key_id"], "key", reply.json?.["data"]?.["name"]);
    const sent = init.json === undefined ? "" : ` ${JSON.stringify(this.normaliser.json(init.json))}`;
    const type = reply.type === "application/json" ? "" : ` ${reply.type}`;
    this.#note("answers", this.#text(`${what}${sent}`), `${reply.status}${type}\n${this.#body(what, reply)}`);
    return reply;
  }

  #body(what: string, { type, text, json }: Reply): string {
    if (type === "text/event-stream") return streamInOrder(this.#text(text));
    if (type === "text/csv") return csvInOrder(this.#text(text));
    if (json === undefined) return this.#text(text);
    const timed = OF_FILES.test(what) ? withoutFileFacts(json) : json;
    return showJson(this.#sorted(what, this.#json(timed)));
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
    await this.learnNames();
    if (status !== 200) return this.#note("jobs", address, `${status}\n${this.#text(text)}`);
    const events = text.split("\n\n").filter((event) => event !== "");
    const logged = events.filter((event) => event.startsWith("event: log")).map(dataOf);
    const ended = events.find((event) => event.startsWith("event: end_json"));
    const end = ended ? showJson(this.#json(JSON.parse(dataOf(ended)))) : "no end";
    this.#note("jobs", this.#text(address), [...linesInOrder(logged.map((line) => this.#text(line))), end].join("\n"));
  }

  async crawl(domain: string, wishes = "mode=incremental", verb = "crawl"): Promise<void> {
    await this.job(`/v2/crawler/${verb}?domain_id=${domain}&${wishes}`);
  }

  /** An act: a crawl, and all that is seen after it. */
  async actCrawl(title: string, domain: string, words: readonly string[], wishes = "mode=incremental"): Promise<void> {
    this.act(title);
    await this.crawl(domain, wishes);
    await this.look(domain);
    await this.search(domain, ...words);
  }

  /** Records what lies on disk for users: maps, mirror, metadata, manifests and texts. */
  async look(domain: string): Promise<void> {
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
      this.#note("search", `${domain}: ${query}`, this.#results(this.#json(reply.json) as Json));
    }
  }

  /** What people look at in a result; `GET /v2/search` itself is among the answers. */
  #results({ ok, error, data }: Json): string {
    if (ok !== true) return String(error);
    const { notes, results = [] } = data as { notes?: unknown; results?: Json[] };
    const lines = results.map(({ score, url, last_modified_utc, section_path, text, file_id, generation, also_in }) =>
      showJson({ score, file_id, url, last_modified_utc, section_path, text, generation, also_in }),
    );
    return [...lines, ...(JSON.stringify(notes) === "[]" ? [] : [showJson(notes)])].join("\n") || "nothing";
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
    await this.learnNames();
    for (const one of called) this.#noteCall(one);
  }

  #noteCall({ args, code, out, err }: Called): void {
    const streams = [out && `${out}`, err && `(on stderr)\n${err}`].filter(Boolean).join("\n");
    const lines = linesInOrder(this.#text(streams).replace(/\n+$/, "").split("\n"));
    this.#note("command-line", this.#text(["lockstep", ...args].join(" ")), `exit ${code}\n${lines.join("\n")}`);
  }

  /** Files below the storage that belong to domains, but those that have a view of their own and may not always be there. */
  async tree(): Promise<void> {
    const found: string[] = [];
    for (const part of ["domains", "crawler"]) found.push(...(await filesBelow(join(this.storage, part), part)));
    const lasting = found.filter((path) => !ON_DEMAND.test(path) && !/ledger\.sqlite/.test(path));
    this.#note(
      "mirror",
      "files of all domains",
      lasting
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
    if (text === "") return this.#note("files-metadata", domain, "none");
    const rows = entries.map((entry) => showJson(entry));
    this.recording.noteRows("files-metadata", domain, rows);
  }

  async #noteMaps(view: View, place: string, folder: string): Promise<void> {
    const [, domainId = "", sourceId = ""] = /([^/]+)\/0\d_\w+\/([^/]+)$/.exec(folder) ?? [];
    const isKept = view === "maps";
    for (const map of MAPS) {
      const onDemand = (): Promise<string> => readMapText(this.app, domainId as DomainId, sourceId, map);
      const text = await (isKept ? readFile(join(folder, map), "utf8") : onDemand()).catch(() => undefined);
      if (text === undefined) this.#note(view, `${place}/${map}`, "none");
      else this.#noteMap(view, `${place}/${map}`, text);
    }
  }

  /** The order of the rows is not promised. Of an id with several rows the last one counts. */
  #noteMap(view: View, subject: string, text: string): void {
    const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
    const id = decodeCsvRow(header).indexOf("sharepoint_unique_file_id");
    const valid = new Map(rows.map((row) => [decodeCsvRow(row)[id] ?? row, row]));
    const named = [...valid.values()].map((row) => this.#text(row));
    this.recording.noteRows(view, subject, named, [`  ${header}`]);
  }

  async #noteManifest(place: string, folder: string): Promise<void> {
    const text = await readFile(join(folder, "manifest.json"), "utf8").catch(() => undefined);
    if (text === undefined) return;
    const manifest = outer(JSON.parse(text) as Json) as { files?: Json; displaced?: Json };
    const lines = (part: Json = {}): string[] =>
      Object.entries(part).map(([key, entry]) => `${this.#text(key)}: ${showJson(this.#json(outer(entry as Json)))}`);
    const displaced = lines(manifest.displaced).map((line) => `displaced ${line}`);
    this.recording.noteRows("manifest", `${place}/manifest.json`, [...lines(manifest.files), ...displaced]);
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
    this.recording.noteRows("knowledge-base", place, shown);
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
    this.recording.noteRows("mirror", place, files);
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
    if (Array.isArray(data)) return { ...rest, data: sortedByText(data) };
    const { changes, ...others } = (data ?? {}) as { changes?: unknown };
    return Array.isArray(changes) ? { ...rest, data: { ...others, changes: sortedByText(changes) } } : answer;
  }

  /** Random ids get the names of what they stand for, in an order that is the same every time. */
  async learnNames(): Promise<void> {
    if (this.url === "") return;
    const { domains } = await this.app.domains.list();
    for (const { domainId, sources } of domains) {
      if (sources.some(({ sourceType }) => ["folder_sources", "blob_sources"].includes(sourceType))) {
        const documents = await this.#rows(`/v2/documents?domain_id=${domainId}&format=json`);
        for (const one of inOrderOf(documents, ["path", "status"])) this.#learn(one["doc_id"], "doc", one["path"]);
      }
    }
    // Whoever asks for items of the registry opens one.
    const mayHaveItems = this.settings["WEB_ALLOW_PRIVATE_NETWORKS"] !== undefined;
    const items = mayHaveItems ? await this.#rows("/v2/ingest/items?format=json") : [];
    for (const one of inOrderOf(items, ["normalizedSource"])) {
      const label = one["normalizedSource"];
      this.#learn(one["id"], "item", label);
      for (const field of ["contentHash", "textHash", "contentGroupId"]) {
        this.#learn(String(one[field] ?? "").replace(/^sha256:/, ""), field, label);
      }
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

function sortedByText(values: readonly unknown[]): unknown[] {
  return values
    .map((one) => ({ one, key: JSON.stringify(one) }))
    .sort(byKey)
    .map(({ one }) => one);
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : Number(a.key > b.key);
}

function withoutFileFacts(value: unknown): unknown {
  const hide = (key: string, one: unknown): unknown =>
    ["last_modified_utc", "file_size"].includes(key) ? "<masked>" : one;
  return JSON.parse(JSON.stringify(value, hide));
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
  const shown = entries.filter(({ name }) => !name.startsWith("."));
  const found = await Promise.all(
    shown.map(async (entry) => {
      const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
      return entry.isDirectory() ? await filesBelow(join(folder, entry.name), path) : [path];
    }),
  );
  return found.flat();
}
