import { BadInputError } from "../../contracts/errors.ts";
import type { ControlInput } from "./control-input.ts";

/** The bytes of a file, given as `text` or as `base64`. */
export function readContent(input: ControlInput): string | Uint8Array {
  const [text, base64] = [input.optionalText("text"), input.optionalText("base64")];
  if ((text === undefined) === (base64 === undefined)) {
    throw new BadInputError("Give the content as either 'text' or 'base64'.");
  }
  if (text !== undefined) return text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64 ?? "")) throw new BadInputError("'base64' is not base64.");
  return Buffer.from(base64 ?? "", "base64");
}
