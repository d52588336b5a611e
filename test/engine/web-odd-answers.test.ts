// A known page that answers oddly stays until the answer is repeated often enough.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { html, linksTo, type PageAnswer, redirect } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

const signIn = `<!doctype html><title>Sign in</title><main><h1>Sign in</h1><form action="/session" method="post">
<label>Name <input name="user"></label><label>Password <input type="password" name="pw"></label><button>Sign in</button></form>
<p><a href="/forgot">Forgot your password?</a></p></main>`;
const odd: PageAnswer = { type: "image/png", body: "\u0089PNG" };

/** Names that sign-in pages have, too. */
const MOVED = [
  "http://elsewhere.test/products/identity/overview",
  "http://elsewhere.test/accounts/savings",
  "http://docs.auth.elsewhere.test/guide/saml-in-short",
  "http://elsewhere.test/cas-studies?from=odd0",
  "http://elsewhere.test/view?page=odd20",
  "http://elsewhere.test/guide/authentication",
];
const SIGN_INS = [
  "https://login.elsewhere.test/common/v2.0?client_id=1",
  "https://id.elsewhere.test/realms/zoo/protocol/openid-connect/auth?client_id=1",
  "https://elsewhere.test/users/sign_in",
  "https://elsewhere.test/wp-login.php?reauth=1",
  "https://elsewhere.test/idp/profile/SAML2/Redirect/SSO?SAMLRequest=x",
  "https://elsewhere.test/Account/Login.aspx",
  "https://accounts.elsewhere.test/v3?flow=1",
  "https://sts.elsewhere.test/adfs/ls/?wa=wsignin1.0",
];

/** What a known page answers all of a sudden, and what becomes of it when it goes on: "kept", "gone", or the word that is found. */
const ANSWERS: readonly (readonly [title: string, answer: PageAnswer, end: string, reason: RegExp])[] = [
  ["a picture", odd, "gone", /image\/png/],
  ["an archive", { type: "application/zip", body: "PK\u0003\u0004" }, "gone", /application\/zip/],
  ["a redirect to another site for good", redirect("http://elsewhere.test/x"), "gone", /elsewhere\.test/],
  ["a redirect to another site", redirect("http://elsewhere.test/x", 302), "gone", /elsewhere\.test/],
  [
    "a refresh to another site",
    { body: html("x"), headers: { refresh: "0; url=http://elsewhere.test/" } },
    "gone",
    /elsewhere/,
  ],
  ["a sign-in elsewhere", redirect("http://sso.test/saml?RelayState=1", 302), "kept", /sign/i],
  ["a sign-in elsewhere that leads back", redirect("http://id.test/?next=%2Fodd6", 301), "kept", /sign/i],
  ["nothing", { body: "" }, "gone", /nothing/],
  ["blanks", { body: "<html><head><title>About okapi</title></head><body> \n </body></html>" }, "gone", /nothing/],
  ["JSON", { type: "application/json", body: '{"error":"tapirjson"}' }, "tapirjson", /json/],
  ["plain text", { type: "text/plain", body: "tapirtext" }, "tapirtext", /txt|text/],
  ["too much", { body: `<p>${"x ".repeat(600_000)}` }, "gone", /bytes/],
  ["a sitemap", { type: "text/xml", body: "<urlset><url><loc>/a</loc></url></urlset>" }, "gone", /list of addresses/],
  ["a sign-in form", { body: signIn }, "kept", /sign-in/],
  ["a redirect to a sign-in form", redirect("/login", 302), "kept", /sign-in/],
  ["a redirect for good to a sign-in form", redirect("/login", 301), "kept", /sign-in/],
  ...MOVED.map((target) => [`a page that moved to ${target}`, redirect(target), "gone", /elsewhere\.test/] as const),
  ...SIGN_INS.map((target) => [`a sign-in at ${target}`, redirect(target, 302), "kept", /sign in/] as const),
];

let story: WebStory;
before(async () => {
  story = await WebStory.openSpaced({ WEB_MAX_MEGABYTES: "1" });
});
after(() => story.close());

const pathOf = (at: number): string => `/odd${at}`;
const wordOf = (at: number): string => `okapi${at}`;
function setPages(answerOf: (at: number) => string | PageAnswer): void {
  story.site.set("/", html("About gnu", linksTo(...ANSWERS.map((_, at) => pathOf(at)))));
  story.site.set("/login", signIn);
  for (const at of ANSWERS.keys()) story.site.set(pathOf(at), answerOf(at));
}
const asBefore = (at: number): string => html(`About ${wordOf(at)}`);
const oddly = (at: number): PageAnswer => ({ etag: null, ...ANSWERS[at]?.[1] });

