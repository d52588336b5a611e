import { BadInputError } from "../../contracts/errors.ts";
import { entraCodes, isEntraCode } from "../entra/entra-error.ts";
import type { SandboxState } from "../sandbox-state.ts";
import { type ControlInput, present } from "./control-input.ts";

/** Changes what the request names and leaves the rest; answers with all of them. */
export function changeSettings({ settings }: SandboxState, input: ControlInput): unknown {
  const changes = present({
    rangeRequests: input.optionalChoice("rangeRequests", ["honoured", "ignored"]),
    tokenLifetimeSeconds: input.optionalNumber("tokenLifetimeSeconds"),
    roles: input.optionalList("roles")?.map(String),
    graphRoles: input.optionalList("graphRoles")?.map(String),
    missingPermissionStatus: readMissingPermissionStatus(input),
    signInError: readSignInError(input),
    drafts: input.optionalChoice("drafts", ["visible", "hidden"]),
    listViewThreshold: input.optionalNumber("listViewThreshold"),
  });
  input.refuseRest();
  return Object.assign(settings, changes);
}

function readMissingPermissionStatus(input: ControlInput): 401 | 403 | undefined {
  const status = input.optionalNumber("missingPermissionStatus");
  if (status === undefined || status === 401 || status === 403) return status;
  throw new BadInputError("'missingPermissionStatus' must be 401 or 403.");
}

function readSignInError(input: ControlInput): number | undefined {
  const code = input.optionalNumber("signInError");
  if (code === undefined || code === 0 || isEntraCode(code)) return code;
  throw new BadInputError(`'signInError' must be 0 for none, or one of ${entraCodes.join(", ")}.`);
}
