import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseDomainId } from "../../../src/contracts/ids.ts";
import { decodeCsvRow } from "../../../src/lib/csv.ts";
import { type Expected, FIXTURES, type Fixture, type PackedFolder, packFolder } from "./fixture.ts";
import type { ChildAnswer, ChildTask, KillPoint } from "./fixture-child.ts";
import { OpenFixture } from "./open-fixture.ts";
import type { Place } from "./source-state.ts";
import { StoreService } from "./store-service.ts";

const CHILD = join(import.meta.dirname, "fixture-child.ts");
export const DOMAIN = "EARLIER";

/** What a recipe says of a fixture; the rest is what the storage shows, and is to be read before it is committed. */
export interface Told extends Omit<Partial<Expected>, "found" | "documents" | "fetched"> {
  readonly name: string;
  readonly about: string;
  readonly words: readonly string[];
  readonly domainId?: string;
  /** Settings of the crawl that comes next, where they are others. */
  readonly settings?: Readonly<Record<string, string>>;
}

export type Work = Omit<ChildTask, "settings" | "nowMs" | "domainId">;

/** A storage folder that processes of their own work in, and the source it is of. */
export class Maker {
  readonly storage: string;
  readonly place: Place;
  nowMs: number;
  /** Where the documents are, when they are not in the storage. */
  service: StoreService | undefined;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #folder: string;

  private constructor(folder: string, place: Place, options: MakerOptions) {
    this.#folder = folder;
    this.storage = join(folder, "storage");
    this.place = place;
    this.nowMs = Date.parse(options.now);
    this.#settings = options.settings ?? {};
  }

  static async open(place: Place, options: MakerOptions): Promise<Maker> {
    return new Maker(await mkdtemp(join(tmpdir(), "lockstep-make-")), place, options);
  }

  async close(): Promise<void> {
    await this.place.close();
    await this.service?.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Carried out by a process of its own; undefined when it was killed, by itself or by what is arranged, as it then must be. */
  async run(task: Work, arrange?: (kill: () => Promise<void>) => void): Promise<ChildAnswer | undefined> {
    const settings = {
      ...this.place.settings,
      ...this.service?.settings,
      ...this.#settings,
      PERSISTENT_STORAGE_PATH: this.storage,
    };
    const whole: ChildTask = { domainId: DOMAIN, settings, nowMs: this.nowMs, ...task };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(whole)], { stdio: ["ignore", "pipe", "inherit"] });
    const closed = once(child, "close") as Promise<[number | null, string | null]>;
    arrange?.(async () => {
      child.kill("SIGKILL");
      await closed;
    });
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
    const [code, signal] = await closed;
    if (task.kill || arrange ? signal !== "SIGKILL" : code !== 0) {
      throw new Error(`${JSON.stringify(task)}: ended with ${code ?? signal}\n${output}`);
    }
    if (signal) return undefined;
    const answer = JSON.parse(output) as ChildAnswer;
    say(`  ${answer.error || "went well"}`);
    return answer;
  }

  /** The storage as it is now, to come back to. */
  async remember(): Promise<() => Promise<void>> {
    const copy = await mkdtemp(join(this.#folder, "copy-"));
    await cp(this.storage, copy, { recursive: true, preserveTimestamps: true });
    const held = await this.#packService();
    return async () => {
      await rm(this.storage, { recursive: true });
      await cp(copy, this.storage, { recursive: true, preserveTimestamps: true });
      await this.service?.close();
      this.service = held && (await StoreService.open(held));
    };
  }

  async #packService(): Promise<PackedFolder | undefined> {
    const held = await this.service?.close();
    this.service = held && (await StoreService.open(held));
    return held;
  }

  async killed(told: Told, kill: KillPoint, work: Work = {}): Promise<void> {
    if (isMade(told)) return;
    await this.run({ ...work, kill });
    await this.write({ ...told, idle: false });
  }

  /** A row of `vectorstore_map.csv`. */
  async rowOf(source: string, filename: string): Promise<Readonly<Record<string, string>>> {
    const text = await readFile(join(this.storage, "crawler", DOMAIN, source, "vectorstore_map.csv"), "utf8");
    const [columns = [], ...rows] = text.split("\r\n").map(decodeCsvRow);
    const all = rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, row[i] ?? ""])));
    return all.find((row) => row["filename"] === filename) ?? {};
  }

  async write(told: Told & { readonly idle: boolean }): Promise<void> {
    if (isMade(told)) return;
    const { name, about, words, domainId = DOMAIN, settings, ...expected } = told;
    const service = await this.#packService();
    const made: Omit<Fixture, "about" | "expect"> = {
      domainId,
      settings: { ...this.#settings, ...settings },
      now: new Date(this.nowMs + 3600_000).toISOString(),
      source: await this.place.state(),
      ...(service && { service }),
      storage: await packFolder(this.storage),
    };
    const comeBack = await this.place.stepAside?.();
    const expect = { ...expected, ...(await tryOut(made, words)) };
    await comeBack?.();
    const { storage, ...rest } = made;
    const json = { about, ...rest, expect, storage };
    await mkdir(FIXTURES, { recursive: true });
    await writeFile(fileOf(name), `${JSON.stringify(json, undefined, 1)}\n`);
    say(`${name}: ${(await readFile(fileOf(name))).length} bytes, ${JSON.stringify(expect)}`);
  }
}

export interface MakerOptions {
  readonly now: string;
  readonly settings?: Readonly<Record<string, string>>;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fileOf(name: string): string {
  return join(FIXTURES, `${name}.json`);
}

/** What is there is never made again: later releases would make other storage. */
export function isMade({ name }: Pick<Told, "name">): boolean {
  return existsSync(fileOf(name));
}

async function tryOut(
  made: Omit<Fixture, "about" | "expect">,
  words: readonly string[],
): Promise<Pick<Expected, "found" | "documents" | "fetched">> {
  const opened = await OpenFixture.open(made);
  try {
    // While a domain is being renamed, they still have the mark of the old name.
    const before = new Set(Object.values(await opened.documents(parseDomainId(DOMAIN))));
    opened.place.fetched();
    const { result, log } = await opened.crawl();
    if (!result.sources.every(({ complete }) => complete)) throw new Error(`the next crawl sees not all:\n${log}`);
    const fetched = opened.place.fetched();
    const after = Object.entries(await opened.documents());
    const documents = Object.fromEntries(after.map(([path, id]) => [path, before.has(id) ? id : ""]));
    const found: Record<string, string[]> = {};
    for (const word of words) found[word] = await opened.found(word);
    for (const { source_id, download, process, embed } of result.sources)
      say(`  ${source_id} ${JSON.stringify({ download, process, embed })}`);
    return { found, documents, fetched };
  } finally {
    await opened.close();
  }
}
