import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Ingest } from "../../src/engine/ingest/ingest.ts";
import { isForced } from "../../src/plan/web/item-state.ts";
import { Random } from "../stories/random.ts";
import { openWorker } from "./ingest-child.ts";
import { Pages } from "./ingest-stage.ts";

const CHILD = join(import.meta.dirname, "ingest-child.ts");
const WORKERS = 3;
const LONGEST_MS = 600_000;
/** Of so many pages one is slow, and asked for in the middle of a look. */
const EVERY = 6;
const SLOW_PAGE_MS = 500;
const LONGEST_ANSWER_MS = 5_000;

export interface Kills {
  readonly items: number;
  readonly kills: number;
  readonly seed: number;
}

/**
 * Three worker processes on one registry. Now and then the one whose request arrives is killed, in the middle of its look, and
 * another takes its place. Everything must have been looked at in the end, nothing twice at the same time.
 */
export async function playKills(settings: Readonly<Record<string, string>>, plan: Kills): Promise<string> {
  const storage = await mkdtemp(join(tmpdir(), "lockstep-kills-"));
  const pages = new Pages();
  await pages.open();
  const all = {
    PERSISTENT_STORAGE_PATH: storage,
    WEB_ALLOW_PRIVATE_NETWORKS: "true",
    WEB_HOST_DELAY_MS: "0",
    WEB_REQUESTS_PER_HOST: "8",
    ...settings,
  };
  const parent = openWorker(all, "parent");
  const crew = new Crew(all);
  try {
    const ids: ItemId[] = [];
    const wishes = { title: "", domainId: undefined, force: true, includeImages: false };
    for (let at = 0; at < plan.items; at++) {
      const path = `/page${at}`;
      pages.answers.set(path, { text: `Page ${at} of many.` });
      ids.push((await parent.ingest.add({ url: pages.url(path), ...wishes })).id);
    }
    requestSome(pages, ids, parent.ingest);
    crew.killAmong(pages, plan);
    for (let worker = 0; worker < WORKERS; worker++) crew.hire();
    // Without the timer: messages of the dead come back by themselves.
    await crew.until(async () => {
      const { items } = await parent.ingest.items({ offset: 0, limit: plan.items });
      return items.every((item) => item.status === "Crawled" && !isForced(item));
    });
    assert.equal(pages.mostAtOnce, 1, "no page was asked for twice at the same time");
    const wanted = Math.ceil(plan.items / EVERY) + plan.items;
    assert.ok(pages.asked.length >= wanted, "every request was served");
    assert.ok(pages.asked.length <= wanted + 6 * crew.killed, "nothing was looked at once more without need");
    assert.equal(crew.killed, plan.kills);
    return `${pages.asked.length} requests for ${plan.items} pages, ${crew.killed} workers killed`;
  } finally {
    await crew.dismiss();
    await parent.close();
    await pages.close();
    await rm(storage, { recursive: true, force: true });
  }
}

/** While some pages are looked at for the first time, somebody asks for them: another worker gets a message for what is taken. */
function requestSome(pages: Pages, ids: readonly ItemId[], ingest: Ingest): void {
  const requested = new Set<string>();
  pages.beforeAnswer = async (path, response) => {
    const at = Number(path.slice("/page".length));
    const id = ids[at];
    if (!id || at % EVERY !== 0 || requested.has(path)) return;
    requested.add(path);
    await ingest.reindex({ id });
    // Its message is the last in the queue: somebody comes to it when all the others were taken.
    for (let waitedMs = 0; new Set(pages.asked).size < ids.length && waitedMs < LONGEST_ANSWER_MS; waitedMs += 20) {
      await setTimeout(20);
    }
    await setTimeout(SLOW_PAGE_MS);
    // Whoever asked was killed: the next one is to have a rival, too.
    if (response.destroyed) requested.delete(path);
  };
}

class Crew {
  readonly #settings: Readonly<Record<string, string>>;
  readonly #workers = new Map<string, ChildProcess>();
  #hired = 0;
  killed = 0;
  #failure: Error | undefined;

  constructor(settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
  }

  hire(): void {
    const name = `worker-${++this.#hired}`;
    const child = spawn(process.execPath, [CHILD, JSON.stringify(this.#settings), name], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#workers.set(name, child);
    child.once("exit", (code) => {
      this.#workers.delete(name);
      if (code !== null) this.#failure = new Error(`${name} ended by itself with code ${code}`);
    });
  }

  /** The kills are spread over the first requests for all pages. */
  killAmong(pages: Pages, { items, kills, seed }: Kills): void {
    const random = new Random(seed);
    const moments = new Set<number>();
    while (moments.size < kills) moments.add(1 + random.below(items));
    pages.onRequest = (count, userAgent) => {
      const child = this.#workers.get(userAgent);
      if (!moments.delete(count) || !child) return;
      this.killed += 1;
      child.kill("SIGKILL");
      this.hire();
    };
  }

  async until(isDone: () => Promise<boolean>): Promise<void> {
    const givenUpAtMs = performance.now() + LONGEST_MS;
    while (!(await isDone())) {
      if (this.#failure) throw this.#failure;
      assert.ok(performance.now() < givenUpAtMs, "the workers did not get everything done");
      await setTimeout(200);
    }
  }

  async dismiss(): Promise<void> {
    for (const child of this.#workers.values()) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
  }
}
