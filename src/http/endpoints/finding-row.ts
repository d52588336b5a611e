import type { PlacedFinding } from "../../engine/doctor.ts";

/** A finding as it goes over the wire. */
export interface FindingRow {
  readonly source_id: string;
  readonly subject: string;
  readonly outcome: PlacedFinding["outcome"];
  readonly detail: string;
  readonly remedy: string;
}

export function formatFinding({ sourceId, subject, outcome, detail, remedy }: PlacedFinding): FindingRow {
  return { source_id: sourceId, subject, outcome, detail, remedy };
}

/** "" when there are none. */
export function sayProblems(findings: readonly PlacedFinding[]): string {
  const problems = findings.filter(({ outcome }) => outcome === "problem").length;
  if (problems === 0) return "";
  return problems === 1 ? "1 problem was found." : `${problems} problems were found.`;
}
