import { fetch, type Headers, Pool } from "undici";

/** An answer as the tests look at it. */
export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers: Headers;
  /** Parsed, or undefined when it is no JSON. */
  readonly json: Reading;
}

// Answers are looked into freely, and a wrong guess shows as undefined in an assertion.
export type Reading = { readonly [key: string]: Reading } & { readonly length: number } & unknown;

export interface AskInit {
  readonly json?: unknown;
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

// An agent, as Node's own fetch has one, makes a new connection for every request once it has ended one: after OPTIONS, or DELETE with a body.
const pools = new Map<string, Pool>();

function poolFor(url: string): Pool {
  const pool = pools.get(url) ?? new Pool(url);
  pools.set(url, pool);
  return pool;
}

/** `await ask(url, "POST /v2/domains/create", { json })` */
export async function ask(url: string, what: string, init: AskInit = {}): Promise<Reply> {
  const [method = "GET", path = "/"] = what.split(" ");
  const headers: Record<string, string> = { ...init.headers };
  let body: string | undefined = init.body;
  if (init.json !== undefined) {
    body = JSON.stringify(init.json);
    headers["content-type"] = "application/json";
  } else if (init.form) {
    body = new URLSearchParams(init.form).toString();
    headers["content-type"] = "application/x-www-form-urlencoded";
  }
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: "manual",
    dispatcher: poolFor(url),
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    type: (response.headers.get("content-type") ?? "").split(";")[0] ?? "",
    text,
    headers: response.headers,
    json: parse(text) as Reading,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
