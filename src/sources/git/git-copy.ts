import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathExists } from "../../lib/path-exists.ts";
import { BlobReader, MissingObjectError } from "./blob-reader.ts";
import { type Git, GitFailure } from "./run-git.ts";

/** The only reference of a copy: the last commit of the branch, as it was fetched. */
const TIP = "refs/lockstep/tip";
/** Every fetch brings a pack, and leaves what was edited away since; then they are made one again. */
const MAX_PACKS = 20;

/** One line of `git ls-tree`. */
export interface TreeEntry {
  /** `100644`, `120000` of a link, `160000` of a submodule. */
  readonly mode: string;
  readonly id: string;
  /** undefined: git could not tell, since the object is missing or damaged. */
  readonly size: number | undefined;
  /** Its bytes: names need not be UTF-8. */
  readonly path: Buffer;
}

export interface FetchOptions {
  /** The branch, or `HEAD`, as the other side calls it. */
  readonly ref: string;
  /** The commit it was at a moment ago. */
  readonly commit: string;
  /** Where it is fetched from. */
  readonly location: string;
  readonly signal: AbortSignal;
}

/** A bare repository of our own, with one commit of the other one and no history. It is a cache: without it everything is fetched again. */
export class GitCopy {
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

  /** The copy in this folder, which is made by the first fetch. One at a time may have it. */
  static open(git: Git, folder: string): GitCopy {
    return new GitCopy(git, folder, false);
  }

  /** One that leaves nothing behind, and reads what the copy in `folder` has without writing there. */
  static async openTemporary(git: Git, folder: string, signal: AbortSignal): Promise<GitCopy> {
    const copy = new GitCopy(git, join(await mkdtemp(join(tmpdir(), "lockstep-git-")), "copy"), true);
    const commit = await GitCopy.open(git, folder).tip(signal);
    if (commit === "" || /[\n"]/.test(folder)) return copy;
    try {
      await copy.#init(copy.#folder, commit, signal);
      await writeFile(join(copy.#folder, "objects", "info", "alternates"), `${join(folder, "objects")}\n`);
      await copyFile(join(folder, "shallow"), join(copy.#folder, "shallow"));
      await git.run(["update-ref", TIP, commit], { gitDir: copy.#folder, signal });
    } catch {
      signal.throwIfAborted();
      // A crawl may be replacing it just now: then everything is fetched.
      await rm(copy.#folder, { recursive: true, force: true });
    }
    return copy;
  }

  /** The commit it has; "": none. */
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

  /** Has what the branch points to now: the commit, and when it was made. */
  async update(options: FetchOptions): Promise<{ readonly commit: string; readonly committedAtMs: number }> {
    const { signal } = options;
    const before = await this.tip(signal);
    if (before !== options.commit) await this.#bring(before, options);
    const commit = await this.tip(signal);
    const shown = await this.#git.run(["show", "--no-patch", "--format=%ct", commit, "--"], {
      gitDir: this.#folder,
      signal,
    });
    return { commit, committedAtMs: Number(shown.toString()) * 1000 };
  }

  async #bring(before: string, options: FetchOptions): Promise<void> {
    const { signal } = options;
    if (before !== "") {
      try {
        await this.#fetch(this.#folder, options);
        return await this.#pack(signal);
      } catch {
        signal.throwIfAborted();
        // Killed runs leave locks, and disks damage: whatever it was, a new copy tells whether the other side is to blame.
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

  /** Every entry of a commit that is no folder, or only the one at `path`. */
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

  /** The content of a blob, whatever path it has. */
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
  // Its own memory: the line is a part of a large piece.
  return { mode, id, size: /^\d+$/.test(size) ? Number(size) : undefined, path: Buffer.from(line.subarray(tab + 1)) };
}
