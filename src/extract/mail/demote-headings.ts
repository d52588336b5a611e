const DEEPEST = 6;

/** Headings become so many levels smaller, so that a document can be a part of another one. Code stays as it is. */
export function demoteHeadings(markdown: string, levels: number): string {
  let fence = "";
  return markdown
    .split("\n")
    .map((line) => {
      const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
      if (fence) {
        if (marks.startsWith(fence) && line.trim() === marks) fence = "";
        return line;
      }
      if (marks) fence = marks;
      const level = /^(#{1,6})[ \t]/.exec(line)?.[1]?.length ?? 0;
      return level ? `${"#".repeat(Math.min(DEEPEST, level + levels))}${line.slice(level)}` : line;
    })
    .join("\n");
}
