import { BadInputError } from "../../contracts/errors.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what SharePoint refuses.
const FORBIDDEN = /["*:<>?/\\|\u0000-\u001f\u007f-\u009f]/;
const RESERVED = /^(\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini)$/i;
const MAX_SEGMENT_CHARS = 255;
const MAX_PATH_CHARS = 400;

/** SharePoint's own rules for the name of a file or folder. */
export function checkItemName(name: string): void {
  const problem = findProblem(name);
  if (problem) throw new BadInputError(`Name '${name.slice(0, 80)}': ${problem}.`);
}

function findProblem(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "a name must not be empty, '.' or '..'";
  if (name.length > MAX_SEGMENT_CHARS) return `a name has at most ${MAX_SEGMENT_CHARS} characters`;
  if (FORBIDDEN.test(name)) return 'a name must not contain " * : < > ? / \\ | or control characters';
  if (name !== name.trim()) return "a name must not begin or end with a space";
  if (RESERVED.test(name) || name.startsWith("~$") || name.includes("_vti_")) return "SharePoint reserves this name";
  return undefined;
}

/** The limit counts from below the site: folder and file name, decoded. */
export function checkSiteRelativePath(path: string): void {
  if (path.length > MAX_PATH_CHARS) {
    throw new BadInputError(
      `Path '${path.slice(0, 80)}…': ${path.length} characters, at most ${MAX_PATH_CHARS} are allowed.`,
    );
  }
}

/** Paths are compared without case and stored as given. Not normalised: SharePoint keeps NFC and NFD apart. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
