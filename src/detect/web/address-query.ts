import { canonicalEscapes } from "./address-escapes.ts";

/**
 * The query (without `?`) by which an address is known: sorted by name, equal names in their order, without trackers and
 * empty pieces. `a` and `a=`, `+` and `%20` stay apart: most servers read them alike, but not all, and a page that is known
 * twice costs less than two that are taken for one.
 */
export function canonicalQuery(query: string, trackingPrefixes: readonly string[]): string {
  return piecesOf(query)
    .map((piece) => ({ piece: canonicalEscapes(piece), name: nameOf(piece) }))
    .filter(({ name }) => !isTracker(name, trackingPrefixes))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ piece }) => piece)
    .join("&");
}

/** The query as it was found, without trackers. */
export function withoutTrackers(query: string, trackingPrefixes: readonly string[]): string {
  const pieces = query.split("&");
  return pieces.filter((piece) => !isTracker(nameOf(piece), trackingPrefixes)).join("&");
}

function isTracker(name: string, trackingPrefixes: readonly string[]): boolean {
  return trackingPrefixes.some((prefix) => name.toLowerCase().startsWith(prefix));
}

function piecesOf(query: string): readonly string[] {
  return query.split("&").filter((piece) => piece !== "");
}

function nameOf(piece: string): string {
  return canonicalEscapes(piece.split("=", 1)[0] ?? "");
}
