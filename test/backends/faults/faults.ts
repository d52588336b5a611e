/**
 * What services that speak the wire protocol were seen to do besides what they promise. Whoever drives one must survive
 * each; createFaultyBackend plays them, so that surviving can be tried.
 */
export const FAULT_NAMES = [
  /** A file that was just attached is not found in its store, neither by id nor in lists, for the next `times` looks. */
  "attach-then-404",
  /** An upload is `uploaded` when looked at, and attaching it answers 404, `times` times in all; then it is `processed`. */
  "attach-before-processed-404",
  /** The counts of a store never fall, whatever is detached or deleted. */
  "counts-stale",
  /** Detaching a file from one store takes it out of all. */
  "detach-detaches-everywhere",
  /** A deleted file is gone from `/files`, while its rows, and what search finds of it, stay in the stores. */
  "ghost-row-after-delete",
  /** A deletion is carried out and answers 404, as a repeated one does. */
  "double-delete-404",
  /** Processing a file ends as `failed` with `code`. */
  "fail-with",
  /** An attached file stays `in_progress` until the fault is stopped; then it is processed. */
  "stuck-in-progress",
  /** Some files of a batch (`times` of them) fail with `code`, and the batch is `completed`. */
  "batch-completed-with-failures",
  /** The list of vector stores is empty, though each can be retrieved. */
  "stores-list-empty",
  /** Attaching a file that is attached already answers 400. */
  "attach-twice-refused",
  /** A file that was attached twice is listed twice. */
  "attach-twice-listed-twice",
  /** An upload leaves two files with equal content; the answer names the second. */
  "upload-duplicates",
  /** A list that is to go on after an id answers 400, as if that object had been deleted meanwhile. */
  "cursor-deleted-while-paging",
  /** The store is `expired`: it can be looked at and deleted, nothing else. */
  "store-expired",
  /** 429 with `Retry-After: retryAfterSeconds`. */
  "rate-limited",
  /** 429 that no waiting helps against. */
  "insufficient-quota",
  /** The service has no search: 404, although the store exists. */
  "search-404",
  /** 500. */
  "server-error",
  /** The connection breaks before the request had any effect. */
  "drop-before-effect",
  /** The request is carried out, and the connection breaks before the answer. */
  "drop-after-effect",
  /** A file in a store, or a batch, has a status that no client knows. */
  "unknown-status",
  /** Lists ignore `after` and always say that there is more. */
  "pages-never-end",
] as const;

export type FaultName = (typeof FAULT_NAMES)[number];

export interface FaultOptions {
  /** How often it strikes; without end when left out. */
  readonly times?: number;
  /** Only requests like this one: `POST /files`; a `:word` stands for any one segment of the path. Without it, every request the fault is about. */
  readonly on?: string;
  /** Only when the request is about this store. */
  readonly storeId?: string;
  /** Only when it is about this file. */
  readonly fileId?: string;
  /** For the faults that fail files; `server_error` when left out. */
  readonly code?: "server_error" | "unsupported_file" | "invalid_file";
  /** For `rate-limited`; 1 when left out. */
  readonly retryAfterSeconds?: number;
}

/** What a request, or a piece of background work, is about. */
export interface FaultOccasion {
  readonly method?: string;
  /** Without `/v1` and without the query. */
  readonly path?: string;
  readonly storeId?: string | undefined;
  readonly fileId?: string | undefined;
}

/** The switch: tests turn faults on and off, the faulty backend asks whether one strikes. */
export interface Faults {
  play(name: FaultName, options?: FaultOptions): void;
  /** This fault, or all, from now on not any more. */
  stop(name?: FaultName): void;
  /** How often it struck so far. */
  struck(name: FaultName): number;
  /** The options of the fault when it strikes on this occasion, which counts; undefined when it does not. */
  strike(name: FaultName, occasion: FaultOccasion): FaultOptions | undefined;
  /** Settles when a fault is stopped next. */
  stopped(): Promise<void>;
}

interface Playing {
  readonly name: FaultName;
  readonly options: FaultOptions;
  left: number;
}

export function createFaults(): Faults {
  let playing: Playing[] = [];
  const strikes = new Map<FaultName, number>();
  let wake: () => void = () => undefined;
  let stopping = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return {
    play(name, options = {}) {
      playing.push({ name, options, left: options.times ?? Number.POSITIVE_INFINITY });
    },
    stop(name) {
      playing = name === undefined ? [] : playing.filter((one) => one.name !== name);
      wake();
      stopping = new Promise((resolve) => {
        wake = resolve;
      });
    },
    struck: (name) => strikes.get(name) ?? 0,
    strike(name, occasion) {
      const one = playing.find((fault) => fault.name === name && fault.left > 0 && isAbout(fault.options, occasion));
      if (!one) return undefined;
      one.left--;
      strikes.set(name, (strikes.get(name) ?? 0) + 1);
      return one.options;
    },
    stopped: () => stopping,
  };
}

function isAbout(options: FaultOptions, occasion: FaultOccasion): boolean {
  if (options.storeId !== undefined && options.storeId !== occasion.storeId) return false;
  if (options.fileId !== undefined && options.fileId !== occasion.fileId) return false;
  return options.on === undefined || isLike(options.on, occasion.method ?? "", occasion.path ?? "");
}

function isLike(pattern: string, method: string, path: string): boolean {
  const [wantedMethod, wantedPath = ""] = pattern.split(" ");
  const wanted = wantedPath.split("/");
  const given = path.split("/");
  return (
    wantedMethod === method &&
    wanted.length === given.length &&
    wanted.every((segment, at) => segment.startsWith(":") || segment === given[at])
  );
}
