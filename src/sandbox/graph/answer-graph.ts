import { randomUUID } from "node:crypto";
import type { SignIn } from "../entra/token-endpoint.ts";
import { type Asked, headerOf, jsonReply, type Reply } from "../http-reply.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { answerDrive } from "./answer-drive.ts";
import { answerSite } from "./answer-site.ts";
import { rolesOf } from "./authorize-graph.ts";
import { GraphError, graphErrorReply, invalidRequest } from "./graph-error.ts";
import type { GraphRequest } from "./graph-request.ts";

const PREFIX = "/v1.0/";

/** undefined when the path is none of Graph's. Only what a crawler reads is here; the rest is refused. */
export function answerGraph(asked: Asked, tenant: Tenant, signIn: SignIn): Reply | undefined {
  if (!asked.rawPath.toLowerCase().startsWith(PREFIX)) return undefined;
  const clientRequestId = headerOf(asked, "client-request-id");
  const headers = { "request-id": randomUUID(), ...(clientRequestId ? { "client-request-id": clientRequestId } : {}) };
  const reply = withoutStandardHeaders(asked, tenant, signIn);
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

function withoutStandardHeaders(asked: Asked, tenant: Tenant, signIn: SignIn): Reply {
  try {
    const roles = rolesOf(asked, signIn);
    if (asked.method !== "GET" && asked.method !== "HEAD") throw new GraphError(403, "accessDenied", "Access denied");
    const request: GraphRequest = {
      asked,
      tenant,
      signIn,
      roles,
      scope: { origin: asked.origin, tenantId: signIn.registration.tenantId },
      path: decode(asked.rawPath.slice(PREFIX.length)).replace(/\/+$/, ""),
      query: new URLSearchParams(asked.rawQuery),
    };
    const answer = answerSite(request) ?? answerDrive(request);
    if (!answer) throw new GraphError(400, "BadRequest", `Resource not found for the segment '${request.path}'.`);
    return "status" in answer ? answer : jsonReply(200, answer.body);
  } catch (error) {
    if (error instanceof GraphError) return graphErrorReply(error, headerOf(asked, "client-request-id"));
    throw error;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidRequest("The address is not well encoded.");
  }
}
