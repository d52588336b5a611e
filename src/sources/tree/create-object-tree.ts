import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, explain, RemoteError } from "../../contracts/errors.ts";
import type { FileTree, SkippedFile, TreeFile, TreePage } from "../../contracts/file-tree.ts";
import type { Finding } from "../../contracts/finding.ts";
import type { Unreadable } from "../../contracts/source.ts";
import { sha256Of } from "../../lib/hash.ts";
import { asSentence, capital, limitBytes, plural } from "../../lib/text.ts";
import { createTreeRules } from "./tree-rules.ts";

/** An object in a listing of the store. */
export interface StoredObject {
  readonly name: string;
  readonly size: number;
  readonly modifiedAtMs: number;
  /** Without quotes. */
  readonly etag: string;
  /** Why its content cannot be read although it is listed; "" if it can. */
  readonly unreadable: string;
}

/** An open container or bucket: a flat store of objects whose names contain slashes. */
export interface ObjectStore {
  /** The credential in use, for messages: `the signature in REPORTS_SAS`. */
  readonly access: string;
  /** What to do when the service refuses. */
  readonly hint: string;
  /** Lists the objects with this prefix, one page per response. Ends normally only after the last object. */
  list(prefix: string, signal: AbortSignal): AsyncIterable<readonly StoredObject[]>;
  /** Reads one version of an object completely; `etag`: that version. Throws as FileTree.read does. */
  read(name: string, etag: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** Which objects a source takes. */
export interface ObjectRules {
  readonly prefix: string;
  readonly credential: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly hidden: boolean;
  readonly maxFileBytes: number;
}

interface ObjectTreeOptions {
  /** URL of the store, without trailing slash. */
  readonly location: string;
  readonly open: () => Promise<ObjectStore>;
  /** Where content is spooled between hashing and fetching; without one, nothing is written. */
  readonly folder?: string | undefined;
  readonly words: StoreWords;
}

export interface StoreWords {
  /** Name of the store: `Container`. */
  readonly store: string;
  /** Name of its objects: `blob`. */
  readonly object: string;
  /** The remedy for a credential that cannot be used. */
  readonly setCredential: string;
}

/** Presents a store as a tree. Objects are files; paths begin after the last slash of the prefix. */
export function createObjectTree(rules: ObjectRules, options: ObjectTreeOptions): FileTree {
  const { location, folder } = options;
  const root = rootOf(rules.prefix);
  let opening: Promise<ObjectStore> | undefined;
  const open = (): Promise<ObjectStore> => {
    opening ??= options.open();
    return opening;
  };
  const spool = folder === undefined ? undefined : new ReadSpool(folder);
  const toPage = createPaging(rules, root);
  return {
    location: rules.prefix ? `${location}/${rules.prefix}` : location,
    identity: async () => "",
    async *walk(signal) {
      await spool?.begin();
      for await (const objects of listFiles(await open(), rules.prefix, signal)) yield toPage(objects);
      return "complete";
    },
    async *read(path, signal, etag = "") {
      const store = await open();
      const read = (): AsyncIterable<Uint8Array> =>
        limitBytes(store.read(root + path, etag, signal), rules.maxFileBytes);
      yield* spool ? spool.read(`${etag} ${path}`, read) : read();
    },
    addressOf: (path) => ({ url: objectUrl(location, root + path), rawUrl: `${location}/${root}${path}` }),
    async sayLeftOut(path, signal) {
      // Of all names that begin with this one, it comes first.
      for await (const objects of (await open()).list(root + path, signal)) {
        if (objects.length > 0) return toPage(objects).skipped.find((one) => one.path === path)?.reason;
      }
      return undefined;
    },
    close: async () => await spool?.end(),
    diagnose: (isTaken, signal) => diagnoseStore(rules, { ...options, open }, isTaken, signal),
  };
}

/** Object names are relative to this folder. */
function rootOf(prefix: string): string {
  return prefix.slice(0, prefix.lastIndexOf("/") + 1);
}

/** Names that URL parsers resolve, however they are encoded: such objects have no URL. */
const DOT_NAME = /^\.\.?$/;

/** Skips folder placeholders: empty objects whose names end with a slash. */
async function* listFiles(
  store: ObjectStore,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredObject[], void> {
  for await (const objects of store.list(prefix, signal)) {
    yield objects.filter(({ name, size }) => !(name.endsWith("/") && size === 0) && !DOT_NAME.test(name));
  }
}

/**
 * Returns the URL of an object. If a segment of its name is `.` or `..`, URL parsers would resolve it and leave the store:
 * then slashes are written as `%2F`, which services treat alike.
 */
export function objectUrl(location: string, name: string): string {
  const names = name.split("/");
  const hasDotSegments = names.some((segment) => segment === "." || segment === "..");
  return `${location}/${names.map(encodeURIComponent).join(hasDotSegments ? "%2F" : "/")}`;
}

/** Removes the quotes of an ETag: headers have them, listings sometimes. */
export function bareEtag(etag: string): string {
  return etag.replace(/^(W\/)?"(.*)"$/, "$2");
}

function createPaging(rules: ObjectRules, root: string): (objects: readonly StoredObject[]) => TreePage {
  const isIncluded = createTreeRules(rules);
  return (objects) => {
    const files: TreeFile[] = [];
    const unreadable: Unreadable[] = [];
    const skipped: SkippedFile[] = [];
    for (const { name, size, modifiedAtMs, etag, unreadable: reason } of objects) {
      const path = name.slice(root.length);
      if (!isIncluded(path)) continue;
      if (reason) unreadable.push({ kind: "unreadable", path, reason });
      else if (size > rules.maxFileBytes) {
        skipped.push({ path, reason: `It has ${size} bytes; the limit is ${rules.maxFileBytes}.`, isTooLarge: true });
      } else files.push({ path, size, modifiedAtMs, stamp: etag, node: "" });
    }
    return { folder: "", files, unreadable, skipped };
  };
}

/** Checks the credential, then the store. */
async function* diagnoseStore(
  rules: ObjectRules,
  { location, open, words }: ObjectTreeOptions,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const credential = { subject: rules.credential ? `Credential ${rules.credential}` : "Credential" };
  const subject = `${words.store} ${location}`;
  let store: ObjectStore;
  try {
    store = await open();
  } catch (error) {
    yield { ...credential, outcome: "problem", detail: sentenceOf(error), remedy: words.setCredential };
    const detail = `Not checked before this is solved: ${credential.subject}.`;
    return yield { subject, outcome: "not checked", detail, remedy: "" };
  }
  const detail = `The ${words.store.toLowerCase()} is read with ${store.access}.`;
  yield { ...credential, outcome: "ok", detail, remedy: "" };
  try {
    yield { subject, ...(await sampleObjects(rules, store, words.object, isTaken, signal)) };
  } catch (error) {
    yield { subject, outcome: "problem", detail: sentenceOf(error), remedy: `${capital(store.hint)}.` };
  }
}

/** Checks only the first page; a store may have millions of objects. */
async function sampleObjects(
  rules: ObjectRules,
  store: ObjectStore,
  noun: string,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): Promise<Omit<Finding, "subject">> {
  const isIncluded = createTreeRules(rules);
  const rootLength = rootOf(rules.prefix).length;
  for await (const objects of listFiles(store, rules.prefix, signal)) {
    if (objects.length === 0) continue;
    const paths = objects.map(({ name }) => name.slice(rootLength));
    const taken = paths.filter((path) => isIncluded(path) && isTaken(path)).length;
    const detail = `Of its first ${plural(objects.length, noun)} ${taken} ${taken === 1 ? "is" : "are"} taken, by type and by the rules of the source.`;
    if (taken > 0) return { outcome: "ok", detail, remedy: "" };
    return { outcome: "problem", detail, remedy: "Correct 'include', 'exclude' or 'hidden' in the domain's sources." };
  }
  const where = rules.prefix ? ` under the prefix '${rules.prefix}'` : "";
  return { outcome: "ok", detail: `It can be read, and there is no ${noun}${where}.`, remedy: "" };
}

/** Returns expected errors as a sentence, and rethrows others. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof RemoteError || error instanceof BadInputError)) throw error;
  return asSentence(explain(error));
}

/** Share of the free disk space that the spool may use. */
const SHARE_OF_FREE = 0.25;

/**
 * Keeps the content of objects on disk between hashing and fetching, so that it is downloaded once. It is a cache: content that is
 * not in it is read again.
 */
class ReadSpool {
  readonly #folder: string;
  /** By key: the spool file and its size. */
  readonly #spooled = new Map<string, { readonly file: string; readonly size: number }>();
  #freeBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Removes the files of an earlier run, and determines the space limit. */
  async begin(): Promise<void> {
    await this.end();
    await mkdir(this.#folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.#folder);
    this.#freeBytes = bavail * bsize * SHARE_OF_FREE;
  }

  async end(): Promise<void> {
    this.#spooled.clear();
    this.#freeBytes = 0;
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Yields and removes the spooled content of this key; otherwise yields from `read` and spools it. */
  async *read(key: string, read: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const spool = this.#spooled.get(key);
    this.#spooled.delete(key);
    if (!spool) return yield* this.#spool(key, read());
    this.#freeBytes += spool.size;
    try {
      const isWhole = (await stat(spool.file).catch(() => undefined))?.size === spool.size;
      yield* isWhole ? createReadStream(spool.file) : read();
    } finally {
      await rm(spool.file, { force: true });
    }
  }

  async *#spool(key: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    const file = join(this.#folder, sha256Of(key));
    let copy = await open(file, "w").catch(() => undefined);
    let size = 0;
    let isWhole = false;
    try {
      for await (const chunk of body) {
        size += chunk.byteLength;
        this.#freeBytes -= chunk.byteLength;
        if (copy && (this.#freeBytes < 0 || !(await write(copy, chunk)))) {
          await copy.close();
          copy = undefined;
        }
        yield chunk;
      }
      isWhole = true;
    } finally {
      await copy?.close();
      if (copy && isWhole) this.#spooled.set(key, { file, size });
      else {
        this.#freeBytes += size;
        await rm(file, { force: true });
      }
    }
  }
}

/** Returns false if the write failed: a full disk must not stop the read. */
async function write(file: FileHandle, chunk: Uint8Array): Promise<boolean> {
  try {
    await file.writeFile(chunk);
    return true;
  } catch {
    return false;
  }
}

/** How often an interrupted body is resumed. */
const MAX_RESUMES = 3;

/** Reads one object, resuming interrupted bodies. `request` returns the body from an offset; what it throws is final. */
export async function* readResuming(
  name: string,
  request: (from: number) => Promise<AsyncIterable<Uint8Array>>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for (let resumes = 0; ; resumes++) {
    const body = await request(bytes);
    try {
      for await (const chunk of body) {
        yield chunk;
        bytes += chunk.byteLength;
      }
      return;
    } catch {
      signal.throwIfAborted();
      if (resumes === MAX_RESUMES)
        throw new RemoteError(`'${name}' was not received completely: the connection was closed.`);
    }
  }
}
