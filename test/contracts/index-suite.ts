import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { BadInputError } from "../../src/contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { DocumentFile, Index, IndexDraft, IndexedRef, SearchHit } from "../../src/contracts/search-index.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

const DEMO = "DEMO" as DomainId;
const LIBRARY = "library" as SourceId;
const never = new AbortController().signal;

/** What every implementation of Index promises. Texts are told apart by made-up words, so that ranking plays no part. */
export function indexSuite(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(`${name} keeps the contract of an index`, () => {
    let folder = "";
    let store: StoreUnderTest;
    let index: Index;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "index-suite-"));
    });
    after(() => rm(folder, { recursive: true, force: true }));
    beforeEach(async () => {
      store = await openStore();
      index = await store.openIndex(DEMO);
    });
    afterEach(() => store.close());

    const makeFile = async (item: string, text: string, options: FileOptions = {}): Promise<DocumentFile> => {
      const fileType = options.fileType ?? "md";
      const fileName = `${item}.${fileType}`;
      const path = join(folder, fileName);
      await writeFile(path, text);
      const label = { name: fileName, path: fileName, url: `https://t.example/${fileName}`, fileType, modifiedAt: "" };
      return {
        itemId: item as ItemId,
        path,
        sha256: createHash("sha256").update(text).digest("hex"),
        bytes: Buffer.byteLength(text),
        label: { ...label, attributes: options.attributes ?? {} },
      };
    };
    const change = async (
      source: SourceId,
      work: (draft: IndexDraft) => Promise<void>,
      into = index,
    ): ReturnType<IndexDraft["commit"]> => {
      const draft = await into.draft(source);
      await work(draft);
      return draft.commit(never, { allowEmpty: true });
    };
    const found = async (text: string): Promise<string[]> => {
      const hits = await index.search({ text, limit: 50 });
      return hits.filter((hit) => hit.text.includes(text)).flatMap(namesOf);
    };
    const holdings = async (source = LIBRARY, of = index): Promise<IndexedRef[]> => {
      const refs: IndexedRef[] = [];
      for await (const page of of.holdings(source)) refs.push(...page);
      return refs.sort((a, b) => (a.itemId < b.itemId ? -1 : 1));
    };

    test("an empty index finds and holds nothing", async () => {
      assert.deepEqual(await index.search({ text: "anything", limit: 10 }), []);
      assert.deepEqual(await holdings(), []);
    });

    test("what was put is found after the commit, and held with the reference the commit gave", async () => {
      const file = await makeFile("a", "The zyzzomat hums.");
      const { ready, failed } = await change(LIBRARY, (draft) => draft.put(file, never));
      assert.deepEqual(failed, []);
      assert.deepEqual(await found("zyzzomat"), ["a.md"]);
      const held = await holdings();
      assert.deepEqual(
        held.map((ref) => [ref.itemId, ref.fileId]),
        ready.map((ref) => [ref.itemId, ref.fileId]),
      );
      assert.match(held[0]?.uploadedAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      assert.match(held[0]?.embeddedAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      const [hit] = await index.search({ text: "zyzzomat", limit: 1 });
      assert.equal(hit?.fileId, ready[0]?.fileId);
      assert.ok(hit && hit.score > 0 && hit.score <= 1);
    });

    test("a draft is written in parts: the last word on an item counts, removals come with the commit, and it says what the index has then", async () => {
      await change(LIBRARY, async (draft) => {
        await draft.put(await makeFile("a", "The aurochs grazes."), never);
        await draft.put(await makeFile("b", "The bison grazes."), never);
      });
      const draft = await index.draft(LIBRARY);
      await draft.put(await makeFile("a", "The aurochs sleeps."), never);
      assert.deepEqual(await draft.stage(never), []);
      assert.deepEqual(await found("aurochs sleeps"), index.commits === "atomic" ? [] : ["a.md"]);
      await draft.put(await makeFile("a", "The aurochs wakes."), never);
      await draft.remove("b" as ItemId);
      assert.deepEqual(await draft.stage(never), []);
      assert.deepEqual(await found("bison grazes"), ["b.md"]);
      assert.deepEqual((await draft.commit(never)).failed, []);
      assert.deepEqual([await found("aurochs wakes"), await found("aurochs sleeps")], [["a.md"], []]);
      assert.deepEqual([await found("aurochs grazes"), await found("bison grazes")], [[], []]);
      const held = await draft.stored(["a", "b", "c"] as ItemId[]);
      const [ref] = await holdings();
      assert.deepEqual(
        held.map(({ itemId, fileId, label }) => [itemId, fileId, label.name]),
        [["a", ref?.fileId, "a.md"]],
      );
    });

    test("documents are listed page by page, and their texts are read in parts", async () => {
      const documents = index.documents ?? assert.fail("documents cannot be read");
      assert.deepEqual(await documents.list({ limit: 10 }), { documents: [] });
      const texts = ["# First 😀\n\nThe zyzzomat hums.\n\n## Below\n\nIt hums on.", "Alone.", "# Third\n\nLast."];
      const { ready } = await change(LIBRARY, async (draft) => {
        for (const [at, text] of texts.entries()) await draft.put(await makeFile(`d${at}`, text), never);
      });
      const listed: string[] = [];
      for (let after: string | undefined, pages = 0; ; pages++) {
        const page = await documents.list({ limit: 2, ...(after !== undefined && { after }) });
        for (const one of page.documents) listed.push(`${one.sourceId}/${one.itemId}/${one.fileId}`);
        after = page.next;
        if (after === undefined) break;
        assert.ok(page.documents.length === 2 && pages < 3);
      }
      assert.deepEqual(listed.sort(), ready.map(({ itemId, fileId }) => `library/${itemId}/${fileId}`).sort());
      const [first] = ready.filter(({ itemId }) => itemId === "d0");
      const fileId = first?.fileId ?? assert.fail();
      const found = await documents.find(fileId);
      assert.deepEqual([found?.sourceId, found?.itemId, found?.fileId], ["library", "d0", fileId]);
      const whole = await documents.read(fileId, { limit: 1000 });
      assert.match(whole?.text ?? "", /zyzzomat hums\.[\s\S]*It hums on\./);
      assert.equal(whole?.total, [...(whole?.text ?? "")].length);
      let text = "";
      for (let offset = 0; offset < (whole?.total ?? 0); offset += 7) {
        const part = await documents.read(fileId, { offset, limit: 7 });
        assert.equal(part?.offset, offset);
        assert.equal(part?.total, whole?.total);
        text += part?.text;
      }
      assert.equal(text, whole?.text);
      assert.deepEqual(await documents.read(fileId, { offset: 5000, limit: 7 }), {
        text: "",
        offset: whole?.total,
        total: whole?.total,
      });
      const long = Array.from(
        { length: 40 },
        (_, at) => `## Part ${at}\n\n${`Here ${at} hums number${at}x. `.repeat(30)}`,
      );
      await change(LIBRARY, async (draft) => draft.put(await makeFile("d3", `# Long\n\n${long.join("\n\n")}`), never));
      const [hit] = await index.search({ text: "number37x", limit: 1 });
      if (hit?.details) {
        assert.deepEqual([hit.details.sourceId, hit.details.itemId], ["library", "d3"]);
        const there = await documents.read(hit.fileId, { passage: hit.details.position, limit: 400 });
        assert.match(there?.text ?? "", /^(## Part 37\n\n)?Here 37 hums number37x\./);
        const rest = await documents.read(hit.fileId, { offset: there?.offset, limit: 400 });
        assert.equal(rest?.text, there?.text);
      }
      await change(LIBRARY, (draft) => draft.remove("d0" as ItemId));
      assert.equal(await documents.find(fileId), undefined);
      assert.equal(await documents.read(fileId, { limit: 7 }), undefined);
      await assert.rejects(documents.list({ limit: 2, after: "no such place" }), BadInputError);
    });

    test("pages, rows and files are taken whatever the source calls them", async () => {
      const named = { "Home.aspx": "html", about: "html", "7.md": "md", "Report.TXT": "txt", "Ümläut 1.Md": "md" };
      const files = await Promise.all(
        Object.entries(named).map(async ([called, fileType], at) => {
          const file = await makeFile(`n${at}`, `The zyzzo${at}mat hums.`, { fileType });
          return { ...file, label: { ...file.label, name: called } };
        }),
      );
      const { failed } = await change(LIBRARY, async (draft) => {
        for (const file of files) await draft.put(file, never);
      });
      assert.deepEqual(failed, []);
      for (const at of files.keys()) assert.equal((await found(`zyzzo${at}mat`)).length, 1);
      assert.equal((await holdings()).length, files.length);
    });

    test("of a replaced document nothing is left after the commit, and it has a new file id", async () => {
      const first = await makeFile("a", "The oldwordium hums.");
      const before = await change(LIBRARY, (draft) => draft.put(first, never));
      const second = await makeFile("a", "The newwordium hums.");
      const draft = await index.draft(LIBRARY);
      await draft.put(second, never);
      assert.deepEqual(await found("oldwordium"), ["a.md"]);
      if (index.commits === "atomic") assert.deepEqual(await found("newwordium"), []);
      const after = await draft.commit(never);
      assert.deepEqual(await found("oldwordium"), []);
      assert.deepEqual(await found("newwordium"), ["a.md"]);
      assert.notEqual(after.ready[0]?.fileId, before.ready[0]?.fileId);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.fileId),
        [after.ready[0]?.fileId],
      );
    });

    test("a relabelled document keeps its file id and shows its new attributes", async () => {
      const file = await makeFile("a", "The zyzzomat hums.", { attributes: { place: "here" } });
      const { ready } = await change(LIBRARY, (draft) => draft.put(file, never));
      const label = { ...file.label, name: "b.md", path: "sub/b.md", attributes: { place: "there" } };
      assert.deepEqual((await change(LIBRARY, (draft) => draft.relabel(file.itemId, label))).failed, []);
      const [hit] = await index.search({ text: "zyzzomat", limit: 1 });
      assert.equal(hit?.attributes["place"], "there");
      assert.equal(hit?.fileId, ready[0]?.fileId);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.fileId),
        [ready[0]?.fileId],
      );
      if (index.commits === "atomic") assert.equal(hit?.name, "b.md");
    });

    test("a removed document is neither found nor held", async () => {
      const [a, b] = [await makeFile("a", "The zyzzomat hums."), await makeFile("b", "The quibblet hums.")];
      await change(LIBRARY, async (draft) => {
        await draft.put(a, never);
        await draft.put(b, never);
      });
      await change(LIBRARY, (draft) => draft.remove(a.itemId));
      assert.deepEqual(await found("zyzzomat"), []);
      assert.deepEqual(await found("quibblet"), ["b.md"]);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.itemId),
        ["b"],
      );
      await change(LIBRARY, (draft) => draft.remove(a.itemId));
      assert.deepEqual(
        (await holdings()).map((ref) => ref.itemId),
        ["b"],
      );
    });

    test("a file that will never be readable is reported, and its outdated version is not served", async () => {
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The oldwordium hums."), never));
      const [broken, fine] = [
        await makeFile("a", "\u0000\u0001", { fileType: "xyz" }),
        await makeFile("b", "The quibblet hums."),
      ];
      const { ready, failed } = await change(LIBRARY, async (draft) => {
        await draft.put(broken, never);
        await draft.put(fine, never);
      });
      assert.deepEqual(
        failed.map(({ itemId, permanent }) => ({ itemId, permanent })),
        [{ itemId: "a", permanent: true }],
      );
      assert.ok((failed[0]?.reason ?? "").length > 5);
      assert.deepEqual(
        ready.map((ref) => ref.itemId),
        ["b"],
      );
      assert.deepEqual(await found("oldwordium"), []);
      assert.deepEqual(await found("quibblet"), ["b.md"]);
    });

    test("a file that cannot be read just now keeps its old version", async () => {
      const file = await makeFile("a", "The oldwordium hums.");
      await change(LIBRARY, (draft) => draft.put(file, never));
      const missing = { ...file, path: join(folder, "not-there.md"), sha256: "0".repeat(64) };
      const { ready, failed } = await change(LIBRARY, (draft) => draft.put(missing, never));
      assert.deepEqual(ready, []);
      assert.deepEqual(
        failed.map(({ itemId, permanent }) => ({ itemId, permanent })),
        [{ itemId: "a", permanent: false }],
      );
      assert.deepEqual(await found("oldwordium"), ["a.md"]);
      assert.equal((await holdings()).length, 1);
    });

    for (const [what, bytes] of [
      ["other text", "The alienword hums."],
      ["bytes that cannot be read", "\u0000\u0001"],
      ["nothing yet", ""],
    ] as const) {
      test(`a file that by now holds ${what} is not taken for what was hashed`, async () => {
        await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The oldwordium hums."), never));
        const hashed = await makeFile("a", "The newwordium hums.");
        await writeFile(hashed.path, bytes);
        const { ready, failed } = await change(LIBRARY, (draft) => draft.put(hashed, never));
        assert.deepEqual(ready, []);
        assert.deepEqual(
          failed.map(({ itemId, permanent }) => ({ itemId, permanent })),
          [{ itemId: "a", permanent: false }],
        );
        assert.match(failed[0]?.reason ?? "", /changed/);
        assert.deepEqual(await found("oldwordium"), ["a.md"]);
        // The same put with the right bytes must not come upon what the wrong ones left.
        const again = await makeFile("a", "The newwordium hums.");
        assert.deepEqual((await change(LIBRARY, (draft) => draft.put(again, never))).failed, []);
        assert.deepEqual(await found("newwordium"), ["a.md"]);
        assert.deepEqual(await found("alienword"), []);
        assert.deepEqual(await found("oldwordium"), []);
      });
    }

    test("a discarded draft changes nothing", async () => {
      const file = await makeFile("a", "The oldwordium hums.");
      await change(LIBRARY, (draft) => draft.put(file, never));
      const held = await holdings();
      const draft = await index.draft(LIBRARY);
      await draft.put(await makeFile("a", "The newwordium hums."), never);
      await draft.put(await makeFile("b", "The quibblet hums."), never);
      await draft.discard();
      assert.deepEqual(await found("oldwordium"), ["a.md"]);
      assert.deepEqual(await found("newwordium"), []);
      assert.deepEqual(await found("quibblet"), []);
      assert.deepEqual(await holdings(), held);
    });

    test("what an abandoned draft had is not found, and the next draft of the source converges", async () => {
      const abandoned = await index.draft(LIBRARY);
      await abandoned.put(await makeFile("a", "The lostwordium hums."), never);
      const file = await makeFile("b", "The quibblet hums.");
      await change(LIBRARY, (draft) => draft.put(file, never));
      assert.deepEqual(await found("lostwordium"), []);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.itemId),
        ["b"],
      );
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The lostwordium hums."), never));
      assert.deepEqual(await found("lostwordium"), ["a.md"]);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.itemId),
        ["a", "b"],
      );
    });

    test("it counts what a search can find, and counts again when that changed", async () => {
      assert.equal((await index.count()).documents, 0);
      await change("one" as SourceId, async (draft) => {
        await draft.put(await makeFile("a", "Zorbing."), never);
        await draft.put(await makeFile("b", "Quilting."), never);
      });
      await change("two" as SourceId, async (draft) => draft.put(await makeFile("c", "Knitting."), never));
      await change("one" as SourceId, (draft) => draft.remove("b" as ItemId));
      const { documents, bySource } = await index.count();
      assert.equal(documents, 2);
      if (bySource)
        assert.deepEqual([...bySource].sort(), [
          ["one", 1],
          ["two", 1],
        ]);
    });

    test("sources do not touch each other, even with equal item ids", async () => {
      const other = "other" as SourceId;
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The zyzzomat hums."), never));
      await change(other, async (draft) => draft.put(await makeFile("a", "The quibblet hums."), never));
      await change(LIBRARY, (draft) => draft.remove("a" as ItemId));
      assert.deepEqual(await found("zyzzomat"), []);
      assert.deepEqual(await found("quibblet"), ["a.md"]);
      assert.deepEqual(await holdings(), []);
      assert.equal((await holdings(other)).length, 1);
    });

    test("two domains, same source id, one store: neither sees nor removes the other's documents", async () => {
      const other = await store.openIndex("OTHER" as DomainId);
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The zyzzomat hums."), never));
      const [theirs] = (
        await change(LIBRARY, async (d) => d.put(await makeFile("a", "The quibblet hums."), never), other)
      ).ready;
      const [ours] = await holdings();
      assert.notEqual(ours?.fileId, theirs?.fileId);
      assert.deepEqual(
        (await holdings(LIBRARY, other)).map((ref) => ref.fileId),
        [theirs?.fileId],
      );
      // Opening and discarding sweep what is left of earlier drafts: of their own, while this one is still open.
      const open = await index.draft(LIBRARY);
      await open.put(await makeFile("b", "The wuzzlet hums."), never);
      await change(LIBRARY, async (draft) => draft.remove("a" as ItemId), other);
      await (await other.draft(LIBRARY)).discard();
      assert.deepEqual((await open.commit(never)).failed, []);
      assert.deepEqual(await holdings(LIBRARY, other), []);
      assert.deepEqual(
        (await holdings()).map((ref) => ref.itemId),
        ["a", "b"],
      );
      assert.deepEqual(await found("quibblet"), []);
      assert.deepEqual(await found("zyzzomat"), ["a.md"]);
      assert.deepEqual(await found("wuzzlet"), ["b.md"]);
    });

    test("without a domain it can only be searched", async () => {
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The zyzzomat hums."), never));
      const nobodys = await store.openIndex(undefined);
      assert.equal((await nobodys.search({ text: "zyzzomat", limit: 1 })).length, 1);
      await assert.rejects(nobodys.draft(LIBRARY), /without a domain/);
      await assert.rejects(holdings(LIBRARY, nobodys), /without a domain/);
    });

    test("two items with the same content are two documents", async () => {
      await change(LIBRARY, async (draft) => {
        await draft.put(await makeFile("a", "The zyzzomat hums."), never);
        await draft.put(await makeFile("b", "The zyzzomat hums."), never);
      });
      assert.deepEqual((await found("zyzzomat")).sort(), ["a.md", "b.md"]);
      await change(LIBRARY, (draft) => draft.remove("a" as ItemId));
      assert.deepEqual(await found("zyzzomat"), ["b.md"]);
    });

    test("filters and limits hold", async () => {
      await change(LIBRARY, async (draft) => {
        for (const year of [2023, 2024, 2025]) {
          await draft.put(await makeFile(`y${year}`, `The zyzzomat of ${year} hums.`, { attributes: { year } }), never);
        }
      });
      const search = index.search.bind(index);
      assert.equal((await search({ text: "zyzzomat", limit: 2 })).length, 2);
      const recent = await search({ text: "zyzzomat", limit: 5, filter: { type: "gte", key: "year", value: 2024 } });
      assert.deepEqual(recent.map((hit) => hit.name).sort(), ["y2024.md", "y2025.md"]);
    });

    test("a commit without changes says so and changes nothing", async () => {
      await change(LIBRARY, async (draft) => draft.put(await makeFile("a", "The zyzzomat hums."), never));
      const held = await holdings();
      assert.deepEqual(await change(LIBRARY, async () => undefined), { ready: [], failed: [] });
      assert.deepEqual(await holdings(), held);
    });
  });
}

/** Documents with the same passage may be told as one hit. */
function namesOf({ name, details }: SearchHit): string[] {
  return [name, ...(details?.alsoIn ?? []).map((other) => other.name)];
}

interface FileOptions {
  readonly fileType?: string;
  readonly attributes?: Record<string, string | number | boolean>;
}
