import { burn, type Entry } from "@kenjiuno/msgreader/lib/Burner.js";
import { TypeEnum } from "@kenjiuno/msgreader/lib/Reader.js";

export interface MsgRecipe {
  readonly subject: string;
  readonly body?: string;
  readonly html?: string;
  readonly rtf?: Buffer;
  readonly from: readonly [name: string, address: string];
  readonly to: readonly [name: string, address: string];
  readonly attachment?: { readonly name: string; readonly content: Buffer };
}

/** The entries of a compound file with the properties Outlook writes, as far as a reader looks at them. */
export function makeMsg({ subject, body, html, rtf, from, to, attachment }: MsgRecipe): Buffer {
  const entries: Entry[] = [];
  const folder = (name: string, type: TypeEnum, parent: number): number => {
    const at = entries.push({ name, type, children: [], length: 0 }) - 1;
    if (parent >= 0) entries[parent]?.children?.push(at);
    return at;
  };
  const file = (parent: number, name: string, content: Buffer): void => {
    const at =
      entries.push({
        name,
        type: TypeEnum.DOCUMENT,
        binaryProvider: () => new Uint8Array(content),
        length: content.length,
      }) - 1;
    entries[parent]?.children?.push(at);
  };
  const text = (parent: number, tag: string, value: string): void =>
    file(parent, `__substg1.0_${tag}001F`, Buffer.from(value, "utf16le"));
  const root = folder("Root Entry", TypeEnum.ROOT, -1);
  file(root, "__properties_version1.0", Buffer.concat([Buffer.alloc(32), sentOn("2024-01-01T09:00:00Z")]));
  text(root, "0037", subject);
  if (body !== undefined) text(root, "1000", body);
  if (html !== undefined) file(root, "__substg1.0_10130102", Buffer.from(html));
  if (rtf) file(root, "__substg1.0_10090102", uncompressed(rtf));
  text(root, "0C1A", from[0]);
  text(root, "5D01", from[1]);
  const person = folder("__recip_version1.0_#00000000", TypeEnum.DIRECTORY, root);
  file(person, "__properties_version1.0", Buffer.concat([Buffer.alloc(8), copyTo]));
  text(person, "3001", to[0]);
  text(person, "39FE", to[1]);
  if (attachment) {
    const part = folder("__attach_version1.0_#00000000", TypeEnum.DIRECTORY, root);
    file(part, "__properties_version1.0", Buffer.alloc(8));
    text(part, "3707", attachment.name);
    file(part, "__substg1.0_37010102", attachment.content);
  }
  return Buffer.from(burn(entries));
}

/** The time of sending: ticks of 100 ns since 1601. */
function sentOn(instant: string): Buffer {
  const property = Buffer.from("4000390006000000".padEnd(32, "0"), "hex");
  property.writeBigUInt64LE(BigInt(Date.parse(instant)) * 10_000n + 116_444_736_000_000_000n, 8);
  return property;
}

/** The kind of a recipient who gets a copy. */
const copyTo = Buffer.from("0300150c060000000200000000000000", "hex");

/** Rich Text in the form of compressed one, but as it is. */
function uncompressed(rtf: Buffer): Buffer {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(rtf.length + 12, 0);
  header.writeUInt32LE(rtf.length, 4);
  header.write("MELA", 8);
  return Buffer.concat([header, rtf]);
}
