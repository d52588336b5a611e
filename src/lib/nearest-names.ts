const MAX_SUGGESTIONS = 3;

/** Returns names that differ from the wanted one in a few letters, or contain it: likely typos. */
export function nearestNames(wanted: string, names: readonly string[]): string[] {
  const plain = plainName(wanted);
  return names
    .map((name) => ({ name, distance: distanceBetween(plain, plainName(name)) }))
    .filter(({ distance }) => distance <= Math.max(2, plain.length / 3))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name);
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]+/g, "");
}

/** Returns how many letters to change, add or leave out. */
function distanceBetween(a: string, b: string): number {
  if (a && (b.includes(a) || a.includes(b))) return 1;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
