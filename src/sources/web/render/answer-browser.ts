import type { Request, Route } from "playwright-core";
import { explain } from "../../../contracts/errors.ts";
import type { WebClient, WebResponse } from "../../../contracts/web.ts";
import { followRedirects } from "../client/follow-redirects.ts";

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_REQUESTS = 200;
/** What the text of a page may depend on. Pictures, fonts, sounds and streams are not asked for. */
const ASKED_FOR = new Set(["document", "script", "stylesheet", "xhr", "fetch", "other"]);
/** They describe the bytes on the wire; the browser gets them unpacked. Cookies would be somebody's. */
const OWN_HEADERS = new Set(["content-encoding", "content-length", "transfer-encoding", "connection", "set-cookie"]);

/**
 * Answers the requests of one page with what the client gets. Redirects are followed here: the browser would follow them by itself, past everything that
 * keeps requests inside the rules.
 */
export class BrowserAnswers {
  readonly #client: WebClient;
  readonly #signal: AbortSignal;
  #requests = 0;
  #hasPage = false;
  #trouble = "";

  constructor(client: WebClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Why the page itself could not be had; "" when it could. */
  get trouble(): string {
    return this.#trouble;
  }

  async answer(route: Route): Promise<void> {
    const request = route.request();
    const isDocument = request.resourceType() === "document";
    const isPage = isDocument && !this.#hasPage;
    this.#hasPage ||= isPage;
    this.#requests += 1;
    try {
      // Frames and new windows are other pages, and so is wherever a script would like to go: without content the page stays.
      if (isDocument && !isPage) await route.fulfill({ status: 204 });
      else if (!this.#mayAsk(request)) await route.abort("blockedbyclient");
      else await this.#fulfill(route, await this.#ask(request));
    } catch (error) {
      if (isPage) this.#trouble ||= explain(error);
      // The page may be closed by now: nobody waits for this answer any more.
      await route.abort("failed").catch(() => undefined);
    }
  }

  #mayAsk(request: Request): boolean {
    return request.method() === "GET" && ASKED_FOR.has(request.resourceType()) && this.#requests <= MAX_REQUESTS;
  }

  async #fulfill(route: Route, response: WebResponse): Promise<void> {
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN_HEADERS.has(name)));
    await route.fulfill({ status: response.status, headers, body: Buffer.from(await response.body()) });
  }

  async #ask(request: Request): Promise<WebResponse> {
    const accept = request.headers()["accept"] ?? "*/*";
    const { answer } = await followRedirects(request.url(), (url) =>
      this.#client.ask({ url, method: "GET", accept, maxBytes: MAX_BYTES, signal: this.#signal }),
    );
    if (answer.kind !== "response") throw new Error(answer.reason);
    if (answer.status < 300 || answer.status > 399) return answer;
    await answer.cancel();
    throw new Error("it redirects to no address");
  }
}
