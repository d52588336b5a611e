import { ExtractError } from "../contracts/document.ts";

/**
 * Throws when markup has more elements than can be read in a few seconds. Elements and not bytes are what time is spent
 * on (tables take five times as long as prose of the same length), and in a library nothing can interrupt it: a worker
 * that can be killed is what would make this limit unnecessary.
 */
export function guardElements(markup: string, maxElements: number): void {
  let count = 0;
  for (let at = markup.indexOf("<"); at !== -1; at = markup.indexOf("<", at + 1)) {
    if (opensElement(markup.charCodeAt(at + 1))) count += 1;
    if (count > maxElements) {
      throw new ExtractError("invalid_file", `The file is too complex: it has more than ${maxElements} elements.`);
    }
  }
}

/** A letter; NaN at the end of the text is none. */
function opensElement(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}
