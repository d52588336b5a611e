// Passages mark the words that were found, and are cut around them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Marked, withoutMarkup } from "../../src/http/pages/plain-passage.ts";
import { excerptOf, showMarked, spansOfWords } from "../../src/http/pages/search-pages.ts";

const markedBy = (text: string, query: string): Marked => ({ text, marks: spansOfWords(text, query) });
const shown = async (passage: Marked): Promise<string> => String(await showMarked(passage));

describe("passages", () => {
  it("marks the telling words and their forms, nothing inside other words", async () => {
    const marked = (passage: string, query: string): Promise<string> => shown(markedBy(passage, query));
    assert.equal(
      await marked("Hotel costs, hotels; the motel", "What may the hotels cost?"),
      "<mark>Hotel</mark> <mark>costs</mark>, <mark>hotels</mark>; the motel",
    );
    assert.equal(await marked("The ERP and the NERP", "the ERP"), "The <mark>ERP</mark> and the NERP");
    assert.equal(await marked("東京タワーの高さ", "タワー"), "東京<mark>タワー</mark>の高さ");
    assert.equal(await marked("a <b> [x] (y", "b [x] (y"), "a &lt;<mark>b</mark>&gt; [<mark>x</mark>] (<mark>y</mark>");
    assert.equal(await marked("text", "?!"), "text");
  });

  it("are cut around the first mark, at spaces, and the marks move along", async () => {
    const passage = `${"before ".repeat(100)}needle ${"after ".repeat(100)}`.trim();
    const excerpt = excerptOf(markedBy(passage, "needle"));
    assert.equal(excerpt.cut, true);
    assert.match(excerpt.text, /^… before (before )*needle (after )*after …$/);
    assert.ok(excerpt.text.length < 440);
    assert.match(await shown(excerpt), /before <mark>needle<\/mark> after/);
    assert.deepEqual(excerptOf(markedBy("short", "x")), { text: "short", marks: [], cut: false });
    assert.match(excerptOf(markedBy(passage, "nowhere")).text, /^before .* …$/);
  });

  it("lose the signs of Markdown, and no mark slips", async () => {
    const text = "# Travel **costs**\n\n\n\n## Hotels\nA **hotel** night";
    const plain = withoutMarkup(markedBy(text, "travel costs hotel night"));
    assert.equal(plain.text, "Travel costs\nHotels\nA hotel night");
    assert.deepEqual(
      plain.marks.map(({ start, end }) => plain.text.slice(start, end)),
      ["Travel", "costs", "Hotels", "hotel", "night"],
    );
    const across = withoutMarkup({ text: "a **bold word** here", marks: [{ start: 2, end: 15 }] });
    assert.equal(await shown(across), "a <mark>bold word</mark> here");
  });
});

describe("what is shown of a passage", () => {
  const plain = (text: string): string => withoutMarkup({ text, marks: [] }).text;

  it("keeps the signs of code, and loses fences, headings and tags of templates", () => {
    assert.equal(plain("# Title\n\nText"), "Title\nText");
    assert.equal(plain("```yaml\n# only a comment\nkey: value # keep\n```"), "# only a comment\nkey: value # keep\n");
    assert.equal(plain("## Setup\n\n~~~\n# not a heading\n~~~\n\n## Next"), "Setup\n# not a heading\nNext");
    assert.equal(plain("{{< note >}}Careful{{< /note >}} and {% include x.html %}more"), "Careful and more");
    assert.equal(plain("```\n{% raw %}\n```\n{% end %}"), "{% raw %}\n");
    // A passage that begins, or ends, within code.
    assert.equal(plain("# inside\nls\n```\n# Outside"), "# inside\nls\nOutside");
    assert.equal(plain("# Outside\n```sh\n# inside"), "Outside\n# inside");
  });

  it("reads as text: no links, tables, quotations, emphasis and escapes of Markdown", () => {
    const text = "See [Costs](../Trips/Costs.md), _here_ and `4471`, <https://example.com/a_b_c>: 2\\*3.";
    assert.equal(plain(text), "See Costs, here and 4471, https://example.com/a_b_c: 2*3.");
    assert.equal(plain("| Who | What |\n| --- | ---: |\n| Ada | a \\| b |"), "Who · What\nAda · a | b");
    assert.equal(plain("> Quoted\n\n![Plan](x.png)"), "Quoted\nPlan");
    assert.equal(plain("snake_case and __init__, 5 * 3 * 2, a | b"), "snake_case and __init__, 5 * 3 * 2, a | b");
    const [start, end] = [text.indexOf("Costs.md"), text.indexOf("Costs.md") + 5];
    assert.deepEqual(withoutMarkup({ text, marks: [{ start, end }] }).marks, []);
  });

  it("moves marks with the text", () => {
    const text = "```sh\n# Install it\n```";
    const start = text.indexOf("Install");
    const shown = withoutMarkup({ text, marks: [{ start, end: start + 7 }] });
    const [mark] = shown.marks;
    assert.equal(shown.text.slice(mark?.start, mark?.end), "Install");
  });
});
