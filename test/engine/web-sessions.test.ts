// Values that change with every visitor, wherever an address has them, make neither pages nor changes.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { html, linksTo, redirect } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open({ max_pages: 300 });
});
afterEach(() => story.close());

const GOODS = 6;

/** Where a site has its session. */
interface Carrier {
  readonly name: string;
  write(page: string, session: string): string;
  /** Reads what `write` wrote; "" for no session. */
  read(path: string): { readonly page: string; readonly session: string };
  /** Whoever has no session is sent to an address with one. */
  readonly redirects?: boolean;
}

function inFolder(name: string, before: string, folder: (session: string) => string, pattern: RegExp): Carrier {
  return {
    name,
    redirects: true,
    write: (page, session) => `${before}/${folder(session)}${page}`,
    read(path) {
      const [, session = ""] = pattern.exec(path) ?? [];
      return { page: path.replace(pattern, "").slice(path === "/" ? 0 : before.length), session };
    },
  };
}

const CARRIERS: readonly Carrier[] = [
  {
    name: "query",
    write: (page, session) => `${page}?zq=${session}`,
    read: (path) => ({ page: path.split("?")[0] ?? "", session: path.split("zq=")[1] ?? "" }),
  },
  {
    name: "path parameter of an unknown name",
    write: (page, session) => `${page};tok=${session}`,
    read: (path) => ({ page: path.split(";")[0] ?? "", session: path.split("tok=")[1] ?? "" }),
  },
  {
    name: "jsessionid",
    write: (page, session) => `${page};jsessionid=${session}`,
    read: (path) => ({ page: path.split(";")[0] ?? "", session: path.split("jsessionid=")[1] ?? "" }),
  },
  inFolder("cookieless ASP.NET", "", (s) => `(S(${s}))`, /\/\(S\((\w+)\)\)(?=\/)/),
  inFolder(
    "several cookieless parts below a folder",
    "/app",
    (s) => `(X(1)S(${s})F(q${s}))`,
    /\/\(X\(1\)S\((\w+)\)F\(\w+\)\)(?=\/)/,
  ),
];

const inQuery = (name: string, given: string, encode: (session: string) => string): Carrier => ({
  name,
  write: (page, session) => `${page}?${given}${encode(session)}`,
  read: (path) => ({ page: path.split("?")[0] ?? "", session: path.split("?")[1]?.slice(given.length) ?? "" }),
});
/** Its session is read as it was written. */
const WRITTEN: readonly Carrier[] = [
  inQuery("base64", "st=", (s) => (s.length > 24 ? s : encodeURIComponent(Buffer.from(`${s}-`).toString("base64")))),
  inQuery("with a colon", "st=", (s) => (s.includes(":") ? s : s.replace(/^.{8}/, "$&:"))),
  inQuery("eight digits", "st=", (s) =>
    /^\d+$/.test(s) ? s : `${10_000_000 + (Number.parseInt(s.slice(-6), 36) % 89_000_000)}`,
  ),
  inQuery("without a name", "", (s) => s),
];

interface Shop {
  word: string;
  readonly sessions: Set<string>;
}

/** A front page and some goods, which link to each other. `sticks`: whoever brings a session keeps it. */
function openShop({ write, read, redirects = false }: Carrier, sticks: boolean): Shop {
  const shop: Shop = { word: "okapi", sessions: new Set() };
  let asked = 0;
  const newSession = (): string => {
    asked += 1;
    const session = (asked * 7919 * 104_729).toString(36).padStart(24, "abcdefghijklmnopqrstu");
    shop.sessions.add(session);
    return session;
  };
  story.site.onRequest = (path) => {
    if (path === "/robots.txt" || path.includes("sitemap")) return;
    const { page, session } = read(path);
    const number = /^\/goods(\d)\.aspx$/.exec(page)?.[1];
    if (page !== "/" && !number) return;
    if (redirects && session === "") return story.site.set(path, redirect(write(page, newSession()), 302));
    const own = (sticks && session) || newSession();
    const links = Array.from({ length: GOODS }, (_, i) => write(`/goods${i}.aspx`, own));
    const title = number ? `About ${shop.word}${number}` : "About gnu";
    story.site.set(path, { body: html(title, linksTo(write("/", own), ...links)), etag: null });
  };
  return shop;
}

