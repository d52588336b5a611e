// A browser renders pages safely, and only as far as the client may go.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { PageRenderer, WebClient } from "../../src/contracts/web.ts";
import { createWebPageReader } from "../../src/extract/web/create-web-page-reader.ts";
import { createPageRenderer, diagnoseBrowser, launchBrowser } from "../../src/sources/web/render-page.ts";
import { chromiumPath } from "../browser/open-browser.ts";
import { closeOpened, forever, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

const browserPath = await chromiumPath();
const opened: PageRenderer[] = [];
after(async () => {
  for (const renderer of opened) await renderer.close();
});

function open(client: WebClient): PageRenderer {
  const renderer = createPageRenderer({ client, browserPath, timeoutMs: 90_000 });
  opened.push(renderer);
  return renderer;
}

const anywhere = openClient({ timeoutMs: 60_000 });
const renderer = open(anywhere);

const inside = await startSite((_, response) => {
  response.writeHead(200, { "access-control-allow-origin": "*", "content-type": "text/html" }).end("a secret");
});

/** Tries every way out to the other server that a page has, and says which led somewhere. */
const WAYS_OUT = `<div id="root"></div><script type="module">
  const other = ${JSON.stringify(inside.origin)};
  const outcome = [];
  const look = async (name, way) => outcome.push(name + ":" + (await way().then((text) => text, () => "refused")));
  const event = (element, name) => new Promise((resolve, reject) => {
    element.addEventListener("load", () => resolve(name)); element.addEventListener("open", () => resolve(name));
    element.addEventListener("error", reject); element.addEventListener("close", reject);
  });
  await look("fetch", () => fetch(other + "/fetch").then((answer) => answer.text()));
  await look("hop", () => fetch("/hop").then((answer) => answer.text()));
  await look("post", () => fetch(other + "/post", { method: "POST", body: "x" }).then((answer) => answer.text()));
  await look("socket", () => event(new WebSocket(other.replace("http", "ws") + "/socket"), "open"));
  await look("image", () => { const image = new Image(); image.src = other + "/image"; return event(image, "shown"); });
  const worker = new Worker(URL.createObjectURL(new Blob(["fetch('" + other + "/worker').then((a) => a.text()).then(postMessage, () => postMessage('refused'))"])));
  await look("worker", () => new Promise((resolve) => worker.addEventListener("message", ({ data }) => resolve(data))));
  const frame = document.createElement("iframe");
  frame.src = other + "/frame";
  document.body.append(frame);
  navigator.sendBeacon(other + "/beacon", "x");
  window.open(other + "/popup");
  document.head.insertAdjacentHTML("beforeend", '<link rel="preconnect" href="' + other + '"><link rel="prefetch" href="' + other + '/prefetch">');
  document.getElementById("root").textContent = outcome.join(" ");
</script>`;

const APP = `<title>Pumps</title><div id="root"></div><noscript>Please enable JavaScript.</noscript><link rel="stylesheet" href="/app.css">
  <script src="/app.js"></script>`;
const APP_SCRIPT = `document.cookie = "seen=1";
  fetch("/text.json").then((answer) => answer.json()).then(({ text }) => {
    document.getElementById("root").innerHTML = "<h1>Pumps</h1><p>" + text + "</p><a href='/more'>more</a><img src='/pump.png'>";
  });`;

const hanging = Promise.withResolvers<void>();

const site = await startSite((request, response) => {
  const answer = (type: string, text: string): unknown => response.writeHead(200, { "content-type": type }).end(text);
  switch (request.url) {
    case "/app":
      return answer("text/html", APP);
    case "/app.js":
      return response.writeHead(302, { location: "/app-1.js" }).end();
    case "/app-1.js":
      return answer("text/javascript", APP_SCRIPT);
    case "/app.css":
      return answer("text/css", "p { color: red }");
    case "/text.json":
      return answer("application/json", JSON.stringify({ text: `Grüße, cookie ${request.headers.cookie ?? "none"}` }));
    case "/ways-out":
      return answer("text/html", WAYS_OUT);
    case "/hop":
      return response.writeHead(302, { location: `${inside.origin}/hop` }).end();
    case "/restless":
      return answer("text/html", "<p>Here already<script>setInterval(() => fetch('/tick'), 50)</script>");
    case "/leaves":
      return answer("text/html", "<p>Stays<script>location.replace('/app')</script>");
    case "/loops":
      return answer("text/html", "<p>Here<script>setTimeout(() => { for (;;) {} }, 50)</script>");
    case "/grows":
      return answer("text/html", "<p>Here<script>document.body.append(new Comment('x'.repeat(10000000)))</script>");
    case "/down":
      return response.writeHead(503).end();
    case "/hangs":
      return hanging.resolve();
    default:
      return response.writeHead(404).end();
  }
});

test("a page that its scripts make is read as a browser shows it, asking for nothing but what text needs", async () => {
  const reader = createWebPageReader();
  const url = `${site.origin}/app`;
  const [html, again] = await Promise.all([renderer.render(url, forever), renderer.render(url, forever)]);
  assert.ok((await reader.read(Buffer.from(APP), "text/html", url, forever)).needsScripts);
  const page = await reader.read(html, "text/html; charset=utf-8", url, forever);
  assert.equal(page.markdown, `# Pumps\n\nGrüße, cookie none\n\n[more](${site.origin}/more)`);
  assert.deepEqual(page.links, [`${site.origin}/more`]);
  assert.deepEqual(again, html);
  assert.ok(site.asked.includes("/app.css"));
  assert.ok(!site.asked.includes("/pump.png"));
});

test("a page gets nowhere that the client does not go: not by script, redirect, socket, frame or worker", async () => {
  const strict = openClient({ allowPrivateNetworks: false });
  // A site on the internet, as far as the page can tell, that lives on this machine; all other addresses are as they are.
  const client: WebClient = {
    ...strict,
    send: (request) => {
      const { origin, pathname } = new URL(request.url);
      if (origin !== "http://site.example") return strict.send(request);
      return anywhere.send({ ...request, url: `${site.origin}${pathname}` });
    },
  };
  const shut = open(client);
  const html = Buffer.from(await shut.render("http://site.example/ways-out", forever)).toString();
  assert.match(html, /fetch:refused hop:refused post:refused socket:refused image:refused worker:refused/);
  assert.deepEqual(inside.asked, []);
  await assert.rejects(
    shut.render(`${inside.origin}/`, forever),
    /could not be rendered: .*(?:private|loopback|public)/,
  );
  assert.deepEqual(inside.asked, []);

  const same = Buffer.from(await renderer.render(`${site.origin}/ways-out`, forever)).toString();
  assert.match(same, /fetch:a secret hop:a secret post:refused socket:refused image:refused/);
  assert.deepEqual(
    inside.asked.filter((path) => /post|socket|image|frame|beacon|popup/.test(path)),
    [],
  );
});

test("a page that would leave is taken as it is", async () => {
  assert.match(Buffer.from(await renderer.render(`${site.origin}/leaves`, forever)).toString(), /Stays/);
});

test("what cannot be rendered says why", async () => {
  await assert.rejects(
    renderer.render(`${site.origin}/down`, forever),
    /^RemoteError: The page could not be rendered: .*503/,
  );
  await assert.rejects(renderer.render("file:///etc/passwd", forever), /could not be rendered/);
  await assert.rejects(
    createPageRenderer({ client: openClient(), browserPath: "/no/browser", timeoutMs: 6000 }).render(
      `${site.origin}/app`,
      forever,
    ),
    /WEB_BROWSER_PATH names no file: '\/no\/browser'/,
  );
});

test("pages whose scripts never end, never come to rest, or show without end, keep no other page waiting", async () => {
  // Of this time, a third is waited for a restless page, and a third for a script.
  const impatient = createPageRenderer({ client: anywhere, browserPath, timeoutMs: 9000 });
  opened.push(impatient);
  const render = (path: string): Promise<Uint8Array> => impatient.render(`${site.origin}${path}`, forever);
  const endless = ["/loops", "/loops"].map((path) => assert.rejects(render(path), /its scripts do not end/));
  const grows = assert.rejects(render("/grows"), /it shows more than 10000000 characters/);
  assert.match(Buffer.from(await render("/app")).toString(), /Grüße/);
  assert.match(Buffer.from(await render("/restless")).toString(), /Here already/);
  await Promise.all([...endless, grows]);
});

test("the browser gets nothing of our environment that it does not need", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "web-render-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "browser");
  writeFileSync(program, `#!/bin/sh\nenv > ${folder}/env\nexit 1\n`, { mode: 0o755 });
  process.env["SOME_SECRET"] = "geheim";
  await assert.rejects(launchBrowser(program), /^RemoteError: The browser .* does not start/);
  const environment = readFileSync(join(folder, "env"), "utf8");
  assert.match(environment, /^PATH=/m);
  assert.doesNotMatch(environment, /geheim/);
});

