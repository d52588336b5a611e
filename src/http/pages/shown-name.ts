const TURNING: { readonly [character: string]: string } = {
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
};

/** A name others gave. Characters that turn the text around them are spelled out: behind one, "fdp.exe" reads "exe.pdf". */
export function shownName(name: string): string {
  return name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (character) => `⟨${TURNING[character]}⟩`);
}
