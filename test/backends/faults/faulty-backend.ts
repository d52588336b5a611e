import { extname } from "node:path";
import { catalogTables } from "../../../src/backends/embedded/catalog-tables.ts";
import {
  createEmbeddedBackend,
  type EmbeddedBackend,
  type EmbeddedBackendOptions,
} from "../../../src/backends/embedded/embedded-backend.ts";
import type { Failure, Work } from "../../../src/backends/embedded/processing-queue.ts";
import type { Sql } from "../../../src/lib/sql/sql.ts";
import type { Faults } from "./faults.ts";
import { withFaults } from "./with-faults.ts";

type AttachTask = Parameters<Work["process"]>[0];

/** An embedded backend that does what other services were seen to do, as long as `faults` says so. */
export async function createFaultyBackend(
  options: Omit<EmbeddedBackendOptions, "aroundWork">,
  faults: Faults,
  { fileTypes }: { readonly fileTypes?: ReadonlySet<string> } = {},
): Promise<EmbeddedBackend> {
  const catalog = await options.provider.openTables("catalog", catalogTables);
  const aroundWork = (work: Work): Work => withWorkFaults(work, catalog, faults, fileTypes);
  const backend = await createEmbeddedBackend({ ...options, aroundWork });
  return { ...backend, wire: withFaults(backend.wire, faults) };
}

function withWorkFaults(work: Work, catalog: Sql, faults: Faults, fileTypes: ReadonlySet<string> | undefined): Work {
  return {
    async process(task, failure, signal) {
      const fault = await meet(faults, catalog, task, signal);
      const refusal = fileTypes && (await refuseType(fileTypes, catalog, task));
      await work.process(task, failure ?? fault ?? refusal, signal);
    },
    finish: work.finish,
  };
}

/** A service goes by the extension of the file's name, as it is written. */
async function refuseType(
  fileTypes: ReadonlySet<string>,
  catalog: Sql,
  { fileId }: AttachTask,
): Promise<Failure | undefined> {
  const file = await catalog.get<{ filename: string }>("SELECT filename FROM files WHERE id = $1", [fileId]);
  if (!file || fileTypes.has(extname(file.filename))) return undefined;
  return { code: "unsupported_file", message: "The file type is not supported." };
}

/** Waits as long as the fault that keeps files in progress strikes. */
async function meet(faults: Faults, catalog: Sql, task: AttachTask, signal: AbortSignal): Promise<Failure | undefined> {
  while (faults.strike("stuck-in-progress", task)) {
    await Promise.race([faults.stopped(), abortOf(signal)]);
    signal.throwIfAborted();
  }
  const inBatch = await catalog.get(
    `SELECT b.id FROM batches b JOIN batch_files f ON f.batch_id = b.id
     WHERE b.store_id = $1 AND f.file_id = $2 LIMIT 1`,
    [task.storeId, task.fileId],
  );
  const fault =
    faults.strike("fail-with", task) ?? (inBatch ? faults.strike("batch-completed-with-failures", task) : undefined);
  return fault && { code: fault.code ?? "server_error", message: "An internal error occurred." };
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
