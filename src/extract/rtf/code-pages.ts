/** Decoders by the number of a Windows code page. */
const DECODERS: Readonly<Record<number, string>> = {
  437: "windows-1252",
  850: "windows-1252",
  866: "ibm866",
  874: "windows-874",
  932: "shift_jis",
  936: "gbk",
  949: "euc-kr",
  950: "big5",
  10000: "macintosh",
  20866: "koi8-r",
  65001: "utf-8",
};

/** Code pages by the character set of a font. */
const OF_CHARSET: Readonly<Record<number, number>> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

export function codePageOfCharset(charset: number): number | undefined {
  return OF_CHARSET[charset];
}

export function encodingOfCodePage(codePage: number): string {
  const isWindows = codePage >= 1250 && codePage <= 1258;
  return isWindows ? `windows-${codePage}` : (DECODERS[codePage] ?? "windows-1252");
}

export function decodeCodePage(bytes: Iterable<number>, codePage: number): string {
  return new TextDecoder(encodingOfCodePage(codePage)).decode(Uint8Array.from(bytes));
}
