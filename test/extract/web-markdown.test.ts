// Markdown served by a web site is read with its title and pictures.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebPage } from "../../src/contracts/web.ts";
import { readPage } from "../../src/extract/web/read-page.ts";

function read(text: string, contentType = "text/markdown", url = "https://site.example/docs/llms.txt"): WebPage {
  return readPage({ form: "text", bytes: Buffer.from(text), contentType, url });
}

const cases: readonly [title: string, markdown: string, links: readonly string[]][] = [
  ["inline", 'See [a](/a "A") and [b](<../b c>).', ["a", "b%20c"]],
  ["parentheses in an address", "[x](https://site.example/A_(b)) and https://site.example/C_(d).", ["A_(b)", "C_(d)"]],
  ["references", "[text][one]\n\n[one]: /one 'title'\n  [two]: <two>\n[^note]: /note", ["one", "docs/two"]],
  [
    "autolinks and bare addresses",
    "<https://site.example/a>, https://site.example/b?x=1#y. **https://site.example/c**",
    ["a", "b?x=1", "c"],
  ],
  ["anchors", '<a class=x href="/a">a</a>', ["a"]],
  ["each once, in order", "[b](/b) [a](/a) https://site.example/b [a](/a#x)", ["b", "a"]],
  ["none in code", "`[a](/a)` ``[b](/b)``\n```\n[c](/c)\n```\n  ~~~\n  https://site.example/d\n  ~~~\n[e](/e)", ["e"]],
  ["none that leads nowhere", "[a](#top) [b](mailto:x@site.example) [c](javascript:x) [d]()", []],
  ["images are no links, but what is around them", "[![A pump](/p.png)](/pump) ![b](/b.png)", ["pump"]],
  ["lists of llms.txt", "- [Guide](guide.md): how\n- [API](https://site.example/api.md)", ["docs/guide.md", "api.md"]],
];

for (const [title, markdown, links] of cases) {
  test(`Markdown: ${title}`, () =>
    assert.deepEqual(
      read(markdown).links,
      links.map((path) => `https://site.example/${path}`),
    ));
}

test("Markdown: title, text and pictures", () => {
  const page = read('---\ntitle: Pumps\n---\n# Heading\n\n![A [red] pump](/p.png "t") ![again](/p.png)\n');
  assert.equal(page.title, "Pumps");
  assert.ok(page.markdown.startsWith("# Pumps\n\n# Heading"));
  assert.deepEqual(
    page.images.map(({ url, alt, position }) => [url, alt, position]),
    [["https://site.example/p.png", "A [red] pump", 0]],
  );
  assert.equal(read("intro\n\nHeading\n=======\n").title, "Heading");
  assert.equal(read("no heading").title, "");
});

test("program text served as plain text has no links but those it writes out", () => {
  const page = read("f[i](x); // see https://site.example/doc", "text/plain", "https://site.example/src/main.js");
  assert.deepEqual(page.links, ["https://site.example/doc"]);
  assert.deepEqual(read("[a](/a)", "text/plain; charset=utf-8").links, ["https://site.example/a"]);
});
