type Pairs = Iterable<readonly [string, string]>;

/** They are about one connection, not about the message. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];

/** What concerns us and the client alone: who they are, where they come from, and which account is used. */
const OURS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "host",
  "expect",
  "accept-encoding",
  "authorization",
  "api-key",
  "x-api-key",
  "openai-organization",
  "openai-project",
  "cookie",
  "origin",
  "referer",
  "forwarded",
  "x-real-ip",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
]);
const OURS_BEGIN = /^(sec-|x-forwarded-)/;

/** What would be taken for our own word: cookies, who may read across sites, where and how we are to be reached. */
const THEIRS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "set-cookie",
  "set-cookie2",
  "alt-svc",
  "clear-site-data",
  "strict-transport-security",
]);
const THEIRS_BEGIN = /^access-control-/;

// Header values are bytes; whatever else came out of decoding them cannot be sent on.
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The client's headers as the service may see them. */
export function requestHeaders(given: Headers, credentials: Readonly<Record<string, string>>): Record<string, string> {
  const passed = pass(given, (name) => OURS.has(name) || OURS_BEGIN.test(name));
  // Uncompressed: nothing on the way holds tokens back to pack them, and length and encoding stay what they say.
  return { ...Object.fromEntries(passed), "accept-encoding": "identity", ...credentials };
}

/** The service's headers as the client may see them. */
export function responseHeaders(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name.toLowerCase(), one] as const),
  );
  const headers = new Headers();
  for (const [name, value] of pass(pairs, (one) => THEIRS.has(one) || THEIRS_BEGIN.test(one))) {
    if (SENDABLE.test(value)) headers.append(name, value);
  }
  return headers;
}

function pass(given: Pairs, isDropped: (name: string) => boolean): (readonly [string, string])[] {
  const pairs = [...given];
  const named = pairs
    .filter(([name]) => name === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  return pairs.filter(([name]) => !isDropped(name) && !named.includes(name));
}
