// HTML becomes Markdown: title, main content, tables and entities.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHTML } from "linkedom";
import { NAMED_ENTITIES } from "../../src/lib/html-entities.ts";
import { extractFile } from "./extract-file.ts";

async function markdownOf(html: string | Uint8Array): Promise<string> {
  return (await extractFile("html", html)).markdown;
}

const cases: readonly [title: string, html: string, markdown: string][] = [
  ["headings and paragraphs", "<h1>A <b>b</b></h1><p>one<p>two<h3>C</h3>text", "# A b\n\none\n\ntwo\n\n### C\n\ntext"],
  ["white space collapses", "<p>  a \n\t b&nbsp; <i> c</i>d  </p>", "a b cd"],
  ["emphasis does not split words", "<p>Do<b>nau</b>dampf<em>schiff</em>", "Donaudampfschiff"],
  ["soft hyphens vanish", "<p>Donau&shy;dampf<wbr>schiff", "Donaudampfschiff"],
  ["line breaks", "a<br>b<br/><br>c", "a\nb\nc"],
  ["links", 'see <a href="/a b(1)?x=1&amp;y=2">the [page]</a>.', "see [the \\[page\\]](/a%20b%281%29?x=1&y=2)."],
  ["links that lead nowhere", '<a href="#top">up</a> <a href="javascript:x()">run</a> <a>bare</a>', "up run bare"],
  ["a link that says its target", '<a href="https://a.example/">https://a.example/</a>', "https://a.example/"],
  ["a link around a block", '<a href="/x"><div>one</div><div>two</div></a>', "one\n\ntwo"],
  ["images keep their text", '<p>a <img src="data:xx" alt="Ein Bild"> b<img src=x></p>', "a Ein Bild b"],
  ["lists", "<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>", "- a\n  - b\n- c\n\n  d"],
  ["numbered lists", '<ol start="9"><li>a<li>b<p>c</ol>', "9. a\n10. b\n\n    c"],
  ["headings in lists are text", "<ul><li><h2>x</h2>y</ul>", "- x\n\n  y"],
  ["quotes", "<blockquote><p>a</p><p>b<br>c</p></blockquote>", "> a\n> \n> b\n> c"],
  ["code", '<pre class="language-ts">\na &lt; b\n  c\n\n</pre>', "```ts\na < b\n  c\n```"],
  ["code spans", "use <code>npm  ci</code> and <code>a`b</code>", "use `npm ci` and a`b"],
  [
    "text that looks like marks",
    "<p># a<br>- b<br>1. c<br>&gt; d<br>---<p>#5",
    "\\# a\n\\- b\n1\\. c\n\\> d\n\\---\n\n#5",
  ],
  ["a page mark cannot be forged", "<p>&lt;!-- page 7 --&gt;", "\\<!-- page 7 -->"],
  [
    "entities",
    "<p>&auml;&Ouml;&#x20AC;&#8364;&#150;&hellip; AT&T &amp;lt; &unknown; &copy 1",
    "äÖ€€–… AT&T &lt; &unknown; © 1",
  ],
  ["a lone angle bracket", "<p>a < b && c <3", "a < b && c <3"],
  ["comments", "a<!-- <p>no</p> -->b<!doctype x><?php y ?>c", "abc"],
  ["noise", "<script>x<p>1</script><style>p{}</style><noscript>n</noscript><template>t</template><p>yes", "yes"],
  [
    "navigation",
    "<nav>n</nav><div role=navigation>r</div><footer>f</footer><header><nav>m</nav>Kopf</header>yes",
    "Kopf\n\nyes",
  ],
  ["hidden", '<p hidden>a</p><p style="color:red; DISPLAY : none">b</p><i aria-hidden=true>c</i><p>d', "d"],
  ["controls", "<p>a<button>b</button><select><option>c<option>d</select><textarea>e</textarea>", "a"],
  [
    "unclosed cells and items",
    "<table><tr><td>a<td>b<tr><td>c<td>d</table>e",
    "| a | b |\n| --- | --- |\n| c | d |\n\ne",
  ],
  ["stray end tags", "<div><table><tr><td>a</div><td>b</table></p>c</div>d", "| a | b |\n| --- | --- |\n\nc\n\nd"],
  ["unquoted and odd attributes", "<p class=a/b data-x='>' =y>text", "text"],
  ["svg", "<p>a<svg><title>no</title><path d='x'/><text>no</text></svg>b", "ab"],
  ["details", "<details><summary>Frage</summary>Antwort</details>", "Frage\n\nAntwort"],
  ["CJK and RTL", "<h2>漢字</h2><p>かな שלום</p>", "## 漢字\n\nかな שלום"],
];

for (const [title, html, markdown] of cases) {
  test(`html: ${title}`, async () => {
    assert.equal(await markdownOf(html), markdown);
  });
}

