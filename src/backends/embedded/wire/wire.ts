import { Hono } from "hono";
import { BadInputError, explain, NotFoundError } from "../../../contracts/errors.ts";
import type { BodyParts } from "../../../index/sqlite/prepare-body.ts";
import type { Catalog } from "../catalog.ts";
import type { FileShelf } from "../file-shelf.ts";
import type { StoreFolder } from "../store-folder.ts";
import { fileRoutes } from "./file-routes.ts";
import { storeFileRoutes } from "./store-file-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { errorResponse, WireError, withHeaders } from "./wire-error.ts";

/** What the routes work on. */
export interface WireContext {
  readonly catalog: Catalog;
  readonly stores: StoreFolder;
  readonly shelf: FileShelf;
  readonly parts: BodyParts;
}

/** The wire protocol over the embedded index: a request in, a response out, whoever carries them. */
export function createWire(context: WireContext): (request: Request) => Promise<Response> {
  const api = new Hono();
  api.route("/files", fileRoutes(context));
  api.route("/vector_stores", storeRoutes(context));
  api.route("/vector_stores", storeFileRoutes(context));
  const app = new Hono({ strict: false });
  app.route("/", api);
  app.route("/v1", api);
  app.notFound(({ req }) =>
    errorResponse(new WireError(404, `${req.method} ${req.path} is not served by the embedded backend yet.`)),
  );
  app.onError((error) => errorResponse(toWireError(error)));
  return async (request) => {
    const startedAt = performance.now();
    return withHeaders(await app.fetch(request), startedAt);
  };
}

function toWireError(error: unknown): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof NotFoundError) return new WireError(404, error.message);
  if (error instanceof BadInputError) return new WireError(400, error.message);
  return new WireError(500, `The embedded backend failed: ${explain(error)}`);
}
