import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import type { FileTree, TreePage } from "../../src/contracts/file-tree.ts";
import { type DomainId, type ItemId, parseSourceId } from "../../src/contracts/ids.ts";
import type { Ledger, Ledgers } from "../../src/contracts/ledger.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import type { Completeness, Listed, Sighting, Source, Unreadable } from "../../src/contracts/source.ts";
import { createFolderTree } from "../../src/sources/folder/create-folder-tree.ts";
import { withErrnoExplained } from "../../src/sources/folder/explain-errno.ts";
import type { FolderSourceConfig } from "../../src/sources/folder/folder-source-codec.ts";
import { openTreeSource, type TreeTools } from "../../src/sources/tree/open-tree-source.ts";
import { ofKind } from "../kinds.ts";
import { entriesOf } from "../ledger/manifest-place.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

/** How a look came out, as the engine hears it. */
export interface Heard {
  readonly by: "feed" | "listing";
  readonly completeness: Completeness;
  /** Of the feed, what was touched; of a listing, everything. */
  readonly sightings: readonly Sighting[];
  readonly unreadable: readonly Unreadable[];
  readonly gone: readonly ItemId[];
}

export interface Wishes {
  readonly tools?: Partial<TreeTools>;
  /** What keeps its place although it was not seen. */
  readonly held?: readonly ItemId[];
  /** The run ends before the plan was carried out. */
  readonly cut?: boolean;
  /** The engine is killed before it has written down what it is to ask next time. */
  readonly forgotten?: boolean;
  readonly signal?: AbortSignal;
  /** The engine lists now and then although there is a feed. */
  readonly listing?: boolean;
  readonly config?: Partial<FolderSourceConfig>;
}

/** A real folder and a real manifest, looked at as the engine does it. */
export class TreeWorld {
  readonly #place: string;
  readonly #ledgers: Ledgers;
  readonly root: string;
  readonly storage: string;
  now = new Date("2026-01-01T00:00:00.000Z");
  /** Paths that were read, in order. */
  readonly reads: string[] = [];
  /** Paths that cannot be read now, and what the system says of them. */
  readonly locked = new Map<string, "EBUSY" | "EPERM">();
  /** Folders that cannot be looked into now. */
  readonly shut = new Set<string>();
  /** By folder: the number of the file system that is mounted on it. */
  readonly mounted = new Map<string, string>();
  readonly lines: string[] = [];
  /** What the engine asks for next time. */
  mark = "";

  private constructor(place: string) {
    this.#place = place;
    this.root = join(place, "root");
    this.storage = join(place, "D", "05_folders", "docs");
    this.#ledgers = openTestLedgers(place);
  }

  static async open(): Promise<TreeWorld> {
    const world = new TreeWorld(await mkdtemp(join(tmpdir(), "lockstep-look-")));
    await mkdir(world.root);
    return world;
  }

  async close(): Promise<void> {
    await this.#ledgers.close();
    await rm(this.#place, { recursive: true, force: true });
  }

  /** Long ago, unless it is to be young. */
  async write(path: string, text: string, modifiedAt = new Date("2024-01-01T00:00:00.000Z")): Promise<void> {
    const file = join(this.root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    await utimes(file, modifiedAt, modifiedAt);
  }

  async move(from: string, to: string): Promise<void> {
    await mkdir(dirname(join(this.root, to)), { recursive: true });
    await rename(join(this.root, from), join(this.root, to));
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.root, path), { recursive: true });
  }

  openTree(config: Partial<FolderSourceConfig> = {}): FileTree {
    return this.#withTrouble(
      createFolderTree(this.#configOf(config), { storagePath: this.storage, roots: async () => "anywhere" }),
    );
  }

