// Endless calendars are left after a while, and pages that merely have dates are not.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { linksTo } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open({ max_pages: 1000 });
});
afterEach(() => story.close());

const NOVEMBER = 2026 * 12 + 10;
const two = (number: number): string => String(number).padStart(2, "0");
const asked = (pattern: RegExp): number => story.site.asked.filter((line) => pattern.test(line)).length;

const page = (title: string, body: string, lang = "en"): string =>
  `<!doctype html><html lang="${lang}"><head><title>${title}</title></head><body><main><h1>${title}</h1>${body}</main></body></html>`;

function setFront(...links: string[]): void {
  story.site.set("/", page("About gnu", `<p>All that is to be said about the gnu of our zoo.</p>${linksTo(...links)}`));
}

/** A month of a calendar as calendars are: where it is, its days by weeks, and what happens on some of them. */
function monthPage(
  month: number,
  events: Readonly<Record<number, string>>,
  addressOf: (month: number) => string,
  lang = "en",
): string {
  const first = new Date(Date.UTC(Math.floor(month / 12), month % 12, 1));
  const name = (away: number): string =>
    new Intl.DateTimeFormat(lang, { month: "long", year: "numeric", timeZone: "UTC" }).format(
      new Date(Date.UTC(Math.floor(month / 12), (month % 12) + away, 1)),
    );
  const days: string[] = Array.from({ length: (first.getUTCDay() + 6) % 7 }, () => "<td></td>");
  const last = new Date(Date.UTC(Math.floor(month / 12), (month % 12) + 1, 0)).getUTCDate();
  for (let day = 1; day <= last; day++) days.push(`<td>${day}</td>`);
  const rows = Array.from({ length: Math.ceil(days.length / 7) }, (_, i) => days.slice(i * 7, i * 7 + 7).join(""));
  const heads = Array.from({ length: 7 }, (_, i) =>
    new Intl.DateTimeFormat(lang, { weekday: "short", timeZone: "UTC" }).format(new Date(Date.UTC(2026, 5, 1 + i))),
  );
  const happens = events[month];
  return page(
    name(0),
    `<p><a href="${addressOf(month - 1)}">${name(-1)}</a> <a href="${addressOf(month + 1)}">${name(1)}</a></p>
<table><tr>${heads.map((head) => `<th>${head}</th>`).join("")}</tr>${rows.map((row) => `<tr>${row}</tr>`).join("")}</table>
<p>${happens ? `On the 5th there is a talk about the ${happens}.` : "There are no events in this month that we know of."}</p>${linksTo(...NEWS)}`,
    lang,
  );
}

/** What every page links to. */
const NEWS = Array.from({ length: 10 }, (_, i) => `/2026/${two(i + 1)}/1${i}/${"abcdefghij"[i]}-new-one`);

const FORMS: Readonly<Record<string, { address: (month: number) => string; lang?: string }>> = {
  "a query": { address: (month) => `/events?month=${Math.floor(month / 12)}-${two((month % 12) + 1)}` },
  "a query in parts": {
    address: (month) => `/events?y=${Math.floor(month / 12)}&m=${(month % 12) + 1}&view=all`,
    lang: "de",
  },
  "a path": { address: (month) => `/kalender/${Math.floor(month / 12)}/${two((month % 12) + 1)}/`, lang: "fr" },
  "a path in one part": { address: (month) => `/cal/${Math.floor(month / 12)}${two((month % 12) + 1)}` },
  "the second": { address: (month) => `/events?t=${Date.UTC(Math.floor(month / 12), month % 12, 1) / 1000}` },
};

function setMonths(
  address: (month: number) => string,
  events: Readonly<Record<number, string>> = {},
  lang = "en",
): void {
  const months = new Map(Array.from({ length: 2400 }, (_, i) => [address(NOVEMBER - 1200 + i), NOVEMBER - 1200 + i]));
  story.site.onRequest = (path) => {
    const month = months.get(path);
    if (month !== undefined) story.site.set(path, monthPage(month, events, address, lang));
  };
}

