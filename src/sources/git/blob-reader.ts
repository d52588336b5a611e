import { RemoteError } from "../../contracts/errors.ts";
import { createOneAtATime } from "../../lib/one-at-a-time.ts";
import type { Git } from "./run-git.ts";

/** Larger ones are read by a process of their own, piece by piece. */
const MAX_BYTES = 1024 * 1024;
const LINE_END = 10;

/** The object is not in the copy of the repository, or is damaged there. */
export class MissingObjectError extends RemoteError {
  override readonly name = "MissingObjectError";
}

/** Reads blobs by their ids: small ones, one after the other, from one `git cat-file --batch` that lives until close(). */
export class BlobReader {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #oneAtATime = createOneAtATime();
  readonly #closing = new AbortController();
  #batch: Batch | undefined;

  constructor(git: Git, gitDir: string) {
    this.#git = git;
    this.#gitDir = gitDir;
  }

  async *read(blobId: string, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    signal.throwIfAborted();
    // Nothing is yielded while others wait: whoever leaves it half read would stop them all.
    const small = await this.#oneAtATime("batch", () => this.#readSmall(blobId));
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
      if (!bytes) this.#leave(batch);
      return bytes;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MissingObjectError) throw error;
      // It ended over this object; the others get another one.
      this.#leave(batch);
      throw missing();
    }
  }

  #leave(batch: Batch): void {
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
  #waiting: Buffer = Buffer.alloc(0);

  constructor(child: ReturnType<Git["start"]>) {
    this.#child = child;
    this.#chunks = (child.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  /** undefined: it is too large for this, and the batch of no use any more. */
  async read(blobId: string): Promise<Uint8Array | undefined> {
    this.#child.stdin.write(`${blobId}\n`);
    while (!this.#waiting.includes(LINE_END)) await this.#more();
    const end = this.#waiting.indexOf(LINE_END);
    const header = this.#waiting.subarray(0, end).toString();
    this.#waiting = this.#waiting.subarray(end + 1);
    if (header.endsWith(" missing")) throw missing();
    const [, size] = / blob (\d+)$/.exec(header) ?? [];
    if (size === undefined) throw new Error(`'${blobId}' is no blob`);
    if (Number(size) > MAX_BYTES) return undefined;
    const bytes = Number(size);
    while (this.#waiting.length <= bytes) await this.#more();
    // Its own memory, so that a kept small file does not keep a large piece of the stream.
    const content = Uint8Array.from(this.#waiting.subarray(0, bytes));
    this.#waiting = this.#waiting.subarray(bytes + 1);
    return content;
  }

  stop(): void {
    this.#child.stop();
  }

  async ended(): Promise<void> {
    await this.#child.ended.catch(() => undefined);
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) {
      await this.#child.ended;
      throw new Error("git ended before it answered");
    }
    this.#waiting = this.#waiting.length === 0 ? value : Buffer.concat([this.#waiting, value]);
  }
}
