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

/** What the audit log says of a request. For what only reads, and for dry runs, nothing. */
export interface AuditRecord {
  /** Set as soon as the request was read. */
  args: EndpointArguments<Parameters, Parameters> | undefined;
  /** Before the change is made: what cannot be written down is not done, except deletions on a full disk, which make room again. */
  begin(): Promise<void>;
  /** How it went, or that it never came to it. A change that was made is not taken back when this cannot be written. */
  write(outcome: AuditOutcome): Promise<void>;
}

export interface RecordParts {
  readonly audit: AuditLog;
  readonly logError: (about: string, error: unknown) => void;
}

export function createRecord(
  one: Pick<Endpoint, "path" | "changes"> & { readonly methods: readonly string[] },
  c: Context<HttpEnv>,
  { audit, logError }: RecordParts,
): AuditRecord {
  let finish: ((outcome: AuditOutcome) => Promise<void>) | undefined;
  const change = (): AskedChange | undefined => {
    const who = c.get("principal");
    if (one.changes === null || who === undefined || record.args?.["dry_run"] === true) return undefined;
    return { who, from: clientAddress(c), action: `${c.req.method} ${one.path}`, what: whatOf(record.args, c) };
  };
  const toldInstead = (trouble: unknown, asked: AskedChange, outcome: AuditOutcome): boolean => {
    const line = lineOnFullDisk(trouble, { ...asked, ...outcome });
    if (line !== undefined) logError(line, trouble);
    return line !== undefined;
  };
  const record: AuditRecord = {
    args: undefined,
    async begin() {
      const asked = change();
      if (!asked) return;
      try {
        finish = await audit.begin(asked);
      } catch (error) {
        if (one.methods.includes("DELETE") && toldInstead(error, asked, { ok: false, error: "under way" })) return;
        logError("write the audit log", error);
        throw new RefusedError(503, "Nothing was changed, because the audit log cannot be written. Is the disk full?");
      }
    },
    async write({ ok, error }) {
      const asked = change();
      if (!asked) return;
      try {
        await (finish ? finish({ ok, error }) : audit.write({ at: nowUtcMicros(), ...asked, ok, error }));
      } catch (trouble) {
        if (!toldInstead(trouble, asked, { ok, error })) logError("write the audit log", trouble);
      }
    },
  };
  return record;
}

/** Of what was refused before it was read, the address as it was sent: it says what somebody tried to change. */
function whatOf(args: AuditRecord["args"], c: Context<HttpEnv>): AskedChange["what"] {
  if (args) {
    const { body, ...query } = args;
    return withoutAbsent({ ...query, ...body });
  }
  const { format: _, confirmation: __, ...query } = c.req.query();
  return query;
}
