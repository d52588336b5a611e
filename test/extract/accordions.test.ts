// Folded text of a page is kept, and menus and banners are left out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPage } from "../../src/extract/web/read-page.ts";
import { extractFile } from "./extract-file.ts";

const ANSWER = "Refunds take five working days from the day we receive the parcel.";
const QUESTION = "How long do refunds take?";

/** Something hidden that a visible control opens: question and answer are both content. */
const KEPT: readonly [name: string, body: string][] = [
  [
    "aria-controls",
    `<h3><button aria-expanded=false aria-controls=a1>${QUESTION}</button></h3><div id=a1 hidden>${ANSWER}</div>`,
  ],
  [
    "aria-controls, elsewhere on the page",
    `<button aria-controls="x a2">${QUESTION}</button><p>Other text.</p><section id="a2" aria-hidden="true"><p>${ANSWER}</p></section>`,
  ],
  [
    "Bootstrap",
    `<div class=accordion-item><h2><button type=button data-bs-toggle=collapse data-bs-target="#a3">${QUESTION}</button></h2><div id=a3 style="display: none"><div>${ANSWER}</div></div></div>`,
  ],
  [
    "a link to it",
    `<p><a href="#a4" data-toggle=collapse>${QUESTION}</a></p><p>Text.</p><div id=a4 style="display:none">${ANSWER}</div>`,
  ],
  ["a heading before it", `<h3>${QUESTION}</h3><div style="display:none"><p>${ANSWER}</p></div>`],
  ["a term before it", `<dl><dt>${QUESTION}</dt><dd hidden>${ANSWER}</dd></dl>`],
  ["a button before it", `<div><button type=button>${QUESTION}</button><div hidden>${ANSWER}</div></div>`],
  [
    "a head before it",
    `<div class=item><div class=head><span role=button tabindex=0>${QUESTION}</span></div><div aria-hidden=true>${ANSWER}</div></div>`,
  ],
  [
    "a label before it",
    `<input type=checkbox id=c1><label for=c1>${QUESTION}</label><div style="display:none">${ANSWER}</div>`,
  ],
  ["a handler", `<p onclick="toggle('a5')">${QUESTION}</p><p>Text.</p><div id=a5 style="display:none">${ANSWER}</div>`],
  [
    "tabs",
    `<div role=tablist><button role=tab aria-controls=p1 aria-selected=true>Prices</button><button role=tab aria-controls=p2>${QUESTION}</button></div><div role=tabpanel id=p1>Free.</div><div role=tabpanel id=p2 hidden>${ANSWER}</div>`,
  ],
  [
    "an accordion in an accordion",
    `<button aria-controls=o1>Money</button><div id=o1 hidden><h4><button aria-controls=i1>${QUESTION}</button></h4><div id=i1 hidden>${ANSWER}</div></div>`,
  ],
  ["details", `<details><summary>${QUESTION}</summary><p>${ANSWER}</p></details>`],
  ["closed by a class", `<h2><button class=collapsed>${QUESTION}</button></h2><div class=collapse>${ANSWER}</div>`],
  ["open", `<button aria-expanded=true aria-controls=a6>${QUESTION}</button><div id=a6>${ANSWER}</div>`],
  [
    "labelled by its control",
    `<div><div id=l1 aria-expanded=false role=button>${QUESTION}</div></div><p>Text.</p><div role=region aria-labelledby=l1 hidden>${ANSWER}</div>`,
  ],
];

const SECRET = "Accept all or choose which partners may follow you around.";
/** Hidden, and no content: nothing opens it, or what opens is a menu, a dialog or a message of the page's machinery. */
const LEFT_OUT: readonly [name: string, body: string][] = [
  ["nothing opens it", `<p>Text.</p><div hidden>${SECRET}</div>`],
  [
    "a menu",
    `<button aria-controls=m aria-expanded=false>Products</button><ul id=m hidden><li><a href=/a>${SECRET}</a></li><li><a href=/b>More of it</a></li></ul>`,
  ],
  [
    "a menu by its role",
    `<button aria-controls=m aria-haspopup=true>Products</button><div id=m role=menu hidden>${SECRET}</div>`,
  ],
  [
    "what opens it is in a menu",
    `<nav><button aria-controls=m>Products</button></nav><div id=m hidden>${SECRET}</div>`,
  ],
  [
    "a cookie dialog",
    `<button aria-controls=cookie-settings>Settings</button><div id=cookie-settings hidden><p>${SECRET}</p></div>`,
  ],
  [
    "a cookie dialog of another name",
    `<button data-target="#cb">Cookies</button><div id=cb style="display:none"><p>${SECRET}</p><label><input type=checkbox> Statistics</label><button>Save</button></div>`,
  ],
  [
    "a modal dialog",
    `<a href="#dlg" data-toggle=modal>Newsletter</a><div id=dlg class="modal fade" aria-hidden=true>${SECRET}</div>`,
  ],
  ["a dialog by its role", `<button aria-controls=d>Open</button><div id=d role=dialog hidden>${SECRET}</div>`],
  ["what follows a form", `<form><input name=a><button>Send</button></form><div style="display:none">${SECRET}</div>`],
  [
    "what opens it is hidden",
    `<div hidden><button aria-controls=h>Open</button></div><p>Text.</p><div id=h hidden>${SECRET}</div>`,
  ],
  ["a button beside a heading", `<h3>Heading <button>${SECRET}</button></h3><p>Text.</p>`],
  ["an icon", `<h3>Heading<i aria-hidden=true>▼ ${SECRET}</i></h3>`],
];

for (const [name, body] of KEPT) {
  test(`kept: ${name}`, async () => {
    const page = `<html><body><main><h1>Help</h1>${body}<p>The end.</p></main></body></html>`;
    const { markdown } = await extractFile("html", page);
    assert.ok(markdown.includes(ANSWER), markdown);
    assert.ok(markdown.includes(QUESTION), markdown);
    assert.ok(markdown.indexOf(QUESTION) < markdown.indexOf(ANSWER));
    const web = readPage({
      form: "html",
      bytes: Buffer.from(page),
      contentType: "text/html",
      url: "https://a.example/",
    });
    assert.ok(web.markdown.includes(ANSWER) && web.markdown.includes(QUESTION), web.markdown);
  });
}

for (const [name, body] of LEFT_OUT) {
  test(`left out: ${name}`, async () => {
    const { markdown } = await extractFile("html", `<html><body><h1>Help</h1>${body}<p>The end.</p></body></html>`);
    assert.ok(!markdown.includes(SECRET), markdown);
    assert.ok(markdown.includes("The end."));
  });
}
