import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { sandboxSettings, saveCertificate } from "../../../src/cli/sandbox.ts";
import { isErrno } from "../../../src/lib/atomic-file.ts";
import { nowUtcMicros } from "../../../src/lib/time.ts";
import { type OperationCall, runOperation } from "../../../src/sandbox/control/operations.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/start-sandbox.ts";
import { type PageAnswer, PageSite } from "../../sources/web-visit-world.ts";
import type { Replacements } from "./fixture.ts";

/** What a source held, so that it can be had again exactly as the storage remembers it. */
export type SourceState = TenantState | FolderState | SiteState | ContainerState;

/** The simulated tenant gives the same ids to whoever repeats the same operations. */
export interface TenantState {
  readonly kind: "tenant";
  readonly origin: string;
  readonly operations: readonly OperationCall[];
}

export interface FolderState {
  readonly kind: "folder";
  readonly root: string;
  readonly files: Readonly<Record<string, { readonly text: string; readonly mtimeMs: number }>>;
  /** `device:inode` of the root ("") and of each file. */
  readonly nodes: Readonly<Record<string, string>>;
}

/** Ids of web pages are hashes of their addresses, so it is always at the same port; whoever finds it taken waits. */
export interface SiteState {
  readonly kind: "site";
  readonly pages: Readonly<Record<string, string | PageAnswer>>;
  /** When a crawl that was cut off began: it would not be gone on with a day later, so it begins when it is opened. */
  readonly crawlStartedAt?: string;
}

/** Emulators give blobs new ETags whenever they are uploaded, so these are told. */
export interface ContainerState {
  readonly kind: "container";
  readonly origin: string;
  readonly blobs: Readonly<Record<string, SavedBlob>>;
}

export interface SavedBlob {
  readonly text: string;
  readonly etag: string;
  readonly modifiedAt: string;
}