test("doctor starts the browser, and says whether there is a sandbox", async () => {
  const missing = await diagnoseBrowser("/no/browser");
  assert.deepEqual([missing.outcome, /names no file/.test(missing.detail)], ["problem", true]);
  const { outcome, detail, remedy } = await diagnoseBrowser(browserPath);
  assert.equal(outcome, "ok");
  assert.match(detail, /\(version \d+\..*(in its|without a) sandbox/);
  // Chromium has none for root.
  const isSandboxed = process.getuid?.() !== 0 && detail.includes("in its sandbox");
  assert.equal(detail.includes("in its sandbox"), isSandboxed);
  assert.equal(remedy === "", isSandboxed);
  const told: string[] = [];
  const tell = (line: string): unknown => told.push(line);
  await Promise.all([1, 2].map(() => renderer.render(`${site.origin}/leaves`, forever, tell)));
  assert.equal(told.filter((line) => line.includes("without a sandbox")).length, isSandboxed ? 0 : 1);
});

test("called off, it ends at once, and the next page is rendered", async () => {
  const controller = new AbortController();
  const rendered = renderer.render(`${site.origin}/hangs`, controller.signal);
  await Promise.race([hanging.promise, rendered]);
  controller.abort();
  await assert.rejects(rendered, /cancelled/);
  assert.match(Buffer.from(await renderer.render(`${site.origin}/app`, forever)).toString(), /Grüße/);
});
