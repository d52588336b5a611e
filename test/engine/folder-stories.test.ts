// Files without ids keep their identity through renames, moves, swaps, losses and versions.
import assert from "node:assert/strict";
import { copyFile, link, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { FolderStage, type FolderStageOptions } from "./folder-stage.ts";

/** One story on a stage of its own. */
function story(title: string, play: (stage: FolderStage) => Promise<void>, options: FolderStageOptions = {}): void {
  test(title, async () => {
    const stage = await FolderStage.open(options);
    try {
      await play(stage);
    } finally {
      await stage.close();
    }
  });
}

/** Long enough that two of them have nothing in common by chance. */
function prose(subject: string, sentences = 12): string {
  const lines = Array.from({ length: sentences }, (_, at) => `The ${subject} of chapter ${at} is told in line ${at}.`);
  return `# About ${subject}\n\n${lines.join("\n")}\n`;
}

describe("a file without an id keeps its identity", () => {
  story("renamed: the same document, under its new path, embedded once", async (stage) => {
    await stage.write("plans/north.md", prose("narwhal"));
    await stage.crawl();
    const before = await stage.document("plans/north.md");
    const [held] = await stage.holdings();
    await stage.rename("plans/north.md", "plans/arctic.md");
    const { source } = await stage.crawl();
    const after = await stage.document("plans/arctic.md");
    assert.equal(after.docId, before.docId);
    assert.deepEqual([source.download.moved, source.embed.moved, source.embed.added + source.embed.changed], [1, 1, 0]);
    assert.deepEqual(await stage.found("narwhal"), ["plans/arctic.md"]);
    assert.equal((await stage.holdings())[0]?.fileId, held?.fileId);
    const { event, from, certainty } = after.lineage.at(-1) ?? assert.fail("nothing is told of the move");
    assert.deepEqual([event, from, certainty], ["moved", "plans/north.md", 1]);
    assert.deepEqual(await stage.below("02_embedded"), ["plans/arctic.md"]);
    assert.equal((await stage.manifest()).length, 1);
  });

  story("what is left out is counted by reason, in every crawl", async (stage) => {
    await stage.write("plan.md", prose("narwhal"));
    for (const name of ["a.exe", "b.exe", "c.bin"]) await stage.write(name, "no document");
    await symlink("plan.md", join(stage.root, "same.md"));
    for (const crawl of ["first", "next"]) {
      const { source } = await stage.crawl();
      assert.deepEqual(source.left_out, { type: 3, size: 0, other: 1 }, crawl);
      assert.equal(source.error, "", "that is no failure");
    }
    await rm(join(stage.root, "same.md"));
    for (const name of ["a.exe", "b.exe", "c.bin"]) await rm(join(stage.root, name));
    assert.equal((await stage.crawl()).source.left_out, undefined);
  });

  story("moved with its whole folder", async (stage) => {
    for (const name of ["a", "b", "c"]) await stage.write(`old/deep/${name}.md`, prose(`otter ${name}`));
    await stage.crawl();
    const ids = (await stage.manifest()).map(({ docId }) => docId);
    await stage.rename("old", "new");
    const { source } = await stage.crawl();
    const after = await stage.manifest();
    assert.deepEqual(
      after.map(({ path, docId }) => [path, docId]),
      ids.map((id, at) => [`new/deep/${["a", "b", "c"][at]}.md`, id]),
    );
    assert.equal(source.embed.added + source.embed.changed, 0);
    assert.deepEqual(await stage.found("otter"), ["new/deep/a.md", "new/deep/b.md", "new/deep/c.md"]);
  });

  story("two that swapped names, and three that changed places in a ring", async (stage) => {
    const words = { a: "aardvark", b: "bison", c: "caracal", d: "dingo", e: "egret" };
    for (const [name, word] of Object.entries(words)) await stage.write(`${name}.md`, prose(word));
    await stage.crawl();
    const id = async (path: string) => (await stage.document(path)).docId;
    const before = {
      a: await id("a.md"),
      b: await id("b.md"),
      c: await id("c.md"),
      d: await id("d.md"),
      e: await id("e.md"),
    };
    for (const [from, to] of [
      ["a", "x"],
      ["b", "a"],
      ["x", "b"],
      ["c", "y"],
      ["e", "c"],
      ["d", "e"],
      ["y", "d"],
    ]) {
      await stage.rename(`${from}.md`, `${to}.md`);
    }
    const { source } = await stage.crawl();
    assert.deepEqual(
      [await id("a.md"), await id("b.md"), await id("c.md"), await id("d.md"), await id("e.md")],
      [before.b, before.a, before.e, before.c, before.d],
    );
    assert.equal(source.embed.added + source.embed.changed, 0);
    assert.deepEqual(await stage.found("aardvark"), ["b.md"]);
    assert.deepEqual(await stage.found("bison"), ["a.md"]);
    assert.deepEqual(await stage.found("caracal"), ["d.md"]);
    assert.deepEqual(await stage.found("dingo"), ["e.md"]);
    assert.deepEqual(await stage.found("egret"), ["c.md"]);
    assert.match(await readFile(join(stage.folder, "02_embedded", "b.md"), "utf8"), /aardvark/);
  });

  story("a chain of renames, and the last one overwritten", async (stage) => {
    await stage.write("1.md", prose("first finch"));
    await stage.write("2.md", prose("second finch"));
    await stage.crawl();
    const [first, second] = await stage.manifest();
    await stage.rename("2.md", "3.md");
    await stage.rename("1.md", "2.md");
    await stage.crawl();
    assert.equal((await stage.document("2.md")).docId, first?.docId);
    assert.equal((await stage.document("3.md")).docId, second?.docId);
    await stage.rename("2.md", "3.md");
    await stage.crawl();
    const entries = await stage.manifest();
    assert.deepEqual(
      entries.map(({ docId, path, status }) => [docId, path, status]).sort(),
      [
        [first?.docId, "3.md", "active"],
        [second?.docId, "3.md", "missing"],
      ].sort(),
    );
    assert.deepEqual(await stage.found("finch"), ["3.md"]);
    assert.deepEqual(await stage.found("second"), []);
  });

  story("only its case changed, or its Unicode form", async (stage) => {
    await stage.write("Readme.md", prose("raccoon"));
    await stage.write("caf\u00e9.md", prose("cassowary"));
    await stage.crawl();
    const ids = (await stage.manifest()).map(({ docId }) => docId).sort();
    await stage.rename("Readme.md", "README.md");
    await stage.rename("caf\u00e9.md", "cafe\u0301.md");
    const { source } = await stage.crawl();
    const after = await stage.manifest();
    assert.deepEqual(after.map(({ docId }) => docId).sort(), ids);
    assert.equal(source.embed.added + source.embed.changed, 0);
    assert.deepEqual(await stage.found("raccoon"), ["README.md"]);
    assert.deepEqual(await stage.found("cassowary"), ["cafe\u0301.md"]);
  });

  story("both Unicode forms of one name are two files", async (stage) => {
    await stage.write("na\u00efve.md", prose("numbat"));
    await stage.write("nai\u0308ve.md", prose("numbfish"));
    await stage.crawl();
    assert.equal((await stage.manifest()).length, 2);
    assert.deepEqual(await stage.found("numbat"), ["na\u00efve.md"]);
    assert.deepEqual(await stage.found("numbfish"), ["nai\u0308ve.md"]);
  });

  story("renamed and edited at once: recognised by its text, and how sure that is", async (stage) => {
    await stage.write("draft.md", prose("dromedary", 40));
    await stage.write("other.md", prose("unrelated umbrellabird", 40));
    await stage.crawl();
    const { docId } = await stage.document("draft.md");
    await stage.remove("draft.md");
    await stage.write("final.md", `${prose("dromedary", 40)}\nOne more line about the oasis.\n`);
    await stage.crawl();
    const after = await stage.document("final.md");
    assert.equal(after.docId, docId);
    const { event, from, certainty } = after.lineage.at(-1) ?? assert.fail("nothing is told of the move");
    assert.deepEqual([event, from], ["moved-and-edited", "draft.md"]);
    assert.ok(certainty >= 0.5 && certainty < 1, String(certainty));
    assert.deepEqual(await stage.found("oasis"), ["final.md"]);
    assert.deepEqual(await stage.found("dromedary"), ["final.md"]);
    assert.equal((await stage.kept(docId))?.versions.length, 1);
  });

  story("deleted, and another one with other words added: two documents", async (stage) => {
    await stage.write("old.md", prose("okapi"));
    await stage.crawl();
    const { docId } = await stage.document("old.md");
    await stage.remove("old.md");
    await stage.write(
      "new.md",
      "# Notes\n\nQuite another matter: penguins, umbrellas and rain in Bergen all week long.\n",
    );
    await stage.crawl();
    assert.notEqual((await stage.document("new.md")).docId, docId);
    assert.equal((await stage.document("old.md")).status, "missing");
    assert.deepEqual(await stage.found("okapi"), []);
  });

  story("a copy is a document of its own, and embeds nothing", async (stage) => {
    await stage.write("one.md", prose("cuckoo"));
    await stage.crawl();
    const { docId } = await stage.document("one.md");
    await copyFile(stage.at("one.md"), stage.at("two.md"));
    await stage.crawl();
    const copy = await stage.document("two.md");
    assert.notEqual(copy.docId, docId);
    assert.equal(copy.lineage.at(-1)?.event, "copied");
    assert.deepEqual(await stage.found("cuckoo"), ["one.md", "two.md"]);
    await stage.remove("one.md");
    await stage.crawl();
    assert.deepEqual(await stage.found("cuckoo"), ["two.md"]);
    assert.equal((await stage.document("two.md")).docId, copy.docId);
  });

  story("moved away and copied back: the one that moved is the document", async (stage) => {
    await stage.write("place.md", prose("magpie"));
    await stage.crawl();
    const { docId } = await stage.document("place.md");
    await stage.rename("place.md", "elsewhere.md");
    await copyFile(stage.at("elsewhere.md"), stage.at("place.md"));
    await stage.crawl();
    assert.equal((await stage.document("elsewhere.md")).docId, docId);
    assert.notEqual((await stage.document("place.md")).docId, docId);
    assert.deepEqual(await stage.found("magpie"), ["elsewhere.md", "place.md"]);
  });

  story("equal files that move together keep to the nearest path", async (stage) => {
    for (const place of ["east", "west"]) await stage.write(`${place}/empty-form.md`, prose("hedgehog"));
    await stage.crawl();
    const east = await stage.document("east/empty-form.md");
    const west = await stage.document("west/empty-form.md");
    await stage.rename("west/empty-form.md", "west/form.md");
    await stage.rename("east/empty-form.md", "east/form.md");
    await stage.crawl();
    assert.equal((await stage.document("east/form.md")).docId, east.docId);
    assert.equal((await stage.document("west/form.md")).docId, west.docId);
  });

  story("edited in place by an editor that saves a new file over the old one", async (stage) => {
    await stage.write("note.md", prose("ibis"));
    await stage.crawl();
    const { docId } = await stage.document("note.md");
    await stage.replace("note.md", prose("jackal"));
    await stage.crawl();
    const after = await stage.document("note.md");
    assert.deepEqual([after.docId, after.lineage.at(-1)?.event], [docId, "edited"]);
    assert.deepEqual([await stage.found("ibis"), await stage.found("jackal")], [[], ["note.md"]]);
  });

  story("edited without its time or size changing: found when every file is read", async (stage) => {
    await stage.write("same.md", prose("wombat"));
    const past = new Date("2020-01-01T00:00:00Z");
    await utimes(stage.at("same.md"), past, past);
    await stage.crawl();
    await stage.write("same.md", prose("kombat"));
    await utimes(stage.at("same.md"), past, past);
    await stage.crawl();
    assert.deepEqual(await stage.found("wombat"), ["same.md"], "a file that was not touched is not read");
    await stage.crawl({ checksum: true });
    assert.deepEqual([await stage.found("wombat"), await stage.found("kombat")], [[], ["same.md"]]);
  });

  story("the same, met by a full crawl: the file is named, and read by the next run", async (stage) => {
    const path = "full.md";
    await stage.write(path, prose("wombat"));
    await stage.write("other.md", prose("numbat"));
    const past = new Date("2020-01-01T00:00:00Z");
    await utimes(stage.at(path), past, past);
    await stage.crawl();
    await stage.write(path, prose("kombat"));
    await utimes(stage.at(path), past, past);
    const { job } = await stage.tryCrawl({ mode: "full" });
    assert.match(job.result?.error ?? "", /1 item could not be brought up to date/);
    await stage.crawl();
    assert.deepEqual([await stage.found("wombat"), await stage.found("kombat")], [[], [path]]);
  });

  story("edited again within the moment it was read", async (stage) => {
    await stage.write("race.md", prose("cheetah"));
    const now = new Date();
    await utimes(stage.at("race.md"), now, now);
    await stage.crawl();
    await stage.write("race.md", prose("leopard"));
    await utimes(stage.at("race.md"), now, now);
    await stage.crawl();
    assert.deepEqual([await stage.found("cheetah"), await stage.found("leopard")], [[], ["race.md"]]);
  });
});

describe("missing, back, and gone for good", () => {
  story("a deleted file leaves search in the same run; back within its grace it embeds nothing", async (stage) => {
    const text = prose("phoenix");
    await stage.write("ash.md", text);
    await stage.write("rest.md", prose("resting raven"));
    await stage.crawl();
    const { docId } = await stage.document("ash.md");
    await stage.remove("ash.md");
    await stage.crawl();
    const missing = await stage.document("ash.md");
    assert.deepEqual([missing.status, missing.missingRuns], ["missing", 1]);
    assert.deepEqual(await stage.found("phoenix"), []);
    assert.deepEqual(await stage.below("02_embedded"), ["rest.md"]);
    assert.ok(await stage.kept(docId), "its text is kept");
    await stage.write("somewhere/else.md", text);
    await stage.crawl();
    const back = await stage.document("somewhere/else.md");
    assert.deepEqual(
      [back.docId, back.status, back.missingSinceAt, back.lineage.at(-1)?.event],
      [docId, "active", "", "restored"],
    );
    assert.deepEqual(await stage.found("phoenix"), ["somewhere/else.md"]);
    assert.equal((await stage.manifest()).length, 2);
  });

  story(
    "purged after three looks and 24 hours, not before, and when no generation shows it; forgotten with its entry",
    async (stage) => {
      await stage.write("secret.md", prose("salamander"));
      await stage.write("rest.md", prose("resting raven"));
      await stage.crawl();
      const { docId } = await stage.document("secret.md");
      await stage.remove("secret.md");
      for (let run = 0; run < 4; run++) await stage.crawl();
      assert.equal((await stage.document("secret.md")).status, "missing", "three looks within an hour are not enough");
      await stage.expireGenerations();
      const entry = (await stage.manifest()).find((one) => one.docId === docId);
      assert.equal(entry?.status, "deleted");
      assert.deepEqual(await stage.found("salamander"), []);
      stage.later(31 * 24);
      await stage.maintain();
      assert.equal(await stage.kept(docId), undefined);
      const { kept } = await stage.app.generations(
        (await stage.app.domains.list()).domains[0]?.domainId ?? assert.fail(),
      );
      for (const { number } of kept) {
        const query = { text: "salamander", limit: 10, generation: number };
        assert.deepEqual(
          await stage.index(async (index) =>
            (await index.search(query)).filter(({ text }) => text.includes("salamander")),
          ),
          [],
        );
      }
      await stage.app.close();
      const everything = await readdir(stage.storage, { recursive: true, withFileTypes: true });
      for (const entry of everything.filter((one) => one.isFile())) {
        const bytes = await readFile(join(entry.parentPath, entry.name));
        assert.ok(!bytes.includes("salamander of chapter"), `${entry.name} still says it`);
      }
      await stage.reopen();
    },
  );

  story(
    "a clock that jumps a day ahead does not purge after one look; one that goes back starts again",
    async (stage) => {
      await stage.write("cuckoo.md", prose("cuckoo clock"));
      await stage.write("rest.md", prose("resting raven"));
      await stage.crawl();
      await stage.remove("cuckoo.md");
      await stage.crawl();
      stage.later(1000);
      await stage.crawl();
      assert.equal((await stage.document("cuckoo.md")).status, "missing");
      stage.later(-2000);
      await stage.crawl();
      await stage.crawl();
      assert.equal((await stage.document("cuckoo.md")).status, "missing");
      await stage.expireGenerations();
      assert.equal((await stage.manifest()).find(({ path }) => path === "cuckoo.md")?.status, "deleted");
    },
  );

  story("restored from a backup after it was purged: the same document, embedded anew", async (stage) => {
    const text = prose("mammoth");
    await stage.write("ice.md", text);
    await stage.write("rest.md", prose("resting raven"));
    await stage.crawl();
    const { docId } = await stage.document("ice.md");
    await stage.remove("ice.md");
    for (let run = 0; run < 3; run++) await stage.crawl();
    await stage.expireGenerations();
    assert.equal((await stage.manifest()).find((one) => one.docId === docId)?.status, "deleted");
    await stage.write("ice.md", text);
    await stage.crawl();
    assert.deepEqual([(await stage.document("ice.md")).docId, await stage.found("mammoth")], [docId, ["ice.md"]]);
    assert.ok(await stage.kept(docId));
  });

  story("too many at once are held: all of them are found, and none is missing", async (stage) => {
    for (let at = 0; at < 40; at++) await stage.write(`herd/${at}.md`, prose(`wildebeest ${at}`, 2));
    await stage.crawl();
    for (let at = 0; at < 30; at++) await stage.remove(`herd/${at}.md`);
    const { job, source } = await stage.tryCrawl();
    assert.deepEqual([job.result?.ok, source.download.held], [false, 30]);
    assert.equal((await stage.manifest()).filter(({ status }) => status === "active").length, 40);
    assert.equal((await stage.found("wildebeest")).length, 40);
    const confirmed = await stage.crawl({ confirmDeletes: true });
    assert.equal(confirmed.source.download.removed, 30);
    assert.equal((await stage.manifest()).filter(({ status }) => status === "missing").length, 30);
    assert.equal((await stage.found("wildebeest")).length, 10);
  });

  story("an emptied root, a root that is gone, a root that is a file: nothing changes", async (stage) => {
    for (const name of ["a", "b", "c", "d"]) await stage.write(`${name}.md`, prose(`badger ${name}`));
    await stage.crawl();
    const before = await stage.manifest();
    const aside = `${stage.root}-aside`;
    const check = async (what: string): Promise<void> => {
      const { job } = await stage.tryCrawl();
      assert.equal(job.result?.ok, false, what);
      assert.equal((await stage.found("badger")).length, 4, what);
      assert.deepEqual(
        (await stage.manifest()).map(({ status }) => status),
        before.map(({ status }) => status),
        what,
      );
    };
    await rename(stage.root, aside);
    await check("gone");
    await writeFile(stage.root, "A file.");
    await check("a file");
    await rm(stage.root);
    await mkdir(stage.root);
    await check("empty, as when a share is not mounted");
    await rm(stage.root, { recursive: true });
    await rename(aside, stage.root);
    await stage.crawl();
    assert.equal((await stage.found("badger")).length, 4);
  });

  story("an empty place that is not the one that was known is no reason to let a single file go", async (stage) => {
    await stage.write("only.md", prose("lone lynx"));
    await stage.crawl();
    await rename(stage.root, `${stage.root}-aside`);
    await mkdir(stage.root);
    const { job } = await stage.tryCrawl();
    assert.equal(job.result?.ok, false);
    assert.deepEqual(await stage.found("lynx"), ["only.md"]);
  });
});

describe("what cannot be read keeps its place", () => {
  story("a file that cannot be read is an error, found as it was, and counted", async (stage) => {
    await stage.write("locked.md", prose("lobster"));
    await stage.write("free.md", prose("freed falcon"));
    await stage.crawl();
    const { docId } = await stage.document("locked.md");
    // A link to itself: it is there, and nobody can read it.
    await stage.remove("locked.md");
    await symlink("locked.md", stage.at("locked.md"));
    await stage.write("free.md", prose("freed flamingo"));
    const { job, log } = await stage.tryCrawl();
    assert.equal(job.result?.ok, false);
    assert.match(log, /locked\.md/);
    const entry = await stage.document("locked.md");
    assert.deepEqual([entry.docId, entry.status, entry.retryCount], [docId, "error", 1]);
    assert.notEqual(entry.error, "");
    assert.deepEqual(await stage.found("lobster"), ["locked.md"]);
    assert.deepEqual(await stage.found("flamingo"), ["free.md"]);
    await stage.tryCrawl();
    assert.equal((await stage.document("locked.md")).retryCount, 2);
    await rm(stage.at("locked.md"));
    await stage.write("locked.md", prose("lobster"));
    await stage.crawl();
    const healed = await stage.document("locked.md");
    assert.deepEqual([healed.docId, healed.status, healed.retryCount, healed.error], [docId, "active", 0, ""]);
  });
});

describe("versions, and nothing left over", () => {
  story("a file that shrank leaves no passage of its longer self", async (stage) => {
    const long = Array.from(
      { length: 400 },
      (_, at) => `Paragraph ${at} tells of the tailword${at} at length, and more.\n`,
    );
    await stage.write("long.md", long.join("\n"));
    await stage.crawl();
    assert.deepEqual(await stage.found("tailword399"), ["long.md"]);
    await stage.write("long.md", long.slice(0, 3).join("\n"));
    await stage.crawl();
    assert.deepEqual(await stage.found("tailword399"), []);
    assert.deepEqual(await stage.found("tailword2"), ["long.md"]);
  });

  story("every version that is kept can be read; the current one is what search finds", async (stage) => {
    for (const word of ["alpha", "beta", "gamma"]) {
      await stage.write("story.md", prose(`${word} wolf`));
      await stage.crawl();
    }
    const entry = await stage.document("story.md");
    assert.equal(entry.versions.length, 3);
    const kept = (await stage.kept(entry.docId)) ?? assert.fail("nothing is kept");
    assert.match(kept.text, /gamma/);
    assert.equal(kept.versions.length, 2);
    const texts = await Promise.all(
      entry.versions
        .slice(0, 2)
        .map(({ versionId }) =>
          readFile(
            join(stage.folder, "knowledge_base", "documents", entry.docId, "versions", versionId, "content.md"),
            "utf8",
          ),
        ),
    );
    assert.match(texts[0] ?? "", /alpha/);
    assert.match(texts[1] ?? "", /beta/);
    assert.deepEqual([await stage.found("alpha"), await stage.found("gamma")], [[], ["story.md"]]);
    assert.deepEqual(await stage.below(".staging"), []);
  });

  story(
    "only so many versions are kept",
    async (stage) => {
      for (let at = 0; at < 5; at++) {
        await stage.write("story.md", prose(`edition ${at} elk`));
        await stage.crawl();
      }
      const entry = await stage.document("story.md");
      assert.equal((await stage.kept(entry.docId))?.versions.length, 2);
      assert.equal(entry.versions.length, 3);
    },
    { settings: { VERSIONS_KEEP: "2" } },
  );

  story("a source that is taken out leaves nothing behind", async (stage) => {
    await stage.write("a.md", prose("gone gazelle"));
    await stage.write("b.md", prose("gone gnu"));
    await stage.crawl();
    const domain = (await stage.app.domains.list()).domains[0] ?? assert.fail();
    await stage.app.domains.update({ ...domain, sources: [] }, domain);
    await stage.tryCrawl({ scope: "all", confirmDeletes: true });
    assert.deepEqual(await stage.found("gone"), []);
    await assert.rejects(readdir(stage.folder));
  });
});

describe("what is taken of a folder", () => {
  story(
    "globs, .gitignore, hidden files, types, sizes, links",
    async (stage) => {
      await stage.write("in/yes.md", prose("taken tapir"));
      await stage.write("in/draft/no.md", prose("taken toad"));
      await stage.write("out/no.md", prose("taken tern"));
      await stage.write("in/.hidden.md", prose("taken tick"));
      await stage.write("in/.git/config.md", prose("taken tuna"));
      await stage.write("in/.gitignore", "ignored.md\nbuild/\n");
      await stage.write("in/ignored.md", prose("taken turtle"));
      await stage.write("in/build/made.md", prose("taken termite"));
      await stage.write("in/film.mp4", "taken tarantula");
      await stage.write("in/huge.md", "taken tyrannosaur ".repeat(100_000));
      await symlink("/etc", stage.at("in/etc"));
      await symlink("..", stage.at("in/loop"));
      await link(stage.at("in/yes.md"), stage.at("in/hard.md"));
      await stage.crawl();
      assert.deepEqual(await stage.found("taken"), ["in/hard.md", "in/yes.md"]);
      assert.deepEqual(
        (await stage.manifest()).map(({ path }) => path),
        ["in/hard.md", "in/yes.md"],
      );
    },
    { source: { include: ["in/**"], exclude: ["**/draft/**"], gitignore: true, maxFileBytes: 1024 * 1024 } },
  );

  story("names that hurt", async (stage) => {
    const names = [
      "a b.md",
      "quote'\".md",
      "new\nline.md",
      "back\\slash.md",
      "50%25.md",
      "#hash?.md",
      " lead.md",
      "trail .md",
      "ümläut 日本.md",
      "con.md",
      "__proto__.md",
      `${"x".repeat(200)}.md`,
    ];
    for (const [at, name] of names.entries()) await stage.write(name, prose(`hostile hyena ${at}`, 2));
    await stage.crawl();
    assert.equal((await stage.found("hyena")).length, names.length);
    assert.deepEqual((await stage.manifest()).map(({ path }) => path).sort(), [...names].sort());
    const { source } = await stage.crawl();
    assert.equal(source.download.unchanged, names.length);
    for (const [at, name] of names.entries()) await stage.rename(name, `renamed-${at}.md`);
    const moved = await stage.crawl();
    assert.equal(moved.source.download.moved, names.length);
    assert.equal((await stage.found("hyena")).length, names.length);
  });

  story("a file that gives its name to a folder, and gets it back", async (stage) => {
    await stage.write("notes.md", prose("nuthatch"));
    await stage.crawl();
    await rm(join(stage.root, "notes.md"));
    await stage.write("notes.md/inner.md", prose("inchworm"));
    await stage.crawl();
    assert.deepEqual([await stage.found("nuthatch"), await stage.found("inchworm")], [[], ["notes.md/inner.md"]]);
    await stage.rename("notes.md/inner.md", "inner.md");
    await rm(join(stage.root, "notes.md"), { recursive: true });
    await stage.rename("inner.md", "notes.md");
    await stage.crawl();
    assert.deepEqual(await stage.found("inchworm"), ["notes.md"]);
    assert.deepEqual(await stage.below("02_embedded"), ["notes.md"]);
  });

  story("a dry run tells of a move and writes nothing", async (stage) => {
    await stage.write("a.md", prose("dry dugong"));
    await stage.crawl();
    await stage.rename("a.md", "b.md");
    const before = await stage.manifest();
    const { result } = await stage.tryCrawl({}, { dryRun: true });
    assert.deepEqual(
      result.sources[0]?.planned?.filter(({ step }) => step === "download").map(({ change, path }) => [change, path]),
      [["moved", "b.md"]],
    );
    assert.deepEqual(await stage.manifest(), before);
    assert.deepEqual(await stage.found("dugong"), ["a.md"]);
  });
});
