import type { App } from "../../app/app.ts";
import type { AuditRow } from "../../contracts/audit.ts";
import { auditPage } from "../pages/audit-page.ts";
import { type Endpoint, endpoint, okPart } from "../routing/endpoint.ts";
import { MAX_LIMIT } from "../routing/listing.ts";
import { withDefault } from "../routing/parameters.ts";
import { text, wholeNumber } from "../routing/values.ts";

/** A line of the audit log, as the endpoint returns it. */
export interface ShownChange {
  readonly utc: string;
  readonly who: string;
  readonly kind: string;
  readonly role: string;
  readonly from: string;
  readonly action: string;
  readonly what: Readonly<Record<string, unknown>>;
  /** `unfinished`: the change is still running, or its process died. */
  readonly outcome: "done" | "failed" | "unfinished";
  readonly error: string;
}

/** Lists who changed what. */
export function auditEndpoints({ audit }: App): Endpoint[] {
  return [
    endpoint({
      path: "/v2/audit",
      methods: ["GET"],
      formats: ["json", "html", "ui"],
      description:
        "Lists who changed what, newest first: also what was refused, and who signed in. 13 months are kept.",
      changes: null,
      role: "admin",
      query: {
        limit: withDefault(wholeNumber({ from: 1, to: MAX_LIMIT }), 100, "At most this many."),
        offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
        filter: withDefault(text, "", "Only those in which this text occurs."),
      },
      examples: ["?format=json", "?format=ui&filter=delete"],
      async run({ limit, offset, filter }) {
        const { entries, more } = await audit.list({ limit, offset, filter });
        return okPart({ rows: entries.map(toShown), page: { offset, limit, total: undefined, more } });
      },
      html: auditPage,
      ui: auditPage,
    }),
  ];
}

function toShown({ at, who, from, action, what, ok, error, unfinished }: AuditRow): ShownChange {
  const outcome = unfinished ? "unfinished" : ok ? "done" : "failed";
  return { utc: at, who: who.name, kind: who.kind, role: who.role, from, action, what, outcome, error };
}
