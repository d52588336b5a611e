/** What is embedded of a passage: the headings above it say what it is about. Names and paths are left out, so a move embeds nothing. */
export function passageText(chunk: { readonly sectionPath: string; readonly text: string }): string {
  return chunk.sectionPath === "" ? chunk.text : `${chunk.sectionPath}\n${chunk.text}`;
}
