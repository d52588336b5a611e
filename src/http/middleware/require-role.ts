import { mayAct, type Principal, type Role } from "../../contracts/access.ts";
import { RefusedError } from "../routing/failure.ts";

/** Whoever may not do it learns what it would take. */
export function requireRole(principal: Principal, role: Role): void {
  if (mayAct(principal, role)) return;
  throw new RefusedError(403, `This needs the role '${role}'; '${principal.name}' has '${principal.role}'.`);
}
