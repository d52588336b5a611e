import { BadInputError } from "../contracts/errors.ts";

/** When a key ends: `2027-01-01` is the first moment of that day in UTC. "" for never. */
export function readExpiry(given: string): string {
  if (given === "") return "";
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms)) throw new BadInputError("The expiry must be a day like 2027-01-01, or empty for never.");
  return new Date(ms).toISOString();
}
