import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ItemId } from "../../src/contracts/ids.ts";
import { KnowledgeBase } from "../../src/mirror/knowledge-base.ts";
import { Random } from "../stories/random.ts";
import { KILLED_DOCS, KILLED_RULES, textOf } from "./knowledge-texts.ts";

/** A process that keeps versions is killed again and again, and what it left is looked at each time. */
export class KillRuns {
  readonly #folder: string;
  /** The last version of each document that was said to be kept. */
  readonly #said = new Map<string, number>();
  readonly #random: Random;
  kept = 0;

  constructor(folder: string, seed: number) {
    this.#folder = folder;
    this.#random = new Random(seed);
  }

  async killOnce(): Promise<void> {
    const next = Math.max(0, ...this.#said.values()) + 1;
    const child = spawn(process.execPath, [join(import.meta.dirname, "knowledge-child.ts"), this.#folder, `${next}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await this.#killSomeTimeLater(child);
    const base = new KnowledgeBase(this.#folder);
    // Readers need not wait until somebody recovers.
    for (const docId of KILLED_DOCS) await this.#assertWhole(base, docId);
    await base.recover();
    assert.deepEqual(await readdir(join(this.#folder, ".staging")), []);
    for (const docId of KILLED_DOCS) {
      await this.#assertWhole(base, docId);
      await this.#assertHistory(base, docId);
    }
    const passing = "doc_passing" as ItemId;
    if (await base.current(passing)) assert.ok(await base.read(passing), "what was not removed is whole");
  }

  async #killSomeTimeLater(child: ChildProcess): Promise<void> {
    let linesToGo = this.#random.below(5);
    const delayMs = this.#random.below(12);
    for await (const line of createInterface({ input: child.stdout ?? assert.fail("no output") })) {
      const [docId = "", n = ""] = line.split(" ");
      this.#said.set(docId, Number(n));
      this.kept += 1;
      if (linesToGo-- === 0) setTimeout(() => child.kill("SIGKILL"), delayMs);
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL");
  }

  /** What is current is the last content that was said to be, or the one that was under way. */
  async #assertWhole(base: KnowledgeBase, docId: ItemId): Promise<void> {
    const said = this.#said.get(docId) ?? 0;
    const found = await base.read(docId);
    if (!found && said === 0) return;
    const n = Number(found?.hash.slice(5));
    assert.ok(n >= said && n <= Math.max(...this.#said.values()) + 1, `${docId}: ${n} after ${said}`);
    assert.equal(found?.markdown, textOf(docId, n).markdown);
  }

  async #assertHistory(base: KnowledgeBase, docId: ItemId): Promise<void> {
    const history = await base.history(docId);
    for (const { versionId, hash } of history) {
      const version = await base.read(docId, versionId);
      assert.equal(version?.markdown, textOf(docId, Number(hash.slice(5))).markdown, `${docId} ${versionId}`);
    }
    const last = Number(history.at(-1)?.versionId.slice(1) ?? 0);
    const kept = Math.min(last, KILLED_RULES.versions + 1);
    // Those that were just to be removed may be left over.
    assert.ok(history.length >= kept, `${docId}: ${history.length} of ${kept}`);
    assert.deepEqual(
      history.map(({ versionId }) => versionId),
      history.map((_, i) => `v${last - history.length + 1 + i}`),
      "none between is missing",
    );
    await base.prune(docId, KILLED_RULES, new Date(0));
    assert.equal((await base.history(docId)).length, kept);
  }
}
