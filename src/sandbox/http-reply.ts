/** An answer as a value, so that logging and faults can see it before a byte is sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A request as the routes see it: the raw target, because how it was escaped matters. */
export interface SandboxRequest {
  readonly method: string;
  /** As sent, still percent-encoded. */
  readonly rawPath: string;
  /** As sent, without the question mark. */
  readonly rawQuery: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
  /** `http://127.0.0.1:1234`: the address it was sent to. */
  readonly origin: string;
}

export function headerOf(request: SandboxRequest, name: string): string {
  const value = request.headers[name];
  return (Array.isArray(value) ? value.join(", ") : value) ?? "";
}

export function jsonReply(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
  return {
    status,
    headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify(value),
  };
}

export function textReply(status: number, text: string): Reply {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text };
}
