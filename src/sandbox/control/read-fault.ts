import { BadInputError } from "../../contracts/errors.ts";
import { ControlInput, present } from "./control-input.ts";
import type { FaultEffect, FaultMatch } from "./fault-plan.ts";
import { type OperationCall, operationNames } from "./operations.ts";

const MAX_DELAY_MS = 600_000;

/** `{"match": {...}, "effect": {...}}` as the control API takes it. */
export function readFault(input: ControlInput): { match: FaultMatch; effect: FaultEffect } {
  const match = readMatch(new ControlInput(input.optionalObject("match") ?? {}));
  const given = input.optionalObject("effect");
  if (!given) throw new BadInputError("'effect' is missing: it says what happens to the request.");
  const effect = readEffect(new ControlInput(given));
  input.refuseRest();
  return { match, effect };
}

function readMatch(input: ControlInput): FaultMatch {
  const match = present({
    method: input.optionalText("method"),
    url: input.optionalText("url"),
    nth: input.optionalNumber("nth"),
    every: input.optionalNumber("every"),
    times: readTimes(input),
  });
  input.refuseRest();
  for (const [name, value] of Object.entries({ nth: match.nth ?? 1, every: match.every ?? 1 })) {
    if (!Number.isInteger(value) || value < 1) throw new BadInputError(`'${name}' must be a whole number from 1.`);
  }
  try {
    new RegExp(match.url ?? "");
  } catch (error) {
    throw new BadInputError(`'url' is no regular expression: ${match.url}`, { cause: error });
  }
  return match;
}

function readEffect(input: ControlInput): FaultEffect {
  const effect = present({
    run: readRun(input),
    delayMs: input.optionalNumber("delayMs"),
    connection: input.optionalChoice("connection", ["reset", "drop"]),
    status: input.optionalNumber("status"),
    headers: readHeaders(input),
    body: input.optionalText("body"),
    stallAfterBytes: input.optionalNumber("stallAfterBytes"),
    truncateAfterBytes: input.optionalNumber("truncateAfterBytes"),
    ending: input.optionalChoice("ending", ["close", "reset", "clean"]),
  });
  input.refuseRest();
  if (Object.keys(effect).length === 0) throw new BadInputError("'effect' says nothing.");
  if ((effect.delayMs ?? 0) > MAX_DELAY_MS) throw new BadInputError(`'delayMs' is at most ${MAX_DELAY_MS}.`);
  if (effect.status !== undefined && (effect.status < 200 || effect.status > 599)) {
    throw new BadInputError("'status' must be from 200 to 599.");
  }
  return effect;
}

function readTimes(input: ControlInput): number | "always" | undefined {
  const times = input.optionalTextOrNumber("times");
  if (typeof times !== "string" || times === "always") return times;
  throw new BadInputError(`'times' must be a number or "always"; got '${times}'.`);
}

/** `retryAfter` is a short way to write the header. */
function readHeaders(input: ControlInput): Record<string, string> | undefined {
  const given = input.optionalObject("headers");
  const retryAfter = input.optionalTextOrNumber("retryAfter");
  if (!given && retryAfter === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given ?? {})) headers[name] = String(value);
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  return headers;
}

function readRun(input: ControlInput): OperationCall[] | undefined {
  return input.optionalList("run")?.map((each) => {
    const call = typeof each === "object" && each !== null ? (each as Record<string, unknown>) : {};
    const operation = call["operation"];
    if (typeof operation !== "string" || !operationNames.includes(operation)) {
      throw new BadInputError(`Each of 'run' names an 'operation'; there are ${operationNames.join(", ")}.`);
    }
    return { ...call, operation };
  });
}
