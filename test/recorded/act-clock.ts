const DAY_MS = 86_400_000;
const Real = globalThis.Date;

/**
 * The time of this process goes on as always, but every act of a history begins with a new second: what is left of the last
 * one is skipped, not waited for. So each instant tells in which act it was, also where it is kept to the second.
 */
export class ActClock {
  #starts: number[];
  #aheadMs: number;
  #laterDays: number[] = [0];

  /** `backDays` away from the times of files and other processes, which are real ones: so they cannot be taken for those of an act. */
  constructor({ starts = [], aheadMs = 0, backDays = 0 }: Partial<ClockState> & { readonly backDays?: number } = {}) {
    this.#aheadMs = aheadMs - backDays * DAY_MS;
    this.#starts = starts.length > 0 ? [...starts] : [Real.now() + this.#aheadMs];
    globalThis.Date = new Proxy(Real, {
      construct: (target, args) => Reflect.construct(target, args.length > 0 ? args : [this.nowMs()]) as Date,
      get: (target, key) => (key === "now" ? () => this.nowMs() : Reflect.get(target, key)),
    });
  }

  nowMs(): number {
    return Real.now() + this.#aheadMs;
  }

  /** What another process needs to go on with it. */
  get state(): ClockState {
    return { starts: this.#starts, aheadMs: this.#aheadMs };
  }

  /** Goes on from where another process left it. */
  adopt({ starts, aheadMs }: ClockState): void {
    this.#starts = [...starts];
    this.#aheadMs = aheadMs;
  }

  /** The number of the act that begins. */
  next(): number {
    const nowMs = this.nowMs();
    const restMs = 1000 - (nowMs % 1000);
    this.#aheadMs += restMs;
    return this.#starts.push(nowMs + restMs) - 1;
  }

  /** The time that grace and retention go by: so many days later from now on. */
  skipDays(days: number): void {
    this.#laterDays.push((this.#laterDays.at(-1) ?? 0) + days);
  }

  later(): Date {
    return new Real(this.nowMs() + (this.#laterDays.at(-1) ?? 0) * DAY_MS);
  }

  stop(): void {
    globalThis.Date = Real;
  }

  /** `<t3>` for an instant of the third act, undefined for one before the history began. */
  nameOf(ms: number): string | undefined {
    for (const days of this.#laterDays) {
      const inActs = ms - days * DAY_MS;
      const act = this.#starts.findLastIndex((startMs) => startMs <= inActs);
      if (act >= 0 && inActs < this.nowMs() + 1000) return `<t${act}${days > 0 ? ` + ${days} days` : ""}>`;
    }
    return ms < (this.#starts[0] ?? 0) ? undefined : "<some time>";
  }
}

export interface ClockState {
  readonly starts: readonly number[];
  readonly aheadMs: number;
}
