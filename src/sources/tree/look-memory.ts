import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TreeSourceConfig } from "../../contracts/domain.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { isJsonObject } from "../../lib/json-object.ts";

/** What a complete look without trouble saw. It only ever saves work: whatever does not fit any more is looked at again. */
export interface RememberedLook {
  /** Engine and manifest remember it, too: another one there means that this was not the last look, or not with this manifest. */
  readonly id: string;
  /** Of everything that decides what is let in. */
  readonly policy: string;
  /** As TreeLook.root. */
  readonly root: string;
  /** When the manifest was last told that everything was seen, ISO 8601 UTC. */
  readonly notedAt: string;
  /** Entries that are missing: complete looks count for them. */
  readonly missing: number;
  /** By folder: WholeFolder.digest, "" where it has to be looked at in any case. */
  readonly folders: ReadonlyMap<string, string>;
  /** Which part was read whatever its stamps said, where stamps do not tell enough. */
  readonly turn?: number;
}

const FILE = "look.json";
const VERSION = 1;

export async function readLook(folder: string): Promise<RememberedLook | undefined> {
  const bytes = await readFileIfExists(join(folder, FILE));
  try {
    const look: unknown = bytes && JSON.parse(bytes.toString("utf8"));
    if (!isJsonObject(look) || look["version"] !== VERSION || !Array.isArray(look["folders"])) return undefined;
    const text = (field: string): string => String(look[field] ?? "");
    return {
      id: text("id"),
      policy: text("policy"),
      root: text("root"),
      notedAt: text("noted_at"),
      missing: Number(look["missing"]),
      folders: new Map(look["folders"] as [string, string][]),
      ...(typeof look["turn"] === "number" && { turn: look["turn"] }),
    };
  } catch {
    return undefined;
  }
}

export async function writeLook(folder: string, look: RememberedLook): Promise<void> {
  const { id, policy, root, notedAt: noted_at, missing, turn } = look;
  const folders = [...look.folders];
  await writeFileAtomic(
    join(folder, FILE),
    JSON.stringify({ version: VERSION, id, policy, root, noted_at, missing, turn, folders }),
  );
}

/** Before the manifest is changed: killed after that, the next look has to be at everything. */
export async function forgetLook(folder: string): Promise<void> {
  await rm(join(folder, FILE), { force: true });
}

export function policyOf(config: TreeSourceConfig, acceptedTypes: ReadonlySet<string>): string {
  const text = JSON.stringify([config, [...acceptedTypes].sort()]);
  return createHash("sha256").update(text).digest("base64url");
}
