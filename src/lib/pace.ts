/** Permission for one concurrent request. Releasing twice is harmless. */
export interface Slot {
  /** Number of pauses before it. */
  readonly epoch: number;
  release(): void;
}

/** The pause is too long to wait for. */
export interface Closed {
  readonly reason: string;
  readonly waitMs: number;
}

/** Called for waits that users might wonder about: once for each pause and each change of spacing. */
export type OnWait = (reason: string, ms: number) => void;

/** Total waits so far. */
export interface Waited {
  readonly ms: number;
  readonly pauses: number;
}

/**
 * Limits all requests to one server: concurrency, time between starts, none during a pause. After a pause, concurrency restarts at 1 and
 * grows with each success: what was too much before would be too much again.
 */
export interface Pace {
  /**
   * Waits for a slot, first come first served. Rejects with the signal's reason if that aborts first; resolves to Closed rather than wait
   * for a pause that is longer than `patienceMs`.
   */
  acquire(signal: AbortSignal, onWait?: OnWait): Promise<Slot | Closed>;
  /** Gives out no slot for this long; an existing longer pause stays. */
  pause(ms: number, reason: string): void;
  /** Sets the minimum time between two starts, for `forMs`; never less than `intervalMs` of the options. */
  space(intervalMs: number, reason: string, forMs?: number): void;
  /** After requests came too fast: doubles the time between two starts; each success reduces it. */
  ease(): void;
  recordSuccess(slot: Slot): void;
  /**
   * Returns failures in a row; 0 for a request that was running when the last pause began, because many that fail at once say no more than
   * the first.
   */
  recordFailure(slot: Slot): number;
  waited(): Waited;
  /** Returns true if it has no slots in use and no waiters. */
  isIdle(): boolean;
}

export interface PaceOptions {
  readonly concurrency: number;
  /** A longer pause is not waited for. */
  readonly patienceMs: number;
  readonly intervalMs?: number;
  /** Why there is time between two starts; shown to people. */
  readonly reason?: string;
  /** Minimum time between two starts after requests came too fast. */
  readonly easedMs?: number;
  /** Shorter waits are not reported. */
  readonly tellFromMs?: number;
  readonly clock?: PaceClock;
}

/** The clock, replaced in tests. */
export interface PaceClock {
  nowMs(): number;
  /** Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const SYSTEM_CLOCK: PaceClock = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const SPACING_REPORTED_FROM_MS = 1000;
const MAX_EASED_MS = 60_000;
const LEAST_EASED_MS = 50;
/** Timers wake a little late; a request that starts later than this did not wait for its turn. */
const LATE_MS = 20;

export function createPace(options: PaceOptions): Pace {
  return new RequestPace(options);
}

interface Waiter {
  readonly onWait: OnWait | undefined;
  admit(): void;
  turnAway(closed: Closed): void;
}

class RequestPace implements Pace {
  readonly #options: PaceOptions;
  readonly #clock: PaceClock;
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  /** Counts pauses. */
  #epoch = 0;
  /** Requests since the last pause, and how many of them may run. A long download from before the pause does not count. */
  #recent = 0;
  #width: number;
  #intervalMs: number;
  #spacedUntil = Number.POSITIVE_INFINITY;
  #spacingReason: string;
  /** Changes with each spacing that is worth reporting again. */
  #spacing = 0;
  #easedMs = 0;
  #keptBackMs = 0;
  #nextStartAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pauseReason = "";
  #failures = 0;
  #waitedMs = 0;
  #pauses = 0;
  /** The last wait that was reported to each listener: the end of a pause, or a spacing. */
  readonly #reported = new WeakMap<OnWait, number>();
  #callOff: (() => void) | undefined;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#width = options.concurrency;
    this.#intervalMs = options.intervalMs ?? 0;
    this.#spacingReason = options.reason ?? "";
  }

