import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";

/** A page, and everything that would be wrong with it whatever the test looks at. */
export interface Visit {
  readonly page: Page;
  readonly troubles: string[];
  /** A form was refused on purpose: the check of a field may be refused, too, at any time after that. */
  mayBeRefused?: boolean;
}

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Opens an address of the server and listens: no console error, no request to any other host. */
export async function visit(
  browser: Browser,
  origin: string,
  path: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  if (options.javaScriptEnabled !== false) await context.addInitScript(hideControlsUntilLoaded);
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) troubles.push(`asked ${request.url()}`);
  });
  await page.goto(origin + path);
  return { page, troubles };
}

/** What is typed or pressed before the scripts of a page are there is lost on them: a click that opens a page does not wait for them. */
function hideControlsUntilLoaded(): void {
  const hidden = new CSSStyleSheet();
  hidden.replaceSync("button, input, select, textarea { visibility: hidden !important }");
  document.adoptedStyleSheets.push(hidden);
  addEventListener("load", () => document.adoptedStyleSheets.splice(document.adoptedStyleSheets.indexOf(hidden), 1));
}

const REFUSAL = /the server responded with a status of 4\d\d/;

export async function leave({ page, troubles, mayBeRefused }: Visit): Promise<void> {
  await page.context().close();
  assert.deepEqual(mayBeRefused ? troubles.filter((text) => !REFUSAL.test(text)) : troubles, []);
}

/** The browser itself tells of an answer that is a refusal, perhaps after the page did: that is waited for, and is no trouble. */
export async function expectRefusal(visited: Visit): Promise<void> {
  const { page, troubles } = visited;
  visited.mayBeRefused = true;
  while (troubles.length === 0) await page.waitForEvent("console");
  for (const text of troubles.splice(0)) assert.match(text, REFUSAL);
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** No problem at all, by the rules of axe, or by some of them. It runs past the page's policy: in the test's own world. */
export async function assertAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(AXE);
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
  const violations = (await page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) => violations)`,
  )) as Violation[];
  assert.deepEqual(
    violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary ?? ""}`).join(" | ")}`,
    ),
    [],
    page.url(),
  );
}

const LOOKS = [
  { colorScheme: "light", width: 1200, height: 900 },
  { colorScheme: "dark", width: 390, height: 844 },
] as const;

/** Accessible and not wider than the screen: wide in light, on a phone in dark. */
export async function assertForEverybody(page: Page): Promise<void> {
  for (const { colorScheme, width, height } of LOOKS) {
    // Without motion: colours that are still changing over have no contrast.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width, height });
    await assertAccessible(page);
    const content = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(content <= width, `${page.url()} is ${content - width} pixels too wide for ${width}`);
  }
}

/** On a phone: no table of rows has to be pushed aside to be read. */
export async function assertStacked(page: Page): Promise<void> {
  const wide = await page
    .locator(".scroll-x:has(> table.rows)")
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel));
  assert.deepEqual(wide, [], page.url());
}

/** Opens whatever is folded away in it. */
export async function unfold(place: Locator): Promise<void> {
  await place.evaluate((element) => {
    for (const folded of (element as unknown as ParentNode).querySelectorAll("details")) folded.open = true;
  });
}
