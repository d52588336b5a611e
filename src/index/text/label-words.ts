import { analyze } from "./analyze.ts";

/** What of a document is found besides its text. */
export interface LabelText {
  readonly name: string;
  readonly path: string;
  /** Of its body; "" when it has none. */
  readonly title: string;
}

/** Raise ANALYZER_REVISION when the words of some label come out differently. */
export function labelWords({ name, path, title }: LabelText): { [Field in keyof LabelText]: string[] } {
  return { name: analyze(apart(name)), path: analyze(apart(path)), title: analyze(title) };
}

/** `INV-2026-0123.txt` is looked for as `INV-2026-0123`: neither folders nor the extension belong to the identifier. */
function apart(path: string): string {
  return path.replaceAll(/[\\/]+/g, " ").replace(/\.([\p{L}\p{N}]{1,8})$/u, " $1");
}
