import { VERSION_ID } from "../../contracts/manifest.ts";

const PATTERN = new RegExp(VERSION_ID);

/** It has no earlier one. */
export const FIRST_VERSION = "v1";

/** Version ids become folder names. */
export function isVersionId(text: string): boolean {
  return PATTERN.test(text);
}

export function versionAfter(versionId: string | undefined): string {
  return `v${(versionId === undefined ? 0 : numberOf(versionId)) + 1}`;
}

/** Oldest first. */
export function byAge(one: string, other: string): number {
  return numberOf(one) - numberOf(other);
}

function numberOf(versionId: string): number {
  return Number(versionId.slice(1));
}
