// A page's canvas becomes the HTML that is embedded.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readPageOriginal, writePageOriginal } from "../../src/sources/sharepoint/pages/page-original.ts";
import {
  at,
  type Control,
  convert,
  convertCanvas,
  convertText,
  htmlCanvas,
  inAttribute,
  jsonCanvas,
  pageOf,
} from "./page-fixtures.ts";

const LINKS: Control = {
  position: at(1, 1, 2),
  webPart: {
    id: "c70391ea-0b10-4ee9-b2b4-006d3fcad0cd",
    title: "Quick links",
    description: "Add links to important documents and pages.",
    serverProcessedContent: {
      htmlStrings: {},
      searchablePlainTexts: {
        title: "Most asked for",
        "items[0].title": "Travel policy",
        "items[0].description": "What we pay for",
        "items[1].title": "Canteen",
        "items[1].id": "6aa33958-1111-4222-8333-123456789012",
      },
      imageSources: { "items[1].image.url": "/sites/demo/SiteAssets/canteen.jpg" },
      links: {
        baseUrl: "https://contoso.sharepoint.com/sites/demo",
        "items[0].sourceItem.url": "/sites/demo/Shared Documents/Travel.docx",
        "items[1].sourceItem.url": "https://canteen.example/menu?a=1&b=2",
      },
    },
    properties: { layoutId: "CompactCard", iconPicker: "secret-setting" },
  },
};

const IMAGE: Control = {
  position: at(2, 2),
  webPart: {
    title: "Image",
    serverProcessedContent: {
      htmlStrings: {},
      searchablePlainTexts: { captionText: "The harbour at dawn" },
      imageSources: { imageSource: "/sites/demo/SiteAssets/harbour.jpg" },
      links: {},
    },
    properties: { altText: "Cranes above the water", captionText: "The harbour at dawn", imgWidth: 800 },
  },
};

const TEXT: Control = {
  position: at(1),
  text: `<h2 id="a" style="color:red">How we <strong>work</strong></h2><p class="noSpacingAbove">Sp<b>alt</b>en, see
    <a href="/sites/demo/SitePages/Rules.aspx" data-interception="on">the rules</a>.</p>
    <ul><li><p>one</p></li><li>two<ul><li>two a</li></ul></li></ul>`,
};

const TABLE: Control = {
  position: at(2),
  text: `<div class="canvasRteResponsiveTable"><table class="borderHeaderTable" title="Prices"><tbody>
    <tr><th scope="col"><strong>Item</strong></th><th colspan="2">Price</th></tr>
    <tr><td>Bike</td><td></td><td>100&nbsp;€</td></tr></tbody></table></div>`,
};

/** As a reader meets them, whatever the order they are stored in. */
const SHOWN = `<h2>How we work</h2>
<p>Spalten, see <a href="https://contoso.sharepoint.com/sites/demo/SitePages/Rules.aspx">the rules</a>.</p>
<ul><li>one</li>
<li><p>two</p>
<ul><li>two a</li>
</ul>
</li>
</ul>
<h3>Most asked for</h3>
<ul><li><a href="https://contoso.sharepoint.com/sites/demo/Shared%20Documents/Travel.docx">Travel policy</a><br>What we pay for</li>
<li><a href="https://canteen.example/menu?a=1&amp;b=2">Canteen</a></li>
</ul>
<table><tr><th>Item</th><th colspan="2">Price</th></tr>
<tr><td>Bike</td><td></td><td>100 €</td></tr>
</table>
<figure><p><img alt="Cranes above the water"></p>
<figcaption>The harbour at dawn</figcaption>
</figure>
`;

