import assert from "node:assert/strict";
import type { ItemId } from "../../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../../src/contracts/manifest.ts";
import { asDeleted, asMissing, asSeen } from "../../../src/plan/lineage/manifest-entry.ts";
import {
  type LineageInput,
  type ReadFile,
  type TracedFile,
  traceLineage,
} from "../../../src/plan/lineage/trace-lineage.ts";

export interface ModelFile {
  /** Who it really is: follows the file through renames and edits, never into a copy. */
  readonly self: number;
  readonly content: string;
  readonly node: string;
  readonly writtenAt: number;
  /** It was gone, and put back since the last look. */
  readonly putBack: boolean;
}

const NOW = new Date("2026-01-01T00:00:00Z");

/** A file system as small as can be, and what a manifest makes of it. Nodes of files that are gone are given out again at once. */
export class ModelTree {
  readonly files = new Map<string, ModelFile>();
  readonly manifest = new Map<ItemId, ManifestEntry>();
  /** What a backup would have. */
  readonly gone: (ModelFile & { readonly path: string })[] = [];
  readonly #hasNodes: boolean;
  readonly #freeNodes: number[] = [];
  #clock = 0;
  #nodes = 0;
  #selves = 0;

  constructor(options: { readonly hasNodes: boolean }) {
    this.#hasNodes = options.hasNodes;
  }

  /** `mv a b`, `cp a b`, `rm a`, `write a TEXT`, `save a TEXT` (a new file takes its place), `touch a`, `back a b`, `look`, `purge`. */
  run(script: string): void {
    for (const line of script.split(";")) {
      const [verb = "", path = "", other = ""] = line.trim().split(/ +/);
      this.#do(verb, path, other);
    }
  }

  #do(verb: string, path: string, other: string): void {
    const file = this.files.get(path);
    if (verb === "look") this.look();
    else if (verb === "purge") this.#purge();
    else if (verb === "write" || verb === "save") this.#write(path, other, verb === "save");
    else if (verb === "back") this.#putBack(path, other);
    else if (!file) return;
    else if (verb === "touch") this.#write(path, file.content);
    else if (verb === "cp" && path !== other) this.#write(other, file.content);
    else if (verb === "rm") this.#remove(path);
    else if (verb === "mv" && path !== other) {
      this.#remove(other);
      this.files.delete(path);
      this.files.set(other, file);
    }
  }

  /** One look: what became of every file that had to be read, by path, and what was lost. */
  look(): Record<string, string> {
    const question = this.#question();
    const { traced, lost } = traceLineage(question);
    assert.deepEqual(traceLineage(reversed(question)), { traced, lost }, "the order of the input matters");
    for (const entry of lost) this.manifest.set(entry.docId, asMissing(entry, NOW));
    for (const each of traced) {
      const entry = asSeen(each, NOW, () => this.#newDocId(each.read.file.path));
      this.manifest.set(entry.docId, entry);
    }
    for (const [path, file] of this.files) this.files.set(path, { ...file, putBack: false });
    return Object.fromEntries([...traced.map(told), ...lost.map(({ docId }) => [`lost ${docId}`, ""])]);
  }

  docAt(path: string): ItemId | undefined {
    const there = this.present().filter((entry) => entry.path === path);
    assert.ok(there.length <= 1, `${path} belongs to several documents`);
    return there[0]?.docId;
  }

  present(): ManifestEntry[] {
    return [...this.manifest.values()].filter(({ status }) => status === "active");
  }

  #question(): LineageInput {
    const present = this.present();
    const before = new Map(present.map((entry) => [entry.path, entry]));
    const read = [...this.files].map(readOf).filter(({ file }) => before.get(file.path)?.stamp !== file.stamp);
    const readPaths = new Set(read.map(({ file }) => file.path));
    const unread = present.filter(({ path }) => this.files.has(path) && !readPaths.has(path));
    return {
      read,
      before: new Map([...before].filter(([path]) => readPaths.has(path))),
      vanished: present.filter(({ path }) => !this.files.has(path)),
      absent: [...this.manifest.values()].filter(({ status }) => status !== "active"),
      existsElsewhere: (hash) => unread.some(({ contentHash }) => contentHash === hash),
    };
  }

  #write(path: string, content: string, replaces = false): void {
    const there = this.files.get(path);
    if (there && replaces && this.#hasNodes) this.#freeNodes.unshift(Number(there.node));
    this.files.set(path, {
      self: there?.self ?? ++this.#selves,
      content,
      node: there && !replaces ? there.node : this.#newNode(),
      writtenAt: ++this.#clock,
      putBack: there?.putBack ?? false,
    });
  }

  #putBack(path: string, to: string): void {
    const at = this.gone.findLastIndex((file) => file.path === path);
    const [file] = at < 0 || this.files.has(to) ? [] : this.gone.splice(at, 1);
    if (file) this.files.set(to, { ...file, node: this.#newNode(), writtenAt: ++this.#clock, putBack: true });
  }

  #remove(path: string): void {
    const file = this.files.get(path);
    if (!file) return;
    this.files.delete(path);
    this.gone.push({ ...file, path });
    if (this.#hasNodes) this.#freeNodes.push(Number(file.node));
  }

  #purge(): void {
    for (const [docId, entry] of this.manifest) {
      if (entry.status === "missing") this.manifest.set(docId, asDeleted(entry, NOW));
    }
  }

  /** Called after its first path; with a mark when somebody has that name already. */
  #newDocId(path: string): ItemId {
    const docId = path as ItemId;
    return this.manifest.has(docId) ? this.#newDocId(`${path}'`) : docId;
  }

  #newNode(): string {
    return this.#hasNodes ? String(this.#freeNodes.pop() ?? ++this.#nodes) : "";
  }
}

function readOf([path, { content, node, writtenAt }]: [string, ModelFile]): ReadFile {
  const stamp = `${writtenAt} ${node}`;
  return { file: { path, size: content.length, modifiedAtMs: writtenAt, stamp, node }, contentHash: content };
}

function reversed(question: LineageInput): LineageInput {
  return {
    ...question,
    read: question.read.toReversed(),
    vanished: question.vanished.toReversed(),
    absent: question.absent.toReversed(),
  };
}

function told(traced: TracedFile): [string, string] {
  return [traced.read.file.path, "entry" in traced ? `${traced.kind} ${traced.entry.docId}` : traced.kind];
}
