import { runChild, show } from "./measure.ts";

const SIZES = process.env["BENCH_MILLION"] ? [100_000, 1_000_000] : [100_000];

/**
 * Indexing with the built-in vectors, and searching, beside the least the same engine can do for the same questions: one
 * full-text query and one look at all vectors. BENCH_MILLION=1 also measures a million chunks, which takes a while.
 */
export async function searchBench(): Promise<void> {
  for (const chunks of SIZES) {
    const measured = await runChild("./search-run.ts", { BENCH_CHUNKS: String(chunks) });
    show(`${chunks} chunks`, measured);
    const { counted, peakMb } = measured;
    const of = (name: string): number => counted[name] ?? Number.NaN;
    process.stdout.write(
      `search of ${chunks} chunks: p95 ${of("searchP95")} ms, ${(of("searchP95") / of("floorP95")).toFixed(2)} times the floor ` +
        `(at most 2); p50 ${of("searchP50")} ms, ${(of("searchP50") / of("floorP50")).toFixed(2)} times; ` +
        `indexing ${of("chunksPerSecond")} chunks a second; ${of("rssMb")} MB while searching, ${peakMb.toFixed(0)} MB at most\n`,
    );
  }
}
