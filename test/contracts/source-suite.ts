import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import type { Finding } from "../../src/contracts/finding.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Completeness, Listed, Listing, Sighting, Source, Unreadable } from "../../src/contracts/source.ts";

type Done = void | Promise<void>;

/** What a kind can do; or the reason why it has no such thing, with which the test is skipped. */
type Able<F> = F | string;

/** A place of one kind, with nothing in it. Names are `/`-separated; the world adds an extension that its kind takes. */
export interface SourceWorld {
  /** As the next run opens it: what the source remembered in earlier runs is there. */
  openSource(): Source;
  /** Adds the item, or replaces its text. */
  put(name: string, text: string): Done;
  /** Several new items in one go, where each by itself would take long. */
  readonly putAll?: (texts: Readonly<Record<string, string>>) => Done;
  remove(name: string): Done;
  /** The name it was put under; undefined for what nobody put: a front page, the row that has an attachment. */
  nameOf(sighting: Sighting): string | undefined;
  /** What is fetched is the text, byte by byte, or was made of it; or why nothing is ever fetched. */
  readonly bodies: "as put" | "made of it" | { readonly none: string };
  /** Where the kind follows a renamed item. */
  readonly rename: Able<(from: string, to: string) => Done>;
  /** The ways in which a listing of five items breaks off, or loses some of them, from now on. */
  readonly cuts: Able<Readonly<Record<string, () => Done>>>;
  /** What is in this folder, or this folder itself, cannot be looked at from now on. */
  readonly shut: Able<(folder: string) => Done>;
  /** The bytes of items break off after the first thousand: the next time, or from now on. */
  readonly cutBodies: Able<(how: "once" | "always") => Done>;
  /** From now on the source gets no answer while it lists, or no more of a body; resolves when it waits for one. */
  readonly stallListing: Able<() => Promise<void>>;
  readonly stallBodies: Able<() => Promise<void>>;
  /** Nothing at all can be listed from now on. */
  readonly breakDown: Able<() => Done>;
  /** Undoes all of these but the last. */
  mend(): Done;
  /** A listing says nothing yet of a new item that another listing is looking at. */
  readonly defersToOthers?: boolean;
  /** Names that the kind cannot have, with the reason. */
  readonly refuses?: Partial<Record<OddName, string>>;
}

export type OddName = keyof typeof ODD_NAMES;

/** Each is the name of an item of its own. */
const ODD_NAMES = {
  blanks: "two  blanks and one .txt",
  "a blank at the beginning": " blank",
  percent: "100% sure, 50%25 not",
  "an escaped slash": "a%2Fb%20c",
  hash: "#1 and #2",
  plus: "a+b",
  apostrophes: "it's ''quoted''",
  quotes: 'the "quoted" one',
  "a question mark": "why?x=1&y=2",
  brackets: "{a} [b] (c) ~^=,;!@$&",
  "an umlaut in one piece": "Gr\u00fc\u00dfe",
  "an umlaut in two pieces": "Gru\u0308\u00dfe",
  "other scripts": "日本語 עברית",
  emoji: "😀 👩‍👩‍👧",
  "two hundred letters": "long".repeat(50),
  "a leading dot": ".dotted",
  "lower case": "case",
  "upper case": "CASE",
  "a backslash": "back\\slash",
  "odd folders": "100% #1/it's +/.hidden ü/x",
};

const NAMES = ["alpha", "beta", "gamma", "plans/delta", "plans/deep/epsilon"];

