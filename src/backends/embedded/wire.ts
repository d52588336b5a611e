import { Hono } from "hono";
import type { Wire } from "../../contracts/backend.ts";
import {
  BadInputError,
  BusyError,
  ConflictError,
  explain,
  NotFoundError,
  RemoteError,
} from "../../contracts/errors.ts";
import { FilterError } from "../../lib/attribute-filter.ts";
import type { AnswerContext } from "./answers/answer-context.ts";
import { assistantRoutes, threadRoutes } from "./wire/assistant-routes.ts";
import { batchRoutes } from "./wire/batch-routes.ts";
import { chatRoutes } from "./wire/chat-routes.ts";
import { conversationRoutes } from "./wire/conversation-routes.ts";
import { embeddingRoutes } from "./wire/embedding-routes.ts";
import { fileRoutes } from "./wire/file-routes.ts";
import { modelRoutes } from "./wire/model-routes.ts";
import { responseRoutes } from "./wire/response-routes.ts";
import { storeFileRoutes } from "./wire/store-file-routes.ts";
import { storeRoutes } from "./wire/store-routes.ts";
import { uploadRoutes } from "./wire/upload-routes.ts";
import type { WireContext, WireEnv } from "./wire/wire-context.ts";
import { errorResponse, WireError, withHeaders } from "./wire/wire-error.ts";

const UNEXPECTED = "Something went wrong on the server. The reason is in its log.";

/** The wire protocol over the embedded index. */
export function createWire(context: WireContext, answers: AnswerContext): Wire {
  const api = new Hono<WireEnv>();
  api.use(async (_, next) => {
    await context.files.sweepExpired();
    await next();
  });
  api.route("/files", fileRoutes(context));
  api.route("/uploads", uploadRoutes(context));
  api.route("/vector_stores", storeRoutes(context));
  api.route("/vector_stores", storeFileRoutes(context));
  api.route("/vector_stores", batchRoutes(context));
  mountAnswers(api, answers);
  return serveRoutes(api);
}

/** Serves routes with the errors and headers of the protocol. Never rejects. */
export function serveRoutes(api: Hono<WireEnv>): Wire {
  const app = new Hono<WireEnv>({ strict: false });
  app.route("/", api);
  app.route("/v1", api);
  // As clients of Azure ask: the body has the model, too.
  app.route("/deployments/:deployment", api);
  app.notFound(({ req }) =>
    errorResponse(new WireError(404, `${req.method} ${req.path} is not served by the embedded backend.`)),
  );
  app.onError((error, { env }) => {
    const wireError = toWireError(error);
    if (wireError.status >= 500) env.call.tell?.(error);
    return errorResponse(wireError);
  });
  return async (request, call = {}) => {
    const startedAt = performance.now();
    const response = await app.fetch(request, { call });
    if (!response.ok) await drainBody(request);
    return withHeaders(response, startedAt);
  };
}

/** Only what was meant for people reaches them. */
function toWireError(error: unknown): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof FilterError) return new WireError(400, error.message, error.param);
  if (error instanceof NotFoundError) return new WireError(404, error.message);
  if (error instanceof BadInputError) return new WireError(400, error.message);
  if (error instanceof ConflictError) return new WireError(409, explain(error));
  if (error instanceof BusyError) return new WireError(429, error.message, null, "rate_limit_exceeded");
  if (error instanceof RemoteError) return new WireError(502, explain(error));
  return new WireError(500, UNEXPECTED);
}

const MAX_BYTES = 128 * 1024 * 1024;

/**
 * Reads what nobody read of a request that is refused: an answer that comes while the other side is still sending looks to
 * it like a broken connection. What is longer than anything we would take is cut off after all.
 */
export async function drainBody(request: Request): Promise<void> {
  if (!request.body || request.bodyUsed) return;
  let bytes = 0;
  try {
    for await (const block of request.body) {
      bytes += block.byteLength;
      if (bytes > MAX_BYTES) return;
    }
  } catch {
    // The client closed the connection, so it does not wait for the answer either.
  }
}

/** Mounts all routes that are not about files and vector stores. */
function mountAnswers(api: Hono<WireEnv>, parts: AnswerContext): void {
  api.route("/responses", responseRoutes(parts));
  api.route("/chat", chatRoutes(parts));
  api.route("/conversations", conversationRoutes(parts));
  api.route("/assistants", assistantRoutes(parts));
  api.route("/threads", threadRoutes());
  api.route("/embeddings", embeddingRoutes(parts));
  api.route("/models", modelRoutes(parts));
}
