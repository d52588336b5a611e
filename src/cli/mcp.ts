import type { Command } from "./command.ts";
import { openApp, untilStopped } from "./open-app.ts";

export const mcpCommand: Command = {
  name: "mcp",
  arguments: [],
  options: {},
  examples: [
    "lockstep mcp",
    "claude mcp add lockstep --env PERSISTENT_STORAGE_PATH=/var/lib/lockstep -- npx lockstep mcp",
  ],
  async run() {
    await using app = await openApp();
    const stopping = new AbortController();
    void untilStopped().then(() => stopping.abort());
    // Loaded here: its packages weigh, and --help need not wait for them.
    const { serveMcpOnStdio } = await import("../http/mcp/serve-mcp.ts");
    const { host, port, publicUrl } = app.config;
    const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    const origin = publicUrl || `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
    await serveMcpOnStdio(app, { origin }, stopping.signal);
    return 0;
  },
};
