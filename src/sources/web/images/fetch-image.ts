import { BodyError, type WebClient, type WebResponse } from "../../../contracts/web.ts";
import { followRedirects } from "../follow-redirects.ts";

const MAX_BYTES = 15 * 1024 * 1024;
const ACCEPT = "image/jpeg, image/png, image/webp, image/gif, image/tiff, image/bmp;q=0.8, image/*;q=0.5";

export interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

export type FetchedImage =
  | { readonly kind: "fetched"; readonly bytes: Uint8Array; readonly validators: Validators }
  | { readonly kind: "unchanged" }
  /** It is not to be had, now or later. */
  | { readonly kind: "none"; readonly reason: string }
  /** Perhaps another time. */
  | { readonly kind: "failed" };

/** Redirects are followed; the validators are those of wherever they led. Throws only when it is called off. */
export async function fetchImage(
  client: WebClient,
  url: string,
  known: Validators,
  signal: AbortSignal,
): Promise<FetchedImage> {
  const { answer } = await followRedirects(url, (at) =>
    client.ask({ url: at, method: "GET", ...known, accept: ACCEPT, maxBytes: MAX_BYTES, signal }),
  );
  if (answer.kind === "unavailable") return { kind: "failed" };
  if (answer.kind === "refused") return { kind: "none", reason: answer.reason };
  if (answer.status === 200) return await bodyOf(answer);
  await answer.cancel();
  return answer.status === 304 ? { kind: "unchanged" } : { kind: "none", reason: `the answer was ${answer.status}` };
}

async function bodyOf(answer: WebResponse): Promise<FetchedImage> {
  const { headers } = answer;
  const validators = { etag: headers.get("etag") ?? "", lastModified: headers.get("last-modified") ?? "" };
  try {
    return { kind: "fetched", bytes: await answer.body(), validators };
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    return error.why === "unavailable" ? { kind: "failed" } : { kind: "none", reason: error.message };
  }
}
