import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { SearchQuery } from "../../src/contracts/search-index.ts";
import { DEMO, LIBRARY, type SearchFixture, searchFixture } from "./search-fixture.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

const TEXTS: Record<string, string> = {
  travel:
    "# Travel policy\n\n## Hotels\n\nA hotel room may cost at most 120 euros per night, breakfast included, and has to be booked through the office.\n\n## Trains\n\nSecond class only, unless the journey takes longer than four hours.",
  errors: "# Error codes\n\nERR_404 means that the page is gone. ERR_500 means that the server failed.",
  parts: "# Parts\n\nThe pump AB-1234/5 replaces the valve 404. Call max_retry_count before mounting.",
  code: "# Client\n\nThe class HttpRequestBuilder sets the header. Its method getUserName returns a string.",
  german:
    "# Überstunden\n\nDie Reisekostenabrechnung muss bis zum Monatsende eingereicht werden. Größe und Maße zählen.",
  rooms: "# Zimmer\n\nDie Kosten für ein Hotel trägt die Firma. Rechnungen gehen an den Einkauf.",
  japanese: "# 東京\n\n東京都に住んでいます。日本語の文書を検索する。",
  chinese: "# 北京\n\n员工手册规定了年假和加班费。",
  korean: "# 서울\n\n서울특별시에서 한국어 문서를 검색합니다.",
  thai: "# ประกาศ\n\nพนักงานทุกคนมีสิทธิลาพักร้อน",
  french: "# Café\n\nLe café est ouvert jusqu'à minuit. L'élève paie moitié prix.",
  russian: "# Отпуск\n\nСотрудники подают заявления руководителю отдела.",
  otters: "# Animals\n\nOtters sleep holding hands so that they do not drift apart.",
  band: "# Music\n\nWe saw them live; the who are still on tour, and so is everybody else.",
};

const FINDS: readonly (readonly [query: string, name: string, why: string])[] = [
  ["how much may a hotel cost?", "travel", "words of a question"],
  ["hotels costing euros", "travel", "inflection"],
  ["recieve otter slep holdng", "otters", "spelling"],
  ["jurney longr", "travel", "two typos"],
  ["otetrs", "otters", "letters swapped"],
  ["ERR_404", "errors", "an identifier as written, though another text has its number"],
  ["err_500", "errors", "an identifier in other case"],
  ["AB-1234/5", "parts", "a part number"],
  ["AB 1234", "parts", "the parts of a part number"],
  ["max_retry_count", "parts", "snake case"],
  ["httprequestbuilder", "code", "camel case in lower case"],
  ["user name", "code", "the parts of a camel-case name"],
  ["reisekosten", "german", "the beginning of a compound"],
  ["abrechnung", "german", "the end of a compound"],
  ["Hotelkosten", "rooms", "a compound of words the text has apart"],
  ["Rechnung", "rooms", "a German plural"],
  ["uberstunden", "german", "no umlaut in the question"],
  ["GRÖSSE", "german", "sharp s and capitals"],
  ["cafe", "french", "no accent in the question"],
  ["ÉLEVE", "french", "accents and capitals in the question"],
  ["日本語", "japanese", "inside a run of Japanese"],
  ["都", "japanese", "one character"],
  ["加班费", "chinese", "Chinese"],
  ["한국어", "korean", "Korean"],
  ["ลาพักร้อน", "thai", "Thai"],
  ["заявление сотрудника", "russian", "Russian endings"],
  ["otters.md", "otters", "a file name"],
  ['"second class"', "travel", "a phrase"],
  ["“second class”", "travel", "a phrase in typographic quotes"],
  ["the who", "band", "nothing but stop words"],
];

