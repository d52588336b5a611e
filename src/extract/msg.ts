import { declaredEncoding } from "./declared-encoding.ts";
import { decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { type CompoundFolder, readCompoundFile } from "./mail/compound-file.ts";
import { type MailAttachment, mailMarkdown } from "./mail/mail-markdown.ts";
import { MessageProperties } from "./mail/message-properties.ts";

const MESSAGE_HEADER_BYTES = 32;
const PART_HEADER_BYTES = 8;
const SENT_AT = 0x0039;
const DELIVERED_AT = 0x0e06;
const RECIPIENT_KIND = 0x0c15;
const COPY_TO = 2;
const BLIND_COPY_TO = 3;
const IS_HIDDEN = 0x7ffe;

/** Properties are known by number: 0037 is the subject, 1000 the text, 1013 the page, 3707 the name of an attachment. */
export async function extractMsg(bytes: Buffer, limits: ExtractLimits): Promise<ReadText> {
  const root = readCompoundFile(bytes);
  const message = new MessageProperties(root, MESSAGE_HEADER_BYTES);
  const recipients = partsOf(root, "__recip_", message.codePage).map((properties) => ({
    kind: properties.number(RECIPIENT_KIND),
    person: person(properties.text("3001"), properties.text("39FE", "3003")),
  }));
  return mailMarkdown(
    {
      subject: message.text("0037", "0E1D"),
      from: person(message.text("0C1A", "0042"), message.text("5D01", "0C1F", "0065")),
      to: recipients.filter(({ kind }) => kind !== COPY_TO && kind !== BLIND_COPY_TO).map((each) => each.person),
      cc: recipients.filter(({ kind }) => kind === COPY_TO).map((each) => each.person),
      sentAt: message.instant(SENT_AT) || message.instant(DELIVERED_AT),
      text: message.text("1000"),
      html: htmlOf(message),
      attachments: partsOf(root, "__attach_", message.codePage).map(attachment),
    },
    limits,
  );
}

function partsOf(root: CompoundFolder, prefix: string, codePage: number): MessageProperties[] {
  const names = [...root.folders.keys()].filter((name) => name.startsWith(prefix)).toSorted();
  return names.flatMap((name) => {
    const folder = root.folders.get(name);
    return folder ? [new MessageProperties(folder, PART_HEADER_BYTES, codePage)] : [];
  });
}

function htmlOf(message: MessageProperties): string {
  const bytes = message.bytes("1013");
  return bytes ? decodeText(bytes, declaredEncoding(bytes)) : message.text("1013");
}

/** A message in a message is a folder and has no bytes: it is only named. */
function attachment(properties: MessageProperties): MailAttachment {
  const isHidden = properties.number(IS_HIDDEN) % 256 !== 0;
  return { name: properties.text("3707", "3704", "3001"), content: isHidden ? undefined : properties.bytes("3701") };
}

/** Addresses inside an organisation are no addresses to the rest of the world. */
function person(name: string, address: string): string {
  if (!address.includes("@") || address === name) return name || address;
  return name ? `${name} <${address}>` : address;
}
