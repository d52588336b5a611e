import type { Hono } from "hono";
import { assistantRoutes, threadRoutes } from "../wire/assistant-routes.ts";
import { chatRoutes } from "../wire/chat-routes.ts";
import { conversationRoutes } from "../wire/conversation-routes.ts";
import { embeddingRoutes } from "../wire/embedding-routes.ts";
import { modelRoutes } from "../wire/model-routes.ts";
import { responseRoutes } from "../wire/response-routes.ts";
import type { AnswerParts } from "./answer-parts.ts";

/** Everything of the wire protocol that is not about files and vector stores. */
export function mountAnswers(api: Hono, parts: AnswerParts): void {
  api.route("/responses", responseRoutes(parts));
  api.route("/chat", chatRoutes(parts));
  api.route("/conversations", conversationRoutes(parts));
  api.route("/assistants", assistantRoutes(parts));
  api.route("/threads", threadRoutes());
  api.route("/embeddings", embeddingRoutes(parts));
  api.route("/models", modelRoutes(parts));
}
