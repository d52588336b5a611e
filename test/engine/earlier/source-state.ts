import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { BlobServiceClient, type ContainerClient } from "@azure/storage-blob";
import { sandboxSettings, saveCertificate } from "../../../src/cli/sandbox.ts";
import { isErrno } from "../../../src/lib/atomic-file.ts";
import { nowUtcMicros } from "../../../src/lib/time.ts";
import { type ClientCertificate, makeCertificate } from "../../../src/sandbox/certificates.ts";
import { type OperationCall, runOperation } from "../../../src/sandbox/control/operations.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/start-sandbox.ts";
import { type Azurite, startAzurite } from "../../azurite.ts";
import { type PageAnswer, PageSite } from "../../sources/web-visit-world.ts";
import { type PackedFolder, packFolder, type Replacements, unpackFolder } from "./fixture.ts";

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

/** What the emulator keeps on disk, with the ETags that blobs were given. */
export interface ContainerState {
  readonly kind: "container";
  readonly origin: string;
  readonly account: PackedFolder;
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
let certificate: Promise<ClientCertificate> | undefined;

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
    certificate ??= makeCertificate();
    const sandbox = await startSandbox({ seed: "empty", certificate: await certificate });
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
let opened = 0;

export class ContainerPlace implements Place {
  readonly settings = {};
  readonly credential: string;
  readonly replacements: [string, string][] = [];
  readonly #folder: string;
  #azurite!: Azurite;

  private constructor(folder: string, credential: string) {
    this.#folder = folder;
    this.credential = credential;
  }

  static async open(state?: ContainerState): Promise<ContainerPlace> {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-container-"));
    const place = new ContainerPlace(folder, state ? `${CREDENTIAL}_${++opened}` : CREDENTIAL);
    if (state) await unpackFolder(state.account, place.#folder, []);
    await place.#start(0);
    if (!state) await place.container.create();
    else place.replacements.push([state.origin, place.origin], [CREDENTIAL, place.credential]);
    return place;
  }

  get container(): ContainerClient {
    return BlobServiceClient.fromConnectionString(this.#azurite.connectionString).getContainerClient("earlier");
  }

  get origin(): string {
    return new URL(this.container.url).origin;
  }

  async put(name: string, text: string): Promise<void> {
    await this.container.getBlockBlobClient(name).upload(text, Buffer.byteLength(text));
  }

  async rename(from: string, to: string, text: string): Promise<void> {
    await this.put(to, text);
    await this.remove(from);
  }

  async remove(name: string): Promise<void> {
    await this.container.deleteBlob(name);
  }

  async state(): Promise<ContainerState> {
    const { origin } = this;
    await this.#azurite.stop({ saving: true });
    const account = await packFolder(this.#folder);
    await this.#start(Number(new URL(origin).port));
    return { kind: "container", origin, account };
  }

  fetched(): readonly string[] {
    return [];
  }

  async close(): Promise<void> {
    delete process.env[this.credential];
    await this.#azurite.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(blobPort: number): Promise<void> {
    this.#azurite = await startAzurite({ folder: this.#folder, blobPort });
    process.env[this.credential] = this.#azurite.connectionString;
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