for (const [at, [name, { address, lang }]] of Object.entries(FORMS).entries()) {
  test(`a calendar without end is left after a while: by ${name}`, async () => {
    await story.close();
    story = await WebStory.open(at % 2 === 0 ? { max_depth: 500 } : {});
    setMonths(
      address,
      { [NOVEMBER]: "okapi", [NOVEMBER + 3]: "quokka", [NOVEMBER + 8]: "tapir", [NOVEMBER + 60]: "ibis" },
      lang,
    );
    setFront(address(NOVEMBER), address(NOVEMBER + 60));
    for (const [i, path] of NEWS.entries())
      story.site.set(path, page("News", `<p>Something new about the animal${i}.</p>`));
    for (let i = 0; i < 4; i++) {
      story.site.forgetRequests();
      const { error, source, log } = await story.crawl();
      assert.deepEqual([error, source.complete], ["", true], `crawl ${i + 1}: ${log}`);
      for (const word of ["okapi", "quokka", "tapir", "ibis"]) assert.equal((await story.found(word)).length, 1, word);
      const documents = Object.keys(await story.indexed()).length;
      assert.ok(documents < 80, `${documents} documents in crawl ${i + 1}`);
      assert.ok(asked(/\d/) < 90, `${asked(/\d/)} requests in crawl ${i + 1}`);
      assert.match(log, /\d+ pages of \S+\*\S* in a row differ only in their dates/);
    }
  });
}

test("days of empty months, years to jump to, and downloads of nothing end as well", async () => {
  const at = (path: string): Date | undefined => {
    const [, year, month, day = "1"] = /^\/plan\/(\d{4})\/(\d\d)(?:\/(\d\d))?$/.exec(path) ?? [];
    return year === undefined ? undefined : new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  };
  const month = (date: Date): string => `/plan/${date.getUTCFullYear()}/${two(date.getUTCMonth() + 1)}`;
  const day = (date: Date): string => `${month(date)}/${two(date.getUTCDate())}`;
  const away = (date: Date, months: number, days = 0): Date =>
    new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, date.getUTCDate() + days));
  const link = (href: string, text: string): string => `<a href="${href}">${text}</a>`;
  const long = (date: Date): string =>
    date.toLocaleDateString("en", { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  story.site.onRequest = (path) => {
    const date = at(path);
    if (!date) return;
    if (path.length > 13) {
      const [before, after] = [away(date, 0, -1), away(date, 0, 1)];
      const event = path === "/plan/2026/11/20" ? "A walk with the quokka." : "Nothing is planned for this day so far.";
      story.site.set(
        path,
        page(
          long(date),
          `<p>${link(day(before), long(before))} ${link(day(after), long(after))} ${link(month(date), "Month")}</p><p>${event}</p>`,
        ),
      );
      return;
    }
    const days = Array.from({ length: away(date, 1, -1).getUTCDate() }, (_, i) => away(date, 0, i));
    const cells = days.map((each) => `<td>${link(day(each), String(each.getUTCDate()))}</td>`).join("");
    const others = [-12, -1, 1, 12].map((months) =>
      link(month(away(date, months)), month(away(date, months)).slice(6)),
    );
    const walk = path === "/plan/2026/11" ? "<p>A walk with the quokka on Friday.</p>" : "";
    story.site.set(
      path,
      page(
        `Plan ${path.slice(6)}`,
        `${others.join(" ")} ${link(`${path}.ics`, "Export")}<table><tr>${cells}</tr></table>${walk}`,
      ),
    );
  };
  setFront("/plan/2026/11");
  const { error, source } = await story.crawl();
  assert.deepEqual([error, source.complete], ["", true]);
  assert.deepEqual(await story.found("quokka"), ["/plan/2026/11", "/plan/2026/11/20"]);
  assert.ok(
    asked(/plan/) < 400,
    `${asked(/plan/)} requests, ${asked(/\d\d\/\d\d\/\d/)} of days, ${asked(/ics/)} of files`,
  );
});

