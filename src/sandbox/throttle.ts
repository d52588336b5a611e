import type { SandboxRequest } from "./http-reply.ts";

export interface ThrottleLimits {
  /** Resource units an app may use in a window. */
  readonly budget: number;
  readonly windowSeconds: number;
  /** Requests may be on their way when the first is refused: so long after it, they do not count as impolite. */
  readonly graceMs: number;
}

export interface ThrottleReport {
  readonly limits: ThrottleLimits | null;
  /** Of the present window. */
  readonly used: number;
  readonly allowed: number;
  readonly refused: number;
  /** Of the refused, those sent although a pause had been asked for. */
  readonly duringPause: number;
  readonly pauses: number;
  /** The most requests that were being answered at the same time, limits or not. */
  readonly mostAtOnce: number;
}

/** The share of the budget from which on answers carry RateLimit headers. */
const ANNOUNCED_FROM = 0.8;

export type Verdict = { readonly refused: boolean; readonly headers: Readonly<Record<string, string>> };
const FREE: Verdict = { refused: false, headers: {} };

/**
 * The budget of an app. Beyond it every request is refused until the time that Retry-After tells has passed, which is
 * when the next window begins.
 */
export class Throttle {
  #limits: ThrottleLimits | null = null;
  #windowEndsAtMs = 0;
  #pausedAtMs: number | null = null;
  #used = 0;
  #allowed = 0;
  #refused = 0;
  #duringPause = 0;
  #pauses = 0;
  #underWay = 0;
  #mostAtOnce = 0;

  /** null lifts every limit. Counting begins anew. */
  set(limits: ThrottleLimits | null): void {
    this.#limits = limits;
    this.#windowEndsAtMs = 0;
    this.#pausedAtMs = null;
    this.#used = this.#allowed = this.#refused = this.#duringPause = this.#pauses = 0;
    this.#mostAtOnce = this.#underWay;
  }

  report(): ThrottleReport {
    return {
      limits: this.#limits,
      used: this.#used,
      allowed: this.#allowed,
      refused: this.#refused,
      duringPause: this.#duringPause,
      pauses: this.#pauses,
      mostAtOnce: this.#mostAtOnce,
    };
  }

  /** Counts the request until the returned function is called. */
  begin(request: SandboxRequest): () => void {
    if (costOf(request) === 0) return () => {};
    this.#underWay++;
    this.#mostAtOnce = Math.max(this.#mostAtOnce, this.#underWay);
    return () => {
      this.#underWay--;
    };
  }

  admit(request: SandboxRequest, nowMs: number): Verdict {
    const cost = costOf(request);
    if (!this.#limits || cost === 0) return FREE;
    if (nowMs >= this.#windowEndsAtMs) this.#openWindow(this.#limits, nowMs);
    if (this.#pausedAtMs === null && this.#used + cost <= this.#limits.budget) {
      this.#used += cost;
      this.#allowed++;
      return { refused: false, headers: this.#announcement(this.#limits, nowMs) };
    }
    return this.#refuse(this.#limits, nowMs);
  }

  #openWindow(limits: ThrottleLimits, nowMs: number): void {
    this.#windowEndsAtMs = nowMs + limits.windowSeconds * 1000;
    this.#pausedAtMs = null;
    this.#used = 0;
  }

  #refuse(limits: ThrottleLimits, nowMs: number): Verdict {
    this.#refused++;
    if (this.#pausedAtMs === null) {
      this.#pauses++;
      this.#pausedAtMs = nowMs;
      // Retry-After speaks in whole seconds, and the pause lasts as long as it says.
      this.#windowEndsAtMs = nowMs + this.#secondsLeft(nowMs) * 1000;
    } else if (nowMs - this.#pausedAtMs > limits.graceMs) this.#duringPause++;
    const seconds = String(this.#secondsLeft(nowMs));
    return { refused: true, headers: { "Retry-After": seconds, ...rateLimit(limits.budget, 0, seconds) } };
  }

  #announcement({ budget }: ThrottleLimits, nowMs: number): Record<string, string> {
    if (this.#used < budget * ANNOUNCED_FROM) return {};
    return rateLimit(budget, budget - this.#used, String(this.#secondsLeft(nowMs)));
  }

  #secondsLeft(nowMs: number): number {
    return Math.max(1, Math.ceil((this.#windowEndsAtMs - nowMs) / 1000));
  }
}

function rateLimit(limit: number, remaining: number, resetSeconds: string): Record<string, string> {
  return {
    "RateLimit-Limit": String(limit),
    "RateLimit-Remaining": String(remaining),
    "RateLimit-Reset": resetSeconds,
  };
}

/** Returns 2 for REST, whose price Microsoft does not publish, and 0 for sign-in and documents. */
function costOf(request: SandboxRequest): number {
  return /\/_api(\/|$)/i.test(request.rawPath) ? 2 : 0;
}
