import { BadInputError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import type { NewTask } from "../contracts/queue.ts";
import { type CrawlRequest, crawlRequest } from "../engine/crawl-request.ts";

/** A crawl, or one step of it, for a worker. */
export const CRAWL_TASK = "crawl";

/** What the job's own file does not tell. */
export function crawlTask(request: CrawlRequest): NewTask {
  return { kind: CRAWL_TASK, payload: { request } };
}

/** The other end. Wishes that another release wrote and this one does not know are left at their defaults. */
export function readCrawlTask(payload: unknown): CrawlRequest {
  const { request } = (payload ?? {}) as { readonly request?: Partial<CrawlRequest> & { domainId?: DomainId } };
  if (typeof request?.domainId !== "string") throw new BadInputError("read crawl task: it names no domain");
  return crawlRequest(parseDomainId(request.domainId), request);
}
