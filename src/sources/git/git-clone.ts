import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { RemoteError } from "../../contracts/errors.ts";
import { createKeyedMutex } from "../../lib/concurrency.ts";
import { pathExists } from "../../lib/file-system.ts";
import { type Git, GitFailure } from "./run-git.ts";

/** The clone's only reference: the fetched commit of the branch. */
const TIP = "refs/lockstep/tip";
/** Each fetch adds a pack and leaves unreachable objects. With more packs, `git gc` runs. */
const MAX_PACKS = 20;

/** One line of `git ls-tree`. */
export interface TreeEntry {
  /** `100644`, `120000` of a link, `160000` of a submodule. */
  readonly mode: string;
  readonly id: string;
  /** undefined: unknown to git, because the object is missing or damaged. */
  readonly size: number | undefined;
  /** Bytes: paths need not be UTF-8. */
  readonly path: Buffer;
}

interface FetchOptions {
  /** Remote name: a branch, or `HEAD`. */
  readonly ref: string;
  /** Its commit, as just listed by the server. */
  readonly commit: string;
  /** URL or path of the remote. */
  readonly location: string;
  readonly signal: AbortSignal;
}

/** A shallow bare clone with one commit. It is a cache: without it, everything is fetched again. */
export class GitClone {
  readonly #git: Git;
  readonly #folder: string;
  readonly #isTemporary: boolean;
  #reader: BlobReader | undefined;
  #isDamaged = false;

  private constructor(git: Git, folder: string, isTemporary: boolean) {
    this.#git = git;
    this.#folder = folder;
    this.#isTemporary = isTemporary;
  }

  /** Opens the clone in this folder; the first fetch creates it. Not for concurrent use. */
  static open(git: Git, folder: string): GitClone {
    return new GitClone(git, folder, false);
  }

