import type { WebResult } from "../../contracts/web.ts";

/** RFC 9309 asks for as many where a robots.txt is looked for; whatever else belongs to a page needs no more. */
export const MAX_REDIRECTS = 5;

export interface Followed {
  /** One that leads further only where it leads to no address. */
  readonly answer: WebResult;
  /** Who gave it. */
  readonly url: string;
  /** One more than the limit when there are too many; the answer is a refusal then. */
  readonly redirects: number;
}

/** Asks for an address, and then for wherever the answers lead: each in its turn, so the rules hold for every one of them. */
export async function followRedirects(start: string, ask: (url: string) => Promise<WebResult>): Promise<Followed> {
  let url = start;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await ask(url);
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
