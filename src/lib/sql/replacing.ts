/** What follows an INSERT of rows that take the place of those with the same key; `columns` are all others. */
export function replacing(key: string, columns: string): string {
  const sets = columns.split(", ").map((name) => `${name} = excluded.${name}`);
  return `ON CONFLICT (${key}) DO UPDATE SET ${sets.join(", ")}`;
}
