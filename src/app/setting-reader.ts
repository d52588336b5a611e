import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect, parseEnv } from "node:util";
import { isErrno } from "../lib/atomic-file.ts";
import { isLoopbackHost } from "../lib/loopback.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads settings by name and collects all problems, so that they can be shown at once. */
export interface SettingReader {
  /** Trimmed; "" when it is not set or empty. */
  text(name: string, fallback?: string): string;
  number(name: string, fallback: number, range: { readonly min: number; readonly max: number }): number;
  flag(name: string): boolean;
  choice<T extends string>(name: string, choices: readonly [T, ...T[]]): T;
  /** Returns "" if it is not set. Plain http to another machine exposes what is sent: refused, a warning, or fine. */
  url(name: string, plainHttp: "refuse" | "warn" | "allow"): string;
  /** Names of the settings read so far. */
  readonly asked: ReadonlySet<string>;
  readonly problems: string[];
  readonly warnings: string[];
}

export function createSettingReader(env: Environment): SettingReader {
  const asked = new Set<string>();
  const problems: string[] = [];
  const warnings: string[] = [];

  function text(name: string, fallback = ""): string {
    asked.add(name);
    return env[name]?.trim() || fallback;
  }

  return {
    asked,
    problems,
    warnings,
    text,
    number(name, fallback, range) {
      const given = text(name);
      if (!given) return fallback;
      const value = Number(given);
      if (/^\d+$/.test(given) && value >= range.min && value <= range.max) return value;
      problems.push(`${name} must be a whole number from ${range.min} to ${range.max}; it is '${given}'.`);
      return fallback;
    },
    flag(name) {
      const given = text(name, "false").toLowerCase();
      if (given !== "true" && given !== "false") problems.push(`${name} must be true or false; it is '${given}'.`);
      return given === "true";
    },
    choice(name, choices) {
      const given = text(name, choices[0]).toLowerCase();
      const chosen = choices.find((choice) => choice === given);
      if (chosen === undefined) problems.push(`${name} must be one of ${choices.join(", ")}; it is '${given}'.`);
      return chosen ?? choices[0];
    },
    url(name, plainHttp) {
      const given = text(name);
      const kind = given ? kindOfUrl(given) : "fine";
      if (kind === "plain http" && plainHttp === "warn") {
        warnings.push(`${name} uses http://: what is sent there can be read on the way.`);
      } else if (kind !== "fine" && !(kind === "plain http" && plainHttp === "allow")) {
        problems.push(`${name} ${URL_RULES[kind]}.`);
      }
      return given;
    },
  };
}

/** No message repeats the address: people paste keys into it. */
const URL_RULES = {
  "no address": "must be an address beginning with https://",
  "with password": "must not contain a user name or password",
  "plain http": "must begin with https:// (http:// is for this machine only)",
};

function kindOfUrl(given: string): "fine" | keyof typeof URL_RULES {
  const url = URL.parse(given);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) return "no address";
  if (url.username || url.password) return "with password";
  return url.protocol === "http:" && !isLoopbackHost(url.hostname) ? "plain http" : "fine";
}

/** Reads the folder's `.env` file, if there is one. Variables of the process take precedence. */
export function loadEnvironment(folder: string, real: Environment = process.env): Environment {
  try {
    const text = readFileSync(join(folder, ".env"), "utf8");
    return { ...parseEnv(text.replace(/^\uFEFF/, "")), ...real };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { ...real };
    throw error;
  }
}

/** A text that only `reveal()` shows: not logs, JSON or a debugger's output. */
export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
  }
  toString(): string {
    return "(secret)";
  }
  toJSON(): string {
    return "(secret)";
  }
  [inspect.custom](): string {
    return "(secret)";
  }
}
