import { ExtractError } from "../contracts/document.ts";
import { decodeEntities } from "../lib/html-entities.ts";

export interface XmlVisitor {
  /** The name without prefix; attributes as they are written, for `attribute` to look into. */
  open(name: string, attributes: string): void;
  /** Also called for an element that is closed where it opens. */
  close(name: string): void;
  text?(text: string): void;
}

/**
 * Walks through XML once, without building anything, so that neither depth nor length matters. Entities other than the
 * built-in ones are left as they are written: nothing is expanded and nothing is fetched.
 */
export function scanXml(xml: string, visitor: XmlVisitor): void {
  for (let at = 0; at < xml.length; ) {
    const start = xml.indexOf("<", at);
    const end = start === -1 ? xml.length : start;
    if (end > at) visitor.text?.(decodeText(xml.slice(at, end)));
    if (start === -1) return;
    at = readMarkup(xml, start, visitor);
  }
}

/** The decoded value of an attribute, named with its prefix if it has one; "" when it is not there. */
export function attribute(attributes: string, name: string): string {
  for (let at = attributes.indexOf(name); at !== -1; at = attributes.indexOf(name, at + 1)) {
    const before = attributes.charCodeAt(at - 1);
    if (at > 0 && before > 0x20) continue;
    const value = /^\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(attributes.slice(at + name.length));
    if (value) return decodeText(value[1] ?? value[2] ?? "");
  }
  return "";
}

function readMarkup(xml: string, start: number, visitor: XmlVisitor): number {
  if (xml.startsWith("<!--", start)) return behind(xml, "-->", start + 4);
  if (xml.startsWith("<?", start)) return behind(xml, "?>", start + 2);
  if (xml.startsWith("<![CDATA[", start)) {
    const end = behind(xml, "]]>", start + 9);
    visitor.text?.(xml.slice(start + 9, end - 3));
    return end;
  }
  if (xml.startsWith("<!", start)) return behind(xml, ">", start + 2);
  const end = tagEnd(xml, start + 1);
  if (xml.charCodeAt(start + 1) === 0x2f) {
    visitor.close(localName(xml.slice(start + 2, end).trimEnd()));
    return end + 1;
  }
  const isEmpty = xml.charCodeAt(end - 1) === 0x2f;
  const inner = xml.slice(start + 1, isEmpty ? end - 1 : end);
  const blank = inner.search(/\s/);
  const name = localName(blank === -1 ? inner : inner.slice(0, blank));
  visitor.open(name, blank === -1 ? "" : inner.slice(blank));
  if (isEmpty) visitor.close(name);
  return end + 1;
}

/** Where the tag ends: a `>` inside quotes is part of a value. */
function tagEnd(xml: string, start: number): number {
  for (let at = start; at < xml.length; at += 1) {
    const code = xml.charCodeAt(at);
    if (code === 0x3e) return at;
    if (code === 0x22 || code === 0x27) {
      at = xml.indexOf(code === 0x22 ? '"' : "'", at + 1);
      if (at === -1) break;
    }
  }
  throw cut();
}

function behind(xml: string, mark: string, from: number): number {
  const at = xml.indexOf(mark, from);
  if (at === -1) throw cut();
  return at + mark.length;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function decodeText(text: string): string {
  return text.includes("&") ? decodeEntities(text) : text;
}

function cut(): ExtractError {
  return new ExtractError("invalid_file", "The file is damaged: its XML is cut.");
}
