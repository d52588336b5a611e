/** The right to have one request under way. Releasing twice is harmless. */
export interface Slot {
  /** How many pauses there were before it. */
  readonly epoch: number;
  release(): void;
}

/** The pause is too long to wait for. */
export interface Closed {
  readonly reason: string;
  readonly waitMs: number;
}

/** Told of a wait that a person might wonder about: once of each pause, and once of each spacing. */
export type OnWait = (reason: string, ms: number) => void;

/** What politeness has cost so far. */
export interface Waited {
  readonly ms: number;
  readonly pauses: number;
}

/**
 * All requests to one server pass here: so many at once, with time between their starts, none during a pause. After a pause it opens
 * slowly, one request and then one more for each success: whatever was too much before would be too much again.
 */
export interface Pace {
  /**
   * Waits for a slot, first come first served. Rejects with the signal's reason when that aborts first; resolves to Closed rather than wait for a
   * pause that is longer than `patienceMs`.
   */
  acquire(signal: AbortSignal, onWait?: OnWait): Promise<Slot | Closed>;
  /** Nobody gets a slot for that long; a pause that is longer already stays. */
  pause(ms: number, reason: string): void;
  /** At least so long between two starts, for so long; never less than the pace was made with. */
  space(intervalMs: number, reason: string, forMs?: number): void;
  /** The server was asked too fast: twice the time between two starts, less with each success. */
  ease(): void;
  recordSuccess(slot: Slot): void;
  /**
   * Returns failures in a row: 0 for a request that was under way when the last pause began, because many that fail at once tell no more than
   * the first.
   */
  recordFailure(slot: Slot): number;
  waited(): Waited;
  /** Nobody needs it now. */
  isIdle(): boolean;
}

export interface PaceOptions {
  readonly concurrency: number;
  /** A longer pause is not waited for. */
  readonly patienceMs: number;
  readonly intervalMs?: number;
  /** Why there is time between two starts, for people. */
  readonly reason?: string;
  /** The least time between two starts after the server was asked too fast. */
  readonly easedMs?: number;
  /** A shorter wait is not worth telling. */
  readonly tellFromMs?: number;
  readonly clock?: PaceClock;
}

/** Time as a pace sees it, so that a test can let it pass. */
export interface PaceClock {
  nowMs(): number;
  /** Returns what calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const SYSTEM_CLOCK: PaceClock = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const SPACING_TOLD_FROM_MS = 1000;
const MAX_EASED_MS = 60_000;
const LEAST_EASED_MS = 50;
/** Timers wake a little late; a request that starts later than that did not wait for its turn. */
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
  /** Those that began since the last pause, and how many of them may run. A long download from before keeps nobody out. */
  #recent = 0;
  #width: number;
  #intervalMs: number;
  #spacedUntil = Number.POSITIVE_INFINITY;
  #spacingReason: string;
  /** Changes with each spacing that is worth telling anew. */
  #spacing = 0;
  #easedMs = 0;
  #keptBackMs = 0;
  #nextStartAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pauseReason = "";
  #failures = 0;
  #waitedMs = 0;
  #pauses = 0;
  /** What each listener heard of last: the end of a pause, or a spacing. */
  readonly #told = new WeakMap<OnWait, number>();
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
        // Without waiters there is no timer, which would keep the process alive.
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
    // What was under way before the pause says nothing about how much is welcome now.
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
      // Whoever releases a slot lets the next one in.
      if (this.#isFull()) return;
      const ms = this.#waitMs();
      if (ms > 0) {
        this.#callOff = this.#clock.after(Math.ceil(ms), () => this.#admitWaiters());
        for (const { onWait } of this.#waiters) if (onWait) this.#tell(onWait, ms);
        return;
      }
      waiter.admit();
    }
  }

  /** Who hears of every single wait hears nothing. */
  #tell(onWait: OnWait, ms: number): void {
    const isPause = this.#pausedUntil >= Math.min(this.#nextStartAt, this.#spacedUntil);
    if (ms < Math.max(this.#options.tellFromMs ?? 0, isPause ? 0 : SPACING_TOLD_FROM_MS)) return;
    const cause = isPause ? this.#pausedUntil : this.#spacing;
    if (cause === this.#told.get(onWait)) return;
    this.#told.set(onWait, cause);
    onWait(isPause ? this.#pauseReason : this.#spacingReason, Math.ceil(ms));
  }
}
