import type { ItemId } from "../../contracts/ids.ts";
import type { KeptContent, KeptDocument, KeptText } from "./kept-document.ts";
import { countWords, hashText } from "./text-facts.ts";
import { versionAfter } from "./version-id.ts";

/** What a new text follows. */
export interface Predecessor {
  readonly docId: ItemId;
  /** What is current, when its metadata can be read. */
  readonly before: KeptDocument | undefined;
  /** The highest version there is. */
  readonly latest: string | undefined;
}

/** The metadata of a text. The same bytes are the same version, however often it is made. */
export function describeText(
  { docId, before, latest }: Predecessor,
  content: KeptContent,
  text: KeptText,
): KeptDocument {
  const versionId = before?.hash === content.hash ? before.versionId : versionAfter(latest);
  const createdAt = before?.createdAt || content.at;
  const named = { ...content, docId, versionId, createdAt };
  if (!("markdown" in text))
    return { ...named, title: "", language: "", wordCount: 0, textHash: "", error: text.error };
  const { title, language, markdown } = text;
  return { ...named, title, language, wordCount: countWords(markdown), textHash: hashText(markdown), error: "" };
}
