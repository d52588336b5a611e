import { mkdir } from "node:fs/promises";
import { sandboxSettings, saveCertificate } from "../../src/cli/sandbox.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import type { RecordedStage } from "./stage.ts";

export const LIBRARY = "/sites/demo/Shared Documents";
const HOUR_SECONDS = 3600;

/** A tenant whose ids and times are the same in every run. */
export class Tenant {
  readonly sandbox: Sandbox;

  private constructor(sandbox: Sandbox) {
    this.sandbox = sandbox;
  }

  /** Starts the product with it, too. */
  static async open(stage: RecordedStage, settings: Readonly<Record<string, string>> = {}): Promise<Tenant> {
    const sandbox = await startSandbox({ seed: "empty" });
    stage.atEnd(() => sandbox.stop());
    stage.normaliser.place(sandbox.url, "http://tenant.example");
    await mkdir(stage.storage, { recursive: true });
    const pem = await saveCertificate(sandbox, stage.beside("sandbox.pem"));
    await stage.serve({ ...sandboxSettings(sandbox, pem), ...settings });
    const tenant = new Tenant(sandbox);
    await tenant.control("POST clock", { at: "2024-03-01T08:00:00Z" });
    return tenant;
  }

  get siteUrl(): string {
    return this.sandbox.siteUrl;
  }

  /** Something a user does in SharePoint, an hour after the last one; paths are below the library unless they start with `/`. */
  async change(operation: string, fields: Record<string, unknown>): Promise<Record<string, unknown>> {
    await this.control("POST clock", { advanceSeconds: HOUR_SECONDS });
    const full = Object.entries(fields).map(([key, value]) => {
      const isPath = (key === "path" || key === "to") && typeof value === "string" && !value.startsWith("/");
      return [key, isPath ? `${LIBRARY}/${value}` : value];
    });
    return await this.control(`POST ${operation}`, Object.fromEntries(full));
  }

  async fault(match: object, effect: object): Promise<void> {
    await this.control("POST faults", { match: { times: "always", ...match }, effect });
  }

  async heal(): Promise<void> {
    await this.control("DELETE faults");
  }

  async control(what: string, body?: object): Promise<Record<string, unknown>> {
    const [method = "", path] = what.split(" ");
    const response = await fetch(`${this.sandbox.url}/_sandbox/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) throw new Error(`${what}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  }
}
