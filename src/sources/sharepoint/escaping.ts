/** A text as an OData string literal inside a URL: quotes doubled, then percent-encoded, quotes around it. */
export function odataLiteral(text: string): string {
  return `'${encodeURIComponent(text.toWellFormed().replaceAll("'", "''"))}'`;
}

/** Percent-encodes each segment and keeps the slashes. */
export function encodePath(path: string): string {
  return path
    .split("/")
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join("/");
}

/**
 * What follows `root` and its slash in `path`, or undefined when the path does not lie below the root.
 * SharePoint compares paths without case and we cut by position, so nothing is decoded or spelled anew.
 */
export function pathBelow(root: string, path: string): string | undefined {
  if (path.slice(0, root.length).toLowerCase() !== root.toLowerCase()) return undefined;
  if (path[root.length] !== "/" || path.length === root.length + 1) return undefined;
  return path.slice(root.length + 1);
}
