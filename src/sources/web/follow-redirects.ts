import type { WebResult } from "../../contracts/web.ts";

/** RFC 9309 requires five for robots.txt; other resources of a page need no more. */
export const MAX_REDIRECTS = 5;

export interface Followed {
  /** A redirect only if it has no valid target. */
  readonly answer: WebResult;
  /** The URL of the response. */
  readonly url: string;
  /** One more than the limit if there are too many; then the answer is a refusal. */
  readonly redirects: number;
}

/** Requests a URL and follows redirects. Each request goes through `request`, so that its rules apply to every target. */
export async function followRedirects(start: string, request: (url: string) => Promise<WebResult>): Promise<Followed> {
  let url = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await request(url);
    const target = targetOf(answer, url);
    if (answer.kind !== "response" || target === undefined) return { answer, url, redirects };
    await answer.cancel();
    url = target;
  }
  const reason = `there are more than ${MAX_REDIRECTS} redirects`;
  return { answer: { kind: "refused", why: "broken", reason }, url, redirects: MAX_REDIRECTS + 1 };
}

function targetOf(answer: WebResult, url: string): string | undefined {
  if (answer.kind !== "response" || answer.status < 300 || answer.status > 399) return undefined;
  const location = answer.headers.get("location") ?? "";
  return location === "" ? undefined : URL.parse(location, url)?.href;
}
