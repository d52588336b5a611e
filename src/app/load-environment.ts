import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { isErrno } from "../lib/atomic-file.ts";
import type { Environment } from "./setting-reader.ts";

/** The `.env` file of the folder, if there is one, beneath the real environment: what is set for the process wins. */
export function loadEnvironment(folder: string, real: Environment = process.env): Environment {
  try {
    const text = readFileSync(join(folder, ".env"), "utf8");
    return { ...parseEnv(text.replace(/^\uFEFF/, "")), ...real };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return { ...real };
    throw error;
  }
}
