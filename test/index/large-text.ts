/** A document of so many passages, one per section. */
export function largeText(passages: number, word = "largeword"): string {
  const sentence = `The ${word} stands in a sentence that is long enough to be a passage of its own, with a few more words. `;
  return Array.from({ length: passages }, (_, i) => `## Section ${i}\n\n${sentence.repeat(3)}`).join("\n\n");
}
