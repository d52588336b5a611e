import type { Role } from "../../contracts/access.ts";

/** What a request of the wire protocol takes, and whether it leaves something behind. */
export interface WireNeed {
  readonly role: Role;
  readonly changes: boolean;
}

const LOOKS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/** Asked with POST, and nothing but an answer comes of it; that a service may keep the answer is part of asking. What lies below it is not. */
const QUESTIONS =
  /^\/(vector_stores\/[^/%]+\/search|chat\/completions|completions|responses(\/input_tokens)?|embeddings|moderations)$/;
/**
 * What readers may GET, and no more of it with the server's key: the service has much else, and will have more. The guide has the same
 * list. `*` is one id.
 */
export const READABLE: readonly string[] = [
  "/models",
  "/models/*",
  "/files",
  "/files/*",
  "/files/*/content",
  "/vector_stores",
  "/vector_stores/*",
  "/vector_stores/*/files",
  "/vector_stores/*/files/*",
  "/vector_stores/*/files/*/content",
  "/vector_stores/*/file_batches/*",
  "/vector_stores/*/file_batches/*/files",
  "/responses",
  "/responses/*",
  "/responses/*/input_items",
  "/conversations/*",
  "/conversations/*/items",
  "/conversations/*/items/*",
  "/assistants",
  "/assistants/*",
];
const READABLE_PATH = new RegExp(`^(${READABLE.map((path) => path.replaceAll("*", "[^/%]+")).join("|")})$`);
/** Answers that the service keeps of everybody, and tells nobody's apart. */
const ALL_ANSWERS = /^\/chat\/completions(\/|$)/;
/**
 * What operators work with. Everything else the service has (batches, evals, containers, …) shows, or goes on from, answers of
 * anybody, or acts for the whole account. The guide has the same list.
 */
export const OPERATED: readonly string[] = [
  "models",
  "files",
  "uploads",
  "vector_stores",
  "responses",
  "conversations",
  "assistants",
  "threads",
  "chat",
  "completions",
  "embeddings",
  "moderations",
  "audio",
  "images",
];
const OPERATED_PATH = new RegExp(`^/(${OPERATED.join("|")})(/|$)`);
/** A slash, backslash, dot or percent sign that the service may decode: the path it sees is another one then. */
const DISGUISED = /%(2f|5c|2e|25)/i;

/** The file stays in the backend, and a crawl brings its own back: changing what a store holds, not deleting. */
const DETACH = /^\/vector_stores\/[^/%]+\/files\/[^/%]+$/;

/**
 * The same roles as at `/v2`; docs/guides/security.md has them in one table. `path` as it arrives at the wire. What is not known to be harmless takes more: encoded characters, which the service
 * may read differently, match none of the exceptions.
 */
export function needOf(method: string, path: string): WireNeed {
  const plain = path.replace(/^\/deployments\/[^/%]+(?=\/)/, "").replace(/\/$/, "");
  const changes = !LOOKS.has(method);
  if (DISGUISED.test(path) || !OPERATED_PATH.test(plain)) return { role: "admin", changes };
  if (!changes) {
    if (READABLE_PATH.test(plain)) return { role: "read", changes };
    return { role: ALL_ANSWERS.test(plain) ? "admin" : "operate", changes };
  }
  if (method === "DELETE") return { role: DETACH.test(plain) ? "operate" : "admin", changes };
  const asks = method === "POST" && QUESTIONS.test(plain);
  return asks ? { role: "read", changes: false } : { role: "operate", changes };
}
