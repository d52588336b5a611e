import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { OtherStore, ScheduleState } from "../../contracts/domain-state.ts";
import type { DomainId, JobId, VectorStoreId } from "../../contracts/ids.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { namesIn, pathExists } from "../../lib/file-system.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { PUT_ASIDE, putAside } from "../../lib/put-aside.ts";

const STORES = "superseded_stores.json";
const SCHEDULE = "schedule_state.json";

export interface OldState {
  readonly stores: readonly OtherStore[];
  readonly schedule: ScheduleState | undefined;
}

/**
 * Hands over what earlier releases kept in small files beside `domain.json`, and moves these away. Until then they count, and the tables
 * do not; so it comes before the first change. Killed in between, it is put once more.
 */
export async function migrateDomainState(
  domainsFolder: string,
  id: DomainId,
  put: (state: OldState) => Promise<void>,
): Promise<void> {
  const folder = join(domainsFolder, id);
  const names = [STORES, SCHEDULE];
  const isThere = (name: string): Promise<boolean> => pathExists(join(folder, name));
  if (!(await Promise.all(names.map(isThere))).includes(true)) return;
  const own = join(folder, ".lockstep");
  await mkdir(join(own, PUT_ASIDE), { recursive: true });
  await withFileLock(join(own, PUT_ASIDE, "lock"), async () => {
    const stores = (await readOldStores(domainsFolder, id)) ?? [];
    await put({ stores, schedule: (await readOldSchedule(domainsFolder, id))?.state });
    for (const name of names) if (await isThere(name)) await putAside([join(folder, name)], own);
  });
}

/** Folders in which earlier releases kept leases of the source and of its domain. */
export async function removeOldLeases(sourceFolder: string, domainsFolder: string, id: DomainId): Promise<void> {
  const own = join(sourceFolder, ".lockstep");
  const old = (await namesIn(own)).filter((name) => name.startsWith("lease-")).map((name) => join(own, name));
  const locks = join(domainsFolder, ".lockstep");
  for (const path of [...old, join(locks, `swap-${id}`), join(locks, "store-locks", id)]) {
    await rm(path, { recursive: true, force: true });
  }
}

/** undefined: there is no such file (any more). */
export async function readOldStores(domainsFolder: string, id: DomainId): Promise<OtherStore[] | undefined> {
  const stores = (await readJson(domainsFolder, id, STORES))?.["stores"];
  return (Array.isArray(stores) ? stores : undefined)?.filter(isJsonObject).map((store) => ({
    vectorStoreId: String(store["vector_store_id"]) as VectorStoreId,
    state: store["state"] === "building" ? "building" : "superseded",
    since: String(store["since_utc"]),
  }));
}

/** Likewise. What cannot be read says that nothing is owed. */
export async function readOldSchedule(
  domainsFolder: string,
  id: DomainId,
): Promise<{ readonly state: ScheduleState | undefined } | undefined> {
  const json = await readJson(domainsFolder, id, SCHEDULE);
  if (!json) return undefined;
  const lookedAt = new Date(String(json["looked_utc"]));
  if (Number.isNaN(lookedAt.getTime())) return { state: undefined };
  const jobId = json["job_id"];
  const started = typeof jobId === "string" ? { jobId: jobId as JobId, times: Number(json["times"]) || 1 } : undefined;
  return { state: { schedule: String(json["schedule"]), lookedAt, ...(started && { started }) } };
}

/** undefined: there is no such file; an empty object for one that is no JSON. */
async function readJson(domainsFolder: string, id: DomainId, name: string): Promise<JsonObject | undefined> {
  const bytes = await readFileIfExists(join(domainsFolder, id, name));
  return bytes && (parseJsonObject(bytes.toString("utf8")) ?? {});
}
