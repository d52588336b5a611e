import type { Slot } from "./throttle-gate.ts";

/** So many at a time, in the order they came. Narrowed, it lets one in, and one more for each that comes back. */
export interface Turnstile {
  isFree(): boolean;
  take(): Slot;
  /** Resolves when it may be one's turn (look again), or when the signal aborts. */
  turn(signal: AbortSignal): Promise<void>;
  /** For one who was woken and leaves without taking a place: the turn is somebody else's. */
  passOn(): void;
  narrow(): void;
}

export function createTurnstile(width: number): Turnstile {
  const queue: (() => void)[] = [];
  let inside = 0;
  let open = width;
  let narrowings = 0;
  /** Of those inside, who came since the last narrowing. A long download from before must not keep everybody out. */
  let recent = 0;

  const free = (): number => Math.min(width - inside, open - recent);

  function wake(): void {
    for (const next of queue.splice(0, Math.max(0, free()))) next();
  }

  function leave(takenAt: number): void {
    inside -= 1;
    // What was under way before the narrowing says nothing about how much is welcome now.
    if (takenAt === narrowings) {
      recent -= 1;
      open = Math.min(width, open + 1);
    }
    wake();
  }

  return {
    isFree: () => free() > 0,
    take() {
      const takenAt = narrowings;
      inside += 1;
      recent += 1;
      let held = true;
      return {
        release: () => {
          if (held) leave(takenAt);
          held = false;
        },
      };
    },
    turn(signal) {
      return new Promise((resolve) => {
        const goOn = (): void => {
          signal.removeEventListener("abort", giveUp);
          resolve();
        };
        const giveUp = (): void => {
          queue.splice(queue.indexOf(goOn), 1);
          goOn();
        };
        queue.push(goOn);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
    passOn: wake,
    narrow() {
      narrowings += 1;
      recent = 0;
      open = 1;
    },
  };
}