  /** Opens a clone in a temporary folder, which reads objects of the clone in `folder` without writing there. */
  static async openTemporary(git: Git, folder: string, signal: AbortSignal): Promise<GitClone> {
    const clone = new GitClone(git, join(await mkdtemp(join(tmpdir(), "lockstep-git-")), "copy"), true);
    const commit = await GitClone.open(git, folder).tip(signal);
    if (commit === "" || /[\n"]/.test(folder)) return clone;
    try {
      await clone.#init(clone.#folder, commit, signal);
      await writeFile(join(clone.#folder, "objects", "info", "alternates"), `${join(folder, "objects")}\n`);
      await copyFile(join(folder, "shallow"), join(clone.#folder, "shallow"));
      await git.run(["update-ref", TIP, commit], { gitDir: clone.#folder, signal });
    } catch {
      signal.throwIfAborted();
      // A concurrent crawl may be replacing the clone: then everything is fetched.
      await rm(clone.#folder, { recursive: true, force: true });
    }
    return clone;
  }

  /** Returns its commit; "" if there is none. */
  async tip(signal: AbortSignal): Promise<string> {
    if (!(await pathExists(this.#folder))) return "";
    try {
      const options = { gitDir: this.#folder, signal };
      return (await this.#git.run(["rev-parse", "--verify", "--quiet", `${TIP}^{commit}`], options)).toString().trim();
    } catch (error) {
      if (error instanceof GitFailure) return "";
      throw error;
    }
  }

  /** Fetches the branch. Returns its commit and commit time. */
  async update(options: FetchOptions): Promise<{ readonly commit: string; readonly committedAtMs: number }> {
    const { signal } = options;
    const before = await this.tip(signal);
    if (before !== options.commit) await this.#fetchNew(before, options);
    const commit = await this.tip(signal);
    const output = await this.#git.run(["show", "--no-patch", "--format=%ct", commit, "--"], {
      gitDir: this.#folder,
      signal,
    });
    return { commit, committedAtMs: Number(output.toString()) * 1000 };
  }

  async #fetchNew(before: string, options: FetchOptions): Promise<void> {
    const { signal } = options;
    if (before !== "") {
      try {
        await this.#fetch(this.#folder, options);
        return await this.#pack(signal);
      } catch {
        signal.throwIfAborted();
        // A killed run leaves locks, and a disk may damage files. A new clone shows whether the remote is the cause.
      }
    }
    const fresh = `${this.#folder}.new`;
    await rm(fresh, { recursive: true, force: true });
    try {
      await this.#init(fresh, options.commit, signal);
      await this.#fetch(fresh, options);
      await rm(this.#folder, { recursive: true, force: true });
      await rename(fresh, this.#folder);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }

  async #init(folder: string, commit: string, signal: AbortSignal): Promise<void> {
    await mkdir(dirname(folder), { recursive: true });
    const format = commit.length > 40 ? "sha256" : "sha1";
    await this.#git.run(["init", "--quiet", "--bare", "--template=", `--object-format=${format}`, "--", folder], {
      signal,
    });
  }

  async #fetch(gitDir: string, { ref, location, signal }: FetchOptions): Promise<void> {
    const options = ["--progress", "--depth=1", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
    await this.#git.run(["fetch", ...options, "--", location, `+${ref}:${TIP}`], { gitDir, signal, isRemote: true });
  }

  async #pack(signal: AbortSignal): Promise<void> {
    const files = await readdir(join(this.#folder, "objects", "pack"));
    if (files.filter((name) => name.endsWith(".pack")).length <= MAX_PACKS) return;
    await this.#git.run(["gc", "--quiet", "--prune=now"], { gitDir: this.#folder, signal });
  }

  /** Lists all entries of a commit except folders, or only the one at `path`. */
  async *entries(commit: string, signal: AbortSignal, path?: string): AsyncGenerator<TreeEntry, void> {
    const args = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", ...(path === undefined ? [] : [path])];
    let rest: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of this.#git.stream(args, { gitDir: this.#folder, signal })) {
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
        let from = 0;
        for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0, from)) {
          yield toEntry(rest.subarray(from, end));
          from = end + 1;
        }
        rest = rest.subarray(from);
      }
    } catch (error) {
      if (error instanceof GitFailure) this.#isDamaged = true;
      throw error;
    }
  }

  /** Reads a blob by id. */
  async *read(id: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    this.#reader ??= new BlobReader(this.#git, this.#folder);
    try {
      yield* this.#reader.read(id, signal);
    } catch (error) {
      if (error instanceof MissingObjectError) this.#isDamaged = true;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#reader?.close();
    this.#reader = undefined;
    const folder = this.#isTemporary ? dirname(this.#folder) : this.#folder;
    if (this.#isTemporary || this.#isDamaged) await rm(folder, { recursive: true, force: true });
  }
}

function toEntry(line: Buffer): TreeEntry {
  const tab = line.indexOf("\t");
  const [mode = "", , id = "", size = ""] = line.subarray(0, tab).toString().split(/ +/);
  // Copied, so that it does not keep the whole chunk in memory.
  return { mode, id, size: /^\d+$/.test(size) ? Number(size) : undefined, path: Buffer.from(line.subarray(tab + 1)) };
}

/** Larger blobs are streamed by a process of their own. */
const MAX_BYTES = 1024 * 1024;
const LINE_END = 10;

/** The object is missing or damaged in the clone. */
export class MissingObjectError extends RemoteError {
  override readonly name = "MissingObjectError";
}

/** Reads blobs by id: small ones one after the other through one `git cat-file --batch`, which runs until close(). */
class BlobReader {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #withLock = createKeyedMutex();
  readonly #closing = new AbortController();
  #batch: Batch | undefined;

  constructor(git: Git, gitDir: string) {
    this.#git = git;
    this.#gitDir = gitDir;
  }

  async *read(blobId: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    signal.throwIfAborted();
    // Nothing is yielded while the lock is held: a consumer that stops halfway would block all others.
    const small = await this.#withLock("batch", () => this.#readSmall(blobId));
    signal.throwIfAborted();
    if (small) return yield small;
    try {
      yield* this.#git.stream(["cat-file", "blob", blobId], { gitDir: this.#gitDir, signal });
    } catch {
      signal.throwIfAborted();
      throw missing();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#batch?.ended();
  }

  async #readSmall(blobId: string): Promise<Uint8Array | undefined> {
    const { signal } = this.#closing;
    this.#batch ??= new Batch(this.#git.start(["cat-file", "--batch"], { gitDir: this.#gitDir, signal }));
    const batch = this.#batch;
    try {
      const bytes = await batch.read(blobId);
      if (!bytes) this.#discard(batch);
      return bytes;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MissingObjectError) throw error;
      // git exited because of this object; the next read starts a new process.
      this.#discard(batch);
      throw missing();
    }
  }

  #discard(batch: Batch): void {
    batch.stop();
    this.#batch = undefined;
  }
}

function missing(): MissingObjectError {
  return new MissingObjectError(
    "its content is missing or damaged in our copy of the repository, which the next run fetches anew",
  );
}

class Batch {
  readonly #child: ReturnType<Git["start"]>;
  readonly #chunks: AsyncIterator<Buffer>;
  #unread: Buffer = Buffer.alloc(0);

  constructor(child: ReturnType<Git["start"]>) {
    this.#child = child;
    this.#chunks = (child.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /** Returns undefined if the blob is too large; then the batch cannot be used any more. */
  async read(blobId: string): Promise<Uint8Array | undefined> {
    this.#child.stdin.write(`${blobId}\n`);
    while (!this.#unread.includes(LINE_END)) await this.#readMore();
    const end = this.#unread.indexOf(LINE_END);
    const header = this.#unread.subarray(0, end).toString();
    this.#unread = this.#unread.subarray(end + 1);
    if (header.endsWith(" missing")) throw missing();
    const [, size] = / blob (\d+)$/.exec(header) ?? [];
    if (size === undefined) throw new Error(`'${blobId}' is no blob`);
    if (Number(size) > MAX_BYTES) return undefined;
    const bytes = Number(size);
    while (this.#unread.length <= bytes) await this.#readMore();
    // Copied, so that a cached small file does not keep a large chunk in memory.
    const content = Uint8Array.from(this.#unread.subarray(0, bytes));
    this.#unread = this.#unread.subarray(bytes + 1);
    return content;
  }

  stop(): void {
    this.#child.stop();
  }

  async ended(): Promise<void> {
    await this.#child.ended.catch(() => undefined);
  }

  async #readMore(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) {
      await this.#child.ended;
      throw new Error("git exited without a response");
    }
    this.#unread = this.#unread.length === 0 ? value : Buffer.concat([this.#unread, value]);
  }
}
