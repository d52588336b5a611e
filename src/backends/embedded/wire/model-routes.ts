import { Hono } from "hono";
import type { AnswerContext } from "../answers/answer-context.ts";
import { noSuchModel, notFound } from "./wire-error.ts";

/** Below `/models`: chat models and the embedding model. */
export function modelRoutes(parts: Pick<AnswerContext, "answerers" | "embedder">): Hono {
  const models = async (): Promise<string[]> => [...parts.answerers.models, (await parts.embedder()).model];
  const routes = new Hono();
  routes.get("/", async ({ json }) => json({ object: "list", data: (await models()).map(toModel) }));
  // Names of models may have slashes in them.
  routes.get("/:id{.+}", async ({ req, json }) => {
    const id = req.param("id");
    const known = await models();
    if (!known.includes(id)) throw noSuchModel(id, known);
    return json(toModel(id));
  });
  routes.delete("/:id{.+}", () => {
    throw notFound("Models of the embedded backend come with it and cannot be deleted.");
  });
  return routes;
}

function toModel(id: string): object {
  return { id, object: "model", created: 0, owned_by: "lockstep" };
}
