/** A line longer than this was written for machines. */
const LONG_LINE = 1000;
/** Every level indents all lines below it; deeper ones go on at this level. */
const MAX_INDENT = 8;

/**
 * Long lines of JSON become lines people can read and passages can be cut at. Only white space is added, so that numbers
 * stay as they are written, and JSON that is broken stays as broken as it was.
 */
export function breakJson(json: string): string {
  return json
    .split("\n")
    .map((line) => (line.length > LONG_LINE ? breakLine(line) : line))
    .join("\n");
}

function breakLine(line: string): string {
  const parts: string[] = [];
  let depth = 0;
  let written = 0;
  const feed = (end: number): void => {
    parts.push(line.slice(written, end).trim(), "\n", "  ".repeat(Math.max(0, Math.min(depth, MAX_INDENT))));
    written = end;
  };
  for (let at = 0; at < line.length; at += 1) {
    const code = line.charCodeAt(at);
    if (code === 0x22) at = stringEnd(line, at + 1);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      feed(at + 1);
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
      feed(at);
    } else if (code === 0x2c) feed(at + 1);
  }
  return parts.join("") + line.slice(written);
}

/** Where the closing quote is, or the end of the line. */
function stringEnd(line: string, start: number): number {
  for (let at = line.indexOf('"', start); at !== -1; at = line.indexOf('"', at + 1)) {
    let slashes = 0;
    while (line.charCodeAt(at - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return line.length;
}