/** What every kind of source promises (`src/contracts/source.ts`). A run opens its source, lists, concludes and closes it. */
export function sourceSuite(kind: string, openWorld: (t: TestContext) => Promise<SourceWorld>): void {
  async function open(t: TestContext, names: readonly string[] = NAMES): Promise<SourceWorld> {
    const world = await openWorld(t);
    if (world.putAll && names.length > 0)
      await world.putAll(Object.fromEntries(names.map((name) => [name, textOf(name)])));
    else for (const name of names) await world.put(name, textOf(name));
    return world;
  }

  describe(`the contract of a source, by ${kind}`, () => {
    test("a place with nothing in it is listed completely", async (t) => {
      const { sightings, completeness } = await run(await open(t, []));
      assert.deepEqual([[...sightings.keys()], completeness], [[], "complete"]);
    });

    test("every item is listed once, and the next listing says the same", async (t) => {
      const world = await open(t);
      const first = await run(world);
      assert.deepEqual([namesOf(first), first.completeness], [NAMES.toSorted(), "complete"]);
      for (const sighting of first.sightings.values()) assertWellFormed(sighting);
      assert.deepEqual(await run(world), first);
    });

    test("an edited item has another fingerprint, and its id; the others are as they were", async (t) => {
      const world = await open(t);
      const before = await run(world);
      await world.put("beta", textOf("beta", "edited"));
      const after = await run(world);
      assert.equal(after.completeness, "complete");
      assert.deepEqual(idsOf(after), idsOf(before));
      const changed = NAMES.filter((name) => {
        const [a, b] = [seen(before, name).fingerprint, seen(after, name).fingerprint];
        return a.contentVersion === "" ? a.etag !== b.etag : a.contentVersion !== b.contentVersion;
      });
      // Attachments have no version of their own, and may be told with their row.
      assert.ok(changed.includes("beta"));
      if (seen(before, "beta").fingerprint.contentVersion !== "") assert.deepEqual(changed, ["beta"]);
      await assertWhole(world, after, "beta", textOf("beta", "edited"));
    });

    test("a renamed item keeps its id and its content version", async (t) => {
      const world = await open(t);
      if (typeof world.rename === "string") return t.skip(world.rename);
      const before = await run(world);
      await world.rename("alpha", "omega");
      await world.rename("plans/delta", "archive/delta");
      const after = await run(world);
      assert.deepEqual(namesOf(after), ["archive/delta", "beta", "gamma", "omega", "plans/deep/epsilon"]);
      assert.equal(after.completeness, "complete");
      for (const [from, to] of [["alpha", "omega"] as const, ["plans/delta", "archive/delta"] as const]) {
        const [was, is] = [seen(before, from), seen(after, to)];
        assert.equal(is.itemId, was.itemId);
        assert.equal(is.fingerprint.contentVersion, was.fingerprint.contentVersion);
        assert.notEqual(is.path, was.path);
        await assertWhole(world, after, to, textOf(from));
      }
    });

    test("a removed item is not listed, and the listing is complete without it", async (t) => {
      const world = await open(t);
      await run(world);
      await world.remove("beta");
      await world.remove("plans/deep/epsilon");
      const after = await run(world);
      assert.deepEqual(namesOf(after), ["alpha", "gamma", "plans/delta"]);
      assert.equal(after.completeness, "complete");
    });

    for (const known of [false, true]) {
      test(`a listing that loses items takes none away (${known ? "all were known" : "none was"})`, async (t) => {
        const { cuts } = await open(t, []);
        if (typeof cuts === "string") return t.skip(cuts);
        for (const way of Object.keys(cuts)) {
          await t.test(way, async () => {
            const world = await open(t);
            const cut = typeof world.cuts === "string" ? undefined : world.cuts[way];
            assert.ok(cut);
            const before = known ? await run(world) : undefined;
            await cut();
            const looked = await run(world).catch(() => undefined);
            if (looked) {
              assert.ok(looked.sightings.size < NAMES.length || looked.completeness === "partial", "nothing was cut");
              if (before) assertNothingLost(before, looked);
              else assert.ok(looked.completeness === "partial" || looked.unreadable.length > 0, "said to be complete");
            }
            await world.mend();
            const after = await run(world);
            assert.deepEqual([namesOf(after), after.completeness], [NAMES.toSorted(), "complete"]);
            if (before) assert.deepEqual(idsOf(after), idsOf(before));
          });
        }
      });
    }

    test("what cannot be looked at is named and covered; the rest is listed", async (t) => {
      const world = await open(t);
      if (typeof world.shut === "string") return t.skip(world.shut);
      const before = await run(world);
      await world.put("alpha", textOf("alpha", "edited"));
      await world.shut("plans");
      const during = await run(world);
      assertNothingLost(before, during);
      for (const name of ["alpha", "beta", "gamma"]) seen(during, name);
      assert.notDeepEqual(seen(during, "alpha").fingerprint, seen(before, "alpha").fingerprint);
      for (const { reason } of during.unreadable) assert.notEqual(reason, "");
      await world.mend();
      const after = await run(world);
      assert.deepEqual([idsOf(after), after.completeness], [idsOf(before), "complete"]);
    });

    test("what could never be looked at does not hide the rest", async (t) => {
      const world = await open(t);
      if (typeof world.shut === "string") return t.skip(world.shut);
      await world.shut("plans");
      const during = await run(world);
      for (const name of ["alpha", "beta", "gamma"]) seen(during, name);
      await world.mend();
      const after = await run(world);
      assert.deepEqual([namesOf(after), after.completeness], [NAMES.toSorted(), "complete"]);
    });

    test("a place that cannot be looked at is an error, not an empty one", async (t) => {
      const world = await open(t);
      if (typeof world.breakDown === "string") return t.skip(world.breakDown);
      await run(world);
      await world.breakDown();
      await assert.rejects(run(world), (error: Error) => error.message.length > 0);
    });

    test("every item is fetched as it was put", async (t) => {
      const world = await open(t);
      if (typeof world.bodies === "object") return t.skip(world.bodies.none);
      await world.put("large", largeText("large"));
      await world.put("empty", "");
      const looked = await run(world, async (source, { sightings }) => {
        for (const [name, sighting] of sightings) {
          if (name !== "empty" && name !== "large") assertIs(world, await fetchText(source, sighting), textOf(name));
        }
      });
      await assertWhole(world, looked, "large", largeText("large"));
      if (world.bodies === "as put") await assertWhole(world, looked, "empty", "");
    });

    test("an item that vanished is gone, or is what was listed", async (t) => {
      const world = await open(t);
      if (typeof world.bodies === "object") return t.skip(world.bodies.none);
      const looked = await run(world, async (source, listed) => {
        await world.remove("beta");
        const body = await fetchText(source, seen(listed, "beta"));
        if (body !== undefined) assertIs(world, body, textOf("beta"));
      });
      const later = await inSource(world, (source) => fetchText(source, seen(looked, "beta")));
      if (later !== undefined) assertIs(world, later, textOf("beta"));
    });

    test("an item that changed since it was listed is whole, of one version, or an error", async (t) => {
      const world = await open(t);
      if (typeof world.bodies === "object") return t.skip(world.bodies.none);
      const edited = textOf("beta", "edited");
      const versions = [textOf("beta"), edited];
      const looked = await run(world, async (source, listed) => {
        await world.put("beta", edited);
        await assertOneVersion(world, () => fetchText(source, seen(listed, "beta")), versions);
      });
      await inSource(world, (source) =>
        assertOneVersion(world, () => fetchText(source, seen(looked, "beta")), versions),
      );
      await assertWhole(world, await run(world), "beta", edited);
    });

    test("an item that changes while it is fetched is never a mixture", async (t) => {
      const world = await open(t, []);
      if (typeof world.bodies === "object") return t.skip(world.bodies.none);
      const [first, other] = [largeText("first"), largeText("other")];
      const { cutBodies } = world;
      for (const cut of typeof cutBodies === "string" ? [undefined] : [undefined, cutBodies]) {
        await world.put("alpha", first);
        const alpha = seen(await run(world), "alpha");
        await cut?.("once");
        const edit = (): Done => world.put("alpha", other);
        await inSource(world, (source) =>
          assertOneVersion(world, () => fetchText(source, alpha, edit), [first, other]),
        );
        await world.mend();
      }
    });

    test("a body that is cut is an error, not a short item", async (t) => {
      const world = await open(t, []);
      if (typeof world.cutBodies === "string") return t.skip(world.cutBodies);
      const [first, other] = [largeText("first"), largeText("other")];
      await world.put("alpha", first);
      const before = await run(world);
      await world.put("alpha", other);
      const listed = seen(await run(world), "alpha");
      await world.put("alpha", first);
      await world.cutBodies("always");
      await inSource(world, (source) => assertOneVersion(world, () => fetchText(source, listed), [first, other]));
      const looked = await run(world, async (source, { sightings }) => {
        const alpha = sightings.get("alpha");
        if (alpha) await assertOneVersion(world, () => fetchText(source, alpha), [first, other]);
      });
      assertNothingLost(before, looked);
      await world.mend();
      await assertWhole(world, await run(world), "alpha", first);
    });

    test("a listing that is cancelled ends with an error, and lists nothing more", { timeout: 60_000 }, async (t) => {
      const world = await open(t);
      const listNothing = (): Promise<void> =>
        inSource(world, async (source) => {
          await assert.rejects(
            drain(source.list(AbortSignal.abort(STOPPED)), () => assert.fail("it lists all the same")),
            IS_STOPPED,
          );
        });
      await listNothing();
      await inSource(world, async (source) => {
        const stop = new AbortController();
        const shown = new Set<string>();
        const listing = drain(source.list(stop.signal), (page) => {
          const names = namesIn(world, page);
          assert.ok(!stop.signal.aborted || names.length === 0, "it went on");
          for (const name of names) shown.add(name);
          if (shown.size > 0) stop.abort(STOPPED);
        });
        const ended = await listing.catch((error: unknown) =>
          assert.equal((error as Error).name, "CancelledError", String(error)),
        );
        if (ended !== undefined) assert.equal(shown.size, NAMES.length, "it was stopped, and says it saw everything");
      });
      assert.deepEqual(namesOf(await run(world)), NAMES.toSorted());
      // Also where nothing is new, so that nothing has to be read.
      await listNothing();
    });

    test("a listing that waits for an answer can be cancelled", { timeout: 60_000 }, async (t) => {
      const world = await open(t);
      const { stallListing } = world;
      if (typeof stallListing === "string") return t.skip(stallListing);
      const stop = new AbortController();
      await inSource(world, async (source) => {
        const isWaiting = stallListing();
        const listing = drain(source.list(stop.signal), () => undefined);
        await Promise.race([isWaiting, listing]);
        stop.abort(STOPPED);
        await assert.rejects(listing, IS_STOPPED);
      });
      await world.mend();
      assert.deepEqual(namesOf(await run(world)), NAMES.toSorted());
    });

    test("a body that is cancelled ends with an error, or is there already", { timeout: 60_000 }, async (t) => {
      const world = await open(t, []);
      if (typeof world.bodies === "object") return t.skip(world.bodies.none);
      const text = largeText("alpha");
      await world.put("alpha", text);
      const alpha = seen(await run(world), "alpha");
      await inSource(world, async (source) => {
        const stop = new AbortController();
        await assertOneVersion(world, () => fetchText(source, alpha, () => stop.abort(STOPPED), stop.signal), [text]);
      });
      const { stallBodies } = world;
      if (typeof stallBodies === "string") return t.diagnostic(`not while it waits: ${stallBodies}`);
      await inSource(world, async (source) => {
        const stop = new AbortController();
        const isWaiting = stallBodies();
        const body = fetchText(source, alpha, () => undefined, stop.signal);
        await Promise.race([isWaiting, body]);
        stop.abort(STOPPED);
        await assert.rejects(body, IS_STOPPED);
      });
    });

    test("odd names come as they are, and lead to their items", async (t) => {
      const world = await openWorld(t);
      const names: string[] = [];
      for (const [what, name] of Object.entries(ODD_NAMES) as [OddName, string][]) {
        const reason = world.refuses?.[what];
        if (reason !== undefined) t.diagnostic(`not ${what}: ${reason}`);
        else names.push(name);
      }
      for (const [at, name] of names.entries()) await world.put(name, textOf(`item ${at}`));
      const looked = await run(world, async (source, { sightings }) => {
        for (const [at, name] of names.entries()) {
          const sighting = sightings.get(name);
          assert.ok(sighting, `'${name}' is not listed`);
          assertWellFormed(sighting);
          if (sighting.form === "row") continue;
          const body = await fetchText(source, sighting);
          assert.ok(body !== undefined, `'${name}' is gone`);
          assertIs(world, body, textOf(`item ${at}`));
        }
      });
      assert.deepEqual([namesOf(looked), looked.completeness], [names.toSorted(), "complete"]);
      assert.deepEqual(await run(world), looked);
    });

    test("two listings at once see the same, also when a third is left", async (t) => {
      const world = await open(t);
      const leave = async (listing: Listing): Promise<void> => {
        await listing.next();
        await listing.return("partial");
      };
      const names = [...NAMES];
      let before: Looked | undefined;
      // Several times: whether they come in each other's way is a matter of chance.
      for (const round of ["one", "two", "three", "four"]) {
        await inSource(world, async (source) => {
          const [one, two, left] = [source.list(NEVER), source.list(NEVER), source.list(NEVER)];
          const [first, second] = await Promise.all([look(world, one), look(world, two), leave(left)]);
          if (before) for (const looked of [first, second]) assertNothingLost(before, looked);
          for (const [name, { itemId }] of first.sightings)
            assert.equal(second.sightings.get(name)?.itemId ?? itemId, itemId, `'${name}' has two ids`);
          if (!world.defersToOthers) {
            assert.deepEqual([namesOf(first), first.completeness], [names.toSorted(), "complete"]);
            assert.deepEqual(second, first);
          }
          await source.conclude?.({ complete: true, staying: new Set() });
        });
        before = await run(world);
        assert.deepEqual([namesOf(before), before.completeness], [names.toSorted(), "complete"]);
        for (const name of ["a", "b", "c", "d"]) names.push(`${round}/${name}`);
        for (const name of names.slice(-4)) await world.put(name, textOf(name));
      }
    });

    test("closing twice, or without a listing, or in the middle of one, does no harm", async (t) => {
      const world = await open(t);
      const unused = world.openSource();
      await unused.close?.();
      await unused.close?.();
      const source = world.openSource();
      const listing = source.list(new AbortController().signal);
      await listing.next();
      await listing.return("partial");
      await source.close?.();
      await source.close?.();
      const after = await run(world);
      assert.deepEqual([namesOf(after), after.completeness], [NAMES.toSorted(), "complete"]);
    });

    for (const [title, { renames = false, play }] of Object.entries(HISTORIES)) {
      test(`in step after ${title}`, async (t) => {
        const world = await open(t);
        if (renames && typeof world.rename === "string") return t.skip(world.rename);
        const { mark, looked: before } = await markedRun(world);
        const story = new Story(world, before);
        await play(story);
        const told = mark === undefined ? undefined : await tellChanges(world, mark, before);
        const after = await run(world);
        await story.assertInStep(after);
        if (told) assert.deepEqual(plain(told), plain(after.listed));
        else if (mark !== undefined) t.diagnostic("the feed declined");
      });
    }

    test("the feed tells that nothing happened, and declines what it does not know", async (t) => {
      const world = await open(t);
      const { mark, looked: before } = await markedRun(world);
      if (mark === undefined) return t.skip("it has no feed");
      await inSource(world, async (source) => {
        for (const strange of ["", "{}", "nonsense", `${mark}x`])
          assert.equal(await source.feed?.since(strange, async () => true, NEVER), undefined, strange);
      });
      const told = await tellChanges(world, mark, before);
      assert.ok(told, "it declined although nothing happened");
      assert.deepEqual(plain(told), plain(before.listed));
    });

    test("the feed declines rather than pass over what cannot be looked at", async (t) => {
      const world = await open(t);
      const { mark, looked: before } = await markedRun(world);
      if (mark === undefined) return t.skip("it has no feed");
      if (typeof world.shut === "string") return t.skip(world.shut);
      await world.put("alpha", textOf("alpha", "edited"));
      await world.put("plans/delta", textOf("plans/delta", "edited"));
      await world.shut("plans");
      const told = await tellChanges(world, mark, before);
      await world.mend();
      if (told) assert.deepEqual(plain(told), plain((await run(world)).listed));
    });

    test("examine finds a place that works in order, and says what is wrong with one that does not", async (t) => {
      const world = await open(t);
      const findings = await examine(world);
      assert.ok(findings.some(({ outcome }) => outcome === "ok"));
      assert.deepEqual(
        findings.filter(({ outcome, subject, detail }) => outcome === "problem" || subject === "" || detail === ""),
        [],
      );
      if (typeof world.breakDown === "string") return t.diagnostic(`only one that works: ${world.breakDown}`);
      await world.breakDown();
      const problems = (await examine(world)).filter(({ outcome }) => outcome === "problem");
      assert.ok(problems.length > 0);
      for (const { subject, detail } of problems) assert.ok(subject !== "" && detail !== "");
    });
  });
}

