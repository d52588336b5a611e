import { BadInputError } from "../../contracts/errors.ts";
import { addAttachment, removeAttachment } from "../tenant/attachments.ts";
import { describeItem } from "../tenant/describe-library.ts";
import type { Library } from "../tenant/library.ts";
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
} from "../tenant/list-operations.ts";
import { recycleItem, restoreItem } from "../tenant/recycle-bin.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { pathOf, type RowItem } from "../tenant/tenant-item.ts";
import { ControlInput, present } from "./control-input.ts";
import type { Operation } from "./operations.ts";
import { readContent } from "./read-content.ts";

/** What users and administrators do to lists. */
export const listOperations: Readonly<Record<string, Operation>> = {
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

function at(input: ControlInput): { at?: string } {
  return present({ at: input.optionalText("at") });
}

function who(input: ControlInput): { at?: string; by?: string } {
  return present({ at: input.optionalText("at"), by: input.optionalText("by") });
}
