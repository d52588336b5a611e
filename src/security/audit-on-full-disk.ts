import type { AuditEntry } from "../contracts/audit.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { formatAuditLine } from "./audit-line.ts";

/**
 * A full disk must not keep out who comes to make room on it. What may go on without a line in the audit log (deletions, signing in)
 * leaves this one in the server's log instead. undefined: the log could not be written for another reason, and nothing goes on.
 */
export function lineOnFullDisk(trouble: unknown, change: Omit<AuditEntry, "at">): string | undefined {
  if (!isErrno(trouble, "ENOSPC", "EDQUOT")) return undefined;
  const line = formatAuditLine({ ...change, at: nowUtcMicros(), id: "", phase: "once" });
  return `not in the audit log, because the disk is full: ${line.trimEnd()}`;
}
