import { BadInputError } from "../contracts/errors.ts";
import { Turn } from "../lib/turn.ts";

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Elements between two looks at the clock. */
const LOOK_EVERY = 64;
/** Small pieces are written together. */
const BATCH_BYTES = 1024 * 1024;

export interface Place {
  readonly start: number;
  readonly end: number;
}

export interface ElementEdits {
  readonly replaced?: ReadonlyMap<number, unknown>;
  readonly removed?: ReadonlySet<number>;
  readonly added?: Iterable<unknown>;
}

/**
 * A JSON array as its text and the places of its elements: as large as the text, where the parsed array is several times
 * that. Elements are parsed one at a time, the rest of the process gets its turn in between, and what is not edited is
 * written back as it was.
 */
export class JsonElements {
  readonly #bytes: Buffer;
  /** Begin and end of each. */
  readonly #bounds: readonly number[];

  private constructor(bytes: Buffer, bounds: readonly number[]) {
    this.#bytes = bytes;
    this.#bounds = bounds;
  }

  /** Of UTF-8 without a mark; nothing at all, and `null`, is an empty array. BadInputError when it is no array. */
  static async find(bytes: Buffer): Promise<JsonElements> {
    const turn = new Turn();
    const bounds: number[] = [];
    const begin = skipSpace(bytes, 0);
    if (begin === bytes.length || isNull(bytes, begin)) return new JsonElements(bytes, bounds);
    if (bytes[begin] !== OPEN_ARRAY) throw new BadInputError("it is no JSON array");
    let at = skipSpace(bytes, begin + 1);
    while (bytes[at] !== CLOSE_ARRAY || bounds.length > 0) {
      const end = endOfValue(bytes, at);
      bounds.push(at, end);
      at = skipSpace(bytes, end);
      if (bytes[at] === CLOSE_ARRAY) break;
      if (bytes[at] !== COMMA) throw new BadInputError("it is not valid JSON");
      at = skipSpace(bytes, at + 1);
      if (bounds.length % (2 * LOOK_EVERY) === 0 && turn.isOver()) await turn.next();
    }
    if (skipSpace(bytes, at + 1) !== bytes.length) throw new BadInputError("it is not valid JSON");
    return new JsonElements(bytes, bounds);
  }

  get length(): number {
    return this.#bounds.length / 2;
  }

  place(index: number): Place {
    return { start: this.#bounds[index * 2] ?? 0, end: this.#bounds[index * 2 + 1] ?? 0 };
  }

  /** BadInputError when it is damaged. */
  at(index: number): unknown {
    return parseElement(this.#bytes, this.place(index));
  }

  async visit(look: (value: unknown, index: number) => void): Promise<void> {
    const turn = new Turn();
    for (let index = 0; index < this.length; index++) {
      look(this.at(index), index);
      if (index % LOOK_EVERY === 0 && turn.isOver()) await turn.next();
    }
  }

  /** The text of the array after the edits. */
  *render(edits: ElementEdits): Generator<Buffer, void> {
    let batch: Buffer[] = [];
    let size = 0;
    for (const piece of this.#pieces(edits)) {
      batch.push(typeof piece === "string" ? Buffer.from(piece) : piece);
      size += batch.at(-1)?.length ?? 0;
      if (size < BATCH_BYTES) continue;
      yield* size > 2 * BATCH_BYTES ? batch : [Buffer.concat(batch)];
      [batch, size] = [[], 0];
    }
    yield Buffer.concat(batch);
  }

  *#pieces({ replaced, removed, added = [] }: ElementEdits): Generator<Buffer | string, void> {
    const isEdited = (index: number): boolean => replaced?.has(index) === true || removed?.has(index) === true;
    let before = "[\n  ";
    for (let index = 0; index < this.length; index++) {
      if (removed?.has(index)) continue;
      yield before;
      before = ",\n  ";
      if (replaced?.has(index)) {
        yield indented(replaced.get(index));
        continue;
      }
      const { start } = this.place(index);
      while (index + 1 < this.length && !isEdited(index + 1)) index += 1;
      yield this.#bytes.subarray(start, this.place(index).end);
    }
    for (const value of added) {
      yield before;
      before = ",\n  ";
      yield indented(value);
    }
    yield before.startsWith("[") ? "[]\n" : "\n]\n";
  }
}

export function parseElement(bytes: Buffer, { start, end }: Place): unknown {
  try {
    return JSON.parse(bytes.toString("utf8", start, end));
  } catch (error) {
    throw new BadInputError("it is not valid JSON", { cause: error });
  }
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", "\n  ");
}

/** Where the value that begins here ends. Whether it is well-formed inside, parsing it will tell. */
function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at) - 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth += 1;
    else if (depth > 0 && (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT)) depth -= 1;
    else if (depth > 0) continue;
    else if (byte === COMMA || byte === CLOSE_ARRAY || isSpace(byte)) return at;
    else continue;
    if (depth === 0) return at + 1;
  }
  throw new BadInputError("it is not valid JSON: it ends too early");
}

/** Behind the closing quote of the text that begins here. */
function endOfText(bytes: Buffer, start: number): number {
  for (let quote = bytes.indexOf(QUOTE, start + 1); quote >= 0; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let escapes = 0;
    while (bytes[quote - 1 - escapes] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
  }
  throw new BadInputError("it is not valid JSON: it ends too early");
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && isSpace(bytes[at])) at += 1;
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isNull(bytes: Buffer, start: number): boolean {
  return bytes.toString("latin1", start, start + 4) === "null" && skipSpace(bytes, start + 4) === bytes.length;
}
