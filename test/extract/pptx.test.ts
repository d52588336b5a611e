// Presentations become a section per slide, with lists, tables and notes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extractFile } from "./extract-file.ts";
import { makePptx, shape, slideTable } from "./make-pptx.ts";

test("pptx: a section per slide in the order shown, with lists, tables, diagrams and notes", async () => {
  const deck = makePptx([
    { shapes: shape("ctrTitle", "Plan", "2025") + shape("subTitle", "For the board") },
    {
      shapes: shape("body", "First", "\tinner &amp; deeper", "Second") + shape("title", "Steps") + shape("ftr", "ACME"),
      notes: "Speak slowly.",
      diagram: "Start",
    },
    {
      shapes:
        shape("", "# no heading") +
        slideTable([
          ["Item", "EUR"],
          ["a|b", "1"],
        ]) +
        shape("sldNum", "3"),
    },
  ]);
  assert.deepEqual(await extractFile("pptx", deck), {
    title: "Plan 2025",
    language: "",
    markdown: [
      "<!-- page 1 -->\n\n## Plan 2025\n\nFor the board",
      "<!-- page 2 -->\n\n## Steps\n\n- First\n  - inner & deeper\n- Second\n\nStart\n\n### Notes\n\nSpeak slowly.",
      "<!-- page 3 -->\n\n## Slide 3\n\n\\# no heading\n\n| Item | EUR |\n| --- | --- |\n| a\\|b | 1 |",
    ].join("\n\n"),
  });
});

test("pptx: a drawing with a copy for old programs is read once", async () => {
  const shapes = `<mc:AlternateContent><mc:Choice>${shape("", "once")}</mc:Choice><mc:Fallback>${shape("", "once")}</mc:Fallback></mc:AlternateContent>`;
  assert.equal((await extractFile("pptx", makePptx([{ shapes }]))).markdown.match(/once/g)?.length, 1);
});

test("pptx: a telling title in the properties wins", async () => {
  const slides = [{ shapes: shape("title", "Hello") }];
  assert.equal((await extractFile("pptx", makePptx(slides, "Strategy"))).title, "Strategy");
  assert.equal((await extractFile("pptx", makePptx(slides, "PowerPoint Presentation"))).title, "Hello");
});

test("pptx refused: no slides, only pictures", async () => {
  await assert.rejects(extractFile("pptx", makePptx([])), { name: "ExtractError", message: /no slides/ });
  await assert.rejects(extractFile("pptx", makePptx([{ shapes: "" }])), { name: "ExtractError", message: /pictures/ });
});
