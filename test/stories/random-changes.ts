import { LIBRARY } from "../engine/world.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

/** What users may do; each returns a sentence for the record, or undefined when there was nothing to do it with. */
type Deed = (user: RandomUser) => Promise<string | undefined>;

const FOLDERS = ["", "Travel", "Travel/2024", "Größe & co", "notes.txt", "Archive"];
const NAMES = [
  "plan.txt",
  "notes.txt",
  "a b.md",
  "It's 100%.txt",
  "page.html",
  "Über.txt",
  "picture.png",
  "broken.pdf",
];

/** Plays users of one library by chance. Every text has a word of its own, never used again. */
export class RandomUser {
  readonly random: Random;
  readonly #stage: Stage;
  #words = 0;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.random = random;
  }

  /** One deed; the tenant may refuse it (the name is taken), which is told, too. */
  async act(): Promise<string> {
    const deed = this.random.pick(DEEDS) ?? DEEDS[0];
    try {
      return (await deed?.(this)) ?? "nothing to do";
    } catch (error) {
      return `refused: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async do(operation: string, fields: Record<string, unknown>): Promise<string> {
    await this.#stage.change(operation, fields);
    return `${operation} ${JSON.stringify(fields)}`;
  }

  text(): string {
    this.#words += 1;
    const lines = ["Minutes of the meeting", "A note for everybody", "The rule in short"];
    return `${this.random.pick(lines)}: word${this.random.below(1_000_000)}x${this.#words}.`;
  }

  newPath(): string {
    return join(this.random.pick(FOLDERS) ?? "", this.random.pick(NAMES) ?? "a.txt");
  }

  newName(): string {
    return this.random.pick(NAMES) ?? "a.txt";
  }

  newFolder(): string {
    return this.random.pick(FOLDERS.slice(1)) ?? "Travel";
  }

  async pickFile(): Promise<string | undefined> {
    return this.random.pick(await this.#paths("file"));
  }

  async pickFolder(): Promise<string | undefined> {
    return this.random.pick(await this.#paths("folder"));
  }

  async pickDeleted(): Promise<string | undefined> {
    const { items } = (await this.#stage.world.control("GET", "recycle-bin")) as { items: { uniqueId: string }[] };
    return this.random.pick(items)?.uniqueId;
  }

  async #paths(kind: "file" | "folder"): Promise<string[]> {
    const query = `state?library=${encodeURIComponent(LIBRARY)}`;
    const { items } = (await this.#stage.world.control("GET", query)) as { items: { kind: string; path: string }[] };
    return items.filter((item) => item.kind === kind).map(({ path }) => path.slice(LIBRARY.length + 1));
  }
}

const add: Deed = (user) => user.do("add", { path: user.newPath(), text: user.text() });
const edit: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do("update", { path, text: user.text() });
};
const rename: Deed = async (user) => {
  const path = await user.pickFile();
  const via = user.random.chance(0.5) ? "graph" : "move-to";
  return path && user.do("rename", { path, name: user.newName(), via });
};
const move: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do("move", { path, to: user.newPath() });
};
const copy: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do("copy", { path, to: user.newPath() });
};
const remove: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do("delete", { path });
};
const restore: Deed = async (user) => {
  const uniqueId = await user.pickDeleted();
  return uniqueId && user.do("restore", { uniqueId });
};
const replace: Deed = async (user) => {
  const path = await user.pickFile();
  if (!path) return undefined;
  return `${await user.do("delete", { path })}, ${await user.do("add", { path, text: user.text() })}`;
};
const swap: Deed = async (user) => {
  const [one, two] = [await user.pickFile(), await user.pickFile()];
  if (!one || !two || one === two) return undefined;
  await user.do("move", { path: one, to: "between.txt" });
  await user.do("move", { path: two, to: one });
  return `swap ${one}, ${await user.do("move", { path: "between.txt", to: two })}`;
};
const renameFolder: Deed = async (user) => {
  const path = await user.pickFolder();
  return path && user.do("rename", { path, name: user.newFolder().split("/")[0] ?? "Other" });
};
const moveFolder: Deed = async (user) => {
  const path = await user.pickFolder();
  return path && user.do("move", { path, to: join(user.newFolder(), path.split("/").at(-1) ?? "") });
};
const removeFolder: Deed = async (user) => {
  const path = await user.pickFolder();
  return path && user.do("delete", { path });
};
const touch: Deed = async (user) => {
  const path = await user.pickFile();
  const via = user.random.chance(0.5) ? "edit" : "system-update";
  return path && user.do("set-columns", { path, columns: { Department: `d${user.random.below(9)}` }, via });
};
const goBack: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do("restore-version", { path, version: `${1 + user.random.below(2)}.0` });
};
const checkOut: Deed = async (user) => {
  const path = await user.pickFile();
  if (!path) return undefined;
  const taken = await user.do("check-out", { path });
  return user.random.chance(0.7) ? `${taken}, ${await user.do("update", { path, text: user.text() })}` : taken;
};
const checkIn: Deed = async (user) => {
  const path = await user.pickFile();
  return path && user.do(user.random.chance(0.8) ? "check-in" : "undo-check-out", { path });
};

/** Often what happens often. */
const DEEDS: readonly Deed[] = [
  ...[add, add, add, edit, edit, edit, rename, rename, move, move, copy, remove, remove, restore, replace, swap, touch],
  ...[renameFolder, moveFolder, removeFolder, goBack, checkOut, checkIn, checkIn],
];

function join(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name;
}
