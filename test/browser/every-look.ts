import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { assertAccessible, unfold } from "./visit.ts";

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** A page of fifty rows on a phone, each row a card. */
const MOST_SCREENS = 25;

/** What a page must be for everybody: nothing that axe finds, nothing cut off, words and times instead of fields, all of it by keyboard. */
export async function assertEverywhere(page: Page): Promise<void> {
  await look(page, "light", WIDE);
  await assertWords(page);
  await unfold(page.locator("main"));
  await assertAccessible(page);
  await assertWidth(page, WIDE.width);
  await assertKeyboard(page);
  // Colours do not depend on the width, nor does what fits depend on the colours: two looks stand for four.
  await look(page, "dark", PHONE);
  await assertAccessible(page, LOOK_RULES);
  await assertWidth(page, PHONE.width);
  await assertMenu(page);
}

/** The rules of axe that depend on how a page looks; what the others say is the same in every look. */
const LOOK_RULES = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"];

const SHOTS = process.env["SHOTS"];

async function look(page: Page, colorScheme: "light" | "dark", size: typeof WIDE): Promise<void> {
  // Without motion: colours that are still changing over have no contrast.
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize(size);
  const screens = (await page.evaluate(() => document.documentElement.scrollHeight)) / size.height;
  assert.ok(screens < MOST_SCREENS, `${page.url()} is ${screens} screens tall`);
  if (SHOTS) await shoot(page, `${size.width}-${colorScheme}`);
}

let shots = 0;

/** For looking at: `SHOTS=/tmp/shots`. */
async function shoot(page: Page, how: string): Promise<void> {
  const { pathname, search } = new URL(page.url());
  const name = `${String(Math.floor(shots++ / 2)).padStart(3, "0")} ${pathname}${search}`.replaceAll(
    /[^\w.=&-]+/g,
    "_",
  );
  mkdirSync(SHOTS ?? "", { recursive: true });
  await page.screenshot({ path: join(SHOTS ?? "", `${name.slice(0, 120)}.${how}.png`), fullPage: true });
}

async function assertWidth(page: Page, width: number): Promise<void> {
  const content = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(content <= width, `${page.url()} is ${content - width} pixels too wide for ${width}`);
  const cut = await page
    .locator(".scroll-x:has(> table.rows)")
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel));
  assert.deepEqual(cut, [], `${page.url()}: tables that are cut off at ${width} pixels`);
}

/** What a program would say, and people should not have to read: outside of code, names of files and what is said to be JSON. */
async function assertWords(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const odd = /\bundefined\b|\[object |\bNaN\b|\b1[67]\d{8}\b|[{[]"\w+":|\b[a-z]+(?:_[a-z]+)+\b(?![./])/;
    const texts = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT);
    const all: string[] = [];
    while (texts.nextNode()) {
      const { parentElement: place, textContent: text } = texts.currentNode;
      if (!place?.checkVisibility() || place.closest("code, pre, bdi, mark, textarea, option, [role=log], #map"))
        continue;
      const [match] = odd.exec(text ?? "") ?? [];
      if (match) all.push(`${match} in: ${text?.trim().slice(0, 200)}`);
    }
    return all;
  });
  assert.deepEqual(found, [], page.url());
}

const FEW_STOPS = 6;

/**
 * The tab key skips to the content, and then goes from control to control as they are read; each can be seen, and so can that it has the
 * focus.
 */
