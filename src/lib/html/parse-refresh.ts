export interface Refresh {
  readonly seconds: number;
  /** As it is written. */
  readonly target: string;
}

/** `3; url='/next'` of a `Refresh` header or `<meta http-equiv="refresh">`. undefined: the page itself is meant. */
export function parseRefresh(content: string): Refresh | undefined {
  const [, seconds = "", rest = ""] = /^\s*(\d{0,9}(?:\.\d{0,9})?)\s*[;,\s]\s*(.{1,2060})/s.exec(content) ?? [];
  const target = /^(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|(.*))/is.exec(rest.trim());
  const written = (target?.[1] ?? target?.[2] ?? target?.[3] ?? "").trim();
  return written === "" ? undefined : { seconds: Number(seconds) || 0, target: written };
}
