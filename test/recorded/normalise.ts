import type { ActClock } from "./act-clock.ts";

/** What says nothing about the product: processes, machines, UUIDs of generations, and sizes of files that hold addresses and times. */
const MASKED = new Set([
  "pid",
  "host",
  "birth",
  "ip",
  "request_id",
  "executionTime",
  "uptime_seconds",
  "key",
  "map_files_version",
  "generationId",
  "generation_id",
  "shownId",
  "newestId",
]);
const MASKED_IN_TEXT =
  /"(pid|host|birth|stamp|node|map_files_version|generationId|generation_id|shownId|newestId)": ?("[^"]*"|\d+)/g;
/** What the doctor tells of the machine. */
const MACHINE: readonly [RegExp, string][] = [
  [/\d+ [KMGT]B are free/g, "<some> GB are free"],
  [/thumbprint [0-9A-F]{40} \(SHA-256 [0-9A-F]{64}\)/g, "thumbprint <thumbprint>"],
  [/^. Readers of files: .*(\n {4}.*)*/gm, "Readers of files: <masked>"],
];
const RANDOM_ID = /\b(url|file|assistant|vs|vsfb|asst|resp|msg|fs|ci|rs|conv|key|req)(-|_)[0-9A-Za-z]{12,}\b/g;
/** The size, time and inode of a file. */
const INODE = /\b(\d+-\d{13})-\d+\b/g;
const INSTANT = /(?<!\d)(\d{4})-(\d\d)-(\d\d)([T _])(\d\d)[:-](\d\d)[:-](\d\d)(\.\d+)?(Z|[+-]00:00)?/g;
const MINUTE = /\b(\d{4}-\d\d-\d\d) (\d\d:\d\d)(?!:)( UTC)?/g;
const HTTP_DATE = /\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g;
const DAY = /\b\d{4}-\d\d-\d\d\b/g;
const EPOCH = /(?<![\w.-])1\d{9}(\d{3})?(?![\w.-])/g;
/** How fresh a result is, in words. */
const FRESHNESS = /\bchecked (?:less than a minute|\d+ (?:minutes?|hours?|days?)) ago\b/g;
const CHANGED = /\bchanged \d{1,2} [A-Z][a-z]+(?: \d{4})?\b/g;
const DURATION = /\b\d+(\.\d+)? ?(ms|s|seconds?|milliseconds)\b(?! ago)/g;

/** Turns what differs from one run to the next into names that do not. */
export class Normaliser {
  readonly #clock: ActClock;
  readonly #places: [text: string, name: string][] = [];
  readonly #ids = new Map<string, string>();
  readonly #taken = new Map<string, number>();

  constructor(clock: ActClock) {
    this.#clock = clock;
  }

  /** An address or a folder that lies elsewhere in every run. */
  place(text: string, name: string): void {
    this.#places.push([text, name], [encodeURIComponent(text), encodeURIComponent(name)]);
    if (text.startsWith("/")) this.#places.push([text.replaceAll("/", "\\"), name.replaceAll("/", "\\")]);
    if (text.startsWith("http")) {
      const [host, named] = [new URL(text).host, new URL(name).host];
      this.#places.push([host, named], [host.replace(":", "_"), named]);
    }
    this.#places.sort(([a], [b]) => b.length - a.length);
  }

  /** Gives a random id the name of what it stands for; the second one of the same name is told apart by a number. */
  learn(id: string, kind: string, label: string): void {
    if (id === "" || this.#ids.has(id)) return;
    const name = `${kind}:${label}`;
    const count = (this.#taken.get(name) ?? 0) + 1;
    this.#taken.set(name, count);
    this.#ids.set(id, `<${name}${count > 1 ? ` #${count}` : ""}>`);
  }

  text(text: string): string {
    let result = text;
    for (const [place, name] of this.#places) result = result.replaceAll(place, name);
    for (const [id, name] of this.#ids) result = result.replaceAll(id, name);
    for (const [pattern, name] of MACHINE) result = result.replace(pattern, name);
    return (
      result
        .replace(INSTANT, (found, year, month, day, _between, hour, minute, second) => {
          const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
          return this.#clock.nameOf(ms) ?? found;
        })
        .replace(MINUTE, (found, day, minute) =>
          this.#clock.nameOf(Date.parse(`${day}T${minute}Z`) + 60_000) ? "<some minute>" : found,
        )
        .replace(HTTP_DATE, (found) => this.#clock.nameOf(Date.parse(found)) ?? found)
        .replace(
          EPOCH,
          (found) => this.#clock.nameOf(found.length > 10 ? Number(found) : Number(found) * 1000) ?? found,
        )
        .replace(DAY, (found) => (this.#clock.nameOf(Date.parse(found) + 86_400_000) ? "<day>" : found))
        .replace(FRESHNESS, "checked <age>")
        .replace(CHANGED, "changed <day>")
        // A certificate that is made now begins the day before.
        .replace(/\bvalid from \d{4}-\d\d-\d\d\b/g, "valid from <day>")
        .replace(DURATION, "<duration>")
        .replace(MASKED_IN_TEXT, '"$1":"<masked>"')
        .replace(RANDOM_ID, "<$1$2…>")
        .replace(INODE, "$1-<inode>")
    );
  }

  json(value: unknown, key = ""): unknown {
    if (MASKED.has(key)) return "<masked>";
    if (typeof value === "string") return this.text(value);
    if (typeof value === "number") return this.#number(value);
    if (Array.isArray(value)) return value.map((one) => this.json(one));
    if (typeof value !== "object" || value === null) return value;
    if ("subject" in value && value.subject === "Readers of files")
      return { subject: value.subject, outcome: "<masked>" };
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.text(name), this.json(one, name)]));
  }

  #number(value: number): unknown {
    if (!Number.isInteger(value)) return Number(value.toFixed(2));
    const isEpoch = value >= 1e9 && value < 1e10;
    const name =
      isEpoch || (value >= 1e12 && value < 1e13) ? this.#clock.nameOf(isEpoch ? value * 1000 : value) : undefined;
    return name ?? value;
  }
}

/** JSON as people read it: what fits into a line stands in one. */
export function showJson(value: unknown, indent = ""): string {
  const line = JSON.stringify(value);
  if (typeof value !== "object" || value === null || line.length + indent.length <= 150) return spaced(value);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => deeper + showJson(one, deeper)).join(",\n")}\n${indent}]`;
  }
  const fields = Object.entries(value).map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${showJson(one, deeper)}`);
  return `{\n${fields.join(",\n")}\n${indent}}`;
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spaced(one)}`);
  return fields.length > 0 ? `{ ${fields.join(", ")} }` : "{}";
}
