const TABLES = new Map<string, ReadonlyMap<string, readonly number[]>>();

/** Bytes of a text in one of the older encodings, read off the decoder backwards. */
export function encodeText(text: string, encoding: string): Buffer {
  const table = TABLES.get(encoding) ?? tableOf(encoding);
  TABLES.set(encoding, table);
  const bytes = Array.from(text).flatMap((character) => {
    const code = table.get(character);
    if (!code) throw new Error(`encode text: ${encoding} has no '${character}'`);
    return code;
  });
  return Buffer.from(bytes);
}

function tableOf(encoding: string): ReadonlyMap<string, readonly number[]> {
  const decoder = new TextDecoder(encoding);
  const table = new Map<string, readonly number[]>();
  const note = (bytes: readonly number[]): void => {
    const text = decoder.decode(Uint8Array.from(bytes));
    if (Array.from(text).length === 1 && text !== "\ufffd" && !table.has(text)) table.set(text, bytes);
  };
  for (let byte = 0; byte < 256; byte += 1) note([byte]);
  if (!/^(?:shift_jis|euc-jp|gb18030|big5|euc-kr)$/.test(encoding)) return table;
  for (let lead = 0x81; lead < 0xff; lead += 1) for (let trail = 0x40; trail < 0xff; trail += 1) note([lead, trail]);
  return table;
}
