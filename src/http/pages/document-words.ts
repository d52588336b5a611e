import { html } from "hono/html";
import type { FileStatus } from "../../contracts/manifest.ts";
import type { DocumentJson } from "../endpoints/document-codec.ts";
import type { Html } from "./layout.ts";
import { shownName } from "./shown-name.ts";

/** What people are told of a state: how it looks, and what it means. */
export const FILE_WORDS: Readonly<
  Record<FileStatus, { readonly tone: string; readonly word: string; readonly meaning: string }>
> = {
  active: { tone: "good", word: "Active", meaning: "It was there at the last look." },
  missing: {
    tone: "warn",
    word: "Missing",
    meaning: "It was not there at the last look: hidden from search, and kept in case it comes back.",
  },
  error: {
    tone: "bad",
    word: "Error",
    meaning: "It could not be read; what is known of it stays, and it is tried again.",
  },
  deleted: { tone: "idle", word: "Deleted", meaning: "It was missing for too long: what was kept of it is gone." },
};

type Event = DocumentJson["lineage"][number];

const EVENT_TONES: Readonly<Record<Event["event"], string>> = {
  found: "good",
  copied: "good",
  edited: "idle",
  moved: "idle",
  "moved-and-edited": "idle",
  restored: "good",
  missing: "warn",
  deleted: "warn",
};

export function lineageTone({ event }: Event): string {
  return EVENT_TONES[event] ?? "idle";
}

/** "moved and edited, from a/b.md; 83 % sure" */
export function sayLineage({ event, from, certainty }: Event): Html {
  const words = event.replaceAll("-", " ");
  const origin = from ? html` from <bdi>${shownName(from)}</bdi>` : "";
  return html`${words}${origin}${certainty < 1 ? html` <span class="quiet">(texts ${Math.floor(certainty * 100)} % alike)</span>` : ""}`;
}

/** Of an address that tells of one document, whatever about it. */
export function documentAddress(
  about: "get" | "version" | "difference",
  { doc_id, source_id }: { readonly doc_id: string; readonly source_id: string },
  domainId: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ domain_id: domainId, source_id, document: doc_id, ...more, format: "html" });
  return `/v2/documents/${about}?${query}`;
}

export function documentsAddress(domainId: string): string {
  return `/v2/documents?${new URLSearchParams({ domain_id: domainId, format: "html" })}`;
}

export function fileNameOf(path: string): string {
  return shownName(path.split("/").at(-1) || path);
}
