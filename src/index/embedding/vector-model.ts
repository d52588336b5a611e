import type { Embedder } from "../../contracts/embedder.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Store } from "../store.ts";
import type { SpaceRow } from "./spaces.ts";

export type Report = (line: string) => void;

/** New vectors that are to replace the active ones of a store. */
export interface Successor {
  readonly embedder: Embedder;
  /** What the model learnt from the store's own text; null for one that is the same everywhere. */
  readonly learnt: Uint8Array | null;
}

/** Where the embedders of a store come from: the same for every store, or learnt from each store's own text. */
export interface VectorModel {
  /** For a store without vectors. Throws RemoteError when a service has to be asked and does not answer. */
  first(): Promise<Embedder>;
  /**
   * Returns the embedder of this space; undefined if it is not available any more. `learnt` reads the model that is stored with the space.
   */
  embedderOf(space: SpaceRow, learnt: () => Promise<Uint8Array | null>): Promise<Embedder | undefined>;
  /**
   * Returns true if a refresh will replace the space, once `adding` more passages are in the store: no more vectors are added to it, and
   * until then searches use words only.
   */
  isOutgrown?(sql: Sql, space: SpaceRow, adding: number): Promise<boolean>;
  /** Returns undefined if the active space, or the unfinished one of an earlier refresh, is current. */
  successor(
    store: Store,
    active: SpaceRow,
    unfinished: SpaceRow | undefined,
    report: Report,
    signal: AbortSignal,
  ): Promise<Successor | SpaceRow | undefined>;
}

/** A model with the same vectors for every store. */
export function createFixedModel(embedder: Embedder): VectorModel {
  return createServiceModel(
    async () => embedder,
    async (space) => (isOf(space, embedder) ? embedder : undefined),
  );
}

/**
 * A model that must be requested or loaded before its dimensions are known. `open` is called when a store needs new vectors, `known`
 * returns the embedder of an existing space.
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

/** Returns the same embedder to all callers; after a failure it is tried again. */
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

/** Returns the text to embed: with headings, which say what a passage is about; without names and paths, so that a move embeds nothing. */
export function passageText(chunk: { readonly sectionPath: string; readonly text: string }): string {
  return chunk.sectionPath === "" ? chunk.text : `${chunk.sectionPath}\n${chunk.text}`;
}
