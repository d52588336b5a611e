import { type Asker, maySee } from "../../../contracts/access.ts";
import type { JsonObject } from "../../../lib/json-object.ts";
import type { Sql } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "../read-page.ts";
import type { Quota } from "./answer-context.ts";
import type { Item } from "./items.ts";

/** A response with all extras that a client may later include, and its input. */
export interface StoredResponse {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly previousId: string | null;
  readonly response: JsonObject & { readonly output: readonly Item[] };
  readonly input: readonly Item[];
  /** null: unknown. */
  readonly owner: string | null;
}

interface ResponseRow extends Pick<StoredResponse, "id" | "createdAt" | "previousId" | "owner"> {
  readonly response: string;
  readonly input: string;
}

const COLUMNS = 'id, created_at AS "createdAt", previous_id AS "previousId", response, input, owner';
/** As long as OpenAI keeps them. Longer chats use conversations. */
const KEPT_SECONDS = 30 * 24 * 3600;
/** Longest chain of previous responses that is read. */
const MAX_CHAIN = 100;

export async function insertResponse(sql: Sql, stored: StoredResponse, quota: Quota): Promise<void> {
  const { id, createdAt, previousId, owner } = stored;
  const [response, input] = [JSON.stringify(stored.response), JSON.stringify(stored.input)];
  await sql.run("DELETE FROM responses WHERE created_at < $1", [createdAt - KEPT_SECONDS]);
  await sql.run(
    `INSERT INTO responses (id, created_at, previous_id, response, input, owner, bytes)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, createdAt, previousId, response, input, owner, response.length + input.length],
  );
  if (owner !== null) await enforceQuota(sql, owner, quota);
}

/** Deletes the oldest responses of an owner beyond the quota. The newest stays, however large. */
async function enforceQuota(sql: Sql, owner: string, { answers, bytes }: Quota): Promise<void> {
  const kept = await sql.get<{ readonly count: number; readonly bytes: number }>(
    "SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM responses WHERE owner = $1",
    [owner],
  );
  if (Number(kept?.count) <= answers && Number(kept?.bytes) <= bytes) return;
  await sql.run(
    `DELETE FROM responses WHERE owner = $1 AND seq <= (
       SELECT max(seq) FROM (
         SELECT seq, row_number() OVER (ORDER BY seq DESC) AS place, sum(bytes) OVER (ORDER BY seq DESC) AS total
         FROM responses WHERE owner = $1
       ) AS mine WHERE place > 1 AND (place > $2 OR total > $3))`,
    [owner, answers, bytes],
  );
}

export async function findResponse(sql: Sql, id: string, asker: Asker): Promise<StoredResponse | undefined> {
  const row = await sql.get<ResponseRow>(`SELECT ${COLUMNS} FROM responses WHERE id = $1`, [id]);
  return row && maySee(asker, row.owner) ? toStored(row) : undefined;
}

export async function listResponses(sql: Sql, asker: Asker, request: PageRequest): Promise<Page<StoredResponse>> {
  const own = asker.seesAll ? {} : { where: "owner = $1", values: [asker.owner] };
  const list = { columns: COLUMNS, from: "responses", createdAt: "created_at", seq: "seq", ...own };
  const { rows, hasMore } = await readPage<ResponseRow>(sql, list, request);
  return { rows: rows.map(toStored), hasMore };
}

export async function keyOfResponse(sql: Sql, id: string, asker: Asker): Promise<ListKey | undefined> {
  const row = await sql.get<ListKey & { readonly owner: string | null }>(
    'SELECT created_at AS "createdAt", seq, owner FROM responses WHERE id = $1',
    [id],
  );
  return row && maySee(asker, row.owner) ? row : undefined;
}

/** Returns false if there was none. */
export async function deleteResponse(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run("DELETE FROM responses WHERE id = $1", [id])) > 0;
}

/** Returns all items up to and including this response, in order. A deleted response ends the chain. */
export async function chainOf(sql: Sql, last: StoredResponse, asker: Asker): Promise<Item[]> {
  const links = [last];
  let { previousId } = last;
  while (previousId !== null && links.length < MAX_CHAIN) {
    const link = await findResponse(sql, previousId, asker);
    if (!link) break;
    links.unshift(link);
    previousId = link.previousId;
  }
  return links.flatMap(({ input, response }) => [...input, ...response.output]);
}

function toStored(row: ResponseRow): StoredResponse {
  return {
    ...row,
    response: JSON.parse(row.response) as StoredResponse["response"],
    input: JSON.parse(row.input) as Item[],
  };
}
