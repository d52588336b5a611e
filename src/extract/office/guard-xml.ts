import { ExtractError } from "../../contracts/document.ts";

const DECLARATION = Buffer.from("<!DOCTYPE");
const ENTITY = Buffer.from("<!ENTITY");

/** Office documents never declare entities; one that does was made to make readers fetch files or fill memory. */
export function guardXml(part: Buffer): void {
  if (part.includes(DECLARATION) || part.includes(ENTITY)) {
    throw new ExtractError("invalid_file", "The file is made to hurt: its XML declares entities of its own.");
  }
}
