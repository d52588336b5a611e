import { escapeXml } from "../sharepoint/odata/response.ts";
import type { Block } from "./text-blocks.ts";

/** A web page with the navigation and footer real ones have, so that an extractor has something to leave out. */
export function writeHtml(blocks: readonly Block[], title: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeXml(title)}</title><style>body { font-family: sans-serif; }</style></head>
<body>
<nav><a href="/">Home</a> <a href="/news">News</a> <a href="/people">People</a></nav>
<main>
${blocksHtml(blocks)}
</main>
<footer>Tidewheel intranet</footer>
<script>console.log("page view");</script>
</body>
</html>
`;
}

export function blocksHtml(blocks: readonly Block[]): string {
  return blocks.map(blockHtml).join("\n");
}

function blockHtml(block: Block): string {
  if (block.kind === "heading") return `<h${block.level}>${escapeXml(block.text)}</h${block.level}>`;
  if (block.kind === "paragraph") return `<p>${escapeXml(block.text)}</p>`;
  if (block.kind === "bullets") return `<ul>${block.items.map((item) => `<li>${escapeXml(item)}</li>`).join("")}</ul>`;
  const [head = [], ...rows] = block.rows;
  const row = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeXml(cell)}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${row(head, "th")}</thead><tbody>${rows.map((each) => row(each, "td")).join("")}</tbody></table>`;
}

/** Plain text as somebody types it: headings in capitals, tables with bars. */
export function writeText(blocks: readonly Block[]): string {
  return `${blocks.map(blockText).join("\n\n")}\n`;
}

function blockText(block: Block): string {
  if (block.kind === "heading") return block.text.toUpperCase();
  if (block.kind === "paragraph") return block.text;
  if (block.kind === "bullets") return block.items.map((item) => `* ${item}`).join("\n");
  return block.rows.map((row) => row.join(" | ")).join("\n");
}
