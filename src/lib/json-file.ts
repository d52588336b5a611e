import { createReadStream } from "node:fs";
import { BadInputError } from "../contracts/errors.ts";

/**
 * Parses a JSON file that people edit, too: UTF-8 or UTF-16, with or without a byte order mark. Returns undefined for an empty file. Throws
 * for bytes that are no text in these encodings, so that nothing mangled is ever written back.
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  const text = decoderOf(bytes).decode(bytes).trim();
  return text === "" ? undefined : parseJson(text);
}

export function toJsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/**
 * Yields the elements of a JSON array in such a file as texts, in pages; memory holds one page. No page for an empty file and for `null`;
 * an empty one for `[]`. Throws BadInputError if it is no JSON array; `parseExactly` checks the elements.
 */
export async function* readJsonArray(path: string): AsyncGenerator<string[], void> {
  const splitter = new ArraySplitter();
  let decoder: Decoder | undefined;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    decoder ??= decoderOf(chunk);
    const page = splitter.feed(decoder.decode(chunk, { stream: true }));
    if (page.length > 0) yield page;
  }
  if (splitter.end(decoder?.decode(new Uint8Array()) ?? "")) yield [];
}

/** Like JSON.parse, but a number that no double can hold keeps its digits, also when written again. */
export function parseExactly(text: string): unknown {
  return parseJson(text, /\d{16}|\d[eE]\+?\d{3}/.test(text) ? keepDigits : undefined);
}

const CHUNK_BYTES = 256 * 1024;

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

const keepDigits: Reviver = (_key, value, context) =>
  typeof value === "number" && context?.source !== undefined && String(value) !== context.source
    ? (JSON as JSON & { rawJSON(text: string): unknown }).rawJSON(context.source)
    : value;

function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch (error) {
    throw new BadInputError("it is not valid JSON", { cause: error });
  }
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Finds where the elements of an array end, by brackets, commas and quotes alone. */
class ArraySplitter {
  /** The incomplete element; outside of the array, the text there. */
  #piece = "";
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #hasElements = false;
  #isOver = false;

  /** Returns the elements that are complete now. */
  feed(text: string): string[] {
    const page: string[] = [];
    let from = 0;
    const cut = (at: number): void => {
      const element = (this.#piece + text.slice(from, at)).trim();
      this.#piece = "";
      from = at + 1;
      if (element !== "") page.push(element);
      else if (!this.#isOver || this.#hasElements) throw new BadInputError("it is not valid JSON");
      this.#hasElements = true;
    };
    for (let at = 0; at < text.length; at++) {
      const char = text.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#inText) {
        if (char === BACKSLASH) this.#isEscaped = true;
        else if (char === QUOTE) this.#inText = false;
      } else if (char === QUOTE) this.#inText = true;
      else if (char === OPEN_ARRAY || char === OPEN_OBJECT) {
        this.#depth += 1;
        if (this.#depth === 1) this.#begin(char, text.slice(from, at));
        if (this.#depth === 1) from = at + 1;
      } else if (char === CLOSE_ARRAY || char === CLOSE_OBJECT) {
        this.#depth -= 1;
        this.#isOver = this.#depth === 0 && char === CLOSE_ARRAY;
        if (this.#isOver) cut(at);
        else if (this.#depth < 1) throw new BadInputError("it is not valid JSON");
      } else if (char === COMMA && this.#depth === 1) cut(at);
    }
    this.#piece += text.slice(from);
    return page;
  }

  /** Returns whether there was an array. */
  end(text: string): boolean {
    this.feed(text);
    if (this.#depth > 0) throw new BadInputError("it is not valid JSON: it ends too early");
    const around = this.#piece.trim();
    if (around === "" || (around === "null" && !this.#isOver)) return this.#isOver;
    throw new BadInputError(this.#isOver ? "it is not valid JSON" : "it is no JSON array");
  }

  #begin(char: number, before: string): void {
    const around = (this.#piece + before).trim();
    if (this.#isOver) throw new BadInputError("it is not valid JSON");
    if (char !== OPEN_ARRAY || around !== "") throw new BadInputError("it is no JSON array");
    this.#piece = "";
  }
}

interface Decoder {
  decode(bytes: Uint8Array, options?: { readonly stream: boolean }): string;
}

/** Returns the decoder for a text that begins with these bytes. */
function decoderOf(bytes: Uint8Array): Decoder {
  const decoder = new TextDecoder(encodingOf(bytes), { fatal: true });
  return {
    decode(piece, options) {
      try {
        return decoder.decode(piece, options);
      } catch (error) {
        throw new BadInputError("it is neither UTF-8 nor UTF-16 text", { cause: error });
      }
    },
  };
}

/** JSON begins with an ASCII character, so without a mark the zero byte beside it indicates UTF-16. */
function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && second !== undefined)) return "utf-16be";
  return "utf-8";
}
