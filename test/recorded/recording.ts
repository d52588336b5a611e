/** Views of the outside, a file each. Those of the last line become exports on demand one day, and so are kept apart. */
export const VIEWS = [
  ...["jobs", "answers", "search", "command-line", "mirror", "files-metadata", "maps"],
  ...["maps-of-web-folders-blobs", "manifest", "knowledge-base"],
] as const;
export type View = (typeof VIEWS)[number];

/** How much of a row tells which one it was. */
const SHORT = 100;

/** What was seen in a history: of each view a text, with a heading for each act. */
export class Recording {
  readonly #lines = new Map<View, string[]>();
  readonly #rows = new Map<string, Set<string>>();
  readonly #last = new Map<string, string>();
  readonly #headed = new Map<View, string>();
  #heading = "";

  begin(heading: string): void {
    this.#heading = heading;
  }

  /** `subject` names what is looked at: what is seen of it a second time, unchanged, is not written again. */
  note(view: View, subject: string, text: string): void {
    const lines = this.#lines.get(view) ?? [];
    this.#lines.set(view, lines);
    if (this.#headed.get(view) !== this.#heading) {
      lines.push(...(lines.length > 0 ? ["", ""] : []), `===== ${this.#heading} =====`);
      this.#headed.set(view, this.#heading);
    }
    const key = `${view} ${subject}`;
    const isSame = this.#last.get(key) === text;
    this.#last.set(key, text);
    lines.push("", `--- ${subject}${isSame ? ": as before" : ""}`, ...(isSame ? [] : [text]));
  }

  /** Rows in an order of their own. Of those that are what they were, only the number is written. */
  noteRows(view: View, subject: string, rows: readonly string[], head: readonly string[] = []): void {
    const key = `${view} ${subject}`;
    const before = this.#rows.get(key) ?? new Set();
    const now = new Set(rows.toSorted());
    this.#rows.set(key, now);
    const [gone, come] = [[...before].filter((row) => !now.has(row)), [...now].filter((row) => !before.has(row))];
    const same = now.size - come.length;
    const told = [
      ...(come.length > 0 ? head : []),
      ...(same > 0 ? [`  ${same} as before`] : []),
      ...gone.map((row) => `- ${row.slice(0, SHORT)}`.trimEnd()),
      ...come.map((row) => `+ ${row}`),
    ];
    this.note(view, subject, now.size === 0 && gone.length === 0 ? "empty" : told.join("\n"));
  }

  /** By file name. */
  files(): ReadonlyMap<string, string> {
    return new Map([...this.#lines].map(([view, lines]) => [`${view}.txt`, `${lines.join("\n")}\n`]));
  }
}
