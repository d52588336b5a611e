/** The newest lines that are kept; a page that held them all would be too much for a browser. */
const MAX_LINES = 5000;
/** Errors and warnings are kept longer than other lines: they are what people come for. */
const MAX_OLD_ALARMS = 2000;
const ALARM = /^\s*(\[[\s\d/]+\]\s*)?(ERROR|WARNING)\b/;
const AT_END_PX = 24;

/**
 * The lines of a job in a list. They are put in frame by frame, however fast they come: measuring and scrolling lays out
 * the whole list, and once per line that blocks the page for minutes.
 */
export class JobLog {
  /** `onLines` is told of the new lines of each frame. */
  constructor({ list, find, alarms, found, older, onLines }) {
    Object.assign(this, { list, find, alarms, found, older, onLines });
    this.waiting = [];
    /** The newest lines, and alarms that would have had to go with those around them. */
    this.recent = [];
    this.oldAlarms = [];
    list.replaceChildren();
    list.closest("details").ontoggle = () => {
      list.scrollTop = list.scrollHeight;
    };
    older.hidden = true;
    found.textContent = "";
    for (const field of [find, alarms]) field.oninput = () => this.sift();
  }

  add(text) {
    for (const line of text.split("\n")) this.waiting.push(line);
    // No frames come while nobody looks at the page, but lines do.
    if (this.waiting.length >= MAX_LINES) this.flush();
    else this.frame ??= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    if (this.waiting.length === 0) return;
    const { list } = this;
    const lines = this.waiting;
    this.waiting = [];
    const following = list.scrollHeight - list.scrollTop - list.clientHeight < AT_END_PX;
    const isWanted = this.wish();
    const fresh = document.createDocumentFragment();
    for (const line of lines) this.recent.push(fresh.appendChild(entryOf(line, isWanted)));
    list.append(fresh);
    this.forget();
    if (following) list.scrollTop = list.scrollHeight;
    this.sayFound();
    this.onLines(lines);
  }

  forget() {
    const gone = this.recent.splice(0, Math.max(0, this.recent.length - MAX_LINES));
    for (const entry of gone) {
      if (entry.className === "alarm") this.oldAlarms.push(entry);
      else entry.remove();
    }
    for (const entry of this.oldAlarms.splice(0, Math.max(0, this.oldAlarms.length - MAX_OLD_ALARMS))) entry.remove();
    if (gone.length > 0) this.older.hidden = false;
  }

  /** Shows the lines that were asked for, and says how many. */
  sift() {
    const isWanted = this.wish();
    for (const entry of this.entries()) entry.hidden = !isWanted(entry);
    this.sayFound();
  }

  sayFound() {
    const isNarrowed = this.alarms.checked || this.find.value !== "";
    const all = isNarrowed ? this.entries() : [];
    const shown = all.filter((entry) => !entry.hidden).length;
    this.found.textContent = shown === all.length ? "" : `${shown} of ${all.length} lines`;
  }

  entries() {
    return [...this.oldAlarms, ...this.recent];
  }

  wish() {
    const words = this.find.value.toLowerCase();
    const alarmsOnly = this.alarms.checked;
    return (entry) => (!alarmsOnly || entry.className === "alarm") && entry.textContent.toLowerCase().includes(words);
  }
}

function entryOf(line, isWanted) {
  const entry = document.createElement("p");
  entry.textContent = line;
  if (ALARM.test(line)) entry.className = "alarm";
  entry.hidden = !isWanted(entry);
  return entry;
}
