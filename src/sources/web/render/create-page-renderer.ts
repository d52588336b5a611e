import type { BrowserContext } from "playwright-core";
import { CancelledError, RemoteError } from "../../../contracts/errors.ts";
import type { PageRenderer, Tell, WebClient } from "../../../contracts/web.ts";
import { createAtMost } from "../../../lib/at-most.ts";
import { BrowserAnswers } from "./answer-browser.ts";
import { KeptBrowser } from "./kept-browser.ts";
import { firstLineOf, type LaunchedBrowser } from "./launch-browser.ts";
import { readShown } from "./read-shown.ts";
import { within } from "./within.ts";

const PAGES_AT_ONCE = 2;
/** Closing a page needs no answer from it. A browser that does not even do that has to go. */
const CLOSE_MS = 5000;

export interface PageRendererOptions {
  readonly client: WebClient;
  /** "": looked for where browsers usually are. */
  readonly browserPath: string;
  /** For a page to begin. Some never come to rest: a third of it is waited for that, and as long for what it shows then. */
  readonly timeoutMs: number;
}

/** Every request of the browser goes through the client, and so through its rules. The browser is started by the first page. */
export function createPageRenderer({ client, browserPath, timeoutMs }: PageRendererOptions): PageRenderer {
  const inTurn = createAtMost(PAGES_AT_ONCE);
  const kept = new KeptBrowser(browserPath);
  const warned = new WeakSet<Tell>();
  const warn = ({ isSandboxed, path }: LaunchedBrowser, tell: Tell | undefined): void => {
    if (isSandboxed || !tell || warned.has(tell)) return;
    warned.add(tell);
    tell(`WARNING: Pages are shown by ${path} without a sandbox, because this system offers none.`);
  };
  return {
    async render(url, signal, tell) {
      return await inTurn(async () => {
        throwIfAborted(signal);
        return await kept.use(async (launched) => {
          warn(launched, tell);
          const answers = new BrowserAnswers(client, signal);
          // Nothing is shared between two pages: no cookies, no storage, no cache.
          const context = await launched.browser.newContext({ serviceWorkers: "block", acceptDownloads: false });
          const stop = (): void => void context.close().catch(() => undefined);
          signal.addEventListener("abort", stop);
          try {
            return await within(2 * timeoutMs, show(context, answers, url, timeoutMs), "the browser does not answer");
          } catch (error) {
            throwIfAborted(signal);
            throw new RemoteError(`The page could not be rendered: ${answers.trouble || firstLineOf(error)}`);
          } finally {
            signal.removeEventListener("abort", stop);
            await within(CLOSE_MS, context.close(), "close").catch(() => kept.close());
          }
        });
      });
    },
    close: () => kept.close(),
  };
}

async function show(
  context: BrowserContext,
  answers: BrowserAnswers,
  url: string,
  timeoutMs: number,
): Promise<Uint8Array> {
  const restMs = timeoutMs / 3;
  await context.route("**/*", (route) => answers.answer(route));
  await context.routeWebSocket("**/*", (socket) => socket.close());
  const page = await context.newPage();
  context.on("page", (another) => void another.close().catch(() => undefined));
  await page.goto(url, { waitUntil: "commit", timeout: timeoutMs });
  await page.waitForLoadState("networkidle", { timeout: restMs }).catch(() => undefined);
  // A script without end keeps the page from saying anything.
  return await within(restMs, readShown(page), "its scripts do not end");
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError("rendering was cancelled", { cause: signal.reason });
}
