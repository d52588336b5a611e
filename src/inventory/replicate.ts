import type { Result } from "../contracts/job.ts";
import { askBackend, unlessMissing } from "./ask-backend.ts";
import { type AttachWish, attachFiles } from "./attach-files.ts";
import { attempt, type FileFailure } from "./attempt.ts";
import type { Steps } from "./inventory.ts";
import type { InventoryParts } from "./inventory-parts.ts";
import { readAll } from "./read-pages.ts";
import { storeFilePages } from "./store-files.ts";

export interface ReplicateRequest {
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  /** Files of a target that no source has go, once everything else went well. */
  readonly removeOthers: boolean;
}

/** What the sources hold together. */
interface Collected {
  /** Every id that a source lists, in whatever state: none of these is removed from a target. */
  readonly listed: ReadonlySet<string>;
  readonly wanted: ReadonlyMap<string, AttachWish>;
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
  const wanted = new Map<string, AttachWish>();
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
  const failed = [...(await attachFiles(parts, target, missing, steps))];
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

/** An entry that can never be found would only look like a file the target has. */
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
        askBackend({ what: `remove file '${id}'`, missing: "" }, () =>
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
