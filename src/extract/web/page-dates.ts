import type { PageDate } from "../../contracts/web.ts";
import { isJsonObject } from "../../lib/json-object.ts";

/** What is about something else than the page. */
const ABOUT_OTHERS = new Set([
  "comment",
  "review",
  "author",
  "publisher",
  "ispartof",
  "mentions",
  "citation",
  "hascourse",
]);
const MAX_OBJECTS = 2000;
const MAX_TEXT = 100;

/** When the page says it was changed, the most trustworthy first. `facts` are its JSON-LD. */
export function datesIn(modifiedTime: string, facts: readonly string[]): PageDate[] {
  const dates: PageDate[] = [];
  if (modifiedTime) dates.push({ from: "article:modified_time", text: modifiedTime.slice(0, MAX_TEXT) });
  for (const fact of facts) {
    const text = dateModified(fact);
    if (text) dates.push({ from: "dateModified", text: text.slice(0, MAX_TEXT) });
  }
  return dates;
}

/** The first one, from the outside to the inside. */
function dateModified(fact: string): string {
  let level: unknown[] = [parse(fact)];
  for (let met = 0; level.length > 0 && met < MAX_OBJECTS; ) {
    const next: unknown[] = [];
    for (const value of level) {
      met += 1;
      if (Array.isArray(value)) next.push(...value.slice(0, MAX_OBJECTS));
      if (!isJsonObject(value)) continue;
      const date = value["dateModified"];
      if (typeof date === "string" && date.trim()) return date.trim();
      for (const [key, inner] of Object.entries(value)) {
        if (typeof inner === "object" && !ABOUT_OTHERS.has(key.toLowerCase())) next.push(inner);
      }
    }
    level = next;
  }
  return "";
}

function parse(fact: string): unknown {
  try {
    return JSON.parse(fact);
  } catch {
    return undefined;
  }
}
