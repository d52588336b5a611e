/** For sorting by code units, which is the same everywhere: less than 0 when `a` comes first. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