test("a known page that answers oddly stays and says why; three crawls an hour apart are believed", async () => {
  setPages(asBefore);
  assert.equal((await story.crawl()).error, "");
  setPages(oddly);
  for (const minutes of [0, 5, 60]) {
    story.later(minutes);
    const { log } = await story.crawl();
    for (const [at, [title, , , reason]] of ANSWERS.entries()) {
      assert.deepEqual(await story.found(wordOf(at)), [pathOf(at)], `${title}: found`);
      assert.match((await story.item(pathOf(at))).scheduling.errorMessage, reason, `${title}: the item says why`);
      const line = log.split("\n").find((each) => each.includes(`${pathOf(at)}.`) && reason.test(each));
      assert.ok(line, `${title}: the job says why`);
    }
  }
  story.later(60);
  await story.crawl();
  for (const [at, [title, , end]] of ANSWERS.entries()) {
    assert.deepEqual(await story.found(wordOf(at)), end === "kept" ? [pathOf(at)] : [], title);
    if (end.startsWith("tapir")) assert.deepEqual(await story.found(end), [pathOf(at)], title);
  }
  assert.deepEqual(await story.found("Password"), [], "a sign-in form is nobody's document");
  setPages(asBefore);
  const back = async (): Promise<number> => {
    await story.crawl();
    const found = await Promise.all([...ANSWERS.keys()].map((at) => story.found(wordOf(at))));
    return found.filter((paths) => paths.length === 1).length;
  };
  assert.equal(await back(), ANSWERS.length - 2, "what comes back is there at once");
  for (let i = 0; i < 2; i++) {
    story.later(60);
    await story.crawl();
  }
  assert.equal(await back(), ANSWERS.length, "what is of another type once more, when that was said three times");
});

test("the row begins anew after an answer as it should be", async () => {
  for (const answer of [oddly, oddly, asBefore, oddly, oddly]) {
    story.later(60);
    setPages(answer);
    await story.crawl();
  }
  for (const at of ANSWERS.keys()) assert.deepEqual(await story.found(wordOf(at)), [pathOf(at)]);
});

test("a page that is gone is gone whatever the other spelling of its slash does; where that leads on, it moved", async (t) => {
  const own = await WebStory.openSpaced();
  t.after(() => own.close());
  const others: readonly PageAnswer[] = [
    redirect("/gone0"),
    redirect("/gone1", 302),
    redirect("/hop", 302),
    { status: 500 },
    { status: 403 },
    { body: signIn },
    { body: html("Moved"), headers: { refresh: "0; url=/gone6" } },
    redirect("https://login.elsewhere.test/"),
    redirect("/new-place"),
  ];
  /** So that they are few, and may leave at once. */
  const rest = Array.from({ length: 25 }, (_, at) => `/rest${at}`);
  own.site.set("/", html("About gnu", linksTo(...others.map((_, at) => `/gone${at}`), ...rest)));
  for (const path of rest) own.site.set(path, html(`About ${path.slice(1)}`));
  for (const at of others.keys()) own.site.set(`/gone${at}`, html(`About serow${at}`));
  await own.crawl();
  for (const [at, answer] of others.entries()) {
    own.site.pages.delete(`/gone${at}`);
    own.site.set(`/gone${at}/`, { etag: null, ...answer });
  }
  own.site.set("/hop", redirect("/gone2"));
  own.site.set("/new-place", html("About serow8"));
  for (let i = 0; i < 3; i++) {
    own.later(60);
    await own.crawl();
  }
  const found = await Promise.all([...others.keys()].map((at) => own.found(`serow${at}`)));
  assert.deepEqual(found, [[], [], [], [], [], [], [], [], ["/new-place"]]);
});

test("a sign-in form that was taken for a page leaves, and takes nothing along that leads to it now", async (t) => {
  const own = await WebStory.openSpaced();
  t.after(() => own.close());
  own.site.set("/", html("About gnu", linksTo("/door", "/in301", "/in302")));
  own.site.set("/door", { body: signIn.replace('type="password"', ""), etag: null });
  for (const status of [301, 302]) own.site.set(`/in${status}`, html(`About takin${status}`));
  await own.crawl();
  assert.ok("/door" in (await own.indexed()));
  own.site.set("/", html("About gnu", linksTo("/in301", "/in302")));
  own.site.set("/door", { body: signIn, etag: null });
  for (const status of [301, 302]) own.site.set(`/in${status}`, redirect("/door", status));
  for (let i = 0; i < 4; i++) {
    own.later(60);
    await own.crawl();
    assert.deepEqual([await own.found("takin301"), await own.found("takin302")], [["/in301"], ["/in302"]]);
  }
  assert.equal("/door" in (await own.indexed()), false);
});

