import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { World, type WorldOptions } from "../engine/world.ts";

/** A tenant, the product over it, and its server. */
export interface ServedWorld {
  readonly world: World;
  readonly server: RunningServer;
  readonly url: string;
  close(): Promise<void>;
}

/** `prepare` runs before the server is there. */
export async function serveWorld(
  options: WorldOptions = {},
  prepare?: (world: World) => Promise<void>,
): Promise<ServedWorld> {
  const world = await World.open(options);
  await prepare?.(world);
  const server = await serveHttp(world.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  return {
    world,
    server,
    url: server.url,
    async close() {
      await server.close();
      await world.close();
    },
  };
}
