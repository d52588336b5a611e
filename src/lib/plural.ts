/** `1 file`, `2 files`; the plural is given where it is not made with an s. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : nouns}`;
}
