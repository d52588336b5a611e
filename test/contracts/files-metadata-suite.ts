import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { MetadataEntry } from "../../src/contracts/files-metadata.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { Ledger, Ledgers } from "../../src/contracts/ledger.ts";
import { ofKind } from "../kinds.ts";
import { indexed, mirrored, seen } from "../ledger/ledger-fixture.ts";
import { saveWhileWritten } from "../ledger/save-while-written.ts";

type Json = Record<string, unknown>;

export interface MetadataPlace {
  readonly storage: string;
  readonly ledgers: Ledgers;
  /** Takes the ledger of a domain away, as if its database were lost. */
  lose(domainId: DomainId): Promise<void>;
}

interface Version {
  readonly item: string;
  readonly source?: string;
  readonly name?: string;
  /** "": the source does not list it now. */
  readonly url?: string;
  readonly size?: number;
  readonly embeddedAt?: string;
}

const EMBEDDED_AT = "2024-01-16T14:20:00.000000Z";
let count = 0;

/** What a ledger promises of `files_metadata.json`. */
export function filesMetadataSuite(name: string, place: () => MetadataPlace): void {
  const newDomain = async (): Promise<Stage> => {
    count += 1;
    const stage = new Stage(place(), `M${count}` as DomainId);
    await mkdir(stage.folder, { recursive: true });
    return stage;
  };

  describe(`files_metadata.json from ${name}`, () => {
    test("an embedded version becomes an entry with exactly the standard fields", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "item-a" } });
      assert.equal(
        await stage.text(),
        `${JSON.stringify(
          [
            {
              sharepoint_listitem_id: 7,
              sharepoint_unique_file_id: "item-a",
              openai_file_id: "file-1",
              file_relative_path: `${stage.domainId}\\01_files\\s\\02_embedded\\Reports\\Q1.docx`,
              url: seen.url,
              raw_url: seen.rawUrl,
              server_relative_url: "/sites/demo/Q1.docx",
              filename: "Q1.docx",
              file_type: "docx",
              file_size: 864368,
              last_modified_utc: "2024-01-15T10:30:00.000000Z",
              last_modified_timestamp: 1705314600,
              embedded_utc: EMBEDDED_AT,
              source_id: "s",
              source_type: "file_sources",
            },
          ],
          null,
          2,
        )}\n`,
      );
    });

    test("properties follow the item from its newest earlier version of the same source, and the history stays", async () => {
      const stage = await newDomain();
      await stage.embed({
        "file-1": { item: "a", embeddedAt: "2024-01-01T00:00:00.000000Z" },
        "file-b": { item: "b" },
      });
      await stage.embed({
        "file-2": { item: "a", embeddedAt: "2024-02-01T00:00:00.000000Z" },
        "file-o": { item: "a", source: "other", embeddedAt: "2024-03-01T00:00:00.000000Z" },
      });
      await stage.annotate({
        "file-1": { topic: "old", only_old: 1 },
        "file-2": { topic: "newer" },
        "file-o": { topic: "elsewhere" },
      });
      const before = await stage.entries();
      await stage.embed({ "file-3": { item: "a", size: 9 }, "file-4": { item: "c" } });
      const entries = await stage.entries();
      assert.deepEqual(entries.slice(0, 4), before);
      const topics = entries.slice(4).map(({ openai_file_id, topic, only_old, file_size }) => ({
        ...{ openai_file_id, topic, only_old, file_size },
      }));
      assert.deepEqual(topics, [
        { openai_file_id: "file-3", topic: "newer", only_old: undefined, file_size: 9 },
        { openai_file_id: "file-4", topic: undefined, only_old: undefined, file_size: 864368 },
      ]);
      await stage.embed({ "file-5": { item: "b", source: "other" } });
      await stage.annotate({ "file-b": { topic: "b" } });
      await stage.embed({ "file-6": { item: "b", source: "third" } });
      assert.equal((await stage.entry("file-6"))["topic"], undefined, "the newest of all, where the source has none");
    });

    test("a rename or touch changes what the label says of the entry and nothing else; without a change nothing is written", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" } });
      await stage.annotate({ "file-1": { topic: "kept" } });
      const before = await stage.entry("file-1");
      await stage.embed({
        "file-1": { item: "a", name: "New.md", url: "https://x/New.md", size: 1, embeddedAt: "2030-01-01T00:00:00Z" },
      });
      assert.deepEqual(await stage.entries(), [
        {
          ...before,
          file_relative_path: `${stage.domainId}\\01_files\\s\\02_embedded\\Reports\\New.md`,
          url: "https://x/New.md",
          raw_url: "https://x/New.md",
          server_relative_url: "/sites/demo/New.md",
          filename: "New.md",
          file_type: "md",
          file_size: 1,
        },
      ]);
      const { ino } = await stat(stage.path);
      await stage.embed({ "file-1": { item: "a", name: "New.md", url: "", size: 1 } });
      assert.equal((await stat(stage.path)).ino, ino, "an item that is not listed keeps its last address");
      await stage.embed({ "file-2": { item: "a", name: "New.md", url: "" } });
      assert.equal((await stage.entry("file-2"))["url"], "https://x/New.md");
    });

    test("what somebody edits, adds, restores, removes or reorders counts at once", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" }, "file-2": { item: "b" }, "file-3": { item: "c" } });
      const [first, second, third] = await stage.entries();
      const edited = { ...second, filename: "Theirs.docx", labels: ["x", { y: null }] };
      const theirs = { openai_file_id: " file-9\t", sharepoint_unique_file_id: "z", title: "by hand" };
      await stage.put([third, edited, theirs]);
      const text = await stage.text();
      assert.deepEqual(await stage.found("file-1", "file-2", "file-9"), [
        undefined,
        edited,
        { ...theirs, openai_file_id: "file-9" },
      ]);
      assert.equal(await stage.text(), text, "as they left it, it may stay");
      await stage.put([third, first]);
      await stage.embed({ "file-4": { item: "a" } });
      assert.deepEqual(await stage.ids(), ["file-3", "file-1", "file-4"]);
    });

    test("what the ledger knows better wins over a file that somebody edited before it was written", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" }, "file-2": { item: "b" }, "file-3": { item: "c" } });
      const [first, second, third] = await stage.entries();
      await stage.record({ "file-1": { item: "a", name: "New.txt" }, "file-4": { item: "d" } });
      await stage.put([{ ...first, filename: "Late.txt" }, { ...second, topic: "in time" }, third]);
      assert.deepEqual(await stage.ledgers.metadata.remove(stage.domainId, { fileIds: ["file-3"] }), []);
      assert.deepEqual(
        (await stage.entries()).map(({ openai_file_id, filename, topic }) => [openai_file_id, filename, topic]),
        [
          ["file-1", "New.txt", undefined],
          ["file-2", "Q1.docx", "in time"],
          ["file-4", "Q1.docx", undefined],
        ],
      );
    });

    test("properties that somebody writes while a step embeds are taken, whatever it does to their entries", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" }, "file-2": { item: "b" }, "file-3": { item: "c" } });
      const topics = async (): Promise<unknown[]> =>
        (await stage.entries()).map(({ openai_file_id, filename, topic }) => [openai_file_id, filename, topic]);
      await stage.record({
        "file-1": { item: "a", name: "New.txt" },
        "file-4": { item: "b", embeddedAt: "2024-02-01T00:00:00.000000Z" },
      });
      await stage.record({
        "file-5": { item: "b", embeddedAt: "2024-03-01T00:00:00.000000Z" },
        "file-6": { item: "c" },
      });
      const [first, second, third] = await stage.entries();
      await stage.put([third, { ...second, topic: "b" }, { ...first, other: 1 }, { ...first, topic: "a" }]);
      await stage.write();
      assert.deepEqual(await topics(), [
        ["file-1", "New.txt", "a"],
        ["file-3", "Q1.docx", undefined],
        ["file-4", "Q1.docx", "b"],
        ["file-5", "Q1.docx", "b"],
        ["file-6", "Q1.docx", undefined],
        ["file-2", "Q1.docx", "b"],
      ]);
      assert.equal((await stage.entry("file-1"))["other"], 1);
      await stage.embed({ "file-1": { item: "a" } });
      await stage.annotate({ "file-1": { topic: "a2" } });
      await stage.write();
      assert.equal((await stage.entry("file-1"))["topic"], "a2");
    });

    test("what somebody saves while it is being written counts, and brings back nothing that was removed", async () => {
      const stage = await newDomain();
      const many = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`file-${n}`, { item: `item ${n}` }]));
      await stage.embed(many);
      const annotated = async (fileId: string): Promise<string> =>
        JSON.stringify(
          (await stage.entries()).map((entry) =>
            entry["openai_file_id"] === fileId ? { ...entry, filename: "Theirs.docx", topic: "theirs" } : entry,
          ),
        );
      const label = async (fileId: string): Promise<unknown[]> => {
        const { filename, topic } = await stage.entry(fileId);
        return [filename, topic];
      };
      await stage.record({ "file-1": { item: "item 1", name: "New.docx" } });
      await saveWhileWritten(stage.path, await annotated("file-7"), () => stage.write());
      assert.deepEqual(
        [await label("file-1"), await label("file-7")],
        [
          ["New.docx", undefined],
          ["Theirs.docx", "theirs"],
        ],
      );

      const leaving = { itemIds: ["item 3" as ItemId] };
      const remove = () => stage.ledgers.metadata.remove(stage.domainId, leaving);
      await saveWhileWritten(stage.path, await annotated("file-8"), remove);
      assert.deepEqual(await label("file-8"), ["Theirs.docx", "theirs"]);
      assert.deepEqual([(await stage.ids()).length, await stage.found("file-3")], [1999, [undefined]]);

      await stage.record({ "file-2": { item: "item 2", name: "New.docx" } });
      await writeFile(stage.path, await annotated("file-9"));
      await saveWhileWritten(stage.path, await annotated("file-10"), () => stage.found("file-9"));
      assert.deepEqual((await stage.found("file-10"))[0]?.["topic"], "theirs");
      await stage.write();
      assert.deepEqual(
        [await label("file-2"), await label("file-10")],
        [
          ["New.docx", undefined],
          ["Theirs.docx", "theirs"],
        ],
      );
    });

    test("a file that is missing or blank is written again, with everything", async () => {
      const stage = await newDomain();
      await stage.write();
      assert.ok(!existsSync(stage.path), "none before there is an entry");
      await stage.embed({ "file-1": { item: "a" } });
      const text = await stage.text();
      await rm(stage.path);
      assert.notEqual((await stage.found("file-1"))[0], undefined);
      await stage.write();
      assert.equal(await stage.text(), text);
      for (const blank of ["", " \n", "\ufeff", "null"]) {
        await writeFile(stage.path, blank);
        await stage.write();
        assert.equal(await stage.text(), text, JSON.stringify(blank));
      }
      await stage.put([]);
      await stage.write();
      assert.deepEqual(await stage.entries(), [], "somebody took all of them out");
    });

    test("a damaged file is moved aside with a warning, never overwritten, and nothing is lost", async () => {
      for (const damaged of [
        Buffer.from('[{"openai_file_id": "file-0"'),
        Buffer.from("{}"),
        Buffer.from('[{"openai_file_id": "file-0"}, {"a": tru}]'),
        Buffer.from([0x5b, 0xff, 0x5d]),
      ]) {
        const stage = await newDomain();
        await stage.embed({ "file-1": { item: "a" } });
        const text = await stage.text();
        await writeFile(stage.path, damaged);
        assert.notEqual((await stage.found("file-1"))[0], undefined);
        assert.match(await stage.ledgers.metadata.readBack(stage.domainId), /^it is /);
        assert.deepEqual(await readFile(stage.path), damaged);
        const warnings = await stage.write();
        const aside = (await readdir(stage.folder)).filter((file) => file.includes(".corrupt-"));
        assert.equal(aside.length, 1);
        assert.ok(warnings[0]?.includes(aside[0] ?? "?"));
        assert.deepEqual(await readFile(join(stage.folder, aside[0] ?? "")), damaged);
        assert.equal(await stage.text(), text);
      }
    });

    test("files of other writers are read: marks, UTF-16, fields that are missing, what is no entry, an id twice", async () => {
      const elements = [
        { openai_file_id: "file-0\t", filename: "Übersicht.txt", title: "Übersicht", file_relative_path: "OLD\\x" },
        "a note",
        { no: "id" },
        { openai_file_id: "file-2", topic: "first", kept: true },
        { openai_file_id: "file-2", topic: "second" },
      ];
      const text = JSON.stringify(elements);
      for (const bytes of [
        Buffer.from(text),
        Buffer.from(`\ufeff${text}`),
        Buffer.from(`\ufeff${text}`, "utf16le"),
        Buffer.from(text, "utf16le"),
        Buffer.from(`\ufeff${text}`, "utf16le").swap16(),
      ]) {
        const stage = await newDomain();
        await writeFile(stage.path, bytes);
        assert.equal((await stage.found("file-0"))[0]?.["title"], "Übersicht", "before there is a database");
        await stage.embed({ "file-1": { item: "a" } });
        const copy = join(stage.folder, ".lockstep/before-ledger/files_metadata.json");
        assert.deepEqual(await readFile(copy), bytes);
        const [overview, note, nameless, twice, ...rest] = await stage.entries();
        assert.deepEqual(
          [overview, note, nameless, twice],
          [
            {
              openai_file_id: "file-0",
              file_relative_path: "OLD\\x",
              filename: "Übersicht.txt",
              file_type: "txt",
              title: "Übersicht",
            },
            "a note",
            { no: "id" },
            { openai_file_id: "file-2", topic: "second", kept: true },
          ],
        );
        assert.deepEqual(
          rest.map(({ openai_file_id }) => openai_file_id),
          ["file-1"],
        );
      }
    });

    test("whatever properties there are, they arrive at the next version, to the last digit", async () => {
      const stage = await newDomain();
      const digits = '"big": 12345678901234567890, "small": 0.12345678901234567890, "deep": [{"n": 1e999}]';
      await writeFile(stage.path, `[{"openai_file_id": "file-0", "sharepoint_unique_file_id": "a", ${digits}}]`);
      await stage.embed({ "file-1": { item: "a" } });
      for (const text of [/"big": 12345678901234567890,/g, /"small": 0\.12345678901234567890,/g, /"n": 1e999/g]) {
        assert.equal((await stage.text()).match(text)?.length, 2, String(text));
      }
      const keys = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString"));
      const standard = new Set(Object.keys(await stage.entry("file-1")));
      const custom = fc.dictionary(
        keys.filter((key) => !standard.has(key)),
        fc.jsonValue(),
      );
      let n = 0;
      await fc.assert(
        fc.asyncProperty(custom, async (properties) => {
          n += 1;
          const old = Object.entries({
            ...properties,
            openai_file_id: `old-${n}`,
            sharepoint_unique_file_id: `item-${n}`,
          });
          const members = old.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
          await writeFile(stage.path, `[{${members.join()}}]`);
          await stage.embed({ [`new-${n}`]: { item: `item-${n}` } });
          const [before, after] = await stage.entries();
          assert.deepEqual(new Set(Object.keys(before ?? {})), new Set(old.map(([key]) => key)));
          for (const [key, value] of old) {
            assert.deepEqual(before?.[key], JSON.parse(JSON.stringify(value)));
            if (!standard.has(key)) assert.deepEqual(after?.[key], before?.[key]);
          }
        }),
        { numRuns: 30 },
      );
    });

    test("many at once lose nothing", async () => {
      const stage = await newDomain();
      const sources = Array.from({ length: 6 }, (_, i) => `s${i}`);
      await Promise.all(
        sources.map((source) =>
          stage.embed({ [`${source}-1`]: { item: "a", source }, [`${source}-2`]: { item: "b", source } }),
        ),
      );
      assert.equal(new Set(await stage.ids()).size, 12);
    });

    test("a domain that is renamed keeps its entries, with new paths, and what somebody wrote meanwhile", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" }, "file-2": { item: "b" } });
      await stage.annotate({ "file-1": { topic: "edited" } });
      count += 1;
      const to = `M${count}` as DomainId;
      await stage.ledgers.release(stage.domainId);
      for (const folder of ["crawler", "domains"]) {
        await rename(join(stage.storage, folder, stage.domainId), join(stage.storage, folder, to));
      }
      const renamed = new Stage(place(), to);
      assert.equal((await renamed.found("file-1"))[0]?.["topic"], "edited", "before the ledger knows");
      for (const _ of [1, 2]) await stage.ledgers.renameDomain({ from: stage.domainId, to });
      await renamed.write();
      assert.deepEqual(
        (await renamed.entries()).map(({ file_relative_path, topic }) => [file_relative_path, topic]),
        [
          [`${to}\\01_files\\s\\02_embedded\\Reports\\Q1.docx`, "edited"],
          [`${to}\\01_files\\s\\02_embedded\\Reports\\Q1.docx`, undefined],
        ],
      );
      await renamed.ledgers.forgetDomain(to);
      await rm(renamed.path);
      assert.deepEqual(await renamed.found("file-1"), [undefined]);
    });

    test("a lost database is made again from the file, history and properties included", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" } });
      await stage.annotate({ "file-1": { topic: "kept" } });
      await stage.embed({ "file-2": { item: "a" } });
      const text = await stage.text();
      await place().lose(stage.domainId);
      await stage.embed({ "file-2": { item: "a" } });
      assert.equal(await stage.text(), text);
      await stage.embed({ "file-3": { item: "a" } });
      assert.equal((await stage.entry("file-3"))["topic"], "kept");
    });

    test("entries of items leave at once, with what people wrote about them", async () => {
      const stage = await newDomain();
      await stage.embed({ "file-1": { item: "a" }, "file-2": { item: "b" } });
      await stage.embed({ "file-3": { item: "a" } });
      await stage.annotate({ "file-1": { note: "about a" } });
      await stage.ledgers.metadata.remove(stage.domainId, { itemIds: ["a" as ItemId] });
      assert.deepEqual(await stage.ids(), ["file-2"]);
    });
  });
}

