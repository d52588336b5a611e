/** Documents are not to write to the terminal: escape sequences and other control characters become blanks. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
}

/** The same for one line of a text, where indentation means something. */
export function plainLine(text: string): string {
  return `${/^[ \t]*/.exec(text)?.[0] ?? ""}${plainText(text)}`;
}
