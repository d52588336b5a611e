import type { Embedder } from "../../contracts/embedder.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Store } from "../store.ts";
import type { SpaceRow } from "./spaces.ts";

export type Report = (line: string) => void;

/** Vectors a store is to have in place of the ones that answer now. */
export interface Successor {
  readonly embedder: Embedder;
  /** What the model learnt from the store's own text; null for one that is the same everywhere. */
  readonly learnt: Uint8Array | null;
}

/** Where the embedders of a store come from: the same for every store, or learnt from each store's own text. */
export interface VectorModel {
  /** For a store without vectors. Throws RemoteError when a service has to be asked and does not answer. */
  first(): Promise<Embedder>;
  /** What made the vectors of this space; undefined when it cannot be had any more. `learnt` reads what the space keeps of it. */
  embedderOf(space: SpaceRow, learnt: () => Promise<Uint8Array | null>): Promise<Embedder | undefined>;
  /** A refresh will replace the space: no more vectors are made in it, and until then words alone answer. */
  isOutgrown?(sql: Sql, space: SpaceRow): Promise<boolean>;
  /** undefined while the active space, or the unfinished one an earlier refresh left, is what the store should have. */
  successor(
    store: Store,
    active: SpaceRow,
    unfinished: SpaceRow | undefined,
    report: Report,
    signal: AbortSignal,
  ): Promise<Successor | SpaceRow | undefined>;
}

/** A model that gives every store the same vectors. */
export function createFixedModel(embedder: Embedder): VectorModel {
  return createServiceModel(
    async () => embedder,
    async (space) => (isOf(space, embedder) ? embedder : undefined),
  );
}

/**
 * A model that has to be asked or loaded before its dimensions are known. `open` is called when a store needs new vectors,
 * `known` gives the embedder of a space made earlier.
 */
export function createServiceModel(
  open: () => Promise<Embedder>,
  known: (space: SpaceRow) => Promise<Embedder | undefined>,
): VectorModel {
  return {
    first: open,
    embedderOf: known,
    async successor(_store, active, unfinished) {
      const embedder = await open();
      if (isOf(active, embedder)) return undefined;
      return unfinished && isOf(unfinished, embedder) ? unfinished : { embedder, learnt: null };
    },
  };
}

export function isOf(space: SpaceRow, embedder: Embedder): boolean {
  return space.model === embedder.model && space.revision === embedder.revision;
}

/** The same embedder for everybody who asks; after a failure it is tried again. */
export function onceOpened(open: () => Promise<Embedder>): () => Promise<Embedder> {
  let opened: Promise<Embedder> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

/** What is embedded of a passage: the headings above it say what it is about. Names and paths are left out, so a move embeds nothing. */
export function passageText(chunk: { readonly sectionPath: string; readonly text: string }): string {
  return chunk.sectionPath === "" ? chunk.text : `${chunk.sectionPath}\n${chunk.text}`;
}
