import { join } from "node:path";
import type { DomainId, JobId } from "../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { toUtcMicros } from "../lib/time.ts";

/** Up to when the clock was looked after, for which schedule. */
export interface ScheduleState {
  readonly schedule: string;
  readonly lookedAt: Date;
  /** The crawl that was started last, and how often it was started for the same time. */
  readonly started?: { readonly jobId: JobId; readonly times: number };
}

/** `domains/<id>/schedule_state.json`. undefined when there is none, or none that can be read: then nothing is owed. */
export async function readScheduleState(domainsFolder: string, id: DomainId): Promise<ScheduleState | undefined> {
  const bytes = await readFileIfExists(fileOf(domainsFolder, id));
  const json = bytes && parse(bytes.toString("utf8"));
  if (!isJsonObject(json)) return undefined;
  const lookedAt = new Date(String(json["looked_utc"]));
  if (Number.isNaN(lookedAt.getTime())) return undefined;
  const jobId = json["job_id"];
  const started = typeof jobId === "string" ? { jobId: jobId as JobId, times: Number(json["times"]) || 1 } : undefined;
  return { schedule: String(json["schedule"]), lookedAt, ...(started && { started }) };
}

/** Only for whoever holds the domain's lock: its folder may otherwise go, or be renamed, in between. */
export async function writeScheduleState(domainsFolder: string, id: DomainId, state: ScheduleState): Promise<void> {
  const started = state.started && { job_id: state.started.jobId, times: state.started.times };
  const json = { schedule: state.schedule, looked_utc: toUtcMicros(state.lookedAt), ...started };
  await writeFileAtomic(fileOf(domainsFolder, id), `${JSON.stringify(json)}\n`);
}

function fileOf(domainsFolder: string, id: DomainId): string {
  return join(domainsFolder, id, "schedule_state.json");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