/** What a search of our own indexes promises, whatever database they are in. */
export function searchSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}: questions`, () => {
    let at: SearchFixture;
    before(async () => {
      at = await searchFixture(open);
      await at.commit(TEXTS);
    });
    after(() => at.close());

    for (const [query, wanted, why] of FINDS) {
      test(`'${query}' finds ${wanted}: ${why}`, async () => {
        assert.equal((await at.names(query))[0], wanted);
        assert.equal((await at.names(query, { using: "text" }))[0], wanted, "by words alone");
      });
    }
    questionTests(() => at);
  });
  describe(`${name}: results`, () => resultTests(open));
  describe(`${name}: scope and time`, () => scopeTests(open));
}

function questionTests(fixture: () => SearchFixture): void {
  test("a quoted phrase must occur as it is, unless it occurs nowhere", async () => {
    assert.deepEqual(await fixture().names('"holding hands" hotel room'), ["otters"]);
    assert.ok((await fixture().names('"hands drift hotel"')).includes("otters"));
  });

  test("a hit tells its section and only the text below it", async () => {
    const [hit] = await fixture().search("hotel room euros", { limit: 1 });
    assert.match(hit?.sectionPath ?? "", /^Travel policy( > Hotels)?$/);
    assert.match(hit?.text ?? "", /120 euros/);
  });

  test("highlights are where the words are, in whatever form", async () => {
    const marked = async (text: string): Promise<string[]> => {
      const [hit] = await fixture().search(text, { limit: 1 });
      return (hit?.details?.highlights ?? []).map(({ start, end }) => hit?.text.slice(start, end) ?? "");
    };
    assert.deepEqual(await marked("costs of sleeping otters"), ["Otters", "sleep"]);
    assert.deepEqual(await marked("reisekosten"), ["Reisekostenabrechnung"], "a compound that contains the word");
    assert.deepEqual(await marked("holdng hannds"), ["holding", "hands"], "what the typo stood for");
    assert.deepEqual(await marked("日本語"), ["日本語"]);
  });

  test("scores fall along the list, and the threshold cuts there", async () => {
    const question = "otters sleep the page hotel";
    const hits = await fixture().search(question);
    assert.ok(hits.length > 2);
    for (const [i, { score, details }] of hits.entries()) {
      assert.ok(score >= 0 && score <= (hits[i - 1]?.score ?? 1));
      for (const part of Object.values(details?.parts ?? {})) assert.ok(part >= 0 && part <= 1);
    }
    const scoreThreshold = hits[1]?.score ?? 0;
    const cut = await fixture().search(question, { scoreThreshold });
    assert.deepEqual(cut, hits.slice(0, cut.length));
    assert.ok(cut.length >= 2 && cut.length < hits.length);
  });

  test("a question the store cannot answer scores lower than one it can", async () => {
    const best = async (text: string): Promise<number> => (await fixture().search(text))[0]?.score ?? 0;
    assert.ok((await best("otters holding hands")) > 0.7);
    assert.ok((await best("quantum chromodynamics of gluon hands")) < 0.6);
  });

  test("by text or by vectors alone, each tells only its part", async () => {
    for (const using of ["text", "vectors"] as const) {
      const hits = await fixture().search("otters holding hands", { using });
      assert.equal(hits[0]?.name, "otters.md");
      const silent = using === "text" ? "vector" : "text";
      assert.ok(hits.every(({ details }) => details?.parts[silent] === 0));
    }
  });

  test("the same question gets the same answer", async () => {
    assert.deepEqual(await fixture().search("the policy of otters"), await fixture().search("the policy of otters"));
  });

  test("nothing anybody types is taken as syntax, however long or odd", async () => {
    const odd = ["", '"', '"" OR "', "text:hotel NEAR(a b)", "* ^ - + ( ) { }", "a AND", "NOT", "\u0000 x", "'; --"];
    odd.push("a".repeat(100_000), "word ".repeat(20_000), `"${"long phrase ".repeat(500)}" "b" "c d"`, "\ud800 \udfff");
    odd.push(Array.from({ length: 2000 }, (_, i) => `wörd${i}`).join(" "), "%_\\ $1 $2 ? :a");
    for (const text of odd) assert.ok(Array.isArray(await fixture().search(text, { limit: 3 })), text.slice(0, 20));
    assert.equal((await fixture().names("hotel room"))[0], "travel");
  });
}

function resultTests(open: () => Promise<StoreUnderTest>): void {
  let at: SearchFixture;
  before(async () => {
    at = await searchFixture(open);
  });
  after(() => at.close());

  test("what has nothing to say comes behind what has, and is found where there is nothing else", async () => {
    const at = await searchFixture(open);
    try {
      const words =
        "Open the box, take the pump out, screw it to the wall and fill it with oil before it is switched on.";
      const steps = "Then wait for an hour and look whether the gauge stands above the red mark on its left side.";
      await at.commit({
        install: `# Installing the pump\n\nOn this page\n\n## First steps\n\n${words}\n\n## Afterwards\n\n${steps}`,
        other: `# Pumps\n\nHow installing a pump of this kind went in the past, and what was learnt from it since then.`,
        network:
          "# Network\n\nHow to get in: ask somebody for the password of the network, then type it in twice.\n\n## Password\n\nheron42",
        page: "# Paper\n\nA page has two sides, and a sheet of paper has two pages unless somebody prints on one only.",
        bare: "# Gauges",
      });
      assert.doesNotMatch((await at.search("installing the pump"))[0]?.text ?? "", /On this page/);
      assert.doesNotMatch((await at.search("installing pump", { using: "text" }))[0]?.text ?? "", /On this page/);
      assert.equal((await at.names("page"))[0], "page");
      assert.equal((await at.search("network password"))[0]?.text, "heron42", "a short answer is no empty one");
      assert.equal((await at.names("gauges"))[0], "bare");
    } finally {
      await at.close();
    }
  });

  test("short texts about one word of a question come behind a long one that has all of them", async () => {
    const at = await searchFixture(open);
    try {
      const records = (what: string): string =>
        `The ${what} keeps records of every visit in the blue room, and colleagues may read them during the week. `.repeat(
          5,
        );
      await at.commit({
        book: `# Handbook\n\n${records("office")}\n\n## Leave\n\n${records("desk")}Freelancers get no paid sabbatical; the agency grants it, as the ruling says. ${records("gate")}`,
        sabbatical: "# Sabbatical\n\nSee the calendar.",
        freelancers: "# Freelancers\n\nAsk Eva for names.",
        ruling: "# Ruling\n\nIn preparation.",
        trailers: "# Permit for trailers\n\nThere is none.",
      });
      assert.equal((await at.names("sabbatical ruling for freelancers"))[0], "book");
      assert.equal((await at.names("sabbatical ruling for freelancers", { using: "text" }))[0], "book");
      assert.equal((await at.names("sabbatical"))[0], "sabbatical", "a short one that has all words stays first");
      assert.equal((await at.names("permit for trailers"))[0], "trailers");
    } finally {
      await at.close();
    }
  });

  test("the same and nearly the same passage is one hit that names the other documents", async () => {
    const notice = (year: string): string =>
      `# Notice\n\nThe quibblet must be cleaned every ${year} by trained staff, who note the date and the time in the book that hangs beside the door, and sign it with their full name. Whoever forgets it cleans the quibblet again on the following day, and pays for the soap and the water.`;
    await at.commit({
      first: notice("year"),
      same: notice("year"),
      nearly: notice("month"),
      other: "Another quibblet.",
    });
    const hits = await at.search("quibblet cleaned by trained staff");
    const [best] = hits;
    assert.deepEqual(
      hits.map(({ name }) => name).filter((name) => name !== best?.name),
      ["other.md"],
    );
    const names = [best?.name, ...(best?.details?.alsoIn.map(({ name }) => name) ?? [])];
    assert.deepEqual(names.sort(), ["first.md", "nearly.md", "same.md"]);
  });

  test("one long document has at most three hits, and others get their place", async () => {
    const part = (i: number): string =>
      `## Part ${i}\n\nThe wobbit ${Array.from({ length: 60 }, (_, k) => `w${i}x${k}`).join(" ")}.`;
    await at.commit({ long: Array.from({ length: 8 }, (_, i) => part(i)).join("\n\n"), short: "A wobbit is here." });
    const names = (await at.search("wobbit")).map((hit) => hit.name);
    assert.equal(names.filter((name) => name === "long.md").length, 3);
    assert.ok(names.includes("short.md"));
  });

  test("a title, a heading or a name counts more than a mention", async () => {
    const filler = "Some words that say nothing about it at all, and go on for quite a while. ".repeat(3);
    await at.commit({
      mention: `# Odds and ends\n\n${filler} There is also the flumphet. ${filler}`,
      heading: `# The flumphet\n\n${filler} How to care for it. ${filler}`,
      ["zorgle-manual"]: `# Manual\n\n${filler} Turn it on. ${filler}`,
      elsewhere: `# Elsewhere\n\n${filler} A zorgle. ${filler}`,
    });
    assert.equal((await at.names("flumphet"))[0], "heading");
    assert.equal((await at.names("zorgle manual"))[0], "zorgle-manual");
  });

  test("a rare match is found behind many better ones that a filter or a removal hides", async () => {
    const section = (i: number): string => `## Zyzzomat ${i}\n\n${"Zyzzomat zyzzomat ".repeat(12)}${i}.`;
    const sections = Array.from({ length: 40 }, (_, i) => section(i)).join("\n\n");
    const loud = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`loud${i}`, `${sections}\n\nNumber ${i}.`]));
    const padding = "Other words follow here and go on for a while without any point. ".repeat(20);
    const labels = { quiet: { attributes: { group: "quiet" } } };
    await at.commit({ ...loud, quiet: `${padding} A zyzzomat. ${padding}` }, { labels });
    const filter = { type: "eq", key: "group", value: "quiet" } as const;
    const [hit, ...more] = await at.search("zyzzomat", { filter });
    assert.deepEqual([hit?.name, more.length], ["quiet.md", 0]);
    assert.ok((hit?.details?.parts.text ?? 0) > 0, "found by its words, not only by likeness");
    await at.commit(Object.fromEntries(Object.keys(loud).map((item) => [item, null])));
    assert.deepEqual(await at.names("zyzzomat", { using: "text" }), ["quiet"]);
  });
}

