import type { SourceConfig } from "../../src/contracts/domain.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import type { SourceKind } from "../../src/contracts/source-kind.ts";
import { nameOf } from "../../src/lib/tree-path.ts";

export interface ToyNote {
  readonly path: string;
  readonly text: string;
  readonly version: number;
}

/** Shelves of notes that only exist in memory, each note under an id that it keeps. */
export type ToyShelves = ReadonlyMap<string, ReadonlyMap<string, ToyNote>>;

interface ToySourceConfig extends SourceConfig {
  readonly shelf: string;
}

/** All that a kind of source has to be. */
export function createToyKind(shelves: ToyShelves): SourceKind<ToySourceConfig> {
  return {
    type: "toy_sources",
    folder: "99_toys",
    scope: "toys",
    abilities: {
      hasIds: true,
      keepsTexts: false,
      isReadWhileListed: false,
      registersAddresses: false,
      keepsMaps: false,
      needsSignIn: false,
      isTakenOnce: true,
    },
    words: {
      name: "Toy shelf",
      noun: "toy shelf",
      nouns: "toy shelves",
      place: "toys on a shelf",
      scope: "Toy shelves",
      array: "Toy shelves: an array of {source_id, shelf}.",
    },
    fields: [
      { name: "shelf", label: "Name of the shelf", placeholder: "attic", described: "For toy_sources: the shelf." },
    ],
    mayCheck: "operate",
    foundAs: "file",
    parse(value, where, problems) {
      const { shelf } = value;
      if (typeof shelf === "string" && shelf !== "") return { shelf };
      problems.push(`${where}.shelf must be the name of a shelf, like "attic".`);
      return { shelf: "" };
    },
    format: ({ shelf }) => ({ shelf }),
    unknown: { shelf: "" },
    describePlace: ({ shelf }) => `the shelf '${shelf}'`,
    describeRules: () => ({ patterns: [], others: [] }),
    open: ({ config }) => openToySource(config, shelves),
  };
}

export function openToySource(
  { sourceId, shelf }: Pick<ToySourceConfig, "sourceId" | "shelf">,
  shelves: ToyShelves,
): Source {
  return {
    id: sourceId,
    async *list(signal) {
      signal.throwIfAborted();
      const notes = shelves.get(shelf);
      if (!notes) throw new Error(`There is no shelf '${shelf}'`);
      yield [...notes].map(([id, note]) => sightingOf(id, note, shelf));
      return "complete";
    },
    async fetch({ itemId }) {
      const note = shelves.get(shelf)?.get(itemId);
      return note ? { status: "fetched", body: bytesOf(note) } : { status: "gone" };
    },
    async *diagnose() {
      const found = shelves.has(shelf);
      const detail = found ? "It is there." : "There is no such shelf.";
      yield { subject: `Shelf '${shelf}'`, outcome: found ? "ok" : "problem", detail, remedy: "" };
    },
  };
}

async function* bytesOf({ text }: ToyNote): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function sightingOf(id: string, { path, text, version }: ToyNote, shelf: string): Sighting {
  const url = `toy://${shelf}/${encodeURIComponent(path)}`;
  return {
    kind: "sighting",
    itemId: id as ItemId,
    listItemId: 0,
    name: nameOf(path),
    path,
    serverPath: `/${shelf}/${path}`,
    url,
    rawUrl: url,
    documentType: "md",
    form: "document",
    fingerprint: {
      size: Buffer.byteLength(text),
      modifiedAt: "2026-01-01T00:00:00.000000Z",
      etag: "",
      contentVersion: String(version),
    },
  };
}
