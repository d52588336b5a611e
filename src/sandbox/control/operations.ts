import { BadInputError } from "../../contracts/errors.ts";
import type { AppAccess } from "../entra/app-access.ts";
import type { SandboxSettings } from "../sandbox-settings.ts";
import { checkOut } from "../tenant/check-out.ts";
import { describeItem } from "../tenant/describe-library.ts";
import { addFile, addFolder, type Columns, setColumns, updateFile } from "../tenant/file-operations.ts";
import { fillFolder } from "../tenant/fill-folder.ts";
import { recycleItem, restoreItem } from "../tenant/recycle-bin.ts";
import { copyItem, moveItem, renameItem } from "../tenant/relocate-item.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { accessOperations } from "./access-operations.ts";
import { ControlInput, present } from "./control-input.ts";
import { listOperations } from "./list-operations.ts";
import { pageOperations } from "./page-operations.ts";
import { readContent } from "./read-content.ts";
import { versionOperations } from "./version-operations.ts";

/** One thing a user or administrator does; the fields depend on the operation. */
export type OperationCall = { readonly operation: string } & Readonly<Record<string, unknown>>;

/** What the operations act on. */
export interface OperationTarget {
  readonly tenant: Tenant;
  readonly access: AppAccess;
  readonly settings: SandboxSettings;
  revokeTokens(): void;
}

export type Operation = (target: OperationTarget, input: ControlInput) => unknown;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...listOperations,
  ...pageOperations,
  ...versionOperations,
  add: ({ tenant }, input) => {
    const [path, content] = [input.text("path"), readContent(input)];
    const checkedOut = input.optionalFlag("checkedOut") ?? false;
    const file = addFile(tenant, path, content, finish(input, writeOptions(input)));
    if (checkedOut) file.hidden = checkOut(tenant, path) === file;
    return describeItem(file);
  },
  update: ({ tenant }, input) => {
    const [path, content] = [input.text("path"), readContent(input)];
    return describeItem(updateFile(tenant, path, content, finish(input, writeOptions(input))));
  },
  "add-folder": ({ tenant }, input) => {
    const path = input.text("path");
    return describeItem(addFolder(tenant, path, finish(input, at(input))));
  },
  "add-site": ({ tenant }, input) => {
    const [path, title] = [input.text("path"), input.optionalText("title")];
    input.refuseRest();
    return { path: tenant.addSite(path, title ?? path.slice(path.lastIndexOf("/") + 1)).path };
  },
  "add-library": ({ tenant }, input) => {
    const path = input.text("path");
    const [title, minorVersions] = [input.optionalText("title"), input.optionalFlag("minorVersions")];
    const options = finish(input, present({ title, minorVersions, at: input.optionalText("at") }));
    return { path, id: tenant.addLibrary(path, options).id };
  },
  "set-library": ({ tenant }, input) => {
    const library = tenant.libraryAt(input.text("path"));
    const changes = present({
      minorVersions: input.optionalFlag("minorVersions"),
      moderation: input.optionalFlag("moderation"),
      forceCheckout: input.optionalFlag("forceCheckout"),
      draftVisibility: readDraftVisibility(input),
    });
    input.refuseRest();
    Object.assign(library, changes);
    const { minorVersions, moderation, forceCheckout, draftVisibility } = library;
    return { path: library.path, minorVersions, moderation, forceCheckout, draftVisibility };
  },
  "set-columns": ({ tenant }, input) => {
    const [path, columns] = [input.text("path"), readColumns(input)];
    const via = input.optionalChoice("via", ["edit", "system-update"]);
    const options = finish(input, present({ via, at: input.optionalText("at") }));
    return describeItem(setColumns(tenant, path, columns ?? {}, options));
  },
  rename: ({ tenant }, input) => {
    const [path, name] = [input.text("path"), input.text("name")];
    const via = input.optionalChoice("via", ["move-to", "graph"]);
    const options = finish(input, present({ via, at: input.optionalText("at") }));
    return describeItem(renameItem(tenant, path, name, options));
  },
  move: ({ tenant }, input) => {
    const [path, to] = [input.text("path"), input.text("to")];
    return describeItem(moveItem(tenant, path, to, finish(input, at(input))));
  },
  copy: ({ tenant }, input) => {
    const [path, to] = [input.text("path"), input.text("to")];
    return describeItem(copyItem(tenant, path, to, finish(input, at(input))));
  },
  delete: ({ tenant }, input) => {
    const path = input.text("path");
    const recycled = recycleItem(tenant, path, finish(input, at(input)));
    return { path: recycled.path, uniqueId: recycled.item.uniqueId };
  },
  restore: ({ tenant }, input) => {
    const which = input.optionalText("uniqueId") ?? input.text("path");
    return describeItem(restoreItem(tenant, finish(input, which)));
  },
  fill: ({ tenant }, input) => {
    const [path, count] = [input.text("path"), input.optionalNumber("count")];
    if (count === undefined) throw new BadInputError("'count' is missing.");
    const options = present({
      bytes: input.optionalNumber("bytes"),
      perFolder: input.optionalNumber("perFolder"),
      series: input.optionalText("series"),
      at: input.optionalText("at"),
    });
    fillFolder(tenant, path, finish(input, { count, ...options }));
    return { path, count };
  },
  ...accessOperations,
};

export const operationNames: readonly string[] = Object.keys(OPERATIONS);

/** Throws BadInputError or NotFoundError with a sentence for the caller. */
export function runOperation(target: OperationTarget, call: OperationCall): unknown {
  const { operation: name, ...fields } = call;
  const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (!operation) throw new BadInputError(`Operation '${name}' is unknown; there are ${operationNames.join(", ")}.`);
  return operation(target, new ControlInput(fields));
}

function readDraftVisibility(input: ControlInput): 0 | 1 | 2 | undefined {
  const visibility = input.optionalNumber("draftVisibility");
  if (visibility === undefined || visibility === 0 || visibility === 1 || visibility === 2) return visibility;
  throw new BadInputError("'draftVisibility' must be 0 (readers see drafts), 1 (editors) or 2 (approvers).");
}

function finish<T>(input: ControlInput, read: T): T {
  input.refuseRest();
  return read;
}

function at(input: ControlInput): { at?: string } {
  return present({ at: input.optionalText("at") });
}

function writeOptions(input: ControlInput) {
  return present({
    at: input.optionalText("at"),
    columns: readColumns(input),
    listedSize: input.optionalNumber("listedSize"),
  });
}

function readColumns(input: ControlInput): Columns | undefined {
  const columns = input.optionalObject("columns");
  for (const [name, value] of Object.entries(columns ?? {})) {
    if (value !== null && !["string", "number", "boolean"].includes(typeof value)) {
      throw new BadInputError(`Column '${name}' must hold a text, a number, true, false or null.`);
    }
  }
  return columns as Columns | undefined;
}
