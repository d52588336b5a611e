import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { SandboxSettings } from "../sandbox-state.ts";
import { type AppAccess, SITE_ROLES } from "../sharepoint/entra.ts";
import { addAttachment, removeAttachment } from "../sharepoint/tenant/attachments.ts";
import { describeItem } from "../sharepoint/tenant/describe-library.ts";
import { addFile, addFolder, type Columns, setColumns, updateFile } from "../sharepoint/tenant/file-operations.ts";
import { fillFolder } from "../sharepoint/tenant/fill-folder.ts";
import type { Library } from "../sharepoint/tenant/library.ts";
import {
  addColumn,
  addList,
  addListFolder,
  addListItem,
  deleteList,
  listAt,
  type NewColumn,
  renameList,
  rowOf,
  updateListItem,
} from "../sharepoint/tenant/list-operations.ts";
import { addPage, addPagesLibrary, editPage, publishPage } from "../sharepoint/tenant/page-operations.ts";
import { copyItem, moveItem, recycleItem, renameItem, restoreItem } from "../sharepoint/tenant/relocate-item.ts";
import type { Tenant } from "../sharepoint/tenant/tenant.ts";
import { pathOf, type RowItem } from "../sharepoint/tenant/tenant-item.ts";
import {
  approveItem,
  checkIn,
  checkOut,
  discardDraft,
  publishItem,
  restoreVersion,
  setHidden,
  undoCheckOut,
} from "../sharepoint/tenant/versions.ts";
import { ControlInput, present, readContent } from "./control-input.ts";

/** What administrators do, to the app and to the tenant's memory of changes. */
const accessOperations: Readonly<Record<string, Operation>> = {
  "grant-site": ({ tenant, access }, input) => {
    const [path, role] = [sitePathOf(tenant, input), input.optionalChoice("role", SITE_ROLES) ?? "read"];
    input.refuseRest();
    access.grant(path, role);
    return { grants: access.grants() };
  },
  "revoke-site": ({ tenant, access }, input) => {
    const path = sitePathOf(tenant, input);
    input.refuseRest();
    if (!access.revoke(path)) throw new NotFoundError(`Revoke site '${path || "/"}': it was not granted.`);
    return { grants: access.grants() };
  },
  "remove-consent": ({ settings }, input) => {
    const from = input.optionalChoice("from", ["sharepoint", "graph"]);
    input.refuseRest();
    if (from !== "graph") settings.roles = [];
    if (from !== "sharepoint") settings.graphRoles = [];
    return { roles: settings.roles, graphRoles: settings.graphRoles };
  },
  "expire-certificate": ({ access }, input) => {
    input.refuseRest();
    access.certificateExpired = true;
    return {};
  },
  "revoke-tokens": (target, input) => {
    input.refuseRest();
    target.revokeTokens();
    return {};
  },
  "expire-change-log": ({ tenant }, input) => {
    input.refuseRest();
    for (const site of tenant.sites) for (const library of site.libraries) library.changes.expire();
    return {};
  },
};

/** What authors do to site pages; `discard-draft` and check-out are those of every file. */
const pageOperations: Readonly<Record<string, Operation>> = {
  "add-pages-library": ({ tenant }, input) => {
    const [site, options] = [input.text("site"), present({ at: input.optionalText("at") })];
    input.refuseRest();
    const library = addPagesLibrary(tenant, site, options);
    return { path: library.path, id: library.id };
  },
  "add-page": ({ tenant }, input) => {
    const [path, content, options] = [input.text("path"), readPage(input), readOptions(input)];
    const published = present({ published: input.optionalFlag("published") });
    input.refuseRest();
    return describeItem(addPage(tenant, path, { ...content, ...published }, options));
  },
  "edit-page": ({ tenant }, input) => {
    const [path, content, options] = [input.text("path"), readPage(input), readOptions(input)];
    input.refuseRest();
    return describeItem(editPage(tenant, path, content, options));
  },
  "publish-page": ({ tenant }, input) => {
    const path = input.text("path");
    input.refuseRest();
    return describeItem(publishPage(tenant, path));
  },
};