for (const carrier of [...CARRIERS, ...WRITTEN]) {
  for (const sticks of [true, false]) {
    test(`${carrier.name}, ${sticks ? "kept by whoever brings it" : "new with every page"}`, async () => {
      const shop = openShop(carrier, sticks);
      for (let i = 1; i <= 4; i++) {
        story.site.forgetRequests();
        const { error, source, log } = await story.crawl();
        assert.deepEqual([error, source.complete], ["", true], log);
        assert.equal(Object.keys(await story.indexed()).length, GOODS + 1, `crawl ${i}`);
        if (i > 1) assert.match(log, / 0 new, 0 changed/, `crawl ${i}`);
        assert.ok(story.site.asked.length < 80, `${story.site.asked.length} requests`);
      }
      for (let n = 0; n < GOODS; n++) assert.equal((await story.found(`okapi${n}`)).length, 1);
      shop.word = "tapir";
      for (let i = 1; i <= 2; i++) {
        await story.crawl();
        for (let n = 0; n < GOODS; n++) {
          assert.equal((await story.found(`tapir${n}`)).length, 1, `tapir${n}, crawl ${i}`);
          assert.deepEqual(await story.found(`okapi${n}`), [], `crawl ${i}`);
        }
        assert.equal(Object.keys(await story.indexed()).length, GOODS + 1);
      }
    });
  }
}

/** Pages by address, told apart by what `wordOf` says; the rest is not there. */
function openPages(links: readonly string[], wordOf: (url: URL) => string | undefined): void {
  story.site.onRequest = (path) => {
    if (path === "/") return story.site.set(path, { body: html("About gnu", linksTo(...links)), etag: null });
    const word = wordOf(new URL(path, story.site.origin));
    story.site.set(path, word ? { body: html(`About ${word}`), etag: null } : { status: 404 });
  };
}

async function assertAllFound(words: readonly string[]): Promise<void> {
  for (let i = 1; i <= 2; i++) {
    const { error, source, log } = await story.crawl();
    assert.deepEqual([error, source.complete], ["", true], log);
    for (const word of words) assert.equal((await story.found(word)).length, 1, `${word}, crawl ${i}`);
  }
}

const PLACES = Array.from({ length: 12 }, (_, i) => `/place${i}`);

test("a value that is the default at many addresses tells pages apart all the same", async () => {
  const values = ["a1b2c3d4", "e5f6a7b8", "c9d0e1f2"];
  const links = values.flatMap((value) => PLACES.map((place) => `${place}?view=${value}`));
  const wordOf = ({ pathname, searchParams }: URL): string =>
    `${pathname.slice(1)}x${searchParams.get("view") ?? values[0]}`;
  openPages(links, wordOf);
  await assertAllFound(links.map((link) => wordOf(new URL(link, story.site.origin))));
});

test("other values at other addresses than the default's tell pages apart, few as they are", async () => {
  const links = PLACES.slice(0, 7).map((place, i) => `${place}?view=${i < 3 ? "a1b2c3d4" : "e5f6a7b8"}`);
  const wordOf = ({ pathname, searchParams }: URL): string =>
    `${pathname.slice(1)}x${searchParams.get("view") ?? "a1b2c3d4"}`;
  openPages(links, wordOf);
  await assertAllFound(links.map((link) => wordOf(new URL(link, story.site.origin))));
});

const MORE = Array.from({ length: 20 }, (_, i) => `/place${i}`);

test("an old revision is a page, though the permanent link of each page shows the page", async () => {
  const links = MORE.flatMap((place, i) => [`${place}?rev=c0${i}1c2d3e4f5`, `/history${i}`]);
  const old = MORE.slice(0, 10);
  openPages(links, ({ pathname, searchParams }) => {
    if (!MORE.includes(pathname)) return undefined;
    const rev = searchParams.get("rev") ?? "";
    return `${pathname.slice(1)}${rev.startsWith("0ld") ? "before" : "now"}`;
  });
  const { onRequest } = story.site;
  story.site.onRequest = (path, headers) => {
    const [, number] = /^\/history(\d+)$/.exec(path) ?? [];
    if (!number) return onRequest(path, headers);
    story.site.set(path, {
      body: html(
        `About history${number}`,
        Number(number) < old.length ? linksTo(`/place${number}?rev=0ld${number}a7b6c5d4`) : "",
      ),
      etag: null,
    });
  };
  await assertAllFound([
    ...MORE.map((place) => `${place.slice(1)}now`),
    ...old.map((place) => `${place.slice(1)}before`),
  ]);
});

