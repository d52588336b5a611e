import { BadInputError } from "../../contracts/errors.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import type { GitAddress } from "./git-address.ts";

/** Hosts whose owners do not pass tokens on to whoever has a repository there. */
const WELL_KNOWN: ReadonlySet<string> = new Set([
  "github.com",
  "gitlab.com",
  "bitbucket.org",
  "dev.azure.com",
  "codeberg.org",
]);

/**
 * `token` or `user:token`, from the variable that a source names; "" for none. Whoever edits a domain could name any variable and a
 * host of their own, so that a token for another host has to say itself which one: `https://token@git.example.com`.
 */
export function readToken(
  credential: string,
  { protocol, location }: GitAddress,
  variable: (name: string) => string | undefined,
): string {
  if (credential === "") return "";
  if (!protocol.startsWith("http")) {
    throw new BadInputError(
      "A 'credential' is for repositories at https:// alone; leave it empty. By ssh the keys of the account that runs lockstep count.",
    );
  }
  const text = variable(credential)?.trim();
  if (!text) {
    throw new BadInputError(
      `The environment variable ${credential}, which the source names as its credential, is not set.`,
    );
  }
  if (/[\p{Cc} ]/u.test(text)) {
    throw new BadInputError(`${credential} must hold a token, user:token, or https://user:token@host, without blanks.`);
  }
  const { origin, host, hostname } = new URL(location);
  if (!/^https?:\/\//i.test(text)) {
    if (WELL_KNOWN.has(host) || isLoopbackHost(hostname)) return text;
    throw new BadInputError(
      `${credential} holds a token alone, which is shown to ${[...WELL_KNOWN].join(", ")} only. For ${host} it has to hold https://token@${host}, or https://user:token@${host}.`,
    );
  }
  const address = URL.parse(text);
  if (address?.origin !== origin)
    throw new BadInputError(`The token in ${credential} is for another host than ${host}.`);
  const token = [address.username, address.password]
    .filter((part) => part !== "")
    .map(decode)
    .join(":");
  if (token === "") throw new BadInputError(`${credential} must hold a token before the host: https://token@${host}.`);
  return token;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
