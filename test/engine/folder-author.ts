import { chmod, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Random } from "../stories/random.ts";

/** A file as whoever wrote it knows it. */
export interface AuthoredFile {
  /** The same for ever, wherever the file goes and whatever is written into it. A copy is another one. */
  readonly trueId: number;
  /** The same for a file and its copies. */
  readonly family: number;
  readonly text: string;
  /** Nobody may read it. */
  readonly locked: boolean;
}

const FOLDERS = ["", "plans", "plans/old", "reports", "reports/2026", "Café"];
const NAMES = ["alpha", "beta", "gamma", "delta", "Epsilon", "zeta", "résumé", "note #1", "100%", "x".repeat(60)];
const FILLERS =
  "amber birch cedar delta ember fjord grove heath islet jetty knoll larch marsh north orchard pier".split(" ");
const WORDS_IN_TEXT = 40;

/** Does to a folder what people do, by chance, and knows what it did. */
export class FolderAuthor {
  /** By path below the root: every file that belongs to the source. */
  readonly files = new Map<string, AuthoredFile>();
  /** What was removed and may be put back. */
  readonly #bin: { readonly path: string; readonly file: AuthoredFile }[] = [];
  readonly #root: string;
  readonly #random: Random;
  readonly #mayLock: boolean;
  #ids = 0;
  #words = 0;

  constructor(root: string, random: Random, options: { readonly mayLock: boolean }) {
    this.#root = root;
    this.#random = random;
    this.#mayLock = options.mayLock;
  }

  /** One deed; tells which. */
  async act(): Promise<string> {
    for (;;) {
      const deed = this.#random.pick(this.#deeds());
      const told = await deed?.();
      if (told) return told;
    }
  }

  async create(path = this.#freePath(), text = this.#text()): Promise<string> {
    this.#ids += 1;
    await this.#put(path, { trueId: this.#ids, family: this.#ids, text, locked: false });
    return `create ${path}`;
  }

  /** Everything can be read again. */
  async unlockAll(): Promise<string> {
    for (const [path, file] of this.files) {
      if (file.locked) await this.#setLocked(path, file, false);
    }
    return "unlock all";
  }

  #deeds(): readonly (() => Promise<string | undefined>)[] {
    const rename = (): Promise<string | undefined> => this.#rename();
    return [
      ...[rename, rename, rename, () => this.create(), () => this.create(), () => this.#edit(), () => this.#edit()],
      ...[() => this.#append(), () => this.#shrink(), () => this.#renameAndEdit(), () => this.#renameFolder()],
      ...[
        () => this.#swap(),
        () => this.#chain(),
        () => this.#cycle(),
        () => this.#succeed(),
        () => this.#carry(),
        () => this.#copy(),
        () => this.#remove(),
      ],
      ...[
        () => this.#remove(),
        () => this.#restore(),
        () => this.#restore(),
        () => this.#respell(),
        () => this.#empty(),
      ],
      ...[() => this.#touch(), () => this.#saveAsEditorsDo(), () => this.#decoy(), () => this.#replaceByAnother()],
      ...(this.#mayLock ? [() => this.#lock(), () => this.#lock(), () => this.unlockAll()] : []),
    ];
  }

  async #rename(): Promise<string | undefined> {
    const from = this.#anyPath();
    return from && (await this.#move(from, this.#freePath(extensionOf(from))));
  }

  /** As from one disk to another. */
  async #carry(): Promise<string | undefined> {
    const from = this.#openPath();
    const file = from === undefined ? undefined : this.files.get(from);
    if (!from || !file) return undefined;
    const to = this.#freePath(extensionOf(from));
    await this.#put(to, file);
    await rm(this.#at(from));
    this.files.delete(from);
    return `carry ${from} to ${to}`;
  }

  async #renameAndEdit(): Promise<string | undefined> {
    const from = this.#openPath(hasText);
    if (!from) return undefined;
    const told = await this.#move(from, this.#freePath(extensionOf(from)));
    const to = told.slice(told.lastIndexOf(" to ") + " to ".length);
    await this.#write(to, `${this.files.get(to)?.text}\nLater added: ${this.#marker()}.\n`);
    return `${told}, and edit`;
  }

  async #edit(): Promise<string | undefined> {
    return await this.#rewrite("edit", this.#openPath(), this.#text());
  }

  async #append(): Promise<string | undefined> {
    const path = this.#openPath(hasText);
    if (!path) return undefined;
    await this.#write(path, `${this.files.get(path)?.text}Appended: ${this.#marker()}.\n`);
    return `append to ${path}`;
  }

