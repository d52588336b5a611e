import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { sleep } from "../../lib/time.ts";
import { companySite } from "../seed/company-site.ts";
import { ALL_SECTIONS, SECTION_NAMES, type SectionName } from "./all-sections.ts";
import { answerSiteControl } from "./answer-site-control.ts";
import { sendAnswer } from "./send-answer.ts";
import { pictureAt } from "./site-pictures.ts";
import { WebSite, type WebSiteOptions } from "./web-site.ts";

export interface SiteOptions {
  /** Linked pages, with the front page; what its sections add comes on top. */
  readonly pages: number;
  /** 0, the default, lets the operating system choose. */
  readonly port?: number;
  /** The same seed, the same site. */
  readonly seed?: number;
  /** Its peculiarities; all of them by default, none for a plain site. */
  readonly sections?: readonly SectionName[];
}

/** A web site to crawl: see docs/sandbox.md. */
export interface SandboxSite {
  /** `http://127.0.0.1:port` */
  readonly origin: string;
  /** The site itself: tests in the same process may change and ask it directly. */
  readonly site: WebSite;
  close(): Promise<void>;
}

export async function startSite(options: SiteOptions): Promise<SandboxSite> {
  const { pages, port = 0, seed = 1, sections = SECTION_NAMES } = options;
  return await serve(port, { pages, seed: String(seed), sections: sections.map((name) => ALL_SECTIONS[name]) });
}

/** The help centre of the company whose tenant the sandbox is. */
export async function startCompanySite({ port = 0 }: Pick<SiteOptions, "port"> = {}): Promise<SandboxSite> {
  return await serve(port, { pages: 0, seed: "company", sections: [companySite] });
}

async function serve(port: number, plan: Omit<WebSiteOptions, "origin" | "otherOrigin">): Promise<SandboxSite> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const boundPort = typeof address === "object" && address ? address.port : port;
  const origin = `http://127.0.0.1:${boundPort}`;
  const site = new WebSite({ ...plan, origin, otherOrigin: `http://localhost:${boundPort}` });
  server.on("request", (request, response) => void answer(site, request, response));
  return {
    origin,
    site,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(site: WebSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const [path = "/", ...rest] = (request.url ?? "/").split("?");
    const query = rest.length > 0 ? `?${rest.join("?")}` : "";
    if (path.startsWith("/_site")) return await answerSiteControl(site, request, response, { path, query });
    const found = (await pictureAt(path)) ?? site.answer(path, query);
    if (found?.kind === "document" && found.delayMs !== undefined) await sleep(found.delayMs);
    const version = { path: path + query, revision: site.revisionOf(path), seed: site.seed, answer: site.nextAnswer() };
    sendAnswer(request, response, found, { version, count: site.countOf(request.headers.host ?? "", path + query) });
  } catch (error) {
    response.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}
