import type { IngestStatus } from "../../contracts/registry.ts";

/** What people are told of a state: how it looks, and what it means. */
export const STATUS_WORDS: Readonly<
  Record<IngestStatus, { readonly tone: string; readonly word: string; readonly meaning: string }>
> = {
  Pending: { tone: "busy", word: "Pending", meaning: "It was not looked at yet." },
  Crawled: { tone: "busy", word: "Crawled", meaning: "Its document is here; the index does not have it yet." },
  Indexed: { tone: "good", word: "Indexed", meaning: "Search finds it as it was last seen." },
  Error: { tone: "bad", word: "Error", meaning: "The last look failed; what was known stays, and it is tried again." },
  OutOfScope: {
    tone: "idle",
    word: "Out of scope",
    meaning: "It must not or cannot be indexed, as its last event says; or the address is another item's.",
  },
  Gone: { tone: "warn", word: "Gone", meaning: "The server said several times that it does not exist any more." },
};

const EVENT_TONES: Readonly<Record<string, string>> = {
  changed: "good",
  new: "good",
  restored: "good",
  indexed: "good",
  failed: "bad",
  gone: "warn",
  missing: "warn",
  refused: "warn",
};

export function eventTone(event: string): string {
  return EVENT_TONES[event] ?? "idle";
}

export function itemAddress(id: string): string {
  return `/v2/ingest/items/get?item_id=${encodeURIComponent(id)}&format=html`;
}

/** "every 3 days" */
export function sayInterval(seconds: number): string {
  const units = [
    [86_400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ] as const;
  const [size, name] = units.find(([unit]) => seconds >= unit && seconds % unit === 0) ?? [1, "second"];
  const count = seconds / size;
  return count === 1 ? `every ${name}` : `every ${count.toLocaleString("en")} ${name}s`;
}
