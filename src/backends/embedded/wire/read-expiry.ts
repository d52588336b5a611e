import { asNumber, asObject, asOneOf } from "./read-fields.ts";
import { badRequest } from "./wire-error.ts";

const FILE_SECONDS = { min: 3600, max: 2_592_000, integer: true };
const STORE_DAYS = { min: 1, max: 365, integer: true };

/** Seconds from the file's creation on; null for none. `nameOf` spells a field as the caller does. */
export function readFileExpiry(
  value: unknown,
  nameOf = (key: string): string => `expires_after.${key}`,
): number | null {
  if (value === undefined || value === null) return null;
  const fields = onlyWith(asObject(value, "expires_after"), ["anchor", "seconds"]);
  asOneOf(fields["anchor"], nameOf("anchor"), ["created_at"]);
  return asNumber(fields["seconds"], nameOf("seconds"), FILE_SECONDS);
}

/** Days from the store's last activity on; null for none. */
export function readStoreExpiry(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const fields = onlyWith(asObject(value, "expires_after"), ["anchor", "days"]);
  asOneOf(fields["anchor"], "expires_after.anchor", ["last_active_at"]);
  return asNumber(fields["days"], "expires_after.days", STORE_DAYS);
}

function onlyWith<T extends object>(fields: T, known: readonly string[]): T {
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown === undefined) return fields;
  throw badRequest(`Unknown parameter: 'expires_after.${unknown}'.`, `expires_after.${unknown}`);
}
