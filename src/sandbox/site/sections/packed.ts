import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

const PACKERS: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: (text) => gzipSync(text),
  br: (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (text) => zstdCompressSync(text),
  deflate: (text) => deflateSync(text),
};

/** Long pages, packed in each of the usual ways, whatever the client said it can unpack. */
export const packed: MakeSection = () => ({
  name: "packed",
  entrances: Object.keys(PACKERS).map((name) => `/packed/${name}`),
  pages: () => Object.keys(PACKERS).map((name) => listed(`/packed/${name}`, `bison${name}`)),
  answer(asked) {
    const name = asked.path.slice("/packed/".length);
    const pack = PACKERS[name];
    if (!pack) return undefined;
    const page = htmlDocument({ word: `bison${name}`, length: 60 }, asked, { headers: { "Content-Encoding": name } });
    return { ...page, body: () => pack(String(page.body())) };
  },
});
