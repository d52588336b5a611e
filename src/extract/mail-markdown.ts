import { ExtractError } from "../contracts/document.ts";
import { parseHtml } from "../lib/html.ts";
import { bytesOf } from "./byte-source.ts";
import { READABLE_TYPES, type ReadText } from "./formats.ts";
import { htmlToMarkdown } from "./html-to-markdown.ts";
import type { ExtractLimits } from "./limits.ts";
import { escapeLine } from "./markdown.ts";
import { readDocument } from "./read-document.ts";

export interface MailAttachment {
  readonly name: string;
  /** Undefined for pictures of the letter paper and the like. */
  readonly content: Buffer | undefined;
}

interface Mail {
  readonly subject: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  /** As ISO 8601, "" when it is not known. */
  readonly sentAt: string;
  readonly text: string;
  readonly html: string;
  readonly attachments: readonly MailAttachment[];
}

const MAX_ATTACHMENTS_READ = 20;
/** A mail in a mail is only named: mails could be nested without end. */
const ONLY_NAMED = new Set(["eml", "msg"]);

/** The subject is the heading, the envelope a few lines, and what can be read of the attachments follows the message. */
export async function mailMarkdown(mail: Mail, limits: ExtractLimits): Promise<ReadText> {
  const subject = oneLine(mail.subject);
  const body = messageText(mail);
  const attachments = await attachmentSections(mail.attachments, limits);
  const blocks = [subject && `# ${subject}`, envelope(mail), body, ...attachments].filter(Boolean);
  return { title: subject, markdown: body || subject || attachments.length > 0 ? blocks.join("\n\n") : "" };
}

function envelope({ from, to, cc, sentAt, attachments }: Mail): string {
  const names = attachments.map(({ name }) => name).filter(Boolean);
  const lines: [string, string][] = [
    ["From", from],
    ["To", to.join(", ")],
    ["Cc", cc.join(", ")],
    ["Date", sentAt],
    ["Attachments", names.join(", ")],
  ];
  return lines
    .filter(([, value]) => value.trim() !== "")
    .map(([name, value]) => `${name}: ${oneLine(value)}`)
    .join("\n");
}

/** The page when there is one: it has headings, lists and tables, the text beside it has not. */
function messageText({ text, html }: Mail): string {
  const fromHtml = html ? htmlToMarkdown(parseHtml(html, () => undefined).root) : "";
  if (fromHtml) return demoteHeadings(fromHtml, 1);
  return text.replaceAll(/\r\n?/g, "\n").split("\n").map(escapeLine).join("\n").trim();
}

async function attachmentSections(attachments: readonly MailAttachment[], limits: ExtractLimits): Promise<string[]> {
  const sections: string[] = [];
  let read = 0;
  for (const { name, content } of attachments) {
    const type = /\.(\w{1,10})$/.exec(name)?.[1]?.toLowerCase() ?? "";
    if (!content?.length || !READABLE_TYPES.has(type) || ONLY_NAMED.has(type) || read >= MAX_ATTACHMENTS_READ) continue;
    read += 1;
    sections.push(`## Attachment: ${oneLine(name)}`, await attachmentText(content, type, limits));
  }
  return sections;
}

/** A broken attachment says so where its text would be; the mail is readable without it. */
async function attachmentText(content: Buffer, type: string, limits: ExtractLimits): Promise<string> {
  try {
    const { markdown } = await readDocument(bytesOf(content), type, limits);
    // Pages of the attachment are no pages of the mail.
    return demoteHeadings(markdown.replaceAll(/^<!-- page \d+ -->\n*/gm, ""), 2);
  } catch (error) {
    if (error instanceof ExtractError) return `(It could not be read: ${error.message})`;
    throw error;
  }
}

function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, 2000);
}

const DEEPEST = 6;

/** Headings become so many levels smaller, so that a document can be a part of another one. Code stays as it is. */
function demoteHeadings(markdown: string, levels: number): string {
  let fence = "";
  return markdown
    .split("\n")
    .map((line) => {
      const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
      if (fence) {
        if (marks.startsWith(fence) && line.trim() === marks) fence = "";
        return line;
      }
      if (marks) fence = marks;
      const level = /^(#{1,6})[ \t]/.exec(line)?.[1]?.length ?? 0;
      return level ? `${"#".repeat(Math.min(DEEPEST, level + levels))}${line.slice(level)}` : line;
    })
    .join("\n");
}