/** Check-out, publishing and going back, for files, pages and (by path) rows. */
const versionOperations: Readonly<Record<string, Operation>> = {
  "check-out": ({ tenant }, input) => {
    const [path, options] = [input.text("path"), present({ by: input.optionalText("by") })];
    input.refuseRest();
    return describeItem(checkOut(tenant, path, options));
  },
  "check-in": ({ tenant }, input) => {
    const path = input.text("path");
    const options = present({
      at: input.optionalText("at"),
      comment: input.optionalText("comment"),
      as: input.optionalChoice("as", ["major", "minor"]),
    });
    input.refuseRest();
    return describeItem(checkIn(tenant, path, options));
  },
  "undo-check-out": ({ tenant }, input) => {
    const path = input.text("path");
    input.refuseRest();
    return describeItem(undoCheckOut(tenant, path));
  },
  publish: ({ tenant }, input) => {
    const [path, options] = [input.text("path"), present({ comment: input.optionalText("comment") })];
    input.refuseRest();
    return describeItem(publishItem(tenant, path, options));
  },
  approve: ({ tenant }, input) => {
    const path = input.text("path");
    input.refuseRest();
    return describeItem(approveItem(tenant, path));
  },
  "set-hidden": ({ tenant }, input) => {
    const [path, hidden] = [input.text("path"), input.optionalFlag("hidden") ?? true];
    input.refuseRest();
    return describeItem(setHidden(tenant, path, hidden));
  },
  "discard-draft": ({ tenant }, input) => {
    const path = input.text("path");
    input.refuseRest();
    return describeItem(discardDraft(tenant, path));
  },
  "restore-version": ({ tenant }, input) => {
    const [path, version] = [input.text("path"), input.text("version")];
    const options = present({ at: input.optionalText("at") });
    input.refuseRest();
    if (!/^\d+\.\d+$/.test(version)) throw new BadInputError("'version' looks like '1.0'.");
    return describeItem(restoreVersion(tenant, path, version, options));
  },
};

/** What users and administrators do to lists. */
const listOperations: Readonly<Record<string, Operation>> = {
  "add-list": ({ tenant }, input) => {
    const path = input.text("path");
    const columns = input.optionalList("columns")?.map(readColumn);
    const options = present({ title: input.optionalText("title"), at: input.optionalText("at"), columns });
    input.refuseRest();
    return describeList(addList(tenant, path, options));
  },
  "add-column": ({ tenant }, input) => {
    const list = tenant.libraryAt(input.text("list"));
    addColumn(list, readColumnInput(input));
    return describeList(list);
  },
  "rename-column": ({ tenant }, input) => {
    const list = tenant.libraryAt(input.text("list"));
    const [column, title] = [requireColumn(list, input.text("column")), input.text("title")];
    input.refuseRest();
    column.title = title;
    return describeList(list);
  },
  "remove-column": ({ tenant }, input) => {
    const list = tenant.libraryAt(input.text("list"));
    const column = requireColumn(list, input.text("column"));
    input.refuseRest();
    list.dropColumn(column);
    return describeList(list);
  },
  "rename-list": ({ tenant }, input) => {
    const [list, title] = [tenant.libraryAt(input.text("list")), input.text("title")];
    input.refuseRest();
    renameList(list, title);
    return describeList(list);
  },
  "delete-list": ({ tenant }, input) => {
    const list = tenant.libraryAt(input.text("list"));
    input.refuseRest();
    deleteList(tenant, list);
    return describeList(list);
  },
  "add-list-folder": ({ tenant }, input) => {
    const [list, folder] = [listAt(tenant, input.text("list")), input.text("folder")];
    const options = at(input);
    input.refuseRest();
    return describeItem(addListFolder(tenant, list, folder, options));
  },
  "add-item": ({ tenant }, input) => {
    const [list, values] = [input.text("list"), input.optionalObject("values") ?? {}];
    const options = { ...who(input), ...present({ folder: input.optionalText("folder") }) };
    input.refuseRest();
    return describeItem(addListItem(tenant, list, values, options));
  },
  "update-item": ({ tenant }, input) => {
    const [row, values] = [readRow(tenant, input), input.optionalObject("values") ?? {}];
    const options = { ...who(input), ...present({ via: input.optionalChoice("via", ["edit", "system-update"]) }) };
    input.refuseRest();
    return describeItem(updateListItem(tenant, row, values, options));
  },
  "delete-item": ({ tenant }, input) => {
    const row = readRow(tenant, input);
    const options = at(input);
    input.refuseRest();
    const recycled = recycleItem(tenant, pathOf(row), options);
    return { path: recycled.path, uniqueId: row.uniqueId };
  },
  "restore-item": ({ tenant }, input) => {
    const [list, id] = [listAt(tenant, input.text("list")), readId(input)];
    input.refuseRest();
    const recycled = [...tenant.recycleBin.values()].find(
      ({ item }) => item.library === list && item.listItemId === id,
    );
    return describeItem(restoreItem(tenant, recycled?.item.uniqueId ?? `${list.path}/${id}_.000`));
  },
  "add-attachment": ({ tenant }, input) => {
    const [row, name, content] = [readRow(tenant, input), input.text("name"), readContent(input)];
    const options = at(input);
    input.refuseRest();
    return { path: pathOf(addAttachment(tenant, row, { name, content }, options)) };
  },
  "remove-attachment": ({ tenant }, input) => {
    const [row, name, options] = [readRow(tenant, input), input.text("name"), at(input)];
    input.refuseRest();
    removeAttachment(tenant, row, name, options);
    return describeItem(row);
  },
};

