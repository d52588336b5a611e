import { mayAct, type Role } from "../../contracts/access.ts";
import type { Frame } from "./layout.ts";

/** Whether it makes sense to show somebody what needs the role; the endpoints refuse it anyway. */
export function mayChange({ principal }: Frame, needed: Role): boolean {
  return principal !== undefined && mayAct(principal, needed);
}
