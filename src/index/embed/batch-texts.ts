/** Within what OpenAI, Azure and the local services take in one request. */
const MAX_TEXTS = 256;
const MAX_CHARACTERS = 400_000;

export interface TextBatch {
  /** Where each text was in what was given. */
  readonly places: readonly number[];
  readonly texts: readonly string[];
}

/** Texts for one request each. Texts without a character in them are left out: services refuse them. */
export function* batchTexts(texts: readonly string[], longest: number): Generator<TextBatch> {
  let places: number[] = [];
  let characters = 0;
  const batch = (): TextBatch => ({ places, texts: places.map((place) => texts[place] ?? "") });
  for (const [place, text] of texts.entries()) {
    if (text.trim() === "") continue;
    const length = Math.min(text.length, longest);
    if (places.length > 0 && (places.length >= MAX_TEXTS || characters + length > MAX_CHARACTERS)) {
      yield batch();
      places = [];
      characters = 0;
    }
    places.push(place);
    characters += length;
  }
  if (places.length > 0) yield batch();
}
