// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** One line of a log, whatever names and documents hold: line ends, escape sequences and characters that turn text around are spelled out. */
export function logLine(text: string): string {
  return text.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
