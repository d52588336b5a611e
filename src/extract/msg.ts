import { decompressRTF } from "@kenjiuno/decompressrtf";
import type { FieldsData } from "@kenjiuno/msgreader";
import msgreader from "@kenjiuno/msgreader";
import { ExtractError } from "../contracts/document.ts";
import { declaredEncoding, decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { type MailAttachment, mailMarkdown } from "./mail-markdown.ts";
import { encodingOfCodePage, extractRtf } from "./rtf.ts";

const { default: MsgReader } = msgreader;
type Reader = InstanceType<typeof MsgReader>;

const USUAL_CODE_PAGE = 1252;
/** On behalf of whom somebody sent it: name and address. */
const ON_BEHALF = { name: "0042", address: "0065" };

export async function extractMsg(bytes: Buffer, limits: ExtractLimits): Promise<ReadText> {
  const { reader, message } = readMessage(bytes);
  const people = message.recipients ?? [];
  return mailMarkdown(
    {
      subject: textOf(message.subject, message.normalizedSubject),
      from: person(
        textOf(message.senderName, rawText(message, ON_BEHALF.name)),
        textOf(message.senderSmtpAddress, message.senderEmail, rawText(message, ON_BEHALF.address)),
      ),
      to: people.filter(({ recipType }) => recipType !== "cc" && recipType !== "bcc").map(recipient),
      cc: people.filter(({ recipType }) => recipType === "cc").map(recipient),
      sentAt: instantOf(message.clientSubmitTime, message.messageDeliveryTime),
      text: textOf(message.body) || rtfText(message.compressedRtf),
      html: message.html
        ? decodeText(Buffer.from(message.html), declaredEncoding(Buffer.from(message.html)))
        : textOf(message.bodyHtml),
      attachments: (message.attachments ?? []).map((fields) => attachment(fields, reader)),
    },
    limits,
  );
}

function readMessage(bytes: Buffer): { reader: Reader; message: FieldsData } {
  try {
    checkCompoundFile(bytes);
    const usual = open(bytes, USUAL_CODE_PAGE);
    const codePage = usual.message.internetCodepage ?? USUAL_CODE_PAGE;
    return codePage === USUAL_CODE_PAGE ? usual : open(bytes, codePage);
  } catch (cause) {
    throw new ExtractError("invalid_file", "The Outlook message is damaged and cannot be read.", { cause });
  }
}

function open(bytes: Buffer, codePage: number): { reader: Reader; message: FieldsData } {
  const reader = new MsgReader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
  reader.parserConfig = { ansiEncoding: encodingOfCodePage(codePage), includeRawProps: true };
  const message = reader.getFileData();
  if (message.error) throw new Error(message.error);
  return { reader, message };
}

/** The first that has a text, "" when none has. */
function textOf(...values: readonly unknown[]): string {
  const texts = values.map((value) => (typeof value === "string" ? value.replaceAll("\0", "").trim() : ""));
  return texts.find(Boolean) ?? "";
}

function rawText({ rawProps = [] }: FieldsData, tag: string): string {
  return textOf(...rawProps.filter(({ propertyTag }) => propertyTag?.startsWith(tag)).map(({ value }) => value));
}

function instantOf(...values: readonly (string | undefined)[]): string {
  const ms = values.map((value) => Date.parse(value ?? "")).find((each) => !Number.isNaN(each));
  return ms === undefined ? "" : new Date(ms).toISOString();
}

/** Some messages have their text in no other form; "" when it cannot be read, as with a message that has none. */
function rtfText(compressed: Uint8Array | undefined): string {
  if (!compressed) return "";
  try {
    return extractRtf(Buffer.from(decompressRTF([...compressed]))).markdown;
  } catch {
    return "";
  }
}

/** A message in a message is only named. */
function attachment(fields: FieldsData, reader: Reader): MailAttachment {
  const isRead = !fields.attachmentHidden && !fields.innerMsgContent && fields.dataId !== undefined;
  return {
    name: textOf(fields.fileName, fields.fileNameShort, fields.name),
    content: isRead ? Buffer.from(reader.getAttachment(fields).content) : undefined,
  };
}

function recipient({ name, smtpAddress, email }: FieldsData): string {
  return person(textOf(name), textOf(smtpAddress, email));
}

/** Addresses inside an organisation are no addresses to the rest of the world. */
function person(name: string, address: string): string {
  if (!address.includes("@") || address === name) return name || address;
  return name ? `${name} <${address}>` : address;
}

const ENTRY_BYTES = 128;
const HEADER_PLACES = { at: 76, count: 109 };
/** From here on numbers of sectors are marks: the end of a chain, free, part of a table. */
const MARKS = 0xfffffffa;
const NO_ENTRY = 0xffffffff;
const STORAGE = 1;
const STREAM = 2;
const ROOT = 5;

/**
 * Throws for a compound file, the container of Outlook messages, that its reader would follow for ever or reserve memory for without end: chains of
 * sectors that run in circles, entries that are their own ancestors, tables or streams that are larger than the file.
 */
function checkCompoundFile(bytes: Buffer): void {
  const shift = bytes.readUInt16LE(30);
  if (shift !== 9 && shift !== 12) throw new Error(`read compound file: sectors of 2^${shift} bytes`);
  const sectors = new Sectors(bytes, 2 ** shift);
  refuseCircles(sectors.table);
  refuseCircles(toNumbers(sectors.chain(bytes.readUInt32LE(60), bytes.readUInt32LE(64))));
  checkDirectory(sectors.chain(bytes.readUInt32LE(48), sectors.table.length), bytes.length);
}

class Sectors {
  /** For each sector the one that follows it. */
  readonly table: Uint32Array;
  readonly #bytes: Buffer;
  readonly #sectorBytes: number;

  constructor(bytes: Buffer, sectorBytes: number) {
    this.#bytes = bytes;
    this.#sectorBytes = sectorBytes;
    this.table = toNumbers(Buffer.concat(this.#tablePlaces().map((place) => this.#sector(place))));
  }

  chain(start: number, most: number): Buffer {
    const parts: Buffer[] = [];
    for (let place = start; place < MARKS && parts.length < most; place = this.table[place] ?? NO_ENTRY) {
      parts.push(this.#sector(place));
    }
    return Buffer.concat(parts);
  }

  /** Where the table is: the first places stand in the header, the others in a chain of their own. */
  #tablePlaces(): number[] {
    const [count, most] = [this.#bytes.readUInt32LE(44), this.#bytes.readUInt32LE(72)];
    const { at, count: inHeader } = HEADER_PLACES;
    if (Math.max(count, most) * this.#sectorBytes > this.#bytes.length) throw new Error("read compound file: tables");
    const places = [...toNumbers(this.#bytes.subarray(at, at + Math.min(count, inHeader) * 4))];
    for (let next = this.#bytes.readUInt32LE(68), steps = 0; steps < most && places.length < count; steps += 1) {
      const more = toNumbers(this.#sector(next));
      places.push(...more.subarray(0, Math.min(more.length - 1, count - places.length)));
      next = more.at(-1) ?? NO_ENTRY;
    }
    return places;
  }

  #sector(place: number): Buffer {
    const start = (place + 1) * this.#sectorBytes;
    if (start >= this.#bytes.length) throw new Error(`read compound file: it has no sector ${place}`);
    return this.#bytes.subarray(start, start + this.#sectorBytes);
  }
}

function refuseCircles(table: Uint32Array): void {
  /** The walk that met each place; 0: none did. */
  const metBy = new Uint32Array(table.length);
  for (let first = 0; first < table.length; first += 1) {
    let place = first;
    for (; place < table.length && metBy[place] === 0; place = table[place] ?? NO_ENTRY) metBy[place] = first + 1;
    if (metBy[place] === first + 1) throw new Error("read compound file: a chain runs in circles");
  }
}

/** Each entry but the first is led to by one other, so that all of them are a tree. */
function checkDirectory(directory: Buffer, fileBytes: number): void {
  const met = new Set<number>([0]);
  let streamBytes = 0;
  for (let at = 0; at + ENTRY_BYTES <= directory.length; at += ENTRY_BYTES) {
    const type = directory.readUInt8(at + 66);
    if (type !== STORAGE && type !== STREAM && type !== ROOT) continue;
    for (const link of [68, 72, 76]) {
      const entry = directory.readUInt32LE(at + link);
      if (entry === NO_ENTRY) continue;
      if (met.has(entry)) throw new Error("read compound file: its directory runs in circles");
      met.add(entry);
    }
    if (type === STREAM) streamBytes += directory.readUInt32LE(at + 120);
    if (streamBytes > fileBytes) throw new Error("read compound file: its streams are larger than it is");
  }
}

function toNumbers(bytes: Buffer): Uint32Array {
  return Uint32Array.from({ length: Math.floor(bytes.length / 4) }, (_, at) => bytes.readUInt32LE(at * 4));
}
