/** The query of a request, both as sent (a next link repeats it) and decoded. */
export interface QueryOptions {
  /** In the order sent, still encoded. */
  readonly raw: readonly { readonly key: string; readonly value: string }[];
  /** `$select` and the like; the name in lower case, the value decoded. */
  readonly system: ReadonlyMap<string, string>;
  /** `@p` and the literal it stands for, decoded. */
  readonly aliases: ReadonlyMap<string, string>;
}

export function parseQueryOptions(rawQuery: string): QueryOptions {
  const raw: { key: string; value: string }[] = [];
  const system = new Map<string, string>();
  const aliases = new Map<string, string>();
  for (const part of rawQuery.split("&").filter(Boolean)) {
    const cut = part.includes("=") ? part.indexOf("=") : part.length;
    const entry = { key: part.slice(0, cut), value: part.slice(cut + 1) };
    const key = decodeQueryText(entry.key);
    raw.push(entry);
    if (key.startsWith("$")) system.set(key.toLowerCase(), decodeQueryText(entry.value));
    else if (key.startsWith("@")) aliases.set(key.toLowerCase(), decodeQueryText(entry.value));
  }
  return { raw, system, aliases };
}

/** In a query, unlike in a path, a bare plus is a space. Throws URIError on a broken escape. */
function decodeQueryText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** `Id, File/Length` -> `["Id", "File/Length"]` */
export function listOption(query: QueryOptions, name: "$select" | "$expand"): string[] {
  return (query.system.get(name) ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
}

/** Escapes as the service itself does in the links it hands out: `%3d`, not `%3D`. */
export function encodeInLowerHex(text: string): string {
  return encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
}
