import type { App } from "../../app/app.ts";
import type { Principal, Role } from "../../contracts/access.ts";
import type { Result } from "../../contracts/job.ts";
import type { Steps } from "../../inventory/inventory.ts";
import type { Html } from "../pages/layout.ts";
import type { Column } from "../pages/paged-table.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import type { Arguments, Parameters } from "../routing/parameters.ts";

export type ResourcePath = "files" | "vector_stores" | "vector_stores/files" | "assistants" | "responses";

/** One kind of object in the backend, declared once: its endpoints and pages follow from this. */
export interface Resource<
  Row extends BackendObject,
  One extends Partial<BackendObject> = Row,
  CreateFields extends Parameters = Parameters,
  UpdateFields extends Parameters = Parameters,
  Mode extends string = string,
> extends ResourceIdentity {
  readonly list: ListAction<Row>;
  readonly get: GetAction<One>;
  readonly create?: CreateAction<CreateFields>;
  readonly update?: UpdateAction<UpdateFields>;
  readonly remove: RemoveAction<Mode>;
  readonly page: ResourcePage<Row, One>;
}

/** Infers the type parameters of a declaration. */
export function resource<
  Row extends BackendObject,
  One extends Partial<BackendObject>,
  const Mode extends string = "default",
  CreateFields extends Parameters = Parameters,
  UpdateFields extends Parameters = Parameters,
>(
  declared: Resource<Row, One, CreateFields, UpdateFields, Mode>,
): Resource<Row, One, CreateFields, UpdateFields, Mode> {
  return declared;
}

export interface BackendObject {
  readonly id: string;
  /** Present for files of a vector store. */
  readonly vector_store_id?: string;
}

export interface ResourceIdentity {
  /** Below `/v2/inventory/`. The first segment is the folder of its jobs. */
  readonly path: ResourcePath;
  /** `vector store` */
  readonly noun: string;
  /** `Vector stores` */
  readonly title: string;
  /** The parameter that holds an object's id. */
  readonly idParameter: string;
  /** Its objects belong to the vector store that `vector_store_id` names. */
  readonly inStore?: true;
}

/** The object that a request names, and who asks. */
export interface ObjectRef {
  readonly id: string;
  /** "" unless the resource is `inStore`. */
  readonly storeId: string;
  readonly principal: Principal;
}

export interface ListAction<Row> {
  readonly description: string;
  readonly examples: readonly string[];
  /** The format that shows the page. */
  readonly pageFormat: "ui" | "html";
  readonly sortable: readonly string[];
  readonly run: (
    app: App,
    listing: Listing,
    scope: Pick<ObjectRef, "storeId" | "principal">,
  ) => Promise<Answer<readonly Row[]>>;
}

export interface GetAction<One> {
  readonly description: string;
  readonly examples: readonly string[];
  readonly read: (app: App, ref: ObjectRef) => Promise<One>;
}

/** A change that was checked and can be made. */
export interface PreparedWrite {
  /** What a dry run answers: the fields that would be sent. */
  readonly fields: object;
  readonly apply: () => Promise<unknown>;
}

export interface CreateAction<Fields extends Parameters> {
  readonly description: string;
  readonly changes: string;
  readonly examples: readonly string[];
  readonly role?: Role;
  /** Value of the field `object` in the wire protocol: `vector_store`. */
  readonly object: string;
  readonly fields: Fields;
  /** true: runs without a job, and `format=html` returns the page of the new object. */
  readonly showsObject?: true;
  readonly prepare: (app: App, body: Arguments<Fields>, principal: Principal) => PreparedWrite;
}

export interface UpdateAction<Fields extends Parameters> {
  readonly description: string;
  readonly changes: string;
  readonly examples: readonly string[];
  readonly fields: Fields;
  /** As the backend has it before the change. */
  readonly read: (app: App, id: string) => Promise<{ readonly name: string | null }>;
  readonly prepare: (app: App, id: string, body: Arguments<Fields>) => PreparedWrite;
}