/** One domain, and what is embedded of it. */
class Stage {
  readonly domainId: DomainId;
  readonly storage: string;
  readonly ledgers: Ledgers;

  constructor({ storage, ledgers }: MetadataPlace, domainId: DomainId) {
    this.domainId = domainId;
    this.storage = storage;
    this.ledgers = ledgers;
  }

  get folder(): string {
    return join(this.storage, "domains", this.domainId);
  }

  get path(): string {
    return join(this.folder, "files_metadata.json");
  }

  /** As an embed step does it. */
  async embed(versions: Readonly<Record<string, Version>>): Promise<void> {
    await this.ledgers.metadata.readBack(this.domainId);
    await this.record(versions);
    assert.deepEqual(await this.write(), []);
  }

  async record(versions: Readonly<Record<string, Version>>): Promise<void> {
    for (const [source, some] of Map.groupBy(Object.entries(versions), ([, { source = "s" }]) => source)) {
      const ledger = await this.#open(source);
      for (const [fileId, version] of some) putVersion(ledger, this.domainId, fileId, version);
      await ledger.flush();
    }
  }

  write(): Promise<readonly string[]> {
    return this.ledgers.metadata.write(this.domainId);
  }

  text(): Promise<string> {
    return readFile(this.path, "utf8");
  }

