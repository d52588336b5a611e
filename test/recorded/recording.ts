/** Views of the outside, a file each. Those of the last line become exports on demand one day, and so are kept apart. */
export const VIEWS = [
  ...["jobs", "answers", "search", "command-line", "mirror", "files-metadata", "maps"],
  ...["maps-of-web-folders-blobs", "manifest", "knowledge-base"],
] as const;
export type View = (typeof VIEWS)[number];

/** What was seen in a history: of each view a text, with a heading for each act. */
export class Recording {
  readonly #lines = new Map<View, string[]>();
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

  /** By file name. */
  files(): ReadonlyMap<string, string> {
    return new Map([...this.#lines].map(([view, lines]) => [`${view}.txt`, `${lines.join("\n")}\n`]));
  }
}
