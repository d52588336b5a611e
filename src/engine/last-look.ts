import { createHash } from "node:crypto";
import type { SourceConfig } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Listed, Sighting } from "../contracts/source.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { StepCounts } from "./crawl-request.ts";

/**
 * What the last complete look at a source saw, `.lockstep/last-look.json`. It only ever saves work: whatever does not
 * fit any more (map files somebody edited, another setting, another file on disk) is looked at again.
 */
export interface LastLook {
  /** Of everything that decides what is wanted: the source's configuration, accepted types, size limit. */
  readonly policy: string;
  /** The map files as this look, and the steps after it, left them. Another text: somebody else changed them. */
  readonly maps: string;
  /** Where the source's change feed stood before the look; "" when it has none. */
  readonly mark: string;
  /** Rows that the source counted and did not show. */
  readonly hiddenRows?: number;
  /** Items that it listed and that are not to be taken. */
  readonly withheld?: readonly ItemId[];
  /** When everything was last listed, and how many runs have gone by the feed since. */
  readonly listedAt: string;
  readonly runsByFeed: number;
  /** Runs since the last integrity check that hashed files, and where it goes on. */
  readonly hashesOwed: number;
  readonly nextHashes: number;
  /** null: something was left to do. Otherwise the state in which nothing was. */
  readonly settled: SettledLook | null;
}

export interface SettledLook {
  /** The digest of the mirror. */
  readonly disk: string;
  readonly listed: number;
  readonly files: number;
  readonly counts: StepCounts;
  readonly pages: readonly SettledPage[];
}

/** A page of the listing after which everything on it was in order. "" as digest: some of it could not be read. */
export interface SettledPage {
  readonly digest: string;
  /** How many of its items stand for something. */
  readonly held: number;
  readonly unchanged: number;
  readonly skipped: number;
}

const FILE = "last-look.json";
const VERSION = 2;

export async function readLastLook(mirror: Mirror): Promise<LastLook | undefined> {
  const bytes = await readFileIfExists(mirror.privatePath(FILE));
  try {
    const look = bytes && (JSON.parse(bytes.toString("utf8")) as LastLook & { version: number });
    return look?.version === VERSION ? look : undefined;
  } catch {
    return undefined;
  }
}

export async function writeLastLook(mirror: Mirror, look: LastLook): Promise<void> {
  await writeFileAtomic(mirror.privatePath(FILE), JSON.stringify({ version: VERSION, ...look }));
}

/**
 * A step of ours changed the map files: what was known of the source goes on to be known. Whether everything is in order
 * has to be judged anew if the step wrote something about the mirror.
 */
export async function carryTrust(mirror: Mirror, before: string, after: string): Promise<void> {
  if (before === after || before === "" || after === "") return;
  const look = await readLastLook(mirror);
  if (look?.maps !== before) return;
  const settled = before.split(" ")[1] === after.split(" ")[1] ? look.settled : null;
  await writeLastLook(mirror, { ...look, maps: after, settled });
}

/** The map files were written anew, and say what they said. */
export async function keepTrust(mirror: Mirror, before: string, after: string): Promise<void> {
  const look = before === after ? undefined : await readLastLook(mirror);
  if (look && look.maps === before) await writeLastLook(mirror, { ...look, maps: after });
}

export function digestPolicy(
  config: SourceConfig,
  wanted: { readonly acceptedTypes: ReadonlySet<string>; readonly maxFileBytes: number },
): string {
  return digest([JSON.stringify(config), [...wanted.acceptedTypes].sort().join(), String(wanted.maxFileBytes)]);
}

export function digestPage(page: readonly Listed[]): string {
  return page.every((each) => each.kind === "sighting") ? digest(page.map(lineOf)) : "";
}

function lineOf({ itemId, listItemId, name, rawUrl, fingerprint, withheld }: Sighting): string {
  const { size, modifiedAt, etag, contentVersion } = fingerprint;
  const aside = withheld ? " withheld" : "";
  return `${itemId} ${listItemId} ${size} ${modifiedAt} ${etag} ${contentVersion} ${name} ${rawUrl}${aside}`;
}

function digest(lines: Iterable<string>): string {
  const sum = new Digest();
  for (const line of lines) sum.add(line);
  return sum.end();
}

/** In larger pieces: a call of the hash for every line would cost more than the hashing. */
class Digest {
  readonly #hash = createHash("sha256");
  #text = "";

  add(line: string): void {
    this.#text += `${line}\n`;
    if (this.#text.length < PIECE) return;
    this.#hash.update(this.#text);
    this.#text = "";
  }

  end(): string {
    return this.#hash.update(this.#text).digest("base64");
  }
}

const PIECE = 65_536;
