import type { IngestItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";

const EVENTS_KEPT = 30;
const DETAIL_CHARACTERS = 300;

export type ItemEventName =
  | "registered"
  | "requested"
  | "new"
  | "changed"
  | "unchanged"
  | "restored"
  | "missing"
  | "gone"
  | "refused"
  | "alias"
  | "failed"
  | "indexed";

/** Adds to the history. What happens again and again is one event, the latest: it must not push out what is worth knowing. */
export function withEvent(item: IngestItem, event: ItemEventName, detail: string, at: Date): IngestItem {
  const added = { at: toUtcMicros(at), event, detail: detail.slice(0, DETAIL_CHARACTERS) };
  const last = item.history.at(-1);
  const isRepeated = last?.event === event && (event === "unchanged" || last.detail === added.detail);
  const before = isRepeated ? item.history.slice(0, -1) : item.history;
  return { ...item, history: [...before, added].slice(-EVENTS_KEPT) };
}
