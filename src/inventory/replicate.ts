import type OpenAI from "openai";
import { explain } from "../contracts/errors.ts";
import type { Result } from "../contracts/job.ts";
import { type AttachRequests, attachFiles, STALLED_MS } from "../lib/attach-files.ts";
import { sleep } from "../lib/time.ts";
import {
  attempt,
  callBackend,
  type FileFailure,
  hasStatus,
  isMissing,
  readAll,
  readPages,
  unlessMissing,
} from "./backend-calls.ts";
import { type FileNames, storeFilePages } from "./files.ts";
import type { ReplicateRequest, Steps } from "./inventory.ts";

/** What changes of many files work with. */
export interface InventoryParts {
  readonly client: OpenAI;
  readonly names: FileNames;
}

/** A file as it is to be attached. */
type AttachedFile = OpenAI.VectorStores.FileBatchCreateParams.File;
type StoreFileState = OpenAI.VectorStores.VectorStoreFile;

/** The protocol takes 2000; fewer let a cancelled job stop sooner. */
const BATCH = 200;

/** What the sources hold together. */
interface Collected {
  /** Every id that a source lists, in whatever state: none of these is removed from a target. */
  readonly listed: ReadonlySet<string>;
  readonly wanted: ReadonlyMap<string, AttachedFile>;
}

interface TargetResult {
  readonly vector_store_id: string;
  readonly unchanged: number;
  readonly added: number;
  readonly removed: number;
  readonly failed: readonly FileFailure[];
}

const NOTHING_TO_COPY = "The source vector stores hold no file, so nothing was removed from the targets.";

export async function replicate(parts: InventoryParts, request: ReplicateRequest, steps: Steps): Promise<Result> {
  const collected = await collect(parts, request.sources, steps);
  const targets: TargetResult[] = [];
  for (const target of request.targets) targets.push(await fill(parts, target, collected, request, steps));
  const failures = targets.reduce((sum, { failed }) => sum + failed.length, 0);
  const emptied = request.removeOthers && collected.listed.size === 0;
  const data = {
    source_vector_store_ids: request.sources,
    remove_target_files_not_in_sources: request.removeOthers,
    dry_run: steps.dryRun,
    files: collected.wanted.size,
    left_out: collected.listed.size - collected.wanted.size,
    targets,
  };
  const error = failures > 0 ? `${countFiles(failures)} failed; each is named with its reason.` : "";
  return { ok: error === "" && !emptied, error: emptied ? NOTHING_TO_COPY : error, data };
}

/** Files that failed in their source would fail again: they are left out, and kept where a target has them. */
async function collect({ client }: InventoryParts, sources: readonly string[], steps: Steps): Promise<Collected> {
  const listed = new Set<string>();
  const wanted = new Map<string, AttachedFile>();
  for (const source of sources) {
    await steps.checkpoint();
    const files = await readAll(storeFilePages(client, source), steps.signal);
    steps.log(`Source '${source}' holds ${countFiles(files.length)}.`);
    for (const { id, status, attributes, chunking_strategy } of files) {
      listed.add(id);
      if (isLost(status) || wanted.has(id)) continue;
      const chunking = chunking_strategy?.type === "static" ? chunking_strategy : undefined;
      wanted.set(id, {
        file_id: id,
        ...(attributes && { attributes }),
        ...(chunking && { chunking_strategy: chunking }),
      });
    }
  }
  return { listed, wanted };
}

async function fill(
  parts: InventoryParts,
  target: string,
  { listed, wanted }: Collected,
  { removeOthers }: ReplicateRequest,
  steps: Steps,
): Promise<TargetResult> {
  const before = await readAll(storeFilePages(parts.client, target), steps.signal);
  const held = new Set(before.filter(({ status }) => !isLost(status)).map(({ id }) => id));
  const missing = [...wanted.values()].filter(({ file_id }) => !held.has(file_id));
  const others = removeOthers ? before.map(({ id }) => id).filter((id) => !listed.has(id)) : [];
  steps.log(`Target '${target}' holds ${countFiles(held.size)}; ${missing.length} to add, ${others.length} to remove.`);
  const failed = [...(await addFiles(parts, target, missing, steps))];
  if (failed.length > 0) await dropFailed(parts, target, failed, steps);
  const added = missing.length - failed.length;
  const mayRemove = failed.length === 0 && listed.size > 0;
  if (others.length > 0 && !mayRemove) steps.log(`Nothing is removed from '${target}': ${whyNot(failed)}.`);
  const going = mayRemove ? others : [];
  const unremoved = await detachFiles(parts, target, going, steps);
  failed.push(...unremoved);
  const unchanged = wanted.size - missing.length;
  return { vector_store_id: target, unchanged, added, removed: going.length - unremoved.length, failed };
}

/** A failed entry would look like a file that the target has. */
async function dropFailed(
  parts: InventoryParts,
  target: string,
  failed: readonly FileFailure[],
  steps: Steps,
): Promise<void> {
  const added = new Set(failed.map(({ file_id }) => file_id));
  const files = await readAll(storeFilePages(parts.client, target), steps.signal);
  const lost = files.filter(({ id, status }) => added.has(id) && isLost(status));
  await detachFiles(
    parts,
    target,
    lost.map(({ id }) => id),
    steps,
  );
}

function whyNot(failed: readonly unknown[]): string {
  return failed.length > 0 ? "not every file could be added" : "the sources hold no file";
}