for (const bare of ["", "doc0", "overview"]) {
  test(`what makes no difference at many addresses names documents at another, which shows ${bare || "nothing"} without`, async () => {
    const idOf = (i: number): string => `${(i + 7) * 7919}ab${i * 104_729}cdef`;
    const news = MORE.map((place, i) => `${place}?id=${idOf(i)}`);
    const words = MORE.slice(0, 9).map((_, i) => `doc${i}`);
    openPages([...news, "/more"], ({ pathname, searchParams }) => {
      if (pathname !== "/doc") return MORE.includes(pathname) ? `${pathname.slice(1)}now` : undefined;
      return words.find((_, i) => searchParams.get("id") === idOf(i + 50)) ?? bare;
    });
    const { onRequest } = story.site;
    story.site.onRequest = (path, headers) => {
      if (path !== "/more") return onRequest(path, headers);
      const links = words.map((_, i) => `/doc?id=${idOf(i + 50)}`);
      story.site.set(path, { body: html("About more", linksTo(...links)), etag: null });
    };
    await assertAllFound([...MORE.map((place) => `${place.slice(1)}now`), ...words]);
  });
}

test("numbers of articles that look like sessions are no sessions, with and without a page of their own", async () => {
  const ids = Array.from({ length: 20 }, (_, i) => `${(i + 7) * 7919}ab${(i * 104_729).toString(16)}cdef`);
  const links = ids.flatMap((id) => [`/doc?id=${id}`, `/list;nr=${id}`, `/(S(${id}))/shown`]);
  const nameOf = (url: URL): string | undefined =>
    url.searchParams.get("id") ?? /;nr=(\w+)/.exec(url.pathname)?.[1] ?? /\(S\((\w+)\)\)/.exec(url.pathname)?.[1];
  const wordOf = (url: URL): string | undefined => {
    const id = nameOf(url);
    const kind = /doc|list|shown/.exec(url.pathname)?.[0];
    return id ? `${kind}q${id}` : kind === "list" ? "overview" : undefined;
  };
  openPages(links, wordOf);
  await assertAllFound(links.map((link) => wordOf(new URL(link, story.site.origin)) ?? ""));
});

test("a session beside the number of an article is left out alone", async () => {
  const ids = PLACES.map((_, i) => `ab${(i + 3) * 7919}cdef`);
  let asked = 0;
  const wordOf = ({ searchParams }: URL): string | undefined =>
    searchParams.has("id") ? `doc${searchParams.get("id")}` : undefined;
  openPages([], wordOf);
  const { onRequest } = story.site;
  story.site.onRequest = (path, headers) => {
    asked += 1;
    const links = ids.map((id) => `/doc?id=${id}&visit=${(asked * 7919 * 104_729).toString(36)}xyz0`);
    if (path === "/") return story.site.set(path, { body: html("About gnu", linksTo(...links)), etag: null });
    return onRequest(path, headers);
  };
  await assertAllFound(ids.map((id) => `doc${id}`));
  assert.deepEqual(Object.keys(await story.indexed()), ["/", ...ids.map((id) => `/doc?id=${id}`)].sort());
});

for (const bare of ["", "expired"]) {
  test(`pages that show ${bare || "nothing"} without their session are found`, async () => {
    const session = "0123456789abcdef0123";
    const words = PLACES.map((place) => `${place.slice(1)}told`);
    openPages(
      PLACES.map((place) => `${place}?sid=${session}`),
      ({ pathname, searchParams }) => {
        if (!PLACES.includes(pathname)) return undefined;
        return searchParams.get("sid") === session ? `${pathname.slice(1)}told` : bare;
      },
    );
    await assertAllFound(words);
  });
}

test("pages that say nothing without scripts, or the same for a while, are not taken for one", async () => {
  const links = PLACES.map((place, i) => `${place}?key=k${i}00${i * 7919}a`);
  let isDown = true;
  openPages(links, ({ pathname, search }) => (isDown ? "maintenance" : search && `${pathname.slice(1)}told`));
  await story.crawl();
  isDown = false;
  for (let i = 0; i < 4; i++) await story.crawl();
  for (const place of PLACES) assert.equal((await story.found(`${place.slice(1)}told`)).length, 1, place);
});

test("a link that leads elsewhere is a change, though the text is the same", async () => {
  const show = (product: string): void =>
    story.site.set(
      "/",
      html("About gnu", `<a href="/spec?p=${product}">Data</a> <a href="/order?p=${product}">Order</a>`),
    );
  show("a1b2c3d4e5");
  await story.crawl();
  show("f6a7b8c9d0");
  const { log } = await story.crawl();
  assert.match(log, /Index: .*1 changed/);
});
