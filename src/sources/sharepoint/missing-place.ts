import { RemoteError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import { nearestNames } from "../../lib/nearest-names.ts";

/** More would help nobody to choose. */
const MAX_ALTERNATIVES = 100;

/** The site is there, and what the source names in it is not. */
export class MissingPlaceError extends RemoteError {
  /** What the site has instead, the likeliest first. */
  readonly alternatives: Alternatives;
  constructor(message: string, alternatives: Alternatives) {
    super(message);
    this.alternatives = alternatives;
  }
}

interface Wanted {
  readonly field: string;
  /** "" when nothing is named yet. */
  readonly wanted: string;
  /** All there are. */
  readonly names: readonly string[];
  /** What stands before a name where it is used. */
  readonly prefix?: string;
}

/** `problem` says what is missing. */
export function missingPlace(problem: string, { field, wanted, names, prefix = "" }: Wanted): MissingPlaceError {
  const near = wanted === "" ? [] : nearestNames(wanted, names);
  const others = names.filter((name) => !near.includes(name)).toSorted((a, b) => a.localeCompare(b, "en"));
  const values = [...near, ...others].slice(0, MAX_ALTERNATIVES).map((name) => prefix + name);
  const meant = near.map((name) => `'${prefix}${name}'`).join(" or ");
  return new MissingPlaceError(`${problem}; ${meant ? `did you mean ${meant}?` : `check '${field}'`}`, {
    field,
    values,
  });
}
