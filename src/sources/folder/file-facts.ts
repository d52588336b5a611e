/** What a file system tells of a file. Numbers beyond 2^53 (inodes of some shares) lose their end, which only ever means reading a file once more. */
export interface FileFacts {
  readonly size: number;
  /** With its fraction: a quarter of a microsecond, which is as much as a number holds. */
  readonly mtimeMs: number;
  readonly ino: number;
}

/** `ignoreInodes`: where they change although the file does not. */
export function stampOf({ size, mtimeMs, ino }: FileFacts, { ignoreInodes = false } = {}): string {
  return ignoreInodes ? `${size}-${mtimeMs}` : `${size}-${mtimeMs}-${ino}`;
}

/** File systems count time in steps, of up to two seconds. */
const STEP_MS = 2000;
const DAY_MS = 86_400_000;

/** So young that it may be changed again without getting another time. A time far in the future is not one that is being written now. */
export function isRacy(mtimeMs: number, seenAtMs: number): boolean {
  return mtimeMs > seenAtMs - STEP_MS && mtimeMs < seenAtMs + DAY_MS;
}