/** One thing a user or administrator does; the fields depend on the operation. */
export type OperationCall = { readonly operation: string } & Readonly<Record<string, unknown>>;

/** What the operations act on. */
export interface OperationTarget {
  readonly tenant: Tenant;
  readonly access: AppAccess;
  readonly settings: SandboxSettings;
  revokeTokens(): void;
}

type Operation = (target: OperationTarget, input: ControlInput) => unknown;

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

/** `/sites/demo`, or `/` for the root site. */
function sitePathOf(tenant: Tenant, input: ControlInput): string {
  const path = input.text("site");
  const site = tenant.site(path);
  if (!site) throw new NotFoundError(`Find site '${path}': there is none; a site looks like '/sites/demo'.`);
  return site.path;
}

function readPage(input: ControlInput) {
  return present({
    title: input.optionalText("title"),
    text: input.optionalText("text"),
    canvas: input.optionalText("canvas"),
    wiki: input.optionalText("wiki"),
    description: input.optionalText("description"),
    bannerImageUrl: input.optionalText("bannerImageUrl"),
    promoted: input.optionalNumber("promoted"),
    layout: input.optionalText("layout"),
  });
}

function readOptions(input: ControlInput) {
  return present({ at: input.optionalText("at"), by: input.optionalText("by") });
}

function describeList(list: Library) {
  return { path: list.path, title: list.title, id: list.id, columns: [...list.columns.keys()] };
}

function requireColumn(list: Library, name: string) {
  const column = list.column(name);
  if (column && column.internalName !== "Title") return column;
  throw new BadInputError(`Column '${name}': the list has ${[...list.columns.keys()].join(", ")}, and Title stays.`);
}

function readColumn(value: unknown): NewColumn {
  return readColumnInput(new ControlInput(value));
}

function readColumnInput(input: ControlInput): NewColumn {
  const [name, title] = [input.optionalText("name"), input.optionalText("title")];
  const shown = title ?? name;
  if (shown === undefined) throw new BadInputError("A column needs a 'title' or a 'name'.");
  const column = {
    title: shown,
    type: input.optionalText("type") ?? "Text",
    ...present({
      name,
      choices: input.optionalList("choices")?.map(String),
      multiple: input.optionalFlag("multiple"),
      lookupList: input.optionalText("lookupList"),
      lookupField: input.optionalText("lookupField"),
      indexed: input.optionalFlag("indexed"),
      richText: input.optionalFlag("richText"),
      dateOnly: input.optionalFlag("dateOnly"),
      currencyLocaleId: input.optionalNumber("currencyLocaleId"),
    }),
  };
  input.refuseRest();
  return column;
}

function readRow(tenant: Tenant, input: ControlInput): RowItem {
  return rowOf(listAt(tenant, input.text("list")), readId(input));
}

function readId(input: ControlInput): number {
  const id = input.optionalNumber("id");
  if (id === undefined) throw new BadInputError("'id' is missing: the number of the row.");
  return id;
}

function who(input: ControlInput): { at?: string; by?: string } {
  return present({ at: input.optionalText("at"), by: input.optionalText("by") });
}
