import type { JobId } from "../contracts/ids.ts";
import type { JobState, Result } from "../contracts/job.ts";
import { logLine } from "../lib/log-line.ts";
import type { ProcessIdentity } from "../lib/process-identity.ts";
import { encodeSseEvent, type SseEvent } from "../lib/sse.ts";

/** What `start_json` and `end_json` say about a job. */
export interface JobFacts {
  readonly jobId: JobId;
  readonly endpoint: string;
  readonly state: JobState;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly result: Result | null;
  readonly dryRun: boolean;
  /** null in files of writers that do not tell, and of jobs that are for whichever worker is there. */
  readonly process: ProcessIdentity | null;
}

/** The last line of a job that nobody runs yet, or any more. */
export const WAITING = "Waiting for a worker.";

export function encodeStart(eventId: number, facts: JobFacts): string {
  const json = JSON.stringify({
    job_id: facts.jobId,
    endpoint: facts.endpoint,
    state: facts.state,
    start_utc: facts.startedAt,
    end_utc: "",
    result: null,
    dry_run: facts.dryRun,
    ...facts.process,
  });
  return encodeSseEvent({ id: String(eventId), event: "start_json", data: json });
}

/** One line, whatever it quotes: progress is read from the beginnings of lines, and a file name must not write one. */
export function encodeLog(eventId: number, text: string): string {
  return encodeSseEvent({ id: String(eventId), event: "log", data: logLine(text) });
}

export function encodeEnd(eventId: number, facts: JobFacts): string {
  const json = {
    job_id: facts.jobId,
    endpoint: facts.endpoint,
    state: facts.state,
    start_utc: facts.startedAt,
    end_utc: facts.endedAt,
    result: facts.result,
    dry_run: facts.dryRun,
  };
  return encodeSseEvent({ id: String(eventId), event: "end_json", data: JSON.stringify(json, null, 2) });
}

/** What a `start_json` or `end_json` says, as far as it can be understood; undefined when it is no JSON object. */
export function decodeFacts(event: SseEvent): Partial<JobFacts> | undefined {
  const json = parseObject(event.data);
  if (!json) return undefined;
  return {
    endpoint: text(json["endpoint"]),
    startedAt: text(json["start_utc"]),
    endedAt: text(json["end_utc"]),
    result: decodeResult(json["result"]),
    dryRun: json["dry_run"] === true,
    process: decodeProcess(json),
    ...(isEndState(json["state"]) ? { state: json["state"] } : {}),
  };
}

function isEndState(value: unknown): value is JobState {
  return value === "completed" || value === "cancelled";
}

function decodeResult(value: unknown): Result | null {
  if (typeof value !== "object" || value === null || !("ok" in value)) return null;
  const { ok, error, data } = value as Record<string, unknown>;
  return { ok: ok === true, error: text(error), data: data ?? {} };
}

function decodeProcess(json: Record<string, unknown>): ProcessIdentity | null {
  const { pid, host, birth } = json;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 0 || typeof host !== "string") return null;
  return { pid, host, birth: text(birth) };
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
