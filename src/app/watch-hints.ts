import { sleep } from "../lib/time.ts";

/** More of them than the system is sure to have kept: some may be lost without a word. */
const MOST_NOTICES = 4096;

/** What is heard of one source between two looks at it. */
export class WatchHints {
  #folders = new Set<string>();
  #notices = 0;
  #anywhere = true;
  #heard: (() => void) | undefined;

  touched(folder: string): void {
    this.#notices += 1;
    this.#folders.add(folder);
    if (this.#notices > MOST_NOTICES) this.anywhere();
    else this.#heard?.();
  }

  /** Nobody knows where: only a look at everything helps. */
  anywhere(): void {
    this.#anywhere = true;
    this.#folders.clear();
    this.#heard?.();
  }

  get isEmpty(): boolean {
    return !this.#anywhere && this.#folders.size === 0;
  }

  /** The folders that something happened in; undefined: it may have happened anywhere. Forgets them. */
  take(): ReadonlySet<string> | undefined {
    const folders = this.#anywhere ? undefined : this.#folders;
    this.#folders = new Set();
    this.#notices = 0;
    this.#anywhere = false;
    return folders;
  }

  /** Resolves when the next notice comes, after the time, or when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const heard = new AbortController();
    this.#heard = () => heard.abort();
    await sleep(ms, AbortSignal.any([heard.signal, signal]));
    this.#heard = undefined;
  }

  /** Changes come in company: waits until it has been quiet for a moment, but not for ever. */
  async gathered({ quietMs, mostMs }: { quietMs: number; mostMs: number }, signal: AbortSignal): Promise<void> {
    const untilMs = performance.now() + mostMs;
    for (let left = mostMs; left > 0 && !signal.aborted; left = untilMs - performance.now()) {
      const before = this.#notices;
      await this.next(Math.min(quietMs, left), signal);
      if (this.#notices === before) return;
    }
  }
}