  #configOf(config: Partial<FolderSourceConfig>): FolderSourceConfig {
    return {
      ...ofKind("folder_sources"),
      sourceId: parseSourceId("docs"),
      root: this.root,
      include: [],
      exclude: [],
      gitignore: false,
      hidden: false,
      maxFileBytes: 1e6,
      limits: DEFAULT_LIMITS,
      ...config,
    };
  }

  #openLedger(options: { readonly readOnly: boolean; readonly isSnapshot?: boolean }): Promise<Ledger> {
    return this.#ledgers.open({ domainId: "D" as DomainId, config: this.#configOf({}) }, options);
  }

  openSource(tools: Partial<TreeTools> = {}, config: Partial<FolderSourceConfig> = {}): Source {
    let ledger: Promise<Ledger> | undefined;
    const open = (): Promise<Ledger> => {
      ledger ??= this.#openLedger(tools.dryRun ? { readOnly: true, isSnapshot: true } : { readOnly: false });
      return ledger;
    };
    const source = this.#openTreeSource({ manifest: async () => (await open()).manifest, ...tools }, config);
    return {
      ...source,
      async close() {
        await source.close?.();
        await (await ledger)?.close();
      },
    };
  }

  #openTreeSource(
    tools: Partial<TreeTools> & Pick<TreeTools, "manifest">,
    config: Partial<FolderSourceConfig>,
  ): Source {
    return openTreeSource(this.#configOf(config), {
      tree: this.openTree(config),
      async *mirrored() {},
      storedText: async () => undefined,
      textOf: (path) => readFile(path, "utf8"),
      acceptedTypes: new Set(["md"]),
      log: (line) => void this.lines.push(line),
      dryRun: false,
      checksum: false,
      now: () => this.now,
      ...tools,
    });
  }

  /** The real tree, with locks and folders that nobody may read. */
  #withTrouble(tree: FileTree): FileTree {
    const { reads, locked, shut, mounted } = this;
    return {
      ...tree,
      async *walk(signal, below) {
        const pages = tree.walk(signal, below);
        let step = await pages.next();
        for (; !step.done; step = await pages.next()) {
          const { folder } = step.value;
          const hole = [...shut].find((one) => folder === one || folder.startsWith(`${one}/`));
          if (hole === undefined) yield onDevice(step.value, mounted.get(folder));
          else if (hole === folder) {
            const unreadable = [{ kind: "unreadable" as const, path: folder, reason: "no right to read it" }];
            yield { folder, files: [], unreadable, skipped: [], whole: { folders: [], device: "" } };
          }
        }
        return step.value;
      },
      async *read(path, signal, stamp) {
        reads.push(path);
        const code = locked.get(path);
        if (code) throw withErrnoExplained(Object.assign(new Error(code), { code, syscall: "read" }));
        yield* tree.read(path, signal, stamp);
      },
    };
  }

  /** One run: by the feed where it answers, otherwise by the listing. */
  async look({
    tools,
    held = [],
    cut = false,
    forgotten = false,
    signal = new AbortController().signal,
    listing = false,
    config = {},
  }: Wishes = {}): Promise<Heard> {
    const source = this.openSource(tools, config);
    this.reads.length = 0;
    this.lines.length = 0;
    try {
      const { heard, mark } = await this.#ask(source, listing ? "" : this.mark, signal);
      if (cut || tools?.dryRun) return heard;
      await source.conclude?.({ complete: heard.completeness === "complete", staying: new Set(held) });
      if (!forgotten) this.mark = mark;
      return heard;
    } finally {
      await source.close?.();
    }
  }

  async #ask(source: Source, mark: string, signal: AbortSignal): Promise<{ heard: Heard; mark: string }> {
    const changes = mark ? await source.feed?.since(mark, async () => true, signal) : undefined;
    if (changes) {
      const { touched: sightings, gone } = changes;
      return { heard: { by: "feed", completeness: "complete", sightings, gone, unreadable: [] }, mark: changes.cursor };
    }
    const next = (await source.feed?.cursor(signal)) ?? "";
    const listed: Listed[] = [];
    const pages = source.list(signal);
    let step = await pages.next();
    for (; !step.done; step = await pages.next()) listed.push(...step.value);
    const sightings = listed.filter((each) => each.kind === "sighting");
    const unreadable = listed.filter((each) => each.kind === "unreadable");
    return { heard: { by: "listing", completeness: step.value, sightings, unreadable, gone: [] }, mark: next };
  }

  async entries(): Promise<ManifestEntry[]> {
    return await entriesOf((await this.#openLedger({ readOnly: true })).manifest);
  }

  async entryAt(path: string): Promise<ManifestEntry> {
    const found = (await this.entries()).filter((entry) => entry.path === path);
    assert.equal(found.length, 1, `one entry at ${path}`);
    return found[0] as ManifestEntry;
  }

  /** Everything of ours on disk. */
  async footprint(): Promise<string[]> {
    const entries = await readdir(this.storage, { recursive: true, withFileTypes: true }).catch(() => []);
    const lines = entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      const { mtimeMs, size, ino } = await stat(path);
      return `${path} ${entry.isFile() ? `${mtimeMs} ${size} ${ino}` : ""}`;
    });
    return (await Promise.all(lines)).sort();
  }
}

function onDevice(page: TreePage, device: string | undefined): TreePage {
  const { whole } = page;
  if (device === undefined || !whole) return page;
  const files = page.files.map((file) => ({ ...file, node: file.node.replace(/^\d+/, device) }));
  return { ...page, files, whole: { ...whole, device } };
}

export function pathsOf(heard: Heard): string[] {
  return heard.sightings.map(({ path }) => path).sort();
}
