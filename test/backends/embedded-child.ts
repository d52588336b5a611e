import { openStores } from "../index/index-fixture.ts";
import { openBackend } from "./embedded-fixture.ts";
import { serveWire } from "./embedded-serve.ts";

/** Run as a process of its own: serves the backend in the folder given, until it is killed. Tells its address, and on request the most memory it had. */
const [folder = ""] = process.argv.slice(2);
const backend = await openBackend(openStores(folder), folder);
const { url } = await serveWire(backend.wire);

let most = 0;
const measure = (): void => {
  most = Math.max(most, process.memoryUsage.rss());
};
setInterval(measure, 5).unref();
process.on("message", () => {
  measure();
  process.send?.({ most });
  most = 0;
});
process.send?.({ url });
