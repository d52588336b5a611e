import { createHash } from "node:crypto";

const ENDING = ".csv";
/** As much as fits on every disk, with room for what the mirror may append. */
const MAX_NAME_BYTES = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const NOT_IN_NAMES = /[\u0000-\u001f\u007f"*:<>?|\\/%]|^[. ]|[. ]$/g;
const RESERVED_ON_WINDOWS = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** The file of a list's export. Characters no disk allows are percent-encoded, so that the title can be read back. */
export function listFileName(title: string): string {
  const name = title
    .toWellFormed()
    .replaceAll(NOT_IN_NAMES, percent)
    .replace(RESERVED_ON_WINDOWS, (word) => percent(word.charAt(0)) + word.slice(1));
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name + ENDING;
  const letters = Array.from(name);
  while (Buffer.byteLength(letters.join("")) > MAX_NAME_BYTES) letters.pop();
  const hash = createHash("sha256").update(title).digest("hex").slice(0, 8);
  return `${letters.join("").replace(/%.?$/, "")}~${hash}${ENDING}`;
}

/** The title a file is named after; shortened if it had to be. */
export function listTitleOf(fileName: string): string {
  const name = fileName.endsWith(ENDING) ? fileName.slice(0, -ENDING.length) : fileName;
  return name.replaceAll(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