const NEVER = new AbortController().signal;
/** What a job stops its sources with, and wants to hear: it is no failure. */
const STOPPED = new CancelledError("the job was told to stop");
const IS_STOPPED = { name: "CancelledError" };

/** What one run saw. */
interface Looked {
  /** By the names they were put under. */
  readonly sightings: ReadonlyMap<string, Sighting>;
  readonly unreadable: readonly Unreadable[];
  /** All of them, sorted: two listings compare. */
  readonly listed: readonly Listed[];
  readonly completeness: Completeness;
}

async function inSource<T>(world: SourceWorld, work: (source: Source) => Promise<T>): Promise<T> {
  const source = world.openSource();
  try {
    return await work(source);
  } finally {
    await source.close?.();
  }
}

/** As the engine does it; `fetch` stands for its downloads. */
async function run(world: SourceWorld, fetch?: (source: Source, looked: Looked) => Promise<void>): Promise<Looked> {
  return await inSource(world, (source) => runIn(source, world, fetch));
}

async function runIn(
  source: Source,
  world: SourceWorld,
  fetch: (source: Source, looked: Looked) => Promise<void> = async () => undefined,
): Promise<Looked> {
  const looked = await look(world, source.list(NEVER));
  await fetch(source, looked);
  await source.conclude?.({ complete: looked.completeness === "complete", staying: new Set() });
  return looked;
}