  async entries(): Promise<Json[]> {
    return JSON.parse(await this.text()) as Json[];
  }

  async ids(): Promise<unknown[]> {
    return (await this.entries()).map(({ openai_file_id }) => openai_file_id);
  }

  async entry(fileId: string): Promise<Json> {
    return (await this.entries()).find((one) => one["openai_file_id"] === fileId) ?? assert.fail(`no ${fileId}`);
  }

  async found(...fileIds: string[]): Promise<(MetadataEntry | undefined)[]> {
    const found = await this.ledgers.metadata.find(this.domainId, fileIds);
    return fileIds.map((fileId) => found.get(fileId));
  }

  async put(entries: readonly unknown[]): Promise<void> {
    await writeFile(this.path, JSON.stringify(entries));
  }

  async annotate(properties: Readonly<Record<string, Json>>): Promise<void> {
    await this.put(
      (await this.entries()).map((entry) => ({ ...entry, ...properties[String(entry["openai_file_id"])] })),
    );
  }

  #open(sourceId: string): Promise<Ledger> {
    const config = { ...ofKind("file_sources"), sourceId: sourceId as SourceId } as const;
    return this.ledgers.open({ domainId: this.domainId, config }, { readOnly: false });
  }
}

function putVersion(ledger: Ledger, domainId: DomainId, fileId: string, version: Version): void {
  const { item, source = "s", name = "Q1.docx", url, size = 864368, embeddedAt = EMBEDDED_AT } = version;
  const file = `${domainId}/01_files/${source}/02_embedded/Reports/${name}`;
  const isListed = url !== "";
  const label = { name, serverPath: `/sites/demo/${name}` };
  const itemId = item as ItemId;
  const address = url === undefined ? {} : { url, rawUrl: url };
  const entry = {
    itemId,
    seen: isListed ? { ...seen, ...label, ...address } : null,
    mirrored: { ...mirrored, ...label, file },
    indexed: null,
  };
  ledger.put(itemId, { seen: entry.seen, mirrored: entry.mirrored });
  ledger.putEmbedded(entry, { ...indexed, name, fileId: fileId as FileId, file, size, embeddedAt });
}