function scopeTests(open: () => Promise<StoreUnderTest>): void {
  let at: SearchFixture;
  const ENGLISH = "The glimmet stands in the corner of the office, where everybody can see it during the whole day.";
  const GERMAN = "Der Glimmet steht in der Ecke des Büros, wo ihn alle den ganzen Tag über gut sehen können.";
  before(async () => {
    at = await searchFixture(open);
    const labels = {
      a: { path: "Policies/2024/a.md", fileType: "md", modifiedAt: "2024-03-01T10:00:00Z" },
      b: { path: "Policies/2025/b.txt", fileType: "txt", modifiedAt: "2025-03-01T10:00:00Z", name: "b.txt" },
      c: { path: "Notes_/c.md", fileType: "md" },
    };
    await at.commit({ a: ENGLISH, b: GERMAN, c: `${ENGLISH} Nobody knows why.` }, { labels });
    await at.commit({ d: "Another glimmet." }, { source: "other" as SourceId });
  });
  after(() => at.close());

  const TABLE: readonly (readonly [scope: NonNullable<SearchQuery["scope"]>, names: string])[] = [
    [{}, "abcd"],
    [{ domainId: DEMO }, "abcd"],
    [{ domainId: "NOBODY" }, ""],
    [{ sourceId: LIBRARY }, "abc"],
    [{ sourceId: "other" }, "d"],
    [{ pathPrefix: "Policies/" }, "ab"],
    [{ pathPrefix: "Policies/2025" }, "b"],
    [{ pathPrefix: "policies" }, ""],
    [{ pathPrefix: "Notes%" }, ""],
    [{ fileTypes: ["txt", "pdf"] }, "b"],
    [{ fileTypes: [] }, ""],
    [{ modifiedFrom: "2024-06-01" }, "b"],
    [{ modifiedFrom: "2024-03-01T10:00:00Z" }, "ab"],
    [{ modifiedBefore: "2025-01-01" }, "a"],
    [{ modifiedFrom: "2024-01-01", modifiedBefore: "2024-12-31" }, "a"],
    [{ languages: ["de"] }, "b"],
    [{ languages: ["en", "de"], fileTypes: ["md"] }, "ac"],
    [{ pathPrefix: "Policies/", sourceId: "other" }, ""],
  ];
  for (const [scope, wanted] of TABLE) {
    test(JSON.stringify(scope), async () => {
      const names = new Set<string>();
      for (const hit of await at.search("glimmet", { scope })) {
        for (const { name } of [hit, ...(hit.details?.alsoIn ?? [])]) names.add(name.slice(0, 1));
      }
      assert.equal([...names].sort().join(""), wanted);
    });
  }

  test("a hit tells where it comes from", async () => {
    const [hit] = await at.search("Glimmet Ecke des Büros", { scope: { languages: ["de"] } });
    const { url, path, modifiedAt, language, generation, page } = hit?.details ?? {};
    assert.deepEqual(
      { url, path, modifiedAt, language, generation, page },
      {
        url: "https://t.example/b.md",
        path: "Policies/2025/b.txt",
        modifiedAt: "2025-03-01T10:00:00Z",
        language: "de",
        generation: 2,
        page: 0,
      },
    );
  });

  test("as of an earlier generation, and none that is not kept", async () => {
    const now = (await at.index.generations?.state())?.shown ?? 0;
    await at.commit({ a: null, e: "The fifth glimmet." });
    assert.ok(!(await at.names("glimmet")).includes("a"));
    const then = await at.search("glimmet", { generation: now });
    const names = then.flatMap((hit) => [hit.name, ...(hit.details?.alsoIn.map(({ name }) => name) ?? [])]);
    assert.ok(names.includes("a.md") && !names.includes("e.md"));
    assert.ok(then.every(({ details }) => details?.generation === now));
    await assert.rejects(at.search("glimmet", { generation: 99 }), {
      name: "BadInputError",
      message: /generation 99 is not kept; kept are 3, 2, 1/,
    });
  });
}