async function look(world: SourceWorld, listing: Listing): Promise<Looked> {
  const listed: Listed[] = [];
  const completeness = await drain(listing, (page) => void listed.push(...page));
  const sightings = new Map<string, Sighting>();
  const ids = new Set<ItemId>();
  for (const each of listed) {
    if (each.kind !== "sighting") continue;
    assert.ok(!ids.has(each.itemId), `'${each.path}' is listed twice, or its id is`);
    ids.add(each.itemId);
    const name = world.nameOf(each);
    if (name === undefined) continue;
    assert.ok(!sightings.has(name), `'${name}' is listed under two ids`);
    sightings.set(name, each);
  }
  const unreadable = listed.filter((each) => each.kind === "unreadable");
  return { sightings, unreadable, listed: listed.toSorted(byText), completeness };
}

async function drain(listing: Listing, onPage: (page: readonly Listed[]) => void): Promise<Completeness> {
  let step = await listing.next();
  for (; !step.done; step = await listing.next()) if (step.value.length > 0) onPage(step.value);
  return step.value;
}

/** undefined: gone. `onFirst` happens when the first bytes are there. */
async function fetchText(
  source: Source,
  item: Sighting,
  onFirst: () => Done = () => undefined,
  signal: AbortSignal = NEVER,
): Promise<string | undefined> {
  const fetched = await source.fetch(item, signal);
  if (fetched.status === "gone") return undefined;
  assert.equal(fetched.status, "fetched");
  const pieces: Uint8Array[] = [];
  for await (const piece of fetched.body) {
    pieces.push(Buffer.from(piece));
    if (pieces.length === 1) await onFirst();
  }
  return Buffer.concat(pieces).toString();
}

