import type { Asked } from "../http-reply.ts";
import { accessDenied } from "../odata/odata-error.ts";
import type { Segment } from "../odata/path-segments.ts";
import type { Library } from "../tenant/library.ts";
import { changesOf } from "./get-changes.ts";
import { renderList } from "./render-list.ts";
import { resolveResource } from "./resolve-resource.ts";
import type { RequestScope, Resource } from "./resource.ts";

type Action = (value: unknown, asked: Asked, scope: RequestScope) => Resource;

/** What is asked by POST although it only reads, by the type it is asked of. */
const ACTIONS: Readonly<Record<string, Readonly<Record<string, Action>>>> = {
  "SP.List": {
    renderlistdataasstream: (library, { body }, scope) => renderList(library as Library, body, scope),
    getchanges: (library, asked) => changesOf(library as Library, asked),
  },
};

/** Every other POST would change something, and the app may only read: changes go through the control API. */
export function performAction(segments: readonly Segment[], asked: Asked, scope: RequestScope): Resource {
  const name = segments.at(-1)?.name.toLowerCase() ?? "";
  if (!Object.values(ACTIONS).some((actions) => Object.hasOwn(actions, name))) throw accessDenied();
  const target = resolveResource(segments.slice(0, -1), scope);
  const action = target.kind === "entity" ? ACTIONS[target.type.typeName]?.[name] : undefined;
  if (target.kind !== "entity" || !action) throw accessDenied();
  return action(target.value, asked, scope);
}
