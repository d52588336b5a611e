/** Everything that ends a line somewhere. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const CONTROL = /[\u0000-\u0008\u000e-\u001f\u007f\u0080-\u0084\u0086-\u009f\ufeff]/g;

/** The lines of a text, trimmed, without blank ones and without characters that no reader can show. */
export function cleanLines(text: string): string[] {
  return text
    .toWellFormed()
    .replaceAll(CONTROL, "")
    .split(LINE_END)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function oneLine(text: string): string {
  return cleanLines(text).join(" ").replaceAll(/\s+/g, " ");
}