function textOf(name: string, version = "put"): string {
  return `What is to be said about ${name} was ${version}, and here it ends.`;
}

/** Some 300,000 bytes, so that it comes in pieces. Every line tells whose it is. */
function largeText(word: string): string {
  const lines = Array.from({ length: 9000 }, (_, at) => `Line ${at} of the ${word} text is this.`);
  return lines.join(" ");
}

function isText({ bodies }: SourceWorld, body: string, text: string): boolean {
  const squash = (one: string): string => one.replaceAll(/\s+/g, " ");
  return bodies === "as put" ? body === text : squash(body).includes(squash(text));
}

function assertIs(world: SourceWorld, body: string | undefined, text: string): void {
  assert.ok(body !== undefined, "it is gone");
  assert.ok(isText(world, body, text), `${body.length} bytes that are not the text: ${body.slice(0, 200)}`);
}

/** Fetches it now. */
async function assertWhole(world: SourceWorld, looked: Looked, name: string, text: string): Promise<void> {
  const sighting = seen(looked, name);
  if (sighting.form !== "row") assertIs(world, await inSource(world, (source) => fetchText(source, sighting)), text);
}

/** An error is as good: the item is fetched again later. */
async function assertOneVersion(
  world: SourceWorld,
  fetch: () => Promise<string | undefined>,
  versions: readonly string[],
): Promise<void> {
  let body: string | undefined;
  try {
    body = await fetch();
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return;
  }
  assert.ok(body !== undefined, "it is there, and said to be gone");
  const whole = versions.filter((text) => isText(world, body, text));
  assert.equal(whole.length, 1, `${body.length} bytes that are no version of it`);
  const others = versions.filter((text) => !whole.includes(text));
  assert.ok(!others.some((text) => body.includes(text.slice(0, 60))), "bytes of two versions");
}

