// Answers without a model quote the best sentences word for word.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Passage } from "../../src/backends/embedded/answers/answerer.ts";
import { quote } from "../../src/backends/embedded/answers/extractive-answerer.ts";
import type { FileId } from "../../src/contracts/ids.ts";

function passage(text: string, score = 0.8, filename = "a.md"): Passage {
  return { fileId: `file-${filename}` as FileId, filename, text, score };
}

/** The quotes alone. */
async function quotes(question: string, ...passages: readonly (Passage | string)[]): Promise<string[]> {
  const given = passages.map((one) => (typeof one === "string" ? passage(one) : one));
  const parts = quote([question], given);
  return parts.filter(({ from }) => from).map(({ text }) => text.trim().replace(/^- /, ""));
}

test("the sentence that has the answer comes without its neighbours", async () => {
  const text = "We moved in 2019. The office opens at eight. Dogs are welcome on Fridays. Coffee is free.";
  assert.deepEqual(await quotes("When does the office open?", text), ["The office opens at eight."]);
  assert.deepEqual(await quotes("Are dogs welcome?", text), ["Dogs are welcome on Fridays."]);
});

test("a row of a table comes with the names of its columns", async () => {
  const text = "| City | Limit |\n| :--- | ---: |\n| Oslo | 200 |\n| Rome | **120** |\n\nAll limits are in euros.";
  assert.deepEqual(await quotes("Rome", text), ["City: Rome; Limit: 120"]);
});

test("list items, quotes and links lose their marks, headings and fences are left out", async () => {
  const text =
    "## Parking\n\n- Visitors park at [gate B](https://x.example/b)\n- Staff parks below\n\n> Parking is free.\n```\nparking = 1\n```";
  assert.deepEqual(await quotes("Where do visitors park?", text), ["Visitors park at gate B"]);
  assert.deepEqual(await quotes("parking free", text), ["Parking is free."]);
});

test("what only repeats the words of a better sentence is left out", async () => {
  const text = "The garage and the car wash open on Monday. The garage and the car wash are grey.";
  assert.deepEqual(await quotes("When do garage and car wash open?", text), [
    "The garage and the car wash open on Monday.",
  ]);
});

test("the same sentence in two files is quoted once, from the better one", async () => {
  const same = "Invoices are paid within 30 days.";
  const parts = quote(["When are invoices paid?"], [passage(same, 0.9, "new.md"), passage(same, 0.4, "old.md")]);
  assert.deepEqual(
    parts.flatMap(({ from }) => from?.filename ?? []),
    ["new.md"],
  );
});

test("what several passages say together is quoted together, at most three sentences", async () => {
  const budget = passage("The budget of project Falcon is 90,000 euros.", 0.8, "budget.md");
  const people = passage("Project Falcon is run by Ada.", 0.7, "people.md");
  const found = await quotes("Who runs project Falcon and what is its budget?", budget, people);
  assert.deepEqual(found.sort(), ["Project Falcon is run by Ada.", "The budget of project Falcon is 90,000 euros."]);
  const many = Array.from({ length: 20 }, (_, n) => passage(`Rule ${n} of the colours applies.`, 0.5, `${n}.md`));
  const all = await quotes("Which rule of the colours applies?", ...many);
  assert.equal(all.length, 3);
});

test("questions in other languages work the same", async () => {
  const german = "Der Urlaub beträgt 30 Tage im Jahr. Das Büro öffnet um acht Uhr.";
  assert.deepEqual(await quotes("Wie viele Tage Urlaub gibt es?", german), ["Der Urlaub beträgt 30 Tage im Jahr."]);
  assert.deepEqual(await quotes("酒店的费用上限是多少？", "酒店费用上限为每晚一百四十五欧元。火车优先于飞机。"), [
    "酒店费用上限为每晚一百四十五欧元。",
  ]);
});

test("what is merely closest is not taken for an answer", async () => {
  for (const question of ["remuneration", "Who won the football world cup in 1998?"]) {
    const parts = quote([question], [passage("Salaries rise in May."), passage("© 1998 World of Cups Ltd.")]);
    assert.deepEqual(
      parts.map(({ text }) => text),
      ["Nothing here answers this."],
    );
  }
});

test("what cannot be quoted is not: passages of figures or marks alone", async () => {
  const parts = quote(["x"], [passage("42\n\n---\n\n|")]);
  assert.match(parts[0]?.text ?? "", /Nothing here answers this/);
});

test("property: every quote stands in its passage, whatever the passages are", async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.lorem({ maxCount: 12 }),
    fc.constantFrom("| a | b |", "|-|-|", "# x", "- y", "```"),
  );
  const text = fc.array(line, { maxLength: 12 }).map((lines) => lines.join("\n"));
  const words = (one: string): string => one.replaceAll(/[^\p{L}\p{N}]/gu, "");
  await fc.assert(
    fc.asyncProperty(fc.string(), fc.array(text, { maxLength: 4 }), async (question, texts) => {
      const passages = texts.map((one, at) => passage(one, 0.5, `${at}`));
      for (const part of quote([question], passages)) {
        if (!part.from) continue;
        const source = words(passages.find(({ filename }) => filename === part.from?.filename)?.text ?? "");
        for (const word of part.text.split(/[^\p{L}\p{N}]+/u)) assert.ok(source.includes(word), part.text);
      }
    }),
  );
});