  async #shrink(): Promise<string | undefined> {
    return await this.#rewrite("shrink", this.#openPath(hasText), `Short: ${this.#marker()}.\n`);
  }

  async #empty(): Promise<string | undefined> {
    return await this.#rewrite("empty", this.#openPath(), "");
  }

  async #rewrite(what: string, path: string | undefined, text: string): Promise<string | undefined> {
    if (path === undefined) return undefined;
    await this.#write(path, text);
    return `${what} ${path}`;
  }

  async #touch(): Promise<string | undefined> {
    const path = this.#anyPath();
    if (!path) return undefined;
    const at = new Date(Date.UTC(2020, this.#random.below(12), 1 + this.#random.below(28)));
    await utimes(this.#at(path), at, at);
    return `touch ${path}`;
  }

  /** The same size, and the same modified time if it can be helped. */
  async #saveAsEditorsDo(): Promise<string | undefined> {
    const path = this.#openPath();
    const file = path === undefined ? undefined : this.files.get(path);
    if (!path || !file) return undefined;
    const aside = `${this.#at(path)}.swp~`;
    const text = this.#text();
    await writeFile(aside, text);
    await rename(aside, this.#at(path));
    this.files.set(path, { ...file, text });
    return `save ${path} as editors do`;
  }

  async #swap(): Promise<string | undefined> {
    return await this.#rotate(2, "swap");
  }

  async #cycle(): Promise<string | undefined> {
    return await this.#rotate(3, "rotate");
  }

  async #rotate(count: number, what: string): Promise<string | undefined> {
    const paths = this.#somePaths(count);
    if (paths.length < count) return undefined;
    const files = paths.map((path) => this.files.get(path) as AuthoredFile);
    const aside = (i: number): string => join(this.#root, `.aside-${i}`);
    for (const [i, path] of paths.entries()) await rename(this.#at(path), aside(i));
    for (const [i, path] of paths.entries()) {
      const from = (i + 1) % count;
      await rename(aside(from), this.#at(path));
      this.files.set(path, files[from] as AuthoredFile);
    }
    return `${what} ${paths.join(", ")}`;
  }

  /** The first takes the place of the second, which has moved on to a place of its own. */
  async #chain(): Promise<string | undefined> {
    const [first, second] = this.#somePaths(2);
    if (!first || !second) return undefined;
    const on = await this.#move(second, this.#freePath(extensionOf(second)));
    return `${on}, then ${await this.#move(first, second)}`;
  }

  /** Another document under the name of one that went elsewhere. */
  async #succeed(): Promise<string | undefined> {
    const path = this.#anyPath();
    if (!path) return undefined;
    return `${await this.#move(path, this.#freePath(extensionOf(path)))}, then ${await this.create(path)}`;
  }

  async #copy(): Promise<string | undefined> {
    const from = this.#openPath();
    const file = from === undefined ? undefined : this.files.get(from);
    if (!from || !file) return undefined;
    const to = this.#freePath(extensionOf(from));
    this.#ids += 1;
    await this.#put(to, { ...file, trueId: this.#ids });
    return `copy ${from} to ${to}`;
  }

  /** A document of its own under the name of one that was there. */
  async #replaceByAnother(): Promise<string | undefined> {
    const path = this.#openPath();
    if (!path) return undefined;
    await this.#drop(path);
    return `remove ${path}, then ${await this.create(path)}`;
  }

  async #remove(): Promise<string | undefined> {
    const path = this.#anyPath();
    if (!path || this.files.size < 4) return undefined;
    await this.#drop(path);
    return `remove ${path}`;
  }

  async #drop(path: string): Promise<void> {
    const file = this.files.get(path) as AuthoredFile;
    await rm(this.#at(path));
    this.files.delete(path);
    this.#bin.push({ path, file: { ...file, locked: false } });
  }

  /** Where it was, or somewhere else. */
  async #restore(): Promise<string | undefined> {
    const [binned] = this.#bin.length > 0 ? this.#bin.splice(this.#random.below(this.#bin.length), 1) : [];
    if (!binned) return undefined;
    // Where two names differ by case alone, one of them has another name in our mirror, which the oracle does not know.
    const taken = [...this.files.keys()].some((path) => foldOf(path) === foldOf(binned.path));
    const isFree = !taken && this.#random.chance(0.6);
    const path = isFree ? binned.path : this.#freePath(extensionOf(binned.path));
    await this.#put(path, binned.file);
    return `restore ${binned.path} as ${path}`;
  }

  async #renameFolder(): Promise<string | undefined> {
    const inUse = [...new Set([...this.files.keys()].map((path) => dirname(path)))].filter((name) => name !== ".");
    const from = this.#random.pick(inUse);
    if (!from) return undefined;
    const to = `folder${this.#random.below(1000)}`;
    if (await this.#isThere(to)) return undefined;
    await rename(this.#at(from), this.#at(to));
    for (const [path, file] of [...this.files]) {
      if (!path.startsWith(`${from}/`)) continue;
      this.files.delete(path);
      this.files.set(to + path.slice(from.length), file);
    }
    return `rename the folder ${from} to ${to}`;
  }

  /** Another case, or the other normal form of the same letters. */
  async #respell(): Promise<string | undefined> {
    const from = this.#anyPath();
    if (!from) return undefined;
    const name = from.slice(from.lastIndexOf("/") + 1);
    const folder = from.slice(0, from.length - name.length);
    const other = name.normalize("NFC") === name ? name.normalize("NFD") : name.normalize("NFC");
    const spelt = other !== name && this.#random.chance(0.5) ? other : swapCase(name);
    const to = folder + spelt;
    return this.files.has(to) || (await this.#isThere(to)) ? undefined : await this.#move(from, to);
  }

  async #lock(): Promise<string | undefined> {
    const path = this.#openPath();
    const file = path === undefined ? undefined : this.files.get(path);
    if (!path || !file) return undefined;
    if (this.#random.chance(0.5)) {
      await this.#setLocked(path, file, true);
      return `lock ${path}`;
    }
    await this.#write(path, this.#text());
    await this.#setLocked(path, this.files.get(path) ?? file, true);
    return `edit and lock ${path}`;
  }

  /** Things that are no document of the source: never to be found. */
  async #decoy(): Promise<string | undefined> {
    const name = `decoy${this.#random.below(1000)}`;
    const kind = this.#random.below(4);
    const text = `Never to be found: ${DECOY}.\n`;
    await mkdir(this.#at("ignored"), { recursive: true });
    if (kind === 0) await writeFile(this.#at(`.${name}.md`), text);
    if (kind === 1) await writeFile(this.#at(`ignored/${name}.md`), text);
    if (kind === 2) await symlink("/etc/hostname", this.#at(`${name}.txt`)).catch(() => undefined);
    if (kind === 3) await symlink("nowhere", this.#at(`${name}.md`)).catch(() => undefined);
    return `decoy ${kind} ${name}`;
  }

  async #move(from: string, to: string): Promise<string> {
    await mkdir(dirname(this.#at(to)), { recursive: true });
    await rename(this.#at(from), this.#at(to));
    const file = this.files.get(from) as AuthoredFile;
    this.files.delete(from);
    this.files.set(to, file);
    return `rename ${from} to ${to}`;
  }

  async #put(path: string, file: AuthoredFile): Promise<void> {
    await mkdir(dirname(this.#at(path)), { recursive: true });
    await writeFile(this.#at(path), file.text);
    this.files.set(path, file);
  }

  async #write(path: string, text: string): Promise<void> {
    const file = this.files.get(path) as AuthoredFile;
    await writeFile(this.#at(path), text);
    this.files.set(path, { ...file, text });
  }

  async #setLocked(path: string, file: AuthoredFile, locked: boolean): Promise<void> {
    await chmod(this.#at(path), locked ? 0o000 : 0o644);
    this.files.set(path, { ...file, locked });
  }

  #anyPath(): string | undefined {
    return this.#random.pick([...this.files.keys()]);
  }

  #openPath(isFit: (file: AuthoredFile) => boolean = () => true): string | undefined {
    return this.#random.pick([...this.files].flatMap(([path, file]) => (!file.locked && isFit(file) ? [path] : [])));
  }

  /** With one extension: a file that gets another one is another document. */
  #somePaths(count: number): string[] {
    const first = this.#anyPath() ?? "";
    const like = [...this.files.keys()].filter((path) => extensionOf(path) === extensionOf(first));
    const chosen = new Set([first]);
    for (let tries = 0; chosen.size < Math.min(count, like.length) && tries < 50; tries++) {
      chosen.add(this.#random.pick(like) ?? first);
    }
    return [...chosen];
  }

  #freePath(extension = this.#random.chance(0.8) ? ".md" : ".txt"): string {
    for (let number = 0; ; number++) {
      const folder = this.#random.pick(FOLDERS) ?? "";
      const name = `${this.#random.pick(NAMES)}${number > 3 ? ` (${this.#random.below(1000)})` : ""}${extension}`;
      const path = folder === "" ? name : `${folder}/${name}`;
      const taken = [...this.files.keys()].some((other) => foldOf(other) === foldOf(path));
      if (!taken) return path;
    }
  }

  #text(): string {
    const lines = Array.from({ length: 4 + this.#random.below(3) }, () => this.#sentence());
    return `# Notes\n\nThese are notes on ${this.#marker()}.\n${lines.join("\n")}\n`;
  }

  #sentence(): string {
    const words = Array.from(
      { length: WORDS_IN_TEXT / 4 },
      () => `${this.#random.pick(FILLERS)}${this.#random.below(500)}`,
    );
    return `${words.join(" ")}.`;
  }

  /** A word that no other text has. */
  #marker(): string {
    this.#words += 1;
    return `qzx${this.#words.toString(36)}mark`;
  }

  #at(path: string): string {
    return join(this.#root, path);
  }

  async #isThere(path: string): Promise<boolean> {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const names = await readdir(dirname(this.#at(path))).catch((): string[] => []);
    return names.includes(name);
  }
}

export const DECOY = "decoyword";

/** The words of a text that no other text has, the first one first. */
export function markersOf(text: string): string[] {
  return text.match(/qzx[0-9a-z]+mark/g) ?? [];
}

function hasText({ text }: AuthoredFile): boolean {
  return text !== "";
}

function extensionOf(path: string): string {
  return path.slice(path.lastIndexOf("."));
}

function foldOf(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function swapCase(name: string): string {
  const dot = name.lastIndexOf(".");
  const stem = name.slice(0, dot);
  const other = stem === stem.toUpperCase() ? stem.toLowerCase() : stem.toUpperCase();
  return other + name.slice(dot);
}