function assertWellFormed({ itemId, name, path, serverPath, url, documentType, fingerprint }: Sighting): void {
  assert.notEqual(itemId, "");
  assert.equal(path.slice(path.lastIndexOf("/") + 1), name);
  assert.ok(serverPath.startsWith("/"), serverPath);
  assert.ok(URL.canParse(url), url);
  assert.match(documentType, /^[a-z0-9]+$/);
  assert.match(fingerprint.modifiedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.ok(fingerprint.etag !== "" || fingerprint.contentVersion !== "", "nothing tells another version");
}

/** Nothing that was listed before would be taken for deleted: as `whyKept` of the engine judges it. */
function assertNothingLost(before: Looked, { sightings, listed, completeness }: Looked): void {
  if (completeness === "partial") return;
  const ids = new Set(listed.map((each) => each.kind !== "departed" && each.itemId));
  const holes = listed.filter((each) => each.kind === "unreadable").map(({ path }) => path);
  const lost = [...before.sightings].filter(
    ([name, { itemId, serverPath }]) =>
      !sightings.has(name) &&
      !ids.has(itemId) &&
      !holes.some((hole) => hole === "" || `${serverPath}/`.includes(`/${hole}/`)),
  );
  assert.deepEqual(
    lost.map(([name]) => name),
    [],
    "said to be complete without them",
  );
}

function seen({ sightings }: Looked, name: string): Sighting {
  const sighting = sightings.get(name);
  assert.ok(sighting, `'${name}' is not listed, but ${[...sightings.keys()].join()}`);
  return sighting;
}

function namesOf({ sightings }: Looked): string[] {
  return [...sightings.keys()].toSorted();
}

function namesIn(world: SourceWorld, page: readonly Listed[]): string[] {
  return page.flatMap((each) => (each.kind === "sighting" ? (world.nameOf(each) ?? []) : []));
}

function idsOf({ sightings }: Looked): [string, ItemId][] {
  return [...sightings].map(([name, { itemId }]): [string, ItemId] => [name, itemId]).toSorted(byText);
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

/** What listing and feed both tell of the items that are there. */
function plain(listed: Iterable<Listed>): Omit<Sighting, "contentHash">[] {
  const sightings = [...listed].filter((each) => each.kind === "sighting");
  return sightings.map(({ contentHash: _, ...each }) => each).toSorted((a, b) => (a.itemId < b.itemId ? -1 : 1));
}

async function examine(world: SourceWorld): Promise<Finding[]> {
  return await inSource(world, async (source) => {
    const findings: Finding[] = [];
    for await (const finding of source.diagnose(NEVER)) findings.push(finding);
    return findings;
  });
}

/** `mark`: where the feed stood before the listing; undefined where there is none. */
async function markedRun(world: SourceWorld): Promise<{ mark: string | undefined; looked: Looked }> {
  return await inSource(world, async (source) => {
    const mark = await source.feed?.cursor(NEVER);
    return { mark, looked: await runIn(source, world) };
  });
}

/** What is known after the feed was heard; undefined when it declined. */
async function tellChanges(world: SourceWorld, mark: string, { listed }: Looked): Promise<Sighting[] | undefined> {
  return await inSource(world, async (source) => {
    const known = new Map(plain(listed).map((each) => [each.itemId, each]));
    const changes = await source.feed?.since(mark, async (item) => known.has(item), NEVER);
    if (!changes) return undefined;
    const touched = new Map(changes.touched.map((each) => [each.itemId, each]));
    const gone = new Set(changes.gone);
    const kept = [...known.values()].filter(({ itemId }) => !touched.has(itemId) && !gone.has(itemId));
    await source.conclude?.({ complete: true, staying: new Set() });
    return [...kept.map((each) => changes.recall(each)), ...touched.values()];
  });
}

interface StoryItem {
  readonly text: string;
  /** Which item it is; undefined: a place without ids may take what was edited and renamed between two looks for another. */
  readonly itemId: ItemId | undefined;
  readonly change: "none" | "edited" | "renamed";
}

/** What was done to a world, and what there should be. */
class Story {
  readonly #world: SourceWorld;
  readonly #items = new Map<string, StoryItem>();
  #edits = 0;

  constructor(world: SourceWorld, before: Looked) {
    this.#world = world;
    for (const [name, { itemId }] of before.sightings)
      this.#items.set(name, { text: textOf(name), itemId, change: "none" });
  }

  async put(name: string): Promise<void> {
    const text = textOf(name, `edited ${++this.#edits} times`);
    await this.#world.put(name, text);
    const { itemId, change } = this.#items.get(name) ?? { itemId: undefined, change: "none" };
    this.#items.set(name, { text, itemId: change === "renamed" ? undefined : itemId, change: "edited" });
  }

  async remove(name: string): Promise<void> {
    await this.#world.remove(name);
    this.#items.delete(name);
  }

  async rename(from: string, to: string): Promise<void> {
    const { rename } = this.#world;
    const item = this.#items.get(from);
    assert.ok(typeof rename !== "string" && item);
    await rename(from, to);
    this.#items.delete(from);
    this.#items.set(to, { ...item, itemId: item.change === "edited" ? undefined : item.itemId, change: "renamed" });
  }

  async assertInStep(looked: Looked): Promise<void> {
    assert.deepEqual([namesOf(looked), looked.completeness], [[...this.#items.keys()].toSorted(), "complete"]);
    for (const [name, { text, itemId }] of this.#items) {
      if (itemId) assert.equal(seen(looked, name).itemId, itemId, name);
      await assertWhole(this.#world, looked, name, text);
    }
  }
}

const HISTORIES: Readonly<Record<string, { renames?: true; play(story: Story): Promise<void> }>> = {
  "an item was added, another edited, a third removed": {
    async play(story) {
      await story.put("plans/zeta");
      await story.put("alpha");
      await story.remove("beta");
    },
  },
  "the same in another order, and twice": {
    async play(story) {
      await story.remove("plans/deep/epsilon");
      await story.put("beta");
      await story.put("zeta");
      await story.put("beta");
      await story.put("zeta");
    },
  },
  "an item came and went": {
    async play(story) {
      await story.put("zeta");
      await story.remove("zeta");
    },
  },
  "an item was removed and put again": {
    async play(story) {
      await story.remove("gamma");
      await story.put("gamma");
    },
  },
  "items were added, edited, renamed and removed": {
    renames: true,
    async play(story) {
      await story.rename("alpha", "plans/alpha");
      await story.remove("beta");
      await story.put("gamma");
      await story.put("zeta");
    },
  },
  "an item was edited, then renamed": {
    renames: true,
    async play(story) {
      await story.put("alpha");
      await story.rename("alpha", "omega");
    },
  },
  "an item was renamed, then edited": {
    renames: true,
    async play(story) {
      await story.rename("alpha", "omega");
      await story.put("omega");
    },
  },
  "an item was renamed, then removed": {
    renames: true,
    async play(story) {
      await story.rename("alpha", "omega");
      await story.remove("omega");
    },
  },
  "two items swapped names": {
    renames: true,
    async play(story) {
      await story.rename("alpha", "between");
      await story.rename("beta", "alpha");
      await story.rename("between", "beta");
    },
  },
  "an item took the name of one that was removed": {
    renames: true,
    async play(story) {
      await story.remove("beta");
      await story.rename("alpha", "beta");
    },
  },
  "a name was left and taken again": {
    renames: true,
    async play(story) {
      await story.rename("alpha", "omega");
      await story.put("alpha");
    },
  },
};
