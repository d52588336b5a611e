import { decompressRTF } from "@kenjiuno/decompressrtf";
import msgreader, { type FieldsData } from "@kenjiuno/msgreader";
import { ExtractError } from "../contracts/document.ts";
import { declaredEncoding } from "./declared-encoding.ts";
import { decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { checkCompoundFile } from "./mail/check-compound-file.ts";
import { type MailAttachment, mailMarkdown } from "./mail/mail-markdown.ts";
import { encodingOfCodePage } from "./rtf/code-pages.ts";
import { extractRtf } from "./rtf.ts";

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
