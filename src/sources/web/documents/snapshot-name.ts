import { BadInputError } from "../../../contracts/errors.ts";

const EXTENSIONS: Readonly<Record<string, string>> = {
  "text/html": "html",
  "application/xhtml+xml": "xhtml",
  "text/markdown": "md",
  "text/x-markdown": "md",
  "text/plain": "txt",
  "text/csv": "csv",
  "text/xml": "xml",
  "application/xml": "xml",
  "application/json": "json",
  "application/pdf": "pdf",
  "application/rtf": "rtf",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};

/** `20261116T091329123.html`: names sort by time. Parameters of the type (`; charset=…`) are ignored. */
export function snapshotName(at: string, mimeType: string): string {
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime())) throw new BadInputError(`'${at.slice(0, 40)}' is no instant in ISO 8601.`);
  const stamp = instant.toISOString().replaceAll(/[-:.Z]/g, "");
  const type = mimeType.split(";")[0]?.trim().toLowerCase() ?? "";
  return `${stamp}.${Object.hasOwn(EXTENSIONS, type) ? EXTENSIONS[type] : "bin"}`;
}

/** When it was taken, as ISO 8601; "" for any other file. */
export function snapshotInstant(name: string): string {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})\.[a-z]+$/.exec(name);
  if (!parts) return "";
  const [, year, month, day, hour, minute, second, ms] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
}