export interface RemoveAction<Mode extends string> {
  readonly description: string;
  readonly changes: string;
  readonly examples: readonly string[];
  /** Default: `operate`. */
  readonly role?: Role;
  /** `job`: always a job; `request`: never; `either`: a job if the events are asked for. */
  readonly runsAs: "job" | "request" | "either";
  /** The action of its jobs. Default: `delete`. */
  readonly action?: string;
  readonly modes?: RemoveModes<Mode>;
  /** Rejects when there is nothing to delete, before a job is started. */
  readonly prepare: (app: App, ref: ObjectRef, mode: Mode) => Promise<(steps: Steps) => Promise<Result>>;
}

export interface RemoveModes<Mode extends string> {
  readonly description: string;
  /** Value and label of each, the default first. */
  readonly choices: readonly (readonly [Mode, string])[];
  /** Needed for any but the default. */
  readonly role?: Role;
}

export interface ResourcePage<Row, One> {
  /** Readers see list, object and what they created, too: only their own. */
  readonly forReaders?: true;
  /** Below the title. */
  readonly lede: string;
  /** Instead of title and lede, where both depend on the vector store. */
  readonly heading?: (app: App, storeId: string) => Promise<ListHeading>;
  /** Unique on the page. */
  readonly tableId: string;
  readonly caption?: string;
  /** Instead of a table without rows. */
  readonly empty: string;
  readonly columns: readonly Column<Row>[];
  /** Above the table. */
  readonly forms?: { readonly role: Role; readonly html: (rows: readonly Row[]) => Html };
  readonly editor?: Editor<Row | One>;
  readonly confirm?: RemoveDialog;
  /** "" if the object has none. */
  readonly name: (object: Row | One) => string;
  /** The domain that uses it; "" if none does. */
  readonly usedBy?: (object: Row | One) => string;
  /** `Vector store`, above the facts; left out: the noun. */
  readonly kind?: string;
  /** Left out: its name. */
  readonly detailTitle?: (one: One) => string;
  readonly facts: (one: One) => readonly (readonly [string, Html | string | number])[];
  /** Before the buttons of the detail page. */
  readonly links?: (one: One) => Html;
  readonly content?: (one: One) => Html | "";
  /** Title and address of the list; left out: that of the resource. */
  readonly back?: (one: One) => readonly [string, string];
}

export interface ListHeading {
  readonly title: string;
  readonly head: Html;
}

/** The fields that people fill in to create or change an object. */
export interface Editor<T> {
  /** Part of the ids of its inputs. */
  readonly prefix: string;
  readonly inputs: readonly EditorInput[];
  readonly textarea: EditorInput;
  /** What the inputs hold for an object, by their names. */
  readonly values: (object: T) => Readonly<Record<string, string>>;
}

export interface EditorInput {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly attributes: Html;
  readonly hint?: { readonly create: string; readonly edit: string };
}

/** Words of the dialog that asks before a deletion. */
export interface RemoveDialog {
  /** Instead of "Delete vector store?". */
  readonly title?: string;
  /** Instead of "Delete". */
  readonly button?: string;
  /** After the name, instead of "will be deleted …". */
  readonly sentence?: string;
  /** Shown for an object that a domain uses. */
  readonly warning?: string;
}

/** What the pages of a resource show. */
export interface PageResource<Row extends BackendObject, One extends Partial<BackendObject>> extends ResourceIdentity {
  readonly remove: Pick<RemoveAction<string>, "role" | "modes">;
  readonly page: ResourcePage<Row, One>;
}

export function actionPath(path: ResourcePath, action?: "create" | "get" | "update" | "delete" | "replicate"): string {
  return `/v2/inventory/${path}${action ? `/${action}` : ""}`;
}

/** The address of one object as a page. */
export function detailAddress(path: ResourcePath, ids: Readonly<Record<string, string>>): string {
  return `${actionPath(path, "get")}?${new URLSearchParams({ ...ids, format: "html" })}`;
}

export function listAddress(path: ResourcePath): string {
  return `${actionPath(path)}?format=${path === "responses" ? "html" : "ui"}`;
}

/** The parameters that name an object. */
export function idsOf(
  { idParameter, inStore }: ResourceIdentity,
  { id = "", vector_store_id: storeId = "" }: Partial<BackendObject>,
): Readonly<Record<string, string>> {
  return { ...(inStore && { vector_store_id: storeId }), [idParameter]: id };
}
