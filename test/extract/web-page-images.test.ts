// Pictures of a page are found with their text, caption and surroundings.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PageImage } from "../../src/contracts/web.ts";
import { readPage } from "../../src/extract/web/read-page.ts";

function imagesOf(html: string): readonly PageImage[] {
  return readPage({
    form: "html",
    bytes: Buffer.from(html),
    contentType: "text/html; charset=utf-8",
    url: "https://site.example/docs/guide",
  }).images;
}

const sources: readonly [title: string, html: string, urls: readonly string[]][] = [
  ["src", "<img src=a.png#x>", ["docs/a.png"]],
  ["the largest of a srcset", "<img src=s.jpg srcset='a.jpg 300w, b.jpg 1200w, c.jpg 600w'>", ["docs/b.jpg"]],
  ["densities, and no blank after the comma", "<img srcset='a.jpg 1x,b.jpg 2.5x,c.jpg 2x'>", ["docs/b.jpg"]],
  ["commas in addresses", "<img srcset='/w_1,h_2/a.jpg 1x, /w_2,h_4/a.jpg 2x'>", ["w_2,h_4/a.jpg"]],
  ["no descriptor at all", "<img srcset='a.jpg, b.jpg'>", ["docs/a.jpg"]],
  [
    "picture, without formats that are not kept",
    "<picture><source type=image/avif srcset='a.avif 4000w'><source srcset='b.webp 2000w'><img src=c.jpg></picture>",
    ["docs/b.webp"],
  ],
  [
    "lazy",
    "<img src='data:image/gif;base64,R0' data-src=real.jpg><img src=blank.gif data-original=two.jpg>",
    ["docs/real.jpg", "docs/two.jpg"],
  ],
  [
    "lazy with its copy for those without scripts",
    "<img data-src=a.jpg><noscript><img src=a.jpg></noscript>",
    ["docs/a.jpg"],
  ],
  [
    "the page's picture",
    '<meta property="og:image" content="/og.png"><meta name="twitter:image" content="/tw.png">',
    ["og.png", "tw.png"],
  ],
  [
    "pixels that count visits",
    "<img src=p.gif width=1 height=1><img src=q.gif height='0'><img src=r.gif width=10>",
    ["docs/r.gif"],
  ],
  [
    "what is not content",
    "<nav><img src=a.png></nav><footer><a><img src=b.png></a></footer><div hidden><img src=c.png></div><img src=d.png>",
    ["docs/d.png"],
  ],
  ["nothing to fetch", "<img src='data:image/png;base64,xx'><img><img src=''><img src='file:///etc/x.png'>", []],
];

for (const [title, html, urls] of sources) {
  test(`images: ${title}`, () =>
    assert.deepEqual(
      imagesOf(html).map(({ url }) => url),
      urls.map((path) => `https://site.example/${path}`),
    ));
}

test("alt text, caption, surroundings and position", () => {
  const images = imagesOf(`<meta property=og:image content=/a.png>
    <figure><img src=/first.png alt="  The\n first "><figcaption>Fig. <b>1</b></figcaption></figure>
    <p></p><p>Pumps are <i>described</i> here.</p><img src=/a.png alt="The page's" title=Pumps>
    <div><p>Around <img src=/c.png> it.</p></div><p>${"long ".repeat(200)}</p><img src=/d.png>`);
  assert.deepEqual(images, [
    {
      url: "https://site.example/a.png",
      alt: "The page's",
      caption: "Pumps",
      surroundings: "Pumps are described here.",
      position: 0,
      isPagePicture: true,
    },
    {
      url: "https://site.example/first.png",
      alt: "The first",
      caption: "Fig. 1",
      surroundings: "Pumps are described here.",
      position: 1,
      isPagePicture: false,
    },
    {
      url: "https://site.example/c.png",
      alt: "",
      caption: "",
      surroundings: "Around it.",
      position: 2,
      isPagePicture: false,
    },
    {
      url: "https://site.example/d.png",
      alt: "",
      caption: "",
      surroundings: "long ".repeat(60).trim(),
      position: 3,
      isPagePicture: false,
    },
  ]);
});
