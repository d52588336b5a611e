import { type EntityType, entityType } from "../odata/entity-type.ts";
import type { TenantItem } from "../tenant/tenant-item.ts";

const SITE_PAGE = "0x0101009D1CB255DA76424F860D91F20E6C4118";

/** The ids of SharePoint's own content types; what was made from them begins with theirs. */
const CONTENT_TYPES = {
  item: { id: "0x01", name: "Item" },
  document: { id: "0x0101", name: "Document" },
  folder: { id: "0x0120", name: "Folder" },
  sitePage: { id: SITE_PAGE, name: "Site Page" },
  wikiPage: { id: "0x010108", name: "Wiki Page" },
} as const;

function contentTypeOf(item: TenantItem): { readonly id: string; readonly name: string } {
  if (item.kind === "folder") return CONTENT_TYPES.folder;
  if (item.kind === "row") return CONTENT_TYPES.item;
  if (item.library.template !== 119) return CONTENT_TYPES.document;
  return item.columns.get("WikiField") ? CONTENT_TYPES.wikiPage : CONTENT_TYPES.sitePage;
}

export function contentTypeIdOf(item: TenantItem): string {
  const { id } = contentTypeOf(item);
  // In a list the type is the list's own copy: the id goes on with the list's.
  return item.kind === "file" && item.library.template === 101
    ? id
    : `${id}00${item.library.id.replaceAll("-", "").toUpperCase()}`;
}

export const contentTypeType: EntityType = entityType<TenantItem>({
  typeName: "SP.ContentType",
  defaults: ["Name", "StringId"],
  properties: { Name: (item) => contentTypeOf(item).name, StringId: contentTypeIdOf },
  links: {},
  address: (item) => `Web/Lists(guid'${item.library.id}')/ContentTypes('${contentTypeIdOf(item)}')`,
});
