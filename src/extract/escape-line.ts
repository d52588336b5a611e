/** Text that would begin a heading, list, quote, rule, fence or underline loses that power; words stay as they are. */
export function escapeLine(line: string): string {
  const number = /^(\d{1,9})([.)])(?=\s|$)/.exec(line);
  if (number) return `${number[1]}\\${line.slice(number[1]?.length)}`;
  return /^(?:#{1,6}(?:\s|$)|[-+*](?:\s|$)|>|`{3}|~{3}|=+\s*$|-+\s*$|<!-- page )/.test(line) ? `\\${line}` : line;
}
