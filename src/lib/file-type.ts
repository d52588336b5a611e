/** The last extension in lower case without its dot, "" when there is none: `.gitignore` and `noext` have none. */
export function fileTypeOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : "";
}
