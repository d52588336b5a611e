import type { Tell } from "../../../contracts/web.ts";

/** The right to have one request to a host under way. */
export interface Place {
  readonly startedAt: number;
  /** The request is over. To be called once. */
  leave(): void;
}

/** Nobody gets in for so long that waiting is pointless. */
export interface Closed {
  readonly reason: string;
  readonly waitMs: number;
}

/**
 * All requests to one host pass here: so many at once, with time between their starts, none while it rests. After a rest
 * it opens slowly, one request and then one more for each that went well: what was too much before would be so again.
 */
export interface HostGate {
  /** Rejects with the signal's reason when that aborts first. `tell` hears once of each rest and each pace that takes seconds. */
  enter(signal: AbortSignal, tell?: Tell): Promise<Place | Closed>;
  /** At least so long between the starts of two requests; never less than the gate was made with. */
  slowDown(intervalMs: number): void;
  /** It was asked too fast: from now on with twice the time between two requests, less with each that goes well. */
  ease(): void;
  /** Nobody enters for that long; a rest that is longer already stays. */
  rest(ms: number, reason: string): void;
  /** The host answered as it should. */
  wentWell(): void;
  /**
   * The host did not answer, or not as it should. Returns how often in a row: 0 for a request that was under way when the
   * host began to rest, because many that fail at once tell no more than the first.
   */
  wentWrong(place: Place): number;
  /** Nobody needs it now. */
  isIdle(): boolean;
}

export interface GateOptions {
  readonly host: string;
  readonly requestsAtOnce: number;
  readonly intervalMs: number;
  /** A longer rest is not waited for. */
  readonly patienceMs: number;
  /** The least time between two requests after the host was asked too fast. */
  readonly easedMs?: number;
  readonly clock: GateClock;
}

export interface GateClock {
  nowMs(): number;
  /** Returns what calls it off. */
  after(ms: number, run: () => void): () => void;
}

export const SYSTEM_CLOCK: GateClock = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

interface Waiter {
  readonly tell: Tell | undefined;
  admit(): void;
  turnAway(closed: Closed): void;
}

/** A wait that somebody watching would wonder about. */
export const WORTH_TELLING_MS = 3000;

const MAX_EASED_MS = 60_000;
const LEAST_EASED_MS = 50;

export function createHostGate(options: GateOptions): HostGate {
  return new Gate(options);
}

class Gate implements HostGate {
  readonly #options: GateOptions;
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  #width: number;
  #intervalMs: number;
  #easedMs = 0;
  #nextStartAt = Number.NEGATIVE_INFINITY;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #restReason = "";
  #lastRestAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** What each listener heard of last: the end of a rest, or a pace. */
  readonly #told = new WeakMap<Tell, number>();
  #callOff: (() => void) | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#width = options.requestsAtOnce;
    this.#intervalMs = options.intervalMs;
  }

  enter(signal: AbortSignal, tell?: Tell): Promise<Place | Closed> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const closed = this.#closed();
    if (closed) return Promise.resolve(closed);
    if (this.#waiters.size === 0 && this.#waitMs() <= 0 && this.#running < this.#width) {
      return Promise.resolve(this.#start());
    }
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const settle = (outcome: Place | Closed): void => {
        signal.removeEventListener("abort", giveUp);
        this.#waiters.delete(waiter);
        resolve(outcome);
      };
      const waiter: Waiter = { tell, admit: () => settle(this.#start()), turnAway: settle };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiters.add(waiter);
      this.#tell(waiter);
      this.#admitWaiters();
    });
  }

  slowDown(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#options.intervalMs, intervalMs);
  }

  ease(): void {
    this.#width = 1;
    this.#easedMs = Math.min(Math.max(this.#easedMs * 2, this.#options.easedMs ?? 0), MAX_EASED_MS);
    this.#nextStartAt = Math.max(this.#nextStartAt, this.#options.clock.nowMs() + this.#easedMs);
  }

  rest(ms: number, reason: string): void {
    this.#width = 1;
    this.#lastRestAt = this.#options.clock.nowMs();
    const until = this.#lastRestAt + ms;
    if (until <= this.#restsUntil) return;
    this.#restsUntil = until;
    this.#restReason = reason;
    const closed = this.#closed();
    if (closed) for (const waiter of [...this.#waiters]) waiter.turnAway(closed);
    else for (const waiter of this.#waiters) this.#tell(waiter);
    this.#admitWaiters();
  }

  wentWell(): void {
    this.#failures = 0;
    this.#width = Math.min(this.#width + 1, this.#options.requestsAtOnce);
    this.#easedMs = this.#easedMs < LEAST_EASED_MS ? 0 : this.#easedMs * 0.9;
  }

  wentWrong({ startedAt }: Place): number {
    if (startedAt <= this.#lastRestAt) return 0;
    this.#failures += 1;
    return this.#failures;
  }

  isIdle(): boolean {
    return this.#running === 0 && this.#waiters.size === 0 && this.#waitMs() <= 0;
  }

  #start(): Place {
    this.#running += 1;
    const startedAt = this.#options.clock.nowMs();
    this.#nextStartAt = startedAt + Math.max(this.#intervalMs, this.#easedMs);
    return {
      startedAt,
      leave: () => {
        this.#running -= 1;
        if (this.#waiters.size > 0) this.#admitWaiters();
      },
    };
  }

  #waitMs(): number {
    return Math.max(this.#nextStartAt, this.#restsUntil) - this.#options.clock.nowMs();
  }

  #closed(): Closed | undefined {
    const waitMs = Math.ceil(this.#restsUntil - this.#options.clock.nowMs());
    return waitMs > this.#options.patienceMs ? { reason: this.#restReason, waitMs } : undefined;
  }

  /** Who hears of every single wait hears nothing. */
  #tell({ tell }: Waiter): void {
    const ms = this.#waitMs();
    if (!tell || ms < WORTH_TELLING_MS || this.#running >= this.#width) return;
    const isRest = this.#restsUntil >= this.#nextStartAt;
    const cause = isRest ? this.#restsUntil : this.#intervalMs;
    if (cause === this.#told.get(tell)) return;
    this.#told.set(tell, cause);
    const pace = `${this.#options.host} wants time between two requests`;
    tell(`Waiting ${Math.ceil(ms / 1000)} s: ${isRest ? this.#restReason : pace}`);
  }

  #admitWaiters(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    for (const waiter of this.#waiters) {
      // Whoever leaves lets the next one in.
      if (this.#running >= this.#width) return;
      const ms = this.#waitMs();
      if (ms > 0) {
        this.#callOff = this.#options.clock.after(Math.ceil(ms), () => this.#admitWaiters());
        return;
      }
      waiter.admit();
    }
  }
}
