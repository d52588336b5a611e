import type { SourceField } from "../../contracts/source-kind.ts";
import { isWholePath } from "./tree-kind.ts";

const CONTROL = /\p{Cc}/u;

/** What the names of `objects` begin with. */
export function readPrefix(value: unknown = "", where: string, objects: string, problems: string[]): string {
  if (typeof value !== "string" || value.length > 1024 || CONTROL.test(value)) {
    problems.push(`${where} must be what the names of the ${objects} begin with, like "reports/".`);
    return "";
  }
  if (/\b(sig|\w+key|\w+signature)=/i.test(value)) {
    problems.push(
      `${where} must not hold a key or signature: put it into an environment variable and give that variable's name as 'credential'.`,
    );
    return "";
  }
  return value.trim();
}

/** How keys of AWS begin: capitals and digits like a name, but not one. */
const ACCESS_KEY = /^A(KIA|SIA)[A-Z0-9]{12,}$/;

/**
 * A name in capitals cannot be a signature or a secret that was pasted here; whatever it is, it is not repeated. `words`: what
 * such a variable may be called, and what it holds.
 */
export function readCredential(
  value: unknown = "",
  where: string,
  words: { readonly example: string; readonly held: string },
  problems: string[],
): string {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text !== undefined && /^([A-Z_][A-Z0-9_]{0,63})?$/.test(text) && !ACCESS_KEY.test(text)) return text;
  problems.push(
    `${where} must be the name of an environment variable in capitals, like ${words.example}; ${words.held} itself belongs into that variable, never here.`,
  );
  return "";
}

/** The path below the root of what may be written as a whole address; undefined: it lies elsewhere. */
export function belowStore(place: string, prefix: string, called: string): string | undefined {
  const path = called.trim().replaceAll("\\", "/");
  const start = `${place}/`;
  const isAddress = path.startsWith(start);
  if (!isAddress && isWholePath(path)) return undefined;
  const name = isAddress ? decoded(path.slice(start.length)) : path;
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  if (name.startsWith(prefix)) return name.slice(folder.length);
  return isAddress ? undefined : name;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** It is asked over the network, and every answer may cost money. */
export const STORE_SCAN_MS = 30_000;

export const PREFIX_FIELD = {
  name: "prefix",
  label: "Prefix",
  placeholder: "manuals/",
  optional: true,
  described: "Of containers and buckets: what the names in them begin with.",
} as const satisfies SourceField;

export const CREDENTIAL_FIELD = {
  name: "credential",
  pattern: "[A-Z_][A-Z0-9_]{0,63}",
  optional: true,
  described:
    "The name of the environment variable that holds what opens it: of a container a SAS or a connection string, of a bucket ACCESS_KEY:SECRET, of a repository a token.",
} as const;