const tables: readonly [title: string, html: string, markdown: string][] = [
  [
    "header, caption, bars and blocks in cells",
    "<table><caption>Preise</caption><thead><tr><th>Art<th>EUR</thead><tr><td>a|b<td><p>1</p><p>2</p></table>",
    "Preise\n\n| Art | EUR |\n| --- | --- |\n| a\\|b | 1 2 |",
  ],
  [
    "spans",
    "<table><tr><th>A<th>B<th>C<tr><td rowspan=2>x<td colspan=2>y<tr><td>1<td>2</table>",
    "| A | B | C |\n| --- | --- | --- |\n| x | y |  |\n| x | 1 | 2 |",
  ],
  [
    "two header rows",
    "<table><tr><th colspan=2>2024<th rowspan=2>Sum<tr><th>Q1<th>Q2<tr><td>1<td>2<td>3</table>",
    "| 2024 Q1 | Q2 | Sum |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
  ],
  [
    "layout tables are read through",
    "<table><tr><td><h2>A</h2><td><table><tr><td>1<td>2</table></table>",
    "## A\n\n| 1 | 2 |\n| --- | --- |",
  ],
  ["one column is a list of blocks", "<table><tr><td>a<tr><td>b</table>", "a\n\nb"],
];

for (const [title, html, markdown] of tables) {
  test(`html table: ${title}`, async () => {
    assert.equal(await markdownOf(html), markdown);
  });
}

test("the title comes from <title>, else from the first heading", async () => {
  assert.equal((await extractFile("html", "<title> A &amp;\n B </title><h1>H</h1>")).title, "A & B");
  assert.equal((await extractFile("htm", "<p>x</p><h2>H</h2>")).title, "H");
});

test("main or the only article is preferred when it is substantial", async () => {
  const side = "<div>side text of the page</div>";
  assert.equal(await markdownOf(`${side}<main><p>the content of this page</p></main>`), "the content of this page");
  assert.equal(
    await markdownOf(`${side}<article><p>the content of this page</p></article>`),
    "the content of this page",
  );
  assert.equal(await markdownOf(`${side}<div role=main>the content of this page</div>`), "the content of this page");
  assert.equal(await markdownOf(`${side}<main>x</main>`), "side text of the page\n\nx");
  assert.equal(await markdownOf("<article>first</article><article>second</article>"), "first\n\nsecond");
});

test("encodings: mark, declaration, fallback", async () => {
  const latin = (html: string): Buffer => Buffer.from(html, "latin1");
  assert.equal(await markdownOf(Buffer.from("\ufeff<meta charset=latin1><p>Größe")), "Größe");
  assert.equal(await markdownOf(Buffer.from("\ufeff<p>Größe 漢", "utf16le")), "Größe 漢");
  assert.equal(
    await markdownOf(latin('<meta http-equiv=Content-Type content="text/html; charset=iso-8859-2"><p>\xb9')),
    "š",
  );
  assert.equal(await markdownOf(latin("<meta charset='utf-8'><p>Gr\xf6\xdfe")), "Größe");
  assert.equal(await markdownOf(latin("<meta charset='no-such'><p>Gr\xf6\xdfe")), "Größe");
  const sjis = Buffer.concat([Buffer.from('<meta charset="shift_jis"><p>'), Buffer.from([0x8a, 0xbf, 0x8e, 0x9a])]);
  assert.equal(await markdownOf(sjis), "漢字");
});

test("the table of entities agrees with an independent parser", () => {
  assert.ok(NAMED_ENTITIES.size > 330);
  for (const [name, character] of NAMED_ENTITIES) {
    const { document } = parseHTML(`<html><body><p>&${name};</p></body></html>`);
    assert.equal(document.querySelector("p")?.textContent, character, name);
  }
});

const hostile: readonly [title: string, html: string, expected: RegExp][] = [
  ["elements open as many as allowed", `${"<div>".repeat(400_000)}deep`, /^deep$/],
  ["text at every depth", "<div>a ".repeat(5000), /^a(?:\n\na){4999}$/],
  ["deep, and closed again", `${"<div>".repeat(5000)}x${"</div>".repeat(5000)}<h2>after</h2>`, /^x\n\n## after$/],
  ["nested lists", `${"<ul><li>".repeat(50_000)}deep`, /^(?:- )+deep$/],
  ["nested quotes", `${"<blockquote>".repeat(100_000)}deep`, /^(?:> )+deep$/],
  ["nested tables", `${"<table><tr><td>".repeat(50_000)}deep`, /^deep$/],
  ["end tags without start", `${"<div>".repeat(1000)}${"</p></b>".repeat(200_000)}x`, /^x$/],
  ["brackets", "<".repeat(1_000_000), /^<+$/],
  ["huge spans", `<table>${"<tr><td rowspan=99999 colspan=99999>x<td>y".repeat(500)}</table>`, /^\| x /],
  ["an endless attribute", `yes<a href="${"x".repeat(5_000_000)}`, /^yes$/],
  ["an endless comment", `yes${"<!--".repeat(500_000)}`, /^yes$/],
];

for (const [title, html, expected] of hostile) {
  test(`hostile html: ${title}`, async () => {
    assert.match(await markdownOf(html), expected);
  });
}
