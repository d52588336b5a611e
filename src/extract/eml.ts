import PostalMime, { type Address } from "postal-mime";
import { ExtractError } from "../contracts/document.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { mailMarkdown } from "./mail-markdown.ts";

const HEADER_LINE = /^[A-Za-z][\w-]{0,80}:/;
const MAX_NESTING = 50;

export async function extractEml(bytes: Buffer, limits: ExtractLimits): Promise<ReadText> {
  // A line `From sender date` stands before the headers when the mail was cut out of a mailbox.
  const start = bytes.toString("latin1", 0, 1000).replace(/^\ufeff|^\xef\xbb\xbf/, "");
  if (!HEADER_LINE.test(start) && !start.startsWith("From ")) {
    throw new ExtractError("invalid_file", "The file is not an e-mail message: it does not begin with headers.");
  }
  const mail = await parse(bytes);
  return mailMarkdown(
    {
      subject: mail.subject ?? "",
      from: addresses(mail.from ? [mail.from] : []).join(", "),
      to: addresses(mail.to),
      cc: addresses(mail.cc),
      sentAt: mail.date ?? "",
      text: mail.text ?? "",
      html: mail.html ?? "",
      attachments: mail.attachments.map(({ filename, related, content }) => ({
        name: filename ?? "",
        content: related || typeof content === "string" ? undefined : Buffer.from(content as ArrayBuffer),
      })),
    },
    limits,
  );
}

async function parse(bytes: Buffer): ReturnType<typeof PostalMime.parse> {
  try {
    return await PostalMime.parse(bytes, { maxNestingDepth: MAX_NESTING });
  } catch (cause) {
    throw new ExtractError("invalid_file", "The e-mail message is damaged and cannot be read.", { cause });
  }
}

function addresses(list: readonly Address[] | undefined): string[] {
  return (list ?? []).flatMap((each) => {
    if (each.group) return addresses(each.group);
    return each.name && each.address && each.name !== each.address
      ? [`${each.name} <${each.address}>`]
      : [each.address || each.name];
  });
}