/** A source that is there now. */
export interface Place {
  readonly settings: Readonly<Record<string, string>>;
  /** Names in the storage that are others here. */
  readonly replacements: Replacements;
  state(): Promise<SourceState>;
  /** Names of what was delivered since the last call; always empty where nobody can tell. */
  fetched(): readonly string[];
  /** Makes room for another one of the same address, until the answer is called. */
  stepAside?(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export function openPlace(state: SourceState): Promise<Place> {
  if (state.kind === "site") return SitePlace.open(state);
  if (state.kind === "container") return ContainerPlace.open(state);
  return state.kind === "tenant" ? TenantPlace.open(state) : FolderPlace.open(state);
}

/** Of operations that take no time: `{operation: "clock", at}` comes before them. */
const CLOCK = "clock";
export class TenantPlace implements Place {
  readonly settings: Readonly<Record<string, string>>;
  readonly replacements: Replacements;
  readonly sandbox: Sandbox;
  readonly #folder: string;
  readonly #operations: OperationCall[] = [];

  private constructor(sandbox: Sandbox, folder: string, pem: string, origin: string) {
    this.sandbox = sandbox;
    this.#folder = folder;
    this.settings = sandboxSettings(sandbox, pem);
    this.replacements = origin === sandbox.url ? [] : [[origin, sandbox.url]];
  }

  static async open(state?: TenantState): Promise<TenantPlace> {
    const sandbox = await startSandbox({ seed: "empty" });
    const folder = await mkdtemp(join(tmpdir(), "lockstep-tenant-"));
    const pem = await saveCertificate(sandbox, join(folder, "sandbox.pem"));
    const place = new TenantPlace(sandbox, folder, pem, state?.origin ?? sandbox.url);
    for (const operation of state?.operations ?? []) place.act(operation);
    return place;
  }

  /** Something a user does, at a time that is told: the wall clock would be another one when it is repeated. */
  act(operation: OperationCall): void {
    this.#operations.push(operation);
    if (operation.operation === CLOCK) this.sandbox.tenant.clock.set(String(operation["at"]));
    else runOperation(this.sandbox.state, operation);
  }

  async state(): Promise<TenantState> {
    return { kind: "tenant", origin: this.sandbox.url, operations: this.#operations };
  }

  fetched(): readonly string[] {
    const urls = this.sandbox.state.log.entries().map(({ url }) => decodeURIComponent(url));
    this.sandbox.state.log.clear();
    const asked = urls.filter((url) => url.includes("/$value"));
    return asked.map((url) => /@p='([^']+)'/.exec(url)?.[1] ?? /'([^']+)'\)\/\$value/.exec(url)?.[1] ?? url).sort();
  }

  async close(): Promise<void> {
    await this.sandbox.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export class FolderPlace implements Place {
  readonly settings = {};
  readonly root: string;
  readonly replacements: [string, string][] = [];

  private constructor(root: string) {
    this.root = root;
  }

  static async open(state?: FolderState): Promise<FolderPlace> {
    const place = new FolderPlace(join(await mkdtemp(join(tmpdir(), "lockstep-folder-")), "root"));
    await mkdir(place.root);
    for (const [path, { text, mtimeMs }] of Object.entries(state?.files ?? {})) await place.write(path, text, mtimeMs);
    if (state) {
      const { nodes } = await place.state();
      const told = Object.entries(state.nodes).map(([path, node]) => ({ path, from: node, to: nodes[path] ?? node }));
      // By way of a name that no number has: two files may have swapped theirs.
      for (const { path, from } of told) place.replacements.push(...spellings(from, `<${path}>:<${path}>`));
      for (const { path, to } of told) place.replacements.push(...spellings(`<${path}>:<${path}>`, to));
      place.replacements.push([state.root, place.root]);
    }
    return place;
  }

  at(path: string): string {
    return join(this.root, path);
  }

  async write(path: string, text: string, mtimeMs: number): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), text);
    await utimes(this.at(path), mtimeMs / 1000, mtimeMs / 1000);
  }

  async rename(from: string, to: string): Promise<void> {
    await mkdir(dirname(this.at(to)), { recursive: true });
    await rename(this.at(from), this.at(to));
  }

  async remove(path: string): Promise<void> {
    await rm(this.at(path));
  }

  async state(): Promise<FolderState> {
    const files: Record<string, { text: string; mtimeMs: number }> = {};
    const nodes: Record<string, string> = { "": await nodeOf(this.root) };
    for (const entry of await readdir(this.root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name).slice(this.root.length + 1);
      files[path] = { text: await readFile(this.at(path), "utf8"), mtimeMs: (await stat(this.at(path))).mtimeMs };
      nodes[path] = await nodeOf(this.at(path));
    }
    return { kind: "folder", root: this.root, files, nodes };
  }

  fetched(): readonly string[] {
    return [];
  }

  async close(): Promise<void> {
    await rm(dirname(this.root), { recursive: true, force: true });
  }
}

const SITE_PORT = 23_641;
const LONGEST_WAIT_MS = 300_000;

export class SitePlace implements Place {
  readonly settings = {
    WEB_ALLOW_PRIVATE_NETWORKS: "true",
    WEB_HOST_DELAY_MS: "0",
    CRAWL_GONE_SPACING_SECONDS: "0",
    CRAWL_MOVED_SPACING_SECONDS: "0",
  };
  readonly replacements: Replacements;
  site: PageSite;
  readonly #pages = new Map<string, string | PageAnswer>();
  crawlStartedAt: string | undefined;

  private constructor(site: PageSite, replacements: Replacements) {
    this.site = site;
    this.replacements = replacements;
  }

  static async open(state?: SiteState): Promise<SitePlace> {
    const { crawlStartedAt } = state ?? {};
    const place = new SitePlace(await siteAtItsPort(), crawlStartedAt ? [[crawlStartedAt, nowUtcMicros()]] : []);
    for (const [path, page] of Object.entries(state?.pages ?? {})) place.set(path, page);
    return place;
  }

  /** undefined: it is gone. */
  set(path: string, page: string | PageAnswer | undefined): void {
    if (page === undefined) {
      this.site.pages.delete(path);
      this.#pages.delete(path);
      return;
    }
    this.site.set(path, page);
    this.#pages.set(path, page);
  }

