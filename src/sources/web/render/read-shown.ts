import type { Page } from "playwright-core";

const MAX_CHARACTERS = 10_000_000;
const TAKE = `(() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
  const html = type + (document.documentElement?.outerHTML ?? "");
  return html.length > ${MAX_CHARACTERS} ? null : html;
})()`;

/** The page's HTML as it is now. It is measured in the browser, in a world of its own: a script can neither send more nor pretend to have less. */
export async function readShown(page: Page): Promise<Uint8Array> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const world = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  const { result } = await session.send("Runtime.evaluate", {
    expression: TAKE,
    contextId: world.executionContextId,
    returnByValue: true,
  });
  if (typeof result.value !== "string") throw new Error(`it shows more than ${MAX_CHARACTERS} characters`);
  return new TextEncoder().encode(result.value);
}
