import { createHash } from "node:crypto";
import { BadInputError } from "../../../contracts/errors.ts";
import { addFile } from "./file-operations.ts";
import { addListItem, listAt } from "./list-operations.ts";
import type { Tenant } from "./tenant.ts";

export interface FillOptions {
  readonly count: number;
  /** Approximate length of each text. */
  readonly bytes?: number;
  readonly perFolder?: number;
  /** Files of another series have other texts. */
  readonly series?: string;
  readonly at?: string;
}

const FILL_LIMIT = 1_000_000;

const WORDS = (
  "axle battery bearing brake cable cargo chain charge contract courier customer delivery depot dispatch " +
  "drivetrain firmware frame gear harness invoice lease ledger margin motor order pallet payment permit policy " +
  "quality quote range refund return rider route safety sensor service shift signal spoke stock supplier torque " +
  "training transit trailer vendor voltage warehouse warranty wheel workshop"
).split(" ");

/**
 * Many small text files for load tests, or rows where the path is that of a list. The same request always makes the
 * same names and texts.
 */
export function fillFolder(tenant: Tenant, path: string, options: FillOptions): void {
  const { count, bytes = 400, perFolder = 500, series = "fill" } = options;
  if (!(Number.isInteger(count) && count >= 0 && count <= FILL_LIMIT)) {
    throw new BadInputError(`Fill '${path}': 'count' must be a whole number from 0 to ${FILL_LIMIT}.`);
  }
  if (!(Number.isInteger(perFolder) && perFolder > 0)) {
    throw new BadInputError(`Fill '${path}': 'perFolder' must be a whole number above 0.`);
  }
  const isList = tenant.locate(path)?.library.isList ?? false;
  const startMs = Date.parse("2024-01-01T08:00:00Z");
  for (let number = 0; number < count; number++) {
    const at = options.at ?? new Date(startMs + number * 1000).toISOString();
    const text = fillText(`${series}/${number}`, bytes);
    if (isList) {
      addFilledRow(tenant, path, { title: `${series} ${number}`, text, at });
      continue;
    }
    const folder = `batch-${String(Math.floor(number / perFolder)).padStart(4, "0")}`;
    const name = `${series}-${String(number).padStart(6, "0")}.txt`;
    addFile(tenant, `${path}/${folder}/${name}`, text, { at });
  }
}

/** Every note of the list gets the text. */
function addFilledRow(tenant: Tenant, path: string, row: { title: string; text: string; at: string }): void {
  const notes = [...listAt(tenant, path).columns.values()].filter(({ type }) => type === "Note");
  const texts = Object.fromEntries(notes.map(({ internalName }) => [internalName, row.text]));
  addListItem(tenant, path, { Title: row.title, ...texts }, { at: row.at });
}

/** Words drawn by a digest of the key: no two files share their text, and one can be told from its first line. */
function fillText(key: string, bytes: number): string {
  const parts = [`Record ${key}.`];
  let length = parts[0]?.length ?? 0;
  for (let block = 0; length < bytes; block++) {
    for (const byte of createHash("sha256").update(`${key}#${block}`).digest()) {
      const word = WORDS[byte % WORDS.length] ?? "";
      parts.push(word);
      length += word.length + 1;
      if (length >= bytes) break;
    }
  }
  return `${parts.join(" ")}\n`;
}
