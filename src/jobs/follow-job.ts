import type { JobTail } from "./job-tail.ts";

/**
 * The bytes of a job file as they come, whole events only, each event once. Ends after `end_json`, with the signal, or
 * when the job has stalled; in the last case without an `end_json`, because the file has none either.
 */
export async function* followTail(
  tail: JobTail,
  options: { readonly afterEvent?: number | undefined; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void> {
  let offset = 0;
  let skipping = options.afterEvent !== undefined && options.afterEvent > 0;
  for (;;) {
    const bytes = await tail.read(offset, options.signal);
    if (!bytes || options.signal.aborted) return;
    offset += bytes.length;
    if (!skipping) {
      yield bytes;
      continue;
    }
    const from = findEventAfter(bytes, options.afterEvent ?? 0);
    if (from < 0) continue;
    skipping = false;
    yield bytes.subarray(from);
  }
}

/** Where the first event with a higher id begins; -1 when there is none. */
function findEventAfter(bytes: Buffer, afterEvent: number): number {
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf("\n\n", start);
    if (end < 0) return -1;
    // The id stands in the second line, so the data need not be looked at.
    const head = bytes.subarray(start, Math.min(end, start + 100)).toString("latin1");
    const id = /^id: (\d+)$/m.exec(head)?.[1];
    if (id !== undefined && Number(id) > afterEvent) return start;
    start = end + 2;
  }
  return -1;
}
