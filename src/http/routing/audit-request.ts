import type { Context } from "hono";
import type { AskedChange, AuditLog, AuditOutcome } from "../../contracts/audit.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { lineOnFullDisk } from "../../security/audit-log.ts";
import type { HttpEnv } from "../http-env.ts";
import { clientAddress } from "../middleware/client-address.ts";
import type { Endpoint, EndpointArguments } from "./endpoint.ts";
import { RefusedError } from "./failure.ts";
import type { Parameters } from "./parameters.ts";

/** The audit entry of one request. Requests that only read and dry runs have none. */
export interface AuditRecord {
  /** Set as soon as the request was read. */
  args: EndpointArguments<Parameters, Parameters> | undefined;
  /**
   * Writes the entry before the change is made. Rejects if it cannot be written, so that the change is not made; deletions may
   * go on when the disk is full, because they make room.
   */
  begin(): Promise<void>;
  /** Writes the outcome. A change that was made is not taken back if this fails. */
  write(outcome: AuditOutcome): Promise<void>;
}

export interface RecordParts {
  readonly audit: AuditLog;
  readonly logError: (about: string, error: unknown) => void;
}

export function createRecord(
  endpoint: Pick<Endpoint, "path" | "changes" | "unaudited"> & { readonly methods: readonly string[] },
  c: Context<HttpEnv>,
  { audit, logError }: RecordParts,
): AuditRecord {
  let finish: ((outcome: AuditOutcome) => Promise<void>) | undefined;
  const change = (): AskedChange | undefined => {
    const who = c.get("principal");
    if (endpoint.changes === null || who === undefined || record.args?.["dry_run"] === true) return undefined;
    return {
      who,
      from: clientAddress(c),
      action: `${c.req.method} ${endpoint.path}`,
      what: whatOf(record.args, c, endpoint.unaudited),
    };
  };
  const loggedInstead = (trouble: unknown, requested: AskedChange, outcome: AuditOutcome): boolean => {
    const line = lineOnFullDisk(trouble, { ...requested, ...outcome });
    if (line !== undefined) logError(line, trouble);
    return line !== undefined;
  };
  const record: AuditRecord = {
    args: undefined,
    async begin() {
      const requested = change();
      if (!requested) return;
      try {
        finish = await audit.begin(requested);
      } catch (error) {
        if (endpoint.methods.includes("DELETE") && loggedInstead(error, requested, { ok: false, error: "under way" }))
          return;
        logError("write the audit log", error);
        throw new RefusedError(503, "Nothing was changed, because the audit log cannot be written. Is the disk full?");
      }
    },
    async write({ ok, error }) {
      const requested = change();
      if (!requested) return;
      try {
        await (finish ? finish({ ok, error }) : audit.write({ at: nowUtcMicros(), ...requested, ok, error }));
      } catch (trouble) {
        if (!loggedInstead(trouble, requested, { ok, error })) logError("write the audit log", trouble);
      }
    },
  };
  return record;
}

/** The arguments; for a request that was refused before they were read, the address as sent. */
function whatOf(
  args: AuditRecord["args"],
  c: Context<HttpEnv>,
  unaudited: readonly string[] = [],
): AskedChange["what"] {
  const leaveOut = (all: Readonly<Record<string, unknown>>): AskedChange["what"] =>
    Object.fromEntries(
      Object.entries(all).map(([name, value]) => [name, unaudited.includes(name) ? "(left out)" : value]),
    );
  if (args) {
    const { body, ...query } = args;
    return leaveOut(withoutAbsent({ ...query, ...body }));
  }
  const { format: _, confirmation: __, ...query } = c.req.query();
  return leaveOut(query);
}