test("a start address that is not there says so in every crawl: it leaves, and nothing else counts as unlinked", async (t) => {
  for (const answer of [{ status: 404 }, redirect("http://elsewhere.test/x")]) {
    const own = await WebStory.openSpaced();
    t.after(() => own.close());
    own.site.set("/", html("About gnu", linksTo("/okapi", "/tapir")));
    for (const word of ["okapi", "tapir"]) own.site.set(`/${word}`, html(`About ${word}`));
    await own.crawl();
    own.site.set("/", answer);
    for (let i = 0; i < 9; i += 1) {
      own.later(60);
      const { error, source } = await own.crawl();
      assert.equal(source.complete, false, `crawl ${i}: an incomplete look`);
      assert.match(error, /404|elsewhere/);
    }
    assert.deepEqual(await own.found("gnu"), []);
    for (const word of ["okapi", "tapir"]) assert.deepEqual(await own.found(word), [`/${word}`]);
  }
});

test("a sitemap that breaks off takes no page away", async (t) => {
  const own = await WebStory.openSpaced();
  t.after(() => own.close());
  const listed = ["/okapi", "/tapir"].map((path) => `<url><loc>${own.site.origin}${path}</loc></url>`);
  own.site.set("/", html("About gnu"));
  own.site.set("/sitemap.xml", { type: "text/xml", body: `<urlset>${listed.join("")}</urlset>` });
  for (const word of ["okapi", "tapir"]) own.site.set(`/${word}`, html(`About ${word}`));
  assert.deepEqual([(await own.crawl()).error, await own.found("tapir")], ["", ["/tapir"]]);
  own.site.set("/sitemap.xml", { type: "text/xml", body: `<urlset>${listed[0]}<url><lo` });
  for (let i = 0; i < 4; i += 1) {
    own.later(60);
    const { error, source } = await own.crawl();
    assert.equal(source.complete, false);
    assert.match(error, /sitemap\.xml .*is truncated/);
  }
  assert.deepEqual(await own.found("tapir"), ["/tapir"]);
  own.site.set("/sitemap.xml", { type: "text/xml", body: `<urlset>${listed[0]}</urlset>` });
  for (let i = 0; i < 3; i += 1) await own.crawl();
  assert.deepEqual(await own.found("tapir"), []);
});