  async state(): Promise<SiteState> {
    const started = this.crawlStartedAt === undefined ? {} : { crawlStartedAt: this.crawlStartedAt };
    return { kind: "site", pages: Object.fromEntries(this.#pages), ...started };
  }

  async stepAside(): Promise<() => Promise<void>> {
    await this.site.close();
    return async () => {
      this.site = await siteAtItsPort();
      for (const [path, page] of this.#pages) this.site.set(path, page);
    };
  }

  fetched(): readonly string[] {
    const { bodies } = this.site;
    this.site.forgetRequests();
    return bodies.sort();
  }

  async close(): Promise<void> {
    await this.site.close();
  }
}

/** Others that play with these fixtures on this machine are soon done. */
async function siteAtItsPort(): Promise<PageSite> {
  for (const givenUpAtMs = performance.now() + LONGEST_WAIT_MS; ; await setTimeout(100)) {
    try {
      return await PageSite.start(SITE_PORT);
    } catch (error) {
      if (!isErrno(error, "EADDRINUSE") || performance.now() > givenUpAtMs) throw error;
    }
  }
}

/** What the domain calls its credential, and what that is called here: several may be open at once. */
const CREDENTIAL = "LOCKSTEP_EARLIER_BLOBS";
const ACCOUNT = "devstoreaccount1";
let opened = 0;

/** As much of Azure Blob Storage as a crawl asks for: lists a container, sends a blob if it is still the one that is meant. */
export class ContainerPlace implements Place {
  readonly settings = {};
  readonly credential: string;
  readonly replacements: Replacements;
  readonly origin: string;
  readonly #server: Server;
  readonly #blobs: Map<string, SavedBlob>;
  #fetched: string[] = [];

  private constructor(server: Server, state: ContainerState | undefined) {
    this.#server = server;
    this.#blobs = new Map(Object.entries(state?.blobs ?? {}));
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.credential = state ? `${CREDENTIAL}_${++opened}` : CREDENTIAL;
    this.replacements = state
      ? [
          [state.origin, this.origin],
          [CREDENTIAL, this.credential],
        ]
      : [];
    const key = Buffer.from("anybody's").toString("base64");
    const endpoint = `${this.origin}/${ACCOUNT}`;
    process.env[this.credential] =
      `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${key};BlobEndpoint=${endpoint}`;
    server.on("request", (request, response) =>
      this.#answer(new URL(request.url ?? "", this.origin), request, response),
    );
  }

  static async open(state?: ContainerState): Promise<ContainerPlace> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ContainerPlace(server, state);
  }

  get url(): string {
    return `${this.origin}/${ACCOUNT}/earlier`;
  }

  put(name: string, text: string, modifiedAt: string): void {
    const etag = `0x${createHash("sha256").update(`${name}\n${modifiedAt}\n${text}`).digest("hex").slice(0, 15).toUpperCase()}`;
    this.#blobs.set(name, { text, etag, modifiedAt });
  }

  remove(name: string): void {
    this.#blobs.delete(name);
  }

  async state(): Promise<ContainerState> {
    return { kind: "container", origin: this.origin, blobs: Object.fromEntries(this.#blobs) };
  }

  fetched(): readonly string[] {
    const fetched = this.#fetched.sort();
    this.#fetched = [];
    return fetched;
  }

  async close(): Promise<void> {
    delete process.env[this.credential];
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #answer({ pathname, searchParams }: URL, { headers }: IncomingMessage, response: ServerResponse): void {
    if (searchParams.get("comp") === "list") {
      response.writeHead(200, { "content-type": "application/xml" }).end(this.#listing());
      return;
    }
    const name = decodeURIComponent(pathname.split("/").slice(3).join("/"));
    const blob = this.#blobs.get(name);
    const wanted = headers["if-match"];
    if (!blob || (wanted !== undefined && wanted !== `"${blob.etag}"`)) {
      response.writeHead(blob ? 412 : 404, { "x-ms-error-code": blob ? "ConditionNotMet" : "BlobNotFound" }).end();
      return;
    }
    this.#fetched.push(name);
    const told = { etag: `"${blob.etag}"`, "last-modified": new Date(blob.modifiedAt).toUTCString() };
    response.writeHead(200, { ...told, "content-length": Buffer.byteLength(blob.text) }).end(blob.text);
  }

  #listing(): string {
    const blobs = [...this.#blobs]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { text, etag, modifiedAt }]) => {
        const told = `<Last-Modified>${new Date(modifiedAt).toUTCString()}</Last-Modified><Etag>${etag}</Etag>`;
        const size = `<Content-Length>${Buffer.byteLength(text)}</Content-Length><BlobType>BlockBlob</BlobType>`;
        return `<Blob><Name>${name}</Name><Properties>${told}${size}</Properties></Blob>`;
      });
    return `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${blobs.join("")}</Blobs><NextMarker /></EnumerationResults>`;
  }
}

/** A node is told as it is, at the beginning of the root's identity, and by its inode at the end of a stamp. */
function spellings(from: string, to: string): [string, string][] {
  const [inodeFrom, inodeTo] = [from.replace(/^.*?:/, ""), to.replace(/^.*?:/, "")];
  return [
    [`"${from}"`, `"${to}"`],
    [`"${from} `, `"${to} `],
    [`-${inodeFrom}"`, `-${inodeTo}"`],
  ];
}

async function nodeOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev}:${ino}`;
}
