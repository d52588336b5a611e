/** The little Markdown the seed texts are written in, taken apart so that every format can be made from it. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: string }
  | { readonly kind: "paragraph"; readonly text: string }
  | { readonly kind: "bullets"; readonly items: readonly string[] }
  | { readonly kind: "table"; readonly rows: readonly (readonly string[])[] };

export function parseBlocks(markdown: string): Block[] {
  return markdown
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter(Boolean)
    .map(toBlock);
}

function toBlock(part: string): Block {
  const heading = /^(#{1,6}) (.+)$/.exec(part);
  if (heading) return { kind: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "" };
  const lines = part.split("\n");
  if (part.startsWith("- ")) return { kind: "bullets", items: joinItems(lines) };
  if (part.startsWith("|"))
    return { kind: "table", rows: lines.filter((line) => !/^\|[\s|:-]+$/.test(line)).map(toCells) };
  return { kind: "paragraph", text: lines.join(" ") };
}

/** A bullet may go on over several lines. */
function joinItems(lines: readonly string[]): string[] {
  const items: string[] = [];
  for (const line of lines) {
    if (line.startsWith("- ")) items.push(line.slice(2));
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  return items;
}

function toCells(line: string): string[] {
  return line
    .slice(1, line.lastIndexOf("|"))
    .split("|")
    .map((cell) => cell.trim());
}
