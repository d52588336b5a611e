import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";

const ON_THE_MACHINE = [
  process.env["CHROMIUM_PATH"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** A hundred times what a quiet machine takes: on a busy one anything may take long. */
const PATIENCE_MS = 180_000;

/** A Chromium of the machine when there is one, else the one that the package carries. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: await chromiumPath(),
    args: ["--no-sandbox"],
    timeout: PATIENCE_MS,
  });
  browser.on("context", (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}

export async function chromiumPath(): Promise<string> {
  return ON_THE_MACHINE.find((path) => path !== "" && existsSync(path)) ?? (await carriedChromium());
}

/** The package reuses what lies in TMPDIR whoever unpacked it, so every user and version gets a folder of their own. */
async function carriedChromium(): Promise<string> {
  const packageJson = new URL("../../node_modules/@sparticuz/chromium/package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(packageJson, "utf8")) as { version: string };
  const before = process.env["TMPDIR"];
  const name = `../../node_modules/.cache/chromium-${version}-${userInfo().username}`;
  const folder = fileURLToPath(new URL(name, import.meta.url));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  process.env["TMPDIR"] = folder;
  try {
    const { default: carried } = await import("@sparticuz/chromium");
    return await carried.executablePath();
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}
