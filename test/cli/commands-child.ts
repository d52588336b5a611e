import { callHere } from "./call-here.ts";

process.on("message", async ({ args, settings }: { args: string[]; settings: Record<string, string> }) => {
  Object.assign(process.env, settings);
  const called = await callHere(args);
  for (const name of Object.keys(settings)) delete process.env[name];
  process.send?.(called);
});