async function detachFiles(
  { client, names }: InventoryParts,
  store: string,
  ids: readonly string[],
  steps: Steps,
): Promise<FileFailure[]> {
  const failed: FileFailure[] = [];
  const named = ids.length > 0 ? await names.of(ids) : new Map<string, string>();
  for (const [at, id] of ids.entries()) {
    const filename = named.get(id) ?? "";
    const label = `[ ${at + 1} / ${ids.length} ] Removing file '${filename}' (ID='${id}') from '${store}'...`;
    const error = await attempt(steps, label, () =>
      unlessMissing(() =>
        callBackend({ what: `remove file '${id}'`, missing: "" }, () =>
          client.vectorStores.files.delete(id, { vector_store_id: store }),
        ),
      ),
    );
    if (error !== "") failed.push({ file_id: id, filename, error });
  }
  return failed;
}

function isLost(status: string): boolean {
  return status === "failed" || status === "cancelled";
}

function countFiles(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}

/** Attaches batch by batch, waits for each, and logs every file. Returns the failures. */
async function addFiles(
  parts: InventoryParts,
  store: string,
  files: readonly AttachedFile[],
  steps: Steps,
): Promise<readonly FileFailure[]> {
  const named =
    files.length > 0 ? await parts.names.of(files.map(({ file_id }) => file_id)) : new Map<string, string>();
  const failed: FileFailure[] = [];
  let at = 0;
  const report = (id: string, error: string): void => {
    at++;
    const filename = named.get(id) ?? "";
    steps.log(`[ ${at} / ${files.length} ] Adding file '${filename}' (ID='${id}') to '${store}'...`);
    steps.log(error === "" ? "  OK." : `  ERROR: ${error}`);
    if (error !== "") failed.push({ file_id: id, filename, error: error });
  };
  for (let start = 0; start < files.length; start += BATCH) {
    await steps.checkpoint();
    const batch = files.slice(start, start + BATCH);
    if (steps.dryRun) reportPlan(batch, named, { store, start, of: files.length }, steps);
    else await addBatch(parts.client, store, batch, steps, report);
  }
  return failed;
}

function reportPlan(
  batch: readonly AttachedFile[],
  named: ReadonlyMap<string, string>,
  { store, start, of }: { readonly store: string; readonly start: number; readonly of: number },
  { log }: Steps,
): void {
  for (const [at, { file_id: id }] of batch.entries()) {
    log(`[ ${start + at + 1} / ${of} ] Would add file '${named.get(id) ?? ""}' (ID='${id}') to '${store}'.`);
  }
}

/** Attaches files of one batch, and reports each as it ends. */
async function addBatch(
  client: OpenAI,
  store: string,
  batch: readonly AttachedFile[],
  steps: Steps,
  report: (id: string, error: string) => void,
): Promise<void> {
  const options = { idOf: ({ file_id }: AttachedFile) => file_id, intervals: { firstMs: 100, longestMs: 5_000 } };
  for await (const result of attachFiles(attachRequests(client, store, steps), batch, options)) {
    if ("refused" in result) report(result.id, result.refused);
    else if ("unfinished" in result) report(result.id, UNFINISHED[result.unfinished]);
    else report(result.id, errorOf(result.state));
  }
}

const UNFINISHED = {
  lost: "The backend lost it: it is not in the vector store.",
  stalled: `The backend did not finish it within ${STALLED_MS / 60_000} minutes.`,
};

function attachRequests(
  client: OpenAI,
  store: string,
  steps: Steps,
): AttachRequests<string, AttachedFile, StoreFileState, string> {
  return {
    now: () => performance.now(),
    async pause(ms) {
      await sleep(ms, steps.signal);
      await steps.checkpoint();
    },
    attachBatch: (files) =>
      callBackend({ what: `add files to vector store '${store}'` }, async () => {
        try {
          const { id } = await client.vectorStores.fileBatches.create(store, { files: [...files] });
          return { batchId: id };
        } catch (error) {
          // One file that is gone refuses the whole batch, and some servers take no attributes in one.
          if (hasStatus(error, 400, 404, 422)) return "refused";
          throw error;
        }
      }),
    async attachOne(file) {
      await steps.checkpoint();
      try {
        const call = { what: `add file '${file.file_id}'`, missing: "The file does not exist any more." };
        await callBackend(call, () => client.vectorStores.files.create(store, file));
        return undefined;
      } catch (error) {
        return explain(error);
      }
    },
    async listBatch(batchId) {
      const files = await readAll(
        readPages({
          what: `look at the files that were added to vector store '${store}'`,
          read: (after) =>
            client.vectorStores.fileBatches.listFiles(batchId, {
              vector_store_id: store,
              limit: 100,
              ...(after !== undefined && { after }),
            }),
        }),
      );
      return files.map((file) => [file.id, file]);
    },
    async poll(id) {
      try {
        const call = { what: `look at file '${id}'`, missing: "" };
        const get = () => client.vectorStores.files.retrieve(id, { vector_store_id: store });
        return { state: await callBackend(call, get) };
      } catch (error) {
        if (isMissing(error)) return { state: undefined };
        throw error;
      }
    },
  };
}

/** "" for a file that is indexed. */
function errorOf({ status, last_error: error }: StoreFileState): string {
  if (status === "completed") return "";
  if (status === "cancelled") return "The backend cancelled it.";
  return error?.message ?? "The backend could not read it.";
}
