import { decodeCodePage } from "../rtf/code-pages.ts";
import type { CompoundFolder } from "./compound-file.ts";

const UNICODE = "001F";
const BYTES_OF_TEXT = "001E";
const BINARY = "0102";
const FIXED = "__properties_version1.0";
const ENTRY_BYTES = 16;
const CODE_PAGE = 0x3fde;
/** Ticks of 100 ns between 1601 and 1970. */
const EPOCH_TICKS = 116_444_736_000_000_000n;

/** Properties of a message, a recipient or an attachment, by the four digits of their tag. */
export class MessageProperties {
  readonly #folder: CompoundFolder;
  readonly #fixed = new Map<number, Buffer>();
  readonly #codePage: number;

  /** `headerBytes` is what stands before the properties of fixed length: 32 for a message, 8 for its parts. */
  constructor(folder: CompoundFolder, headerBytes: number, codePage = 1252) {
    this.#folder = folder;
    const list = folder.streams.get(FIXED)?.() ?? Buffer.alloc(0);
    for (let at = headerBytes; at + ENTRY_BYTES <= list.length; at += ENTRY_BYTES) {
      this.#fixed.set(list.readUInt16LE(at + 2), list.subarray(at + 8, at + ENTRY_BYTES));
    }
    this.#codePage = this.number(CODE_PAGE) || codePage;
  }

  get codePage(): number {
    return this.#codePage;
  }

  /** The first of the tags that has a text, "" when none has. */
  text(...tags: readonly string[]): string {
    for (const tag of tags) {
      const wide = this.#stream(tag, UNICODE);
      const narrow = wide ? undefined : this.#stream(tag, BYTES_OF_TEXT);
      const text = wide ? wide.toString("utf16le") : narrow ? decodeCodePage(narrow, this.#codePage) : "";
      const trimmed = text.replaceAll("\0", "").trim();
      if (trimmed) return trimmed;
    }
    return "";
  }

  bytes(tag: string): Buffer | undefined {
    return this.#stream(tag, BINARY);
  }

  number(tag: number): number {
    return this.#fixed.get(tag)?.readInt32LE(0) ?? 0;
  }

  /** ISO 8601, "" when the property is not there. */
  instant(tag: number): string {
    const ticks = this.#fixed.get(tag)?.readBigUInt64LE(0) ?? 0n;
    const ms = Number((ticks - EPOCH_TICKS) / 10_000n);
    return ticks > 0n && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : "";
  }

  #stream(tag: string, type: string): Buffer | undefined {
    return this.#folder.streams.get(`__substg1.0_${tag}${type}`)?.();
  }
}