  acquire(signal: AbortSignal, onWait?: OnWait): Promise<Slot | Closed> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const closed = this.#closed();
    if (closed) return Promise.resolve(closed);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiters.delete(waiter);
        // Without waiters there must be no timer: it would keep the process alive.
        this.#admitWaiters();
        reject(signal.reason);
      };
      const settle = (outcome: Slot | Closed): void => {
        signal.removeEventListener("abort", giveUp);
        this.#waiters.delete(waiter);
        resolve(outcome);
      };
      const waiter: Waiter = { onWait, admit: () => settle(this.#start()), turnAway: settle };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiters.add(waiter);
      this.#admitWaiters();
    });
  }

  pause(ms: number, reason: string): void {
    this.#narrow();
    const now = this.#clock.nowMs();
    const until = now + ms;
    if (until <= this.#pausedUntil) return;
    this.#waitedMs += until - Math.max(now, this.#pausedUntil);
    if (now >= this.#pausedUntil) this.#pauses += 1;
    this.#pausedUntil = until;
    this.#pauseReason = reason;
    const closed = this.#closed();
    if (closed) for (const waiter of [...this.#waiters]) waiter.turnAway(closed);
    this.#admitWaiters();
  }

  space(intervalMs: number, reason: string, forMs = Number.POSITIVE_INFINITY): void {
    const now = this.#clock.nowMs();
    const isOver = now >= this.#spacedUntil;
    if (isOver) this.#nextStartAt = Number.NEGATIVE_INFINITY;
    if (isOver || forMs === Number.POSITIVE_INFINITY) this.#spacing += 1;
    this.#intervalMs = Math.max(this.#options.intervalMs ?? 0, intervalMs);
    this.#spacedUntil = now + forMs;
    this.#spacingReason = reason;
  }

  ease(): void {
    this.#narrow();
    this.#easedMs = Math.min(Math.max(this.#easedMs * 2, this.#options.easedMs ?? 0), MAX_EASED_MS);
    this.#nextStartAt = Math.max(this.#nextStartAt, this.#clock.nowMs() + this.#easedMs);
  }

  recordSuccess({ epoch }: Slot): void {
    this.#failures = 0;
    this.#easedMs = this.#easedMs < LEAST_EASED_MS ? 0 : this.#easedMs * 0.9;
    // A request from before the pause says nothing about the current limit.
    if (epoch !== this.#epoch) return;
    this.#width = Math.min(this.#width + 1, this.#options.concurrency);
    this.#admitWaiters();
  }

  recordFailure({ epoch }: Slot): number {
    if (epoch !== this.#epoch) return 0;
    this.#failures += 1;
    return this.#failures;
  }

  waited(): Waited {
    return { ms: Math.round(this.#waitedMs), pauses: this.#pauses };
  }

  isIdle(): boolean {
    return this.#running === 0 && this.#waiters.size === 0 && this.#waitMs() <= 0;
  }

  #narrow(): void {
    this.#epoch += 1;
    this.#width = 1;
    this.#recent = 0;
  }

  #isFull(): boolean {
    return this.#running >= this.#options.concurrency || this.#recent >= this.#width;
  }

  #start(): Slot {
    const now = this.#clock.nowMs();
    const isSpaced = now < this.#spacedUntil;
    if (isSpaced && now - this.#nextStartAt < LATE_MS) this.#waitedMs += this.#keptBackMs;
    this.#keptBackMs = Math.max(isSpaced ? this.#intervalMs : (this.#options.intervalMs ?? 0), this.#easedMs);
    this.#nextStartAt = now + this.#keptBackMs;
    this.#running += 1;
    this.#recent += 1;
    const epoch = this.#epoch;
    let isHeld = true;
    return {
      epoch,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#running -= 1;
        if (epoch === this.#epoch) this.#recent -= 1;
        this.#admitWaiters();
      },
    };
  }

  #waitMs(): number {
    return Math.max(Math.min(this.#nextStartAt, this.#spacedUntil), this.#pausedUntil) - this.#clock.nowMs();
  }

  #closed(): Closed | undefined {
    const waitMs = Math.ceil(this.#pausedUntil - this.#clock.nowMs());
    return waitMs > this.#options.patienceMs ? { reason: this.#pauseReason, waitMs } : undefined;
  }

  #admitWaiters(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    for (const waiter of this.#waiters) {
      // The release of a slot admits the next one.
      if (this.#isFull()) return;
      const ms = this.#waitMs();
      if (ms > 0) {
        this.#callOff = this.#clock.after(Math.ceil(ms), () => this.#admitWaiters());
        for (const { onWait } of this.#waiters) if (onWait) this.#report(onWait, ms);
        return;
      }
      waiter.admit();
    }
  }

  /** Reports each cause once: a report for every single wait would not be read. */
  #report(onWait: OnWait, ms: number): void {
    const isPause = this.#pausedUntil >= Math.min(this.#nextStartAt, this.#spacedUntil);
    if (ms < Math.max(this.#options.tellFromMs ?? 0, isPause ? 0 : SPACING_REPORTED_FROM_MS)) return;
    const cause = isPause ? this.#pausedUntil : this.#spacing;
    if (cause === this.#reported.get(onWait)) return;
    this.#reported.set(onWait, cause);
    onWait(isPause ? this.#pauseReason : this.#spacingReason, Math.ceil(ms));
  }
}
