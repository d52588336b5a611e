import { ExtractError } from "../../contracts/document.ts";

/** A storage of a compound file, the container of old Office formats and of Outlook messages. */
export interface CompoundFolder {
  /** Bytes are put together when they are asked for. */
  readonly streams: ReadonlyMap<string, () => Buffer>;
  readonly folders: ReadonlyMap<string, CompoundFolder>;
}

interface Entry {
  readonly name: string;
  readonly type: number;
  readonly links: readonly number[];
  readonly child: number;
  readonly start: number;
  readonly size: number;
}

const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const MINI_SECTOR_BYTES = 64;
const LAST_SECTOR = 0xfffffffa;
const MAX_DEPTH = 10;
const STORAGE = 1;
const STREAM = 2;

/** Chains that run in circles, and entries that are their own ancestors, end in an error instead of never. */
export function readCompoundFile(bytes: Buffer): CompoundFolder {
  try {
    return new CompoundReader(bytes).root();
  } catch (cause) {
    throw new ExtractError("invalid_file", "The Outlook message is damaged and cannot be read.", { cause });
  }
}

class CompoundReader {
  readonly #bytes: Buffer;
  readonly #sectorBytes: number;
  readonly #table: Uint32Array;
  readonly #miniTable: Uint32Array;
  readonly #entries: readonly Entry[];
  readonly #miniStream: Buffer;
  readonly #met = new Set<number>();

  constructor(bytes: Buffer) {
    const shift = bytes.readUInt16LE(30);
    if (shift !== 9 && shift !== 12) throw new Error(`read compound file: sectors of 2^${shift} bytes`);
    this.#bytes = bytes;
    this.#sectorBytes = 2 ** shift;
    this.#table = toNumbers(Buffer.concat(this.#tableSectors().map((sector) => this.#sector(sector))));
    this.#miniTable = toNumbers(this.#chain(bytes.readUInt32LE(60)));
    const directory = this.#chain(bytes.readUInt32LE(48));
    this.#entries = Array.from({ length: directory.length / ENTRY_BYTES }, (_, at) =>
      readEntry(directory.subarray(at * ENTRY_BYTES)),
    );
    const [root] = this.#entries;
    this.#miniStream = root && root.size > 0 ? this.#chain(root.start) : Buffer.alloc(0);
  }

  root(): CompoundFolder {
    const [root] = this.#entries;
    if (!root) throw new Error("read compound file: it has no entries");
    return this.#folder(root, 0);
  }

  #folder({ child }: Entry, depth: number): CompoundFolder {
    const streams = new Map<string, () => Buffer>();
    const folders = new Map<string, CompoundFolder>();
    const toVisit = [child];
    for (let at = toVisit.pop(); at !== undefined; at = toVisit.pop()) {
      const entry = this.#entries[at];
      if (!entry) continue;
      if (this.#met.has(at)) throw new Error("read compound file: its directory runs in circles");
      this.#met.add(at);
      toVisit.push(...entry.links);
      if (entry.type === STREAM) streams.set(entry.name, () => this.#content(entry));
      else if (entry.type === STORAGE && depth < MAX_DEPTH) folders.set(entry.name, this.#folder(entry, depth + 1));
    }
    return { streams, folders };
  }

  #content({ start, size }: Entry): Buffer {
    if (size === 0) return Buffer.alloc(0);
    const isSmall = size < this.#bytes.readUInt32LE(56);
    return (isSmall ? this.#miniChain(start) : this.#chain(start)).subarray(0, size);
  }

  /** Where the table of sectors is: the first places stand in the header, the others in a chain of their own. */
  #tableSectors(): number[] {
    const places = [...toNumbers(this.#bytes.subarray(76, HEADER_BYTES))];
    let next = this.#bytes.readUInt32LE(68);
    for (let steps = this.#bytes.readUInt32LE(72); steps > 0 && next < LAST_SECTOR; steps -= 1) {
      const more = toNumbers(this.#sector(next));
      next = more.at(-1) ?? LAST_SECTOR;
      for (const place of more.subarray(0, -1)) places.push(place);
      if (places.length * this.#sectorBytes > this.#bytes.length) break;
    }
    return places.filter((place) => place < LAST_SECTOR);
  }

  #sector(number: number): Buffer {
    const start = (number + 1) * this.#sectorBytes;
    if (start >= this.#bytes.length) throw new Error(`read compound file: it has no sector ${number}`);
    return this.#bytes.subarray(start, start + this.#sectorBytes);
  }

  #chain(start: number): Buffer {
    return Buffer.concat(follow(start, this.#table).map((sector) => this.#sector(sector)));
  }

  #miniChain(start: number): Buffer {
    const parts = follow(start, this.#miniTable).map((sector) =>
      this.#miniStream.subarray(sector * MINI_SECTOR_BYTES, (sector + 1) * MINI_SECTOR_BYTES),
    );
    return Buffer.concat(parts);
  }
}

function follow(start: number, table: Uint32Array): number[] {
  const chain: number[] = [];
  for (let sector = start; sector < LAST_SECTOR; sector = table[sector] ?? LAST_SECTOR) {
    if (chain.length > table.length) throw new Error("read compound file: a chain runs in circles");
    chain.push(sector);
  }
  return chain;
}

function readEntry(bytes: Buffer): Entry {
  const nameBytes = Math.max(0, Math.min(64, bytes.readUInt16LE(64)) - 2);
  return {
    name: bytes.toString("utf16le", 0, nameBytes),
    type: bytes.readUInt8(66),
    links: [bytes.readUInt32LE(68), bytes.readUInt32LE(72)],
    child: bytes.readUInt32LE(76),
    start: bytes.readUInt32LE(116),
    size: bytes.readUInt32LE(120),
  };
}

function toNumbers(bytes: Buffer): Uint32Array {
  return Uint32Array.from({ length: Math.floor(bytes.length / 4) }, (_, at) => bytes.readUInt32LE(at * 4));
}
