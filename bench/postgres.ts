import { runChild, show } from "./measure.ts";

const SIZES = process.env["BENCH_LARGE"] ? [20_000, 100_000] : [20_000];

/**
 * Indexing and searching in a real PostgreSQL, which has no pgvector here, so that vectors are compared one by one; and in
 * PGlite, which has it but is slow, what an HNSW index makes of the same vectors. BENCH_LARGE=1 also measures 100,000 chunks.
 */
export async function postgresBench(): Promise<void> {
  for (const chunks of SIZES) {
    const measured = await runChild("./postgres-run.ts", { BENCH_CHUNKS: String(chunks) });
    show("PostgreSQL", measured);
    const { chunksPerSecond, searchP50, searchP95 } = measured.counted;
    process.stdout.write(
      `PostgreSQL, ${chunks} chunks: indexing ${chunksPerSecond} chunks a second; search p50 ${searchP50} ms, p95 ${searchP95} ms\n`,
    );
  }
  const measured = await runChild("./pgvector-run.ts", {});
  show("PGlite, vectors", measured);
  const { exactP50, indexedP50, foundOfTheNearestTen } = measured.counted;
  process.stdout.write(
    `HNSW: p50 ${indexedP50} ms instead of ${exactP50} ms, and it finds ${foundOfTheNearestTen} of the nearest ten\n`,
  );
}