describe("a page becomes the HTML that is embedded", () => {
  for (const [form, write] of [["HTML", htmlCanvas] as const, ["JSON", jsonCanvas] as const]) {
    it(`reads a canvas in its ${form} form, in the order of the page`, async () => {
      assert.equal(await convertCanvas(write([IMAGE, TABLE, LINKS, TEXT])), SHOWN);
    });

    it(`reads columns from left to right, the side column last, and titles of sections in its ${form} form`, async () => {
      const fold = { zoneGroupMetadata: { type: 1, isExpanded: false, displayName: "Questions & answers" } };
      const canvas = write([
        { position: at(1, 1, 1, { layoutIndex: 2 }), text: "<p>side</p>" },
        { position: at(2, 2), text: "<p>right</p>", more: fold },
        { position: at(2, 1, 2), text: "<p>left, below</p>", more: fold },
        { position: at(2), text: "<p>left</p>", more: fold },
        { position: at(0.5), text: "<p>top</p>" },
      ]);
      const texts = ["<p>left</p>", "<p>left, below</p>", "<p>right</p>", "<p>side</p>"];
      const expected = ["<p>top</p>", "<h2>Questions &amp; answers</h2>", ...texts, ""];
      assert.equal(await convertCanvas(canvas), expected.join("\n"));
    });
  }

  it("reads web parts from their elements where the description has no texts, and nothing twice", async () => {
    const elements = `<div data-sp-prop-name="title" data-sp-searchableplaintext="true">Contacts</div>
      <div data-sp-prop-name="persons[0].name" data-sp-searchableplaintext="true">Ada &amp; Co</div>
      <a data-sp-prop-name="persons[0].site" href="/sites/ada"></a><link data-sp-prop-name="baseUrl" href="/sites/x">
      <img data-sp-prop-name="logo" src="/x.png" alt="Our logo"><div data-sp-prop-name="about"><p>Who <i>we</i> are</p></div>`;
    const expected = `<h3>Contacts</h3>
<figure><p><img alt="Our logo"></p>
</figure>
<p>Who we are</p>
<ul><li><a href="https://contoso.sharepoint.com/sites/ada">Ada &amp; Co</a></li>
</ul>
`;
    const bare = { position: at(1), webPart: { title: "People", properties: {} }, elements };
    assert.equal(await convertCanvas(htmlCanvas([bare])), expected);
    const both = {
      ...bare,
      webPart: {
        serverProcessedContent: { searchablePlainTexts: { title: "Contacts", "persons[0].name": "Ada & Co" } },
      },
    };
    assert.equal(await convertCanvas(htmlCanvas([both])), expected);
  });

  it("reads a web part that lies in the description of its control, and Markdown once", async () => {
    const webPartData = {
      serverProcessedContent: {
        htmlStrings: { html: "<h1>Rules</h1><p>Be kind.</p>" },
        searchablePlainTexts: { code: "# Rules" },
      },
    };
    const canvas = `<div data-sp-canvascontrol="" data-sp-controldata="${inAttribute({ controlType: 3, webPartData })}"></div>`;
    assert.equal(await convertCanvas(canvas), "<h2>Rules</h2>\n<p>Be kind.</p>\n");
  });

  it("keeps the texts of pictures inside a text", async () => {
    const text = `<p>Look:</p><div class="imagePlugin" data-alttext="A map" data-captiontext="Where we are" data-imageurl="/x.png"></div>
      <figure><img src="data:image/png;base64,AAAA" alt="A plan" width="5"><figcaption>Ground floor</figcaption></figure><img src="/y.png">`;
    const expected = `<p>Look:</p>\n<p>A map</p>\n<p>Where we are</p>\n<figure><p><img alt="A plan"></p>\n<figcaption>Ground floor</figcaption>\n</figure>\n`;
    assert.equal(await convertCanvas(htmlCanvas([{ position: at(1), text }])), expected);
  });

  it("reads a wiki page, without the table that arranges it", async () => {
    const wiki = `<div class="ExternalClass01"><table id="layoutsTable" style="width:100%"><tbody><tr style="vertical-align:top">
      <td><div class="ms-rte-layoutszone-inner"><h1>Canteen</h1><p>Open at​ noon.<br>Closed on Sunday.</p></div></td>
      <td><div class="ms-rtestate-read ms-rte-wpbox"><div id="div_1"></div></div><table><tr><td>a</td><td>b</td></tr></table></td>
      </tr></tbody></table><span id="layoutsData" style="display:none">false,false,2</span></div>`;
    const body = await convert(pageOf({ WikiField: wiki }));
    assert.equal(
      body,
      "<h1>Welcome</h1>\n<h2>Canteen</h2>\n<p>Open at noon.<br>Closed on Sunday.</p>\n<table><tr><td>a</td><td>b</td></tr>\n</table>\n",
    );
    const modern = { WikiField: wiki, CanvasContent1: htmlCanvas([{ position: at(1), text: "<p>New</p>" }]) };
    assert.equal(
      await convert(pageOf(modern)),
      "<h1>Welcome</h1>\n<p>New</p>\n",
      "what a modern page shows is its canvas",
    );
  });

  it("writes title and description once", async () => {
    const text = "<h2>Welcome</h2><p>Everything about the <b>house</b>. And more.</p><h2>Welcome</h2>";
    const banner = [
      { position: at(1), webPart: { serverProcessedContent: { searchablePlainTexts: { title: "Welcome" } } } },
    ];
    const columns = {
      LayoutWebpartsContent: htmlCanvas(banner),
      CanvasContent1: htmlCanvas([{ position: at(1), text }]),
    };
    const made = await convert(pageOf(columns, { description: "Everything about the house…" }));
    assert.equal(made, "<h1>Welcome</h1>\n<p>Everything about the house. And more.</p>\n<h2>Welcome</h2>\n");
    const written = await convert(pageOf(columns, { description: "Written by hand & <b>bold</b>" }));
    assert.match(written, /^<h1>Welcome<\/h1>\n<p>Written by hand &amp; &lt;b&gt;bold&lt;\/b&gt;<\/p>\n<p>Everything/);
  });

  it("makes a document of a page without content, and says so when there is nothing at all", async () => {
    assert.equal(
      await convert(pageOf({}, { description: "A page of web parts" })),
      "<h1>Welcome</h1>\n<p>A page of web parts</p>\n",
    );
    assert.match(
      await convert(pageOf({ CanvasContent1: "<div></div>" }, { title: " " })),
      /neither a title nor any text/,
    );
  });
});

