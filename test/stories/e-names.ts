import assert from "node:assert/strict";
import { DOMAIN } from "../engine/world.ts";
import type { Story } from "./story.ts";

const FOLDER = "Very long folder name that goes on and on for the sake of a test, number ";

export const NAME_STORIES: readonly Story[] = [
  {
    id: "E1",
    title: "emojis, right-to-left, combining and full-width letters keep their names, and links open",
    async play(stage) {
      const names = [
        "😀 plan.txt",
        "שלום עולם.txt",
        "Zoë é.txt",
        "文件_测试.txt",
        "ｗｉｄｅ.txt",
        "a%20b.txt",
        "👩‍👩‍👧‍👦.txt",
      ];
      for (const [i, name] of names.entries())
        await stage.change("add", { path: `Ünïcödé/${name}`, text: `Document numero${i} about llamas.` });
      await stage.crawl();
      await stage.inStep();
      for (const [i, name] of names.entries()) {
        const [hit] = await stage.world.search(`numero${i}`);
        assert.equal(hit?.name, name);
        assert.equal(await (await fetch(hit.url)).text(), `Document numero${i} about llamas.`);
      }
    },
  },
  {
    id: "E1",
    title: "the same letters in two normal forms are one name here as there, and a renamed one follows",
    async play(stage) {
      await stage.change("add", { path: "Café.txt", text: "The first llama1." });
      await stage.crawl();
      await stage.change("rename", { path: "Café.txt", name: "Café menu 🍰.txt" });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "E2",
    title: "a name too long for the disk is shortened with the item's id, keeps that place, and is found",
    async play(stage) {
      const name = `${"ü".repeat(150)}.txt`;
      const { uniqueId } = await stage.change("add", { path: name, text: "The long llama1." });
      await stage.crawl();
      const mark = String(uniqueId).slice(0, 8);
      const [local = ""] = await stage.docs.disk();
      assert.match(local, new RegExp(`^ü+~${mark}\\.txt$`));
      assert.ok(Buffer.byteLength(local) <= 255);
      assert.equal((await stage.world.search("llama1"))[0]?.name, name);
      await stage.inStep();
      await stage.change("update", { path: name, text: "The longer llama2." });
      await stage.crawl();
      assert.deepEqual(await stage.docs.disk(), [local]);
      await stage.inStep();
    },
  },
  {
    id: "E2",
    title: "folder upon folder: what SharePoint allows (400 characters) is mirrored and found",
    async play(stage) {
      const folders = Array.from({ length: 4 }, (_, i) => `${FOLDER}${i}`).join("/");
      await stage.change("add", { path: `${folders}/deep.txt`, text: "The deep llama3." });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "E3",
    title: "an empty file is downloaded and stops nothing; empty in the index or in 03_failed, never silent",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "empty.txt", text: "" });
      const { source } = await stage.crawl();
      assert.equal(source.download.added, 1);
      assert.deepEqual([source.embed.empty, source.embed.failed], [1, 0]);
      const row = (await stage.docs.map("vectorstore_map")).find(({ filename }) => filename === "empty.txt");
      assert.match(row?.["file_relative_path"] ?? "", /\\(02_embedded|03_failed)\\empty\.txt$/);
      const failed = row?.["embedding_error"] ? ["empty.txt"] : [];
      await stage.inStep({ failed });
      const again = await stage.crawl();
      assert.deepEqual([again.source.embed.empty, again.source.embed.skipped], [1, 0]);
      await stage.inStep({ failed });
      await stage.change("update", { path: "empty.txt", text: "Not empty any more, says the gnu." });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "E3",
    title: "a file that is emptied stops saying what it said",
    async play(stage) {
      await stage.plant();
      await stage.change("update", { path: "Travel/policy.txt", text: "" });
      const { source, log } = await stage.crawl();
      assert.deepEqual([source.embed.empty, source.embed.removed, source.embed.changed, source.error], [1, 1, 0, ""]);
      assert.match(log, /WARNING: '[^']*policy\.txt' has nothing to index: The file is empty\. It had text before/);
      assert.ok(!(await stage.world.search("zebra")).some(({ text }) => text.includes("zebra")));
    },
  },
  {
    id: "E4",
    title: "a type that cannot be embedded is listed in sharepoint_map.csv, named in the log, and nowhere else",
    async play(stage) {
      await stage.plant();
      await stage.change("add", { path: "archive.zip", base64: Buffer.from("PK").toString("base64") });
      await stage.change("add", { path: "no extension", text: "Plain." });
      const { source, log } = await stage.crawl();
      assert.equal(source.download.skipped, 2);
      assert.match(log, /Skipped 'archive\.zip': file type 'zip' is not accepted/);
      await stage.inStep();
      assert.equal(await stage.downloads(), 0);
    },
  },
  {
    id: "E4",
    title: "a document renamed to a type that cannot be embedded leaves, and comes back with its name",
    async play(stage) {
      await stage.plant();
      await stage.change("rename", { path: "Travel/policy.txt", name: "policy.zip" });
      await stage.crawl();
      await stage.inStep();
      await stage.change("rename", { path: "Travel/policy.zip", name: "policy.txt" });
      await stage.crawl();
      await stage.inStep();
    },
  },
  {
    id: "E5",
    title: "one name in many folders: as many documents, each with its own place and link",
    async play(stage) {
      for (let i = 0; i < 4; i++)
        await stage.change("add", { path: `Team ${i}/readme.md`, text: `# Team ${i}\n\nRun by lemur${i}.` });
      await stage.change("add", { path: "readme.md", text: "# All\n\nRun by lemur9." });
      await stage.crawl();
      await stage.inStep();
      const [hit] = await stage.world.search("lemur2");
      assert.equal(hit?.url, `${stage.world.sandbox.siteUrl}/Shared%20Documents/Team%202/readme.md`);
    },
  },
  {
    id: "E6",
    title: "spaces, quotes, ampersands, percent and plus signs in folders: same path on disk, links open",
    async play(stage) {
      const folders = ["It's #1 & co", "100% + more", "{x}~;,^", "a%20b", "semi;colon, comma", "equals=yes&no"];
      for (const [i, folder] of folders.entries())
        await stage.change("add", { path: `${folder}/note.txt`, text: `Note numero${i} about llamas.` });
      await stage.crawl();
      await stage.inStep();
      assert.deepEqual(await stage.docs.disk(), folders.map((folder) => `${folder}/note.txt`).sort());
      for (const [i] of folders.entries()) {
        const [hit] = await stage.world.search(`numero${i}`);
        assert.equal(await (await fetch(hit?.url ?? "")).text(), `Note numero${i} about llamas.`);
      }
      const places = (await stage.docs.map("files_map")).map((row) => row["file_relative_path"]);
      assert.ok(places.includes(`${DOMAIN}\\01_files\\docs\\02_embedded\\It's #1 & co\\note.txt`));
    },
  },
];