test("what differs by more than its date is looked at for as long as it goes on", async () => {
  await story.close();
  story = await WebStory.open({ max_depth: 100 });
  const start = Date.UTC(2026, 0, 1);
  const date = (day: number): string => new Date(start + day * 86_400_000).toISOString().slice(0, 10);
  const last = 60;
  const bodies: Readonly<Record<string, (day: number) => string>> = {
    // Other numbers.
    rates: (day) => `<p>1 EUR is ${(1 + day / 1000).toFixed(3)} USD.</p>`,
    // Small numbers, too.
    draws: (day) =>
      `<p>${[1, 9, 15, 24, 30].map((number) => ((number * (day + 3) * 7) % 31) + 1).join(" ")} were drawn.</p>`,
    // Marks in the days of a week.
    rooms: (day) =>
      `<p>${[3, 5, 7, 11].map((each) => `${each} ${day % each === 0 ? "free" : "taken"}`).join(" ")} ${day * 37}</p>`,
    // The same sentence, and another file.
    daily: (day) => `<p>The report of the day can be had <a href="/files/${date(day)}.txt">here</a>.</p>`,
    notes: (day) => `<p>The notes of the day can be had <a href="/files/note${day * 7}.txt">here</a>.</p>`,
  };
  for (const [name, body] of Object.entries(bodies)) {
    for (let day = 0; day <= last; day++) {
      const next = day < last ? linksTo(`/${name}/${date(day + 1)}`) : "<p>The last one is a quokka.</p>";
      story.site.set(`/${name}/${date(day)}`, page(`${name} of ${date(day)}`, body(day) + next));
    }
  }
  for (let day = 0; day <= last; day++) {
    story.site.set(`/files/${date(day)}.txt`, {
      type: "text/plain",
      body: `A file that tells of the file${day * 11}.`,
    });
    story.site.set(`/files/note${day * 7}.txt`, {
      type: "text/plain",
      body: `A note that tells of the note${day * 11}.`,
    });
  }
  setFront(...Object.keys(bodies).map((name) => `/${name}/${date(0)}`));
  await story.crawl();
  const paths = Object.keys(await story.indexed());
  for (const name of Object.keys(bodies)) {
    assert.equal(paths.filter((path) => path.startsWith(`/${name}/`)).length, last + 1, name);
  }
  assert.equal(paths.filter((path) => path.startsWith("/files/")).length, 2 * (last + 1));
});

test("blogs by dates, reports by years and versions are no calendars, even where they say little", async () => {
  const posts = Array.from({ length: 40 }, (_, i) => `/2026/${two((i % 12) + 1)}/${two((i % 28) + 1)}/post-${i}`);
  const months = Array.from({ length: 36 }, (_, i) => `/archive/${2024 + Math.floor(i / 12)}/${two((i % 12) + 1)}`);
  const years = Array.from({ length: 40 }, (_, i) => `/${1990 + i}/`);
  const versions = Array.from({ length: 40 }, (_, i) => `/v${i + 1}/`);
  const same = "<p>Bugs were mended, and things became better in many small ways.</p>";
  for (const path of [...posts, ...months, ...years, ...versions])
    story.site.set(path, page("News", `<p>${path}</p>${same}`));
  // All linked from one page, or from one to the next.
  setFront(...months, ...years, posts[0] ?? "", versions[0] ?? "");
  for (const list of [posts, versions]) {
    for (const [at, path] of list.entries()) {
      story.site.set(path, page("News", `${same}${linksTo(...list.slice(at + 1, at + 9))}<p>animal${at}</p>`));
    }
  }
  assert.equal((await story.crawl()).source.complete, true);
  const paths = Object.keys(await story.indexed());
  assert.equal(paths.length, 1 + posts.length + months.length + years.length + versions.length);
});

/** One way to show a day, or a week or a month that begins with it. */
interface View {
  readonly stepDays: number;
  readonly address: (date: Date) => string;
  readonly body: (date: Date, days: readonly Date[]) => string;
  readonly lang?: string;
}

const DAY_MS = 86_400_000;
const iso = (date: Date): string => date.toISOString().slice(0, 10);
const shown = (date: Date, lang: string, options: Intl.DateTimeFormatOptions): string =>
  date.toLocaleDateString(lang, { timeZone: "UTC", ...options });
function weekOf(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * DAY_MS);
  const year = thursday.getUTCFullYear();
  return { year, week: 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / DAY_MS / 7) };
}
const monthOf = (date: Date): { first: Date; days: Date[] } => {
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1));
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return { first, days: Array.from({ length: last }, (_, i) => new Date(first.getTime() + i * DAY_MS)) };
};