describe("a page may hold anything", () => {
  it("drops what is not read, and what could run", async () => {
    const text = `<script>alert(1)</script><style>p{}</style><p onclick="alert(2)">Safe<a href="javascript:alert(3)">click</a>
      <a href=" JaVaScRiPt:alert(4)">here</a><a href="#top">up</a><a href="data:text/html,x">x</a></p>
      <nav>Home</nav><button>Like</button><p></p><p>&nbsp;</p><ul><li></li></ul><div style="display: none">hidden</div>
      <svg onload="alert(5)"><title>t</title></svg><iframe src="https://x.example"></iframe>
      <p>&lt;script&gt;alert(6)&lt;/script&gt;</p><img src=x onerror=alert(7) alt='"><script>alert(8)</script>'>`;
    assert.equal(
      await convertCanvas(htmlCanvas([{ position: at(1), text }])),
      `<p>Safeclick hereupx</p>\n<p>&lt;script&gt;alert(6)&lt;/script&gt;</p>\n<p><img alt="&quot;&gt;&lt;script&gt;alert(8)&lt;/script&gt;"></p>\n`,
    );
  });

  it("keeps the text around descriptions that make no sense", async () => {
    const canvas = `<div>loose<div data-sp-canvascontrol="" data-sp-controldata="&#123;broken"><div data-sp-rte=""><p>one</p></div></div>
      <div data-sp-canvascontrol="" data-sp-controldata="{"raw":"quotes"}"><div data-sp-rte=""><p>two</p></div></div>
      <div data-sp-canvascontrol=""><div data-sp-webpart="" data-sp-webpartdata="[1,2"><div data-sp-componentid="">c0ffee</div>
      <div data-sp-htmlproperties=""><div data-sp-prop-name="t" data-sp-searchableplaintext="true">three</div>stray</div></div></div></div>`;
    const body = await convertCanvas(canvas);
    assert.deepEqual(
      [...body.matchAll(/<p>([^<]*)<\/p>/g)].map(([, text]) => text),
      ["loose", "one", "two", "three", "stray"],
    );
    assert.ok(!body.includes("c0ffee"));
  });

  it("reads controls whose markup was left open", async () => {
    const open = (zone: number, text: string): string =>
      `<div data-sp-canvascontrol="" data-sp-controldata="${inAttribute({ position: at(zone) })}"><div data-sp-rte=""><table><tr><td>${text}`;
    assert.equal(
      await convertCanvas(open(2, "second") + open(1, "first")),
      "<table><tr><td>first</td></tr>\n</table>\n<p>second</p>\n",
      "in order; of a table that another control sits in, the text is kept",
    );
    assert.equal(
      await convertCanvas("<p>a<b>b<p>c<ul><li>d<li>e"),
      "<p>ab</p>\n<p>c</p>\n<ul><li>d</li>\n<li>e</li>\n</ul>\n",
    );
  });

  it("keeps tables inside tables", async () => {
    const table = "<table><tr><td>a</td><td><table><tr><td>b</td></tr></table></td></tr></table>";
    assert.equal(
      await convertCanvas(table),
      "<table><tr><td>a</td><td><table><tr><td>b</td></tr>\n</table>\n</td></tr>\n</table>\n",
    );
  });

  it("refuses a JSON canvas that is cut, and never takes text for one", async () => {
    assert.match(await convertCanvas(jsonCanvas([TEXT]).slice(0, -20)), /^The page cannot be read: /);
    assert.equal(await convertCanvas("[Note] read this"), "<p>[Note] read this</p>\n");
    assert.equal(await convertCanvas(`[{},null,7,{"position":"x","innerHTML":5,"webPartData":[]}]`), "");
  });

  const hostile: Readonly<Record<string, string>> = {
    "five megabytes of text": `<p>${"word ".repeat(1_000_000)}</p>`,
    "depth without end": `${"<div><blockquote>".repeat(50_000)}word`,
    "nested tables": `${"<table><tr><td>".repeat(50_000)}word`,
    "nested lists": `${"<ul><li>".repeat(50_000)}word`,
    "breaks before a word": `${"<br>".repeat(300_000)}word`,
    "marked up twice": `${"<sub>".repeat(190)}${"word ".repeat(200_000)}`,
    "controls in controls": `${'<div data-sp-canvascontrol data-sp-controldata="{">'.repeat(50_000)}word`,
    "many siblings in JSON": JSON.stringify([{ innerHTML: "<p>word</p>".repeat(150_000) }]),
    "deep JSON": `[{"a":${"[".repeat(500_000)}${"]".repeat(500_000)},"innerHTML":"word"}]`,
  };
  for (const [name, canvas] of Object.entries(hostile)) {
    it(`survives ${name}`, async () => {
      assert.match(await convertCanvas(canvas), /word/);
    });
  }

  it("refuses more elements than can be read in good time, also where they hide in an attribute", async () => {
    assert.match(await convertCanvas("<p>".repeat(500_000)), /more than 400000 elements/);
    const hidden = { serverProcessedContent: { htmlStrings: { html: "<p>".repeat(500_000) } } };
    assert.match(await convertCanvas(htmlCanvas([{ position: at(1), webPart: hidden }])), /more than 400000 elements/);
  });
});

describe("the original of a page", () => {
  it("gives back exactly what was put in, whatever it is", () => {
    const columns = {
      CanvasContent1: "</body></html>\n<!-- WikiField: 3 characters -->\nabc\r\n\t😀",
      WikiField: "\n",
    };
    const page = pageOf(columns, { title: `A "B" <C> & 'D'`, description: "</head><body>\n<b>" });
    assert.deepEqual(readPageOriginal(writePageOriginal(page)), page);
    const half = pageOf({ CanvasContent1: "a\ud800b", WikiField: "c" }, { title: "x\udc00" });
    const bytes = Buffer.from(writePageOriginal(half)).toString();
    assert.deepEqual([...readPageOriginal(bytes).columns.values()], ["a\ufffdb", "c"]);
  });

  it("is refused when it was cut or is something else", async () => {
    const original = writePageOriginal(pageOf({ CanvasContent1: "<p>one two three</p>" }));
    for (const cut of [0, 20, 60, original.length - 30, original.length - 16]) {
      assert.match(await convertText(original.slice(0, cut)), /^The page cannot be read: read the page's original: /);
    }
    assert.match(await convertText("<html><body>A page somebody saved</body></html>"), /^The page cannot be read: /);
  });
});
