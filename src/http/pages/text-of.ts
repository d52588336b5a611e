/** Of what others wrote to a disk or sent: whatever is no text or number is nothing. */
export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
