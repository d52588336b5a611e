import { RemoteError } from "../../contracts/errors.ts";
import { isObject, parseErrorBody } from "./error-body.ts";
import type { HttpAnswer, HttpLine } from "./http-line.ts";
import { askedWaitMs, first, judgeStatus, type RetryPolicy, TransientFailure, withRetries } from "./retry.ts";
import type { SignIn } from "./sign-in.ts";
import type { OnWait, Slot, ThrottleGate } from "./throttle-gate.ts";

/** An answer that will not get better by asking again. */
export class SharePointError extends RemoteError {
  readonly status: number;
  /** SharePoint's own number; undefined when the answer carried none. */
  readonly code: number | undefined;
  readonly exception: string;
  /** SharePoint's own words, "" when it had none. */
  readonly said: string;
  constructor(message: string, details: { status: number; code: number | undefined; exception: string; said: string }) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.exception = details.exception;
    this.said = details.said;
  }
}

export interface CallContext {
  readonly signal: AbortSignal;
  readonly onWait: OnWait;
}

/** A body on its way. The slot is given back when the body ends, fails or is destroyed. */
export interface OpenAnswer {
  readonly headers: HttpAnswer["headers"];
  readonly body: HttpAnswer["body"];
}

/** GET with sign-in, throttling and retries. Throws SharePointError or RemoteError when that did not help. */
export interface RestClient {
  getJson(url: string, call: CallContext): Promise<Record<string, unknown>>;
  open(url: string, call: CallContext): Promise<OpenAnswer>;
  readonly idleMs: number;
}

interface Parts {
  readonly line: HttpLine;
  readonly gate: ThrottleGate;
  readonly signIn: SignIn;
  readonly policy: RetryPolicy;
  readonly userAgent: string;
}

export function createRestClient(parts: Parts): RestClient {
  const { line, gate, signIn, policy } = parts;

  async function get<T>(
    url: string,
    accept: string,
    call: CallContext,
    use: (answer: HttpAnswer, slot: Slot) => Promise<T>,
  ): Promise<T> {
    const { origin } = new URL(url);
    let rejected = "";
    return await withRetries({ policy, gate, ...call }, async (slot) => {
      for (;;) {
        const token = await signIn.token(origin, rejected, call);
        const headers = { accept, authorization: `Bearer ${token}`, "user-agent": parts.userAgent };
        const answer = await line.send({ method: "GET", url, headers }, call.signal);
        slowDownWhenUsedUp(answer, gate);
        if (answer.status === 200) return await use(answer, slot);
        const failure = toFailure(answer, await line.readText(answer, call.signal));
        // A token can be revoked or expire under way: one fresh one, and a second refusal is final.
        if (answer.status !== 401 || rejected || failure instanceof TransientFailure) throw failure;
        rejected = token;
      }
    });
  }

  return {
    idleMs: line.timeouts.idleMs,
    getJson: (url, call) =>
      get(url, "application/json;odata=nometadata", call, async (answer, slot) => {
        const value = parseJson(answer, await line.readText(answer, call.signal));
        slot.release();
        return value;
      }),
    open: (url, call) =>
      get(url, "*/*", call, async (answer, slot) => {
        answer.body.once("close", slot.release);
        return { headers: answer.headers, body: answer.body };
      }),
  };
}

/** Sharing out a budget that is used up would only earn everybody a 429. */
function slowDownWhenUsedUp(answer: HttpAnswer, gate: ThrottleGate): void {
  if (answer.status !== 200 || first(answer.headers["ratelimit-remaining"]) !== "0") return;
  const waitMs = askedWaitMs(answer.headers);
  if (waitMs !== undefined) gate.pause(waitMs, "SharePoint's request budget is used up");
}

function parseJson(answer: HttpAnswer, text: string): Record<string, unknown> {
  const type = first(answer.headers["content-type"]);
  if (/html/i.test(type) || text.trimStart().startsWith("<")) {
    throw new TransientFailure(new RemoteError("SharePoint answered with a web page instead of data"));
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    throw new TransientFailure(
      new RemoteError("SharePoint's answer was cut off or is no valid JSON", { cause: error }),
    );
  }
  throw new TransientFailure(new RemoteError("SharePoint's answer is not a JSON object"));
}

function toFailure(answer: HttpAnswer, text: string): Error {
  const { status, headers } = answer;
  const body = parseErrorBody(text);
  const said = body.message || (status >= 300 && status < 400 ? redirectText(first(headers["location"])) : "");
  const message = `SharePoint answered ${status}${said ? ` (${said})` : ""}${requestId(headers)}`;
  const error = new SharePointError(message, { status, code: body.code, exception: body.exception, said });
  const verdict = judgeStatus(status, body);
  if (verdict === "final") return error;
  return new TransientFailure(error, { throttled: verdict === "throttled", askedMs: askedWaitMs(headers) });
}

/** Without its query, which may carry things that are not for logs. */
function redirectText(location: string): string {
  return location ? `redirect to ${location.split("?", 1)[0]}` : "redirect";
}

function requestId(headers: HttpAnswer["headers"]): string {
  const id = first(headers["sprequestguid"]);
  return id ? `, request ${id}` : "";
}
