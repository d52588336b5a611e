import { BadInputError } from "../../contracts/errors.ts";
import { ControlInput, present } from "./control-input.ts";
import type { FaultEffect } from "./fault-effect.ts";
import type { FaultMatch } from "./fault-plan.ts";
import { type OperationCall, operationNames } from "./operations.ts";

const MAX_DELAY_MS = 600_000;

/** `{"match": {...}, "effect": {...}}` as the control API takes it. */
export function readFault(input: ControlInput): { match: FaultMatch; effect: FaultEffect } {
  const match = readMatch(new ControlInput(input.optionalObject("match") ?? {}));
  const given = input.optionalObject("effect");
  if (!given) throw new BadInputError("'effect' is missing: it says what happens to the request.");
  const effect = readEffect(given);
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
    share: input.optionalNumber("share"),
    seed: input.optionalNumber("seed"),
  });
  input.refuseRest();
  for (const [name, value] of Object.entries({ nth: match.nth ?? 1, every: match.every ?? 1 })) {
    if (!Number.isInteger(value) || value < 1) throw new BadInputError(`'${name}' must be a whole number from 1.`);
  }
  if ((match.share ?? 0) > 1) throw new BadInputError("'share' is a part of the requests, from 0 to 1.");
  if (match.share !== undefined && (match.nth ?? match.every) !== undefined) {
    throw new BadInputError("'share' stands in place of 'nth' and 'every': give the one or the others.");
  }
  try {
    new RegExp(match.url ?? "");
  } catch (error) {
    throw new BadInputError(`'url' is no regular expression: ${match.url}`, { cause: error });
  }
  return match;
}

function readEffect(given: Record<string, unknown>): FaultEffect {
  const { oneOf, ...rest } = given;
  if (oneOf === undefined) return readSingleEffect(new ControlInput(rest));
  if (!Array.isArray(oneOf) || oneOf.length === 0) throw new BadInputError("'oneOf' must be a list of effects.");
  const effects = oneOf.map((each: unknown) => readSingleEffect(new ControlInput(each)));
  return { ...(Object.keys(rest).length === 0 ? {} : readSingleEffect(new ControlInput(rest))), oneOf: effects };
}

function readSingleEffect(input: ControlInput): Omit<FaultEffect, "oneOf"> {
  const effect = present({
    run: readRun(input),
    delayMs: input.optionalNumber("delayMs"),
    connection: input.optionalChoice("connection", ["reset", "drop"]),
    status: input.optionalNumber("status"),
    ...readHeaders(input),
    body: input.optionalText("body"),
    stallAfterBytes: input.optionalNumber("stallAfterBytes"),
    truncateAfterBytes: input.optionalNumber("truncateAfterBytes"),
    ending: input.optionalChoice("ending", ["close", "reset", "clean"]),
    repeatRow: input.optionalFlag("repeatRow"),
    dropRows: input.optionalNumber("dropRows"),
    emptyListing: input.optionalFlag("emptyListing"),
    itemCount: input.optionalNumber("itemCount"),
  });
  input.refuseRest();
  if (Object.keys(effect).length === 0) throw new BadInputError("'effect' says nothing.");
  if ((effect.delayMs ?? 0) > MAX_DELAY_MS) throw new BadInputError(`'delayMs' is at most ${MAX_DELAY_MS}.`);
  if (effect.status !== undefined && (effect.status < 200 || effect.status > 599)) {
    throw new BadInputError("'status' must be from 200 to 599.");
  }
  if (effect.body !== undefined && effect.status === undefined) {
    throw new BadInputError("'body' needs a 'status' beside it, 200 too.");
  }
  return effect;
}

function readTimes(input: ControlInput): number | "always" | undefined {
  const times = input.optionalTextOrNumber("times");
  if (typeof times !== "string" || times === "always") return times;
  throw new BadInputError(`'times' must be a number or "always"; got '${times}'.`);
}

/** `retryAfter` is a short way to write the header: a text as it stands, a number in the form asked for. */
function readHeaders(input: ControlInput): Pick<FaultEffect, "headers" | "retryAfter"> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(input.optionalObject("headers") ?? {})) headers[name] = String(value);
  const retryAfter = input.optionalTextOrNumber("retryAfter");
  const form = input.optionalChoice("retryAfterForm", ["seconds", "date"]) ?? "seconds";
  if (typeof retryAfter === "string") headers["Retry-After"] = retryAfter;
  return {
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(typeof retryAfter === "number" ? { retryAfter: { seconds: retryAfter, form } } : {}),
  };
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