const VIEWS: Readonly<Record<string, View>> = {
  "a day in words": {
    stepDays: 1,
    address: (date) =>
      `/words/${date.getUTCFullYear()}/${shown(date, "en", { month: "long" }).toLowerCase()}/${date.getUTCDate()}`,
    body: (date) => `<p>${shown(date, "en", { dateStyle: "full" })}: the hall is not in use today.</p>`,
  },
  "a day in numbers": {
    stepDays: 1,
    lang: "de",
    address: (date) => `/zahlen?tag=${date.getUTCDate()}.${date.getUTCMonth() + 1}.${date.getUTCFullYear()}`,
    body: (date, [, next = date]) =>
      `<p>Am ${shown(date, "de", { dateStyle: "medium" })} ist nichts los. Weiter zum ${next.getUTCDate()}.${next.getUTCMonth() + 1}.</p>`,
  },
  "a week": {
    stepDays: 7,
    lang: "fr",
    address: (date) => `/semaine/${weekOf(date).year}-W${two(weekOf(date).week)}`,
    body: (date, days) =>
      `<p>Semaine ${weekOf(date).week}</p><ul>${days
        .slice(0, 7)
        .map((day) => `<li>${shown(day, "fr", { weekday: "long", day: "numeric", month: "long" })}</li>`)
        .join("")}</ul><p>Rien n'est pr\u00e9vu pour le moment.</p>`,
  },
  "a month with the numbers of its weeks": {
    stepDays: 31,
    address: (date) => `/weeks/${iso(date).slice(0, 7)}`,
    body: (date) => {
      const cells = monthOf(date).days.map((day, i) => {
        const head = i === 0 || day.getUTCDay() === 1 ? `</tr><tr><th>Week ${weekOf(day).week}</th>` : "";
        return `${head}<td>${day.getUTCDate()}</td>`;
      });
      return `<h2>${shown(date, "en", { month: "long", year: "numeric" })}</h2><table><tr><th>Our calendar of the hall</th>${cells.join("")}</tr></table>`;
    },
  },
  "a month that says of each day that there is nothing": {
    stepDays: 31,
    lang: "es",
    address: (date) => `/mes?fecha=${iso(date).slice(0, 8)}01T00:00:00`,
    body: (date) =>
      `<h2>${shown(date, "es", { month: "long", year: "numeric" })}</h2><dl>${monthOf(date)
        .days.map((day) => `<dt>${day.getUTCDate()}</dt><dd>Nada</dd>`)
        .join("")}</dl>`,
  },
  "a month without a word of which it is": {
    stepDays: 31,
    address: (date) => `/silent?month=${iso(date).slice(0, 7)}`,
    body: () => "<p>There is nothing to be seen here at this time, come back later.</p>",
  },
};

test("a calendar may show its dates as it likes", async () => {
  await story.close();
  story = await WebStory.open({ max_depth: 500 });
  const start = Date.UTC(2026, 0, 5);
  for (const [name, { stepDays, address, body, lang = "en" }] of Object.entries(VIEWS)) {
    for (let i = 0; i < 100; i++) {
      const at = (away: number): Date => {
        const date = new Date(start + (i + away) * stepDays * DAY_MS);
        return stepDays < 31 ? date : new Date(Date.UTC(2026, i + away, 1));
      };
      const days = Array.from({ length: 31 }, (_, day) => new Date(at(0).getTime() + day * DAY_MS));
      const content = `${body(at(0), days)}<p><a href="${address(at(1))}">Next</a></p>`;
      story.site.set(address(at(0)), page("Hall", content, lang));
    }
    setFront(address(new Date(start)));
    story.site.forgetRequests();
    const { source, log } = await story.crawl();
    assert.equal(source.complete, true, name);
    const own = (address(new Date(start)).match(/^\/\w+/) ?? [""])[0];
    const count = story.site.asked.filter((each) => each.includes(own)).length;
    assert.ok(count < 45, `${name}: ${count} requests`);
    assert.match(log, /in a row differ only in their dates/, name);
  }
});

test("a calendar whose events were taken away says so at once, and its pages leave as unlinked ones do", async () => {
  await story.close();
  story = await WebStory.open({ max_depth: 500 });
  const address = (month: number): string => `/kalender/${Math.floor(month / 12)}/${two((month % 12) + 1)}/`;
  setMonths(address, Object.fromEntries(Array.from({ length: 40 }, (_, i) => [NOVEMBER + i, `bird${i}`])));
  setFront(address(NOVEMBER));
  await story.crawl();
  assert.equal((await story.found("bird39")).length, 1);
  const before = Object.keys(await story.indexed());
  setMonths(address);
  for (let i = 0; i < 2; i++) {
    assert.equal((await story.crawl()).source.complete, true);
    assert.deepEqual([await story.found("bird0"), await story.found("bird39")], [[], []]);
    const after = await story.indexed();
    assert.deepEqual(
      before.filter((path) => !(path in after)),
      [],
    );
  }
  const { source } = await story.crawl({ confirmDeletes: true });
  assert.equal(source.complete, true);
  assert.ok(Object.keys(await story.indexed()).length < before.length);
});