test("404 three times in a minute is once", async () => {
  setPages(asBefore);
  await story.crawl();
  story.site.pages.delete("/odd0");
  story.site.set("/odd1", { status: 410, body: "" });
  for (let i = 0; i < 4; i++) {
    const { log } = await story.crawl();
    for (const [path, status] of Object.entries({ "/odd0": 404, "/odd1": 410 })) {
      assert.match(log, new RegExp(`${path}\\.md': .*answered ${status}: .*\\(1 of 3\\)`), `${path} is named`);
    }
  }
  assert.deepEqual(await story.found("okapi0"), ["/odd0"]);
  story.later(60);
  assert.match((await story.crawl()).log, /\/odd0\.md': .*\(2 of 3\)/);
  story.later(60);
  await story.crawl();
  assert.deepEqual(await story.found("okapi0"), []);
});

test("a refresh within five seconds is a redirect; a later one, one to itself and one without scripts is none", async () => {
  const refresh = (content: string): string => `<meta http-equiv="refresh" content="${content}">`;
  const pages: Record<string, PageAnswer> = {
    "/page": { body: html("About moved", "", refresh("3; url='/to-1'")) },
    "/bare": { body: html("About moved", "", refresh("0;/to-2")) },
    "/header": { body: html("About moved"), headers: { refresh: "0;URL=/to-3" } },
    "/slow": { body: html("About tapir 1", "", refresh("30; url=/to-1")) },
    "/self": { body: html("About tapir 2"), headers: { refresh: "2; url=/self#top" } },
    "/again": { body: html("About tapir 3", "", refresh("5")) },
    "/scripts": { body: html("About tapir 4", "", `<noscript>${refresh("0; url=/to-1")}</noscript>`) },
    "/show-1": { body: html("About tapir 5", "", refresh("5; url=/show-2")) },
    "/show-2": { body: html("About tapir 6", "", refresh("5; url=/show-1")) },
  };
  story.site.pages.clear();
  story.site.set("/", html("About gnu", linksTo(...Object.keys(pages))));
  for (const [path, answer] of Object.entries(pages)) story.site.set(path, answer);
  for (const i of [1, 2, 3]) story.site.set(`/to-${i}`, html(`About quokka ${i}`));
  await story.crawl();
  assert.deepEqual(await story.found("quokka"), ["/to-1", "/to-2", "/to-3"]);
  assert.deepEqual(await story.found("moved"), []);
  const kept = await story.found("tapir");
  assert.deepEqual(
    kept.filter((path) => !path.startsWith("/show")),
    ["/again", "/scripts", "/self", "/slow"],
  );
  assert.ok(
    kept.some((path) => path.startsWith("/show")),
    "pages that lead to each other are pages",
  );
});

const text = "Long enough to be read by people who came for it, and not for a form. ".repeat(12);
const box = '<form><input name="user"><input type="password"><button>Sign in</button></form>';
const FORMS = [
  ["a form and a sentence", html("Members", box).replace(/<p>.*?<\/p>/, "<p>Please sign in to go on.</p>"), false],
  [
    "a form with help",
    `<title>Log in</title><body>${box}<p>New here? <a href=/join>Register</a></p><p>Lost it? <a href=/f>Reset</a></p>`,
    false,
  ],
  ["an article with a form at its side", html("About lemming", `<p>${text}</p><aside>${box}</aside>`), true],
  [
    "a short article with a form in its head",
    `<title>About lemming</title><body><header>${box}</header><main><h1>About lemming</h1><p>A lemming is a small rodent that lives in and near the Arctic.</p></main>`,
    true,
  ],
  ["an article about passwords", html("About lemming passwords", `<p>Type your password. ${text}</p>${box}`), true],
] as const;
test("a sign-in form is told from a page that has one, also when nothing is known of it", async () => {
  story.site.pages.clear();
  story.site.set("/", html("About gnu", linksTo(...FORMS.map((_, at) => `/form${at}`))));
  for (const [at, [, body]] of FORMS.entries()) story.site.set(`/form${at}`, body);
  await story.crawl();
  const held = Object.keys(await story.indexed());
  for (const [at, [title, , isPage]] of FORMS.entries()) assert.equal(held.includes(`/form${at}`), isPage, title);
});

test("where the start page has nothing to read and leads nowhere any more, the pages behind it stay, and every crawl says so", async (t) => {
  const shell =
    '<html><head><title>Zoo</title><script src="/app.js"></script></head><body><div id="app"></div></body></html>';
  for (const body of ["", shell]) {
    const own = await WebStory.openSpaced();
    t.after(() => own.close());
    own.site.set("/", html("About gnu", linksTo("/a", "/b")));
    for (const path of ["/a", "/b"]) own.site.set(path, html(`About bharal${path.slice(1)}`));
    await own.crawl();
    own.site.set("/", { body, etag: null });
    for (let i = 0; i < 8; i++) {
      own.later(90);
      const { error, source } = await own.crawl();
      assert.deepEqual(await own.found("bharala"), ["/a"], `crawl ${i + 1}`);
      // The third look is believed; the links of before are followed once more.
      if (i > 2) assert.deepEqual([source.complete, /nothing to read/.test(error)], [false, true], error);
    }
    own.site.set("/", html("About gnu", linksTo("/b")));
    for (let i = 0; i < 4; i++) {
      own.later(90);
      await own.crawl();
    }
    assert.deepEqual([await own.found("bharala"), await own.found("bharalb")], [[], ["/b"]], "unlinked for good");
  }
});

test("a dry run plans what the run then does where pages lead to pages that fail, are gone or are odd", async (t) => {
  const troubles: readonly PageAnswer[] = [{ status: 503 }, { status: 404 }, odd, { body: "" }, { body: signIn }];
  for (const trouble of troubles) {
    const own = await WebStory.openSpaced();
    t.after(() => own.close());
    own.site.set("/", html("About gnu", linksTo("/target", "/in301", "/in302")));
    for (const path of ["/target", "/in301", "/in302"]) own.site.set(path, html(`About kudu${path.slice(1)}`));
    await own.crawl();
    own.site.set("/target", { etag: null, ...trouble });
    for (const status of [301, 302]) own.site.set(`/in${status}`, redirect("/target", status));
    for (let i = 0; i < 3; i++) {
      own.later(60);
      const plan = await own.crawl({ dryRun: true });
      const run = await own.crawl();
      assert.deepEqual(plan.source.download, run.source.download, `${JSON.stringify(trouble)}, crawl ${i + 1}`);
    }
  }
});