async function assertKeyboard(page: Page): Promise<void> {
  await page.evaluate(() => {
    (document.activeElement as HTMLElement | null)?.blur();
    scrollTo(0, 0);
    // Where the tab key begins is where somebody clicked last.
    getSelection()?.removeAllRanges();
  });
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  const expected = await page.evaluate(listStops);
  const reached: string[] = [];
  // A field for a date has a stop for the day, the month and the year.
  for (let pressed = 0; pressed < 2 * FEW_STOPS && reached.length < Math.min(FEW_STOPS, expected.length); pressed++) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const { tagName, id, textContent } = document.activeElement as HTMLElement;
      const field = ["type", "name", "value"].map((name) => document.activeElement?.getAttribute(name) ?? "");
      return `${tagName} ${field} ${id} ${textContent?.trim().slice(0, 40)}`;
    });
    if (!here.startsWith("INPUT date") || here !== reached.at(-1)) reached.push(here);
  }
  assert.deepEqual(reached, expected.slice(0, FEW_STOPS), `${page.url()}: where the tab key leads`);
  assert.deepEqual(await page.evaluate(listUnseen), [], `${page.url()}: what shows no focus`);
}

/** Runs in the page: what the tab key stops at within the content. */
function listStops(): string[] {
  const controls = document.querySelectorAll<HTMLElement>(
    "main :is(a[href], button, input, select, textarea, summary, [tabindex='0'])",
  );
  return [...controls]
    .filter(
      (one) => one.checkVisibility({ visibilityProperty: true }) && one.tabIndex >= 0 && !one.matches(":disabled"),
    )
    .map((one) => {
      const field = ["type", "name", "value"].map((name) => one.getAttribute(name) ?? "");
      return `${one.tagName} ${field} ${one.id} ${one.textContent?.trim().slice(0, 40)}`;
    });
}

/** Runs in the page, after a key was pressed: controls whose focus cannot be seen. */
function listUnseen(): string[] {
  const controls = document.querySelectorAll<HTMLElement>(
    "a[href], button, input, select, textarea, summary, [tabindex='0']",
  );
  const unseen: string[] = [];
  for (const one of controls) {
    if (!one.checkVisibility({ visibilityProperty: true }) || one.matches(":disabled, [type=hidden]")) continue;
    one.focus({ focusVisible: true } as FocusOptions);
    const box = one.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    const isMarked = outlineStyle !== "none" && outlineWidth !== "0px";
    const isThere =
      box.width > 0 &&
      box.height > 0 &&
      box.bottom > 0 &&
      box.top < innerHeight &&
      box.right > 0 &&
      box.left < innerWidth;
    if (document.activeElement !== one || !one.matches(":focus-visible") || !isMarked || !isThere) {
      unseen.push(`${one.outerHTML.slice(0, 200)} ${outlineStyle} ${outlineWidth} ${JSON.stringify(box)}`);
    }
  }
  return unseen;
}

/** On a phone, Enter opens the menu and Escape closes it. */
async function assertMenu(page: Page): Promise<void> {
  const button = page.locator(".menu-button");
  if ((await button.count()) === 0) return;
  await button.focus();
  await page.keyboard.press("Enter");
  assert.ok(await page.locator("#navigation a").first().isVisible(), "Enter opens the menu");
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator("#navigation a").first().isVisible()), "Escape closes the menu");
  assert.ok(await button.evaluate((one) => one === document.activeElement), "the focus is where it was");
}

/** The headings and the text that can be read without a script are those that can be read with one; every control works. */
export async function assertReadable(page: Page, plain: Page): Promise<void> {
  const headings = (one: Page): Promise<string[]> =>
    one
      .locator("main :is(h1, h2, h3)")
      .evaluateAll((all) =>
        all
          .filter((one) => one.checkVisibility() && !one.closest("[data-scripted]"))
          .map((one) => one.textContent ?? ""),
      );
  const withScripts = await headings(page);
  const without = await headings(plain);
  assert.deepEqual(
    withScripts.filter((one) => !without.includes(one)),
    [],
    `${plain.url()}: headings that only scripts show`,
  );
  const dead = await plain.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("button, [data-scripted], input, select, textarea")]
      .filter((one) => one.checkVisibility())
      .filter(
        (one) => one.matches("[data-scripted]") || !(one.closest("form[action]") || one.matches("[popovertarget]")),
      )
      .map((one) => one.outerHTML.slice(0, 200)),
  );
  assert.deepEqual(dead, [], `${plain.url()}: controls that do nothing without scripts`);
}
