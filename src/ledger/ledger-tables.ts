import type { Schema, Sql } from "../lib/sql/sql.ts";
import { planTables } from "./sql-plan.ts";

/**
 * The format is described in docs/formats/ledger.md. `item`, `file` and `indexed` are the facets seen, mirrored and indexed, `tracked`
 * what a manifest says, apart so that each step writes its own rows. Paths are relative to the source's folder, so that renaming a domain changes none of them.
 */
export function ledgerTables(dialect: Sql["dialect"]): Schema {
  const sqlite = dialect === "sqlite";
  const integer = sqlite ? "INTEGER" : "bigint";
  const real = sqlite ? "REAL" : "double precision";
  const text = sqlite ? "TEXT" : 'text COLLATE "C"';
  const serial = sqlite ? "INTEGER PRIMARY KEY" : "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  const strict = sqlite ? "STRICT" : "";
  const acknowledged = `
-- Failures that somebody knows of, as they were then: one of another reason, or of other content, is new.
CREATE TABLE acknowledged (
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  -- A page that was never read has no row in item.
  item_id ${text} NOT NULL,
  -- download, process or embed.
  step ${text} NOT NULL,
  reason ${text} NOT NULL,
  -- Of the content that failed: its hash, or size and time as listed.
  content ${text} NOT NULL,
  acknowledged_at ${text} NOT NULL,
  PRIMARY KEY (source_no, item_id)
) ${strict};
`;
  const feedback = `
-- What readers asked in vain, and what they think of answers.
CREATE TABLE feedback (
  domain_id ${text} NOT NULL,
  -- A hash of domain, question, answer and person.
  feedback_id ${text} NOT NULL,
  -- 1, -1, or 0: nothing was found.
  vote ${integer} NOT NULL,
  question ${text} NOT NULL,
  answer ${text} NOT NULL,
  -- What the answer cites, as a JSON array.
  file_ids ${text} NOT NULL,
  times ${integer} NOT NULL,
  at ${text} NOT NULL,
  PRIMARY KEY (domain_id, feedback_id)
) ${strict};
CREATE INDEX feedback_at ON feedback (domain_id, at);
`;
  const otherPlans = `DROP TABLE plan_item; DROP TABLE plan; ${planTables(dialect)}`;
  return {
    version: 7,
    // Plans of format 2 do not say whether their dry run came to its end, those of format 3 not what it was asked for: no run may
    // keep to them.
    upgrades: new Map([
      [1, planTables(dialect)],
      [2, otherPlans],
      [3, otherPlans],
      [
        4,
        `ALTER TABLE source ADD COLUMN checked_at ${text} NOT NULL DEFAULT ''; UPDATE source SET checked_at = listed_at;`,
      ],
      [5, acknowledged],
      [6, feedback],
    ]),
    sql: `${planTables(dialect)}
-- A row for each source, and one of kind 'domain' for the domain itself.
CREATE TABLE source (
  source_no ${serial},
  domain_id ${text} NOT NULL,
  kind ${text} NOT NULL,
  source_id ${text} NOT NULL,
  -- Another one for a source that was forgotten and came back, so that its revisions mean something else.
  birth ${text} NOT NULL,
  -- What an earlier release, or a database that was lost, left in map files: 0 not taken over yet, 1 taken over, 2 and put aside.
  imported ${integer} NOT NULL,
  -- +1 with every transaction that changes something of the source; and when each facet last changed.
  rev ${integer} NOT NULL,
  seen_rev ${integer} NOT NULL,
  mirrored_rev ${integer} NOT NULL,
  indexed_rev ${integer} NOT NULL,
  tracked_rev ${integer} NOT NULL DEFAULT 0,
  -- Of a tree: where it was, when all of it was last looked at, and what that look is called.
  look_root ${text} NOT NULL DEFAULT '',
  look_at ${text} NOT NULL DEFAULT '',
  look_id ${text} NOT NULL DEFAULT '',
  look_turn ${integer} NOT NULL DEFAULT 0,
  -- The revision of the extractor that made every text; '' before the first one.
  texts_by ${text} NOT NULL DEFAULT '',
  -- What the last complete listing left; '' and 0 before the first one, and when somebody edited a map file since.
  policy ${text} NOT NULL DEFAULT '',
  change_mark ${text} NOT NULL DEFAULT '',
  listed_at ${text} NOT NULL DEFAULT '',
  -- When everything was last listed, or the change feed last told of everything.
  checked_at ${text} NOT NULL DEFAULT '',
  runs_by_mark ${integer} NOT NULL DEFAULT 0,
  hidden_rows ${integer} NOT NULL DEFAULT 0,
  hashes_owed ${integer} NOT NULL DEFAULT 0,
  hash_next ${integer} NOT NULL DEFAULT 0,
  -- Everything up to this revision is in the domain's own store, by the rules that judged it.
  embedded_rules ${text} NOT NULL DEFAULT '',
  embedded_rev ${integer} NOT NULL DEFAULT 0,
  UNIQUE (domain_id, kind, source_id)
) ${strict};

CREATE TABLE item (
  item_no ${serial},
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  item_id ${text} NOT NULL,
  rev ${integer} NOT NULL,
  -- 0: the source does not list it (any more); then the columns behind it say nothing.
  listed ${integer} NOT NULL,
  list_item_id ${integer} NOT NULL,
  name ${text} NOT NULL,
  server_path ${text} NOT NULL,
  url ${text} NOT NULL,
  raw_url ${text} NOT NULL,
  size ${real} NOT NULL,
  modified_at ${text} NOT NULL,
  withheld ${integer} NOT NULL,
  UNIQUE (source_no, item_id)
) ${strict};
CREATE INDEX item_of_source ON item (source_no, item_no);
CREATE INDEX item_rev ON item (source_no, rev);

CREATE TABLE file (
  item_no ${integer} NOT NULL PRIMARY KEY REFERENCES item ON DELETE CASCADE,
  source_no ${integer} NOT NULL,
  rev ${integer} NOT NULL,
  list_item_id ${integer} NOT NULL,
  name ${text} NOT NULL,
  server_path ${text} NOT NULL,
  path ${text} NOT NULL,
  -- As listed when it was fetched.
  size ${real} NOT NULL,
  modified_at ${text} NOT NULL,
  etag ${text} NOT NULL,
  content_version ${text} NOT NULL,
  downloaded_at ${text} NOT NULL,
  source_error ${text} NOT NULL,
  processing_error ${text} NOT NULL,
  -- As measured on disk; NULL until it was hashed.
  observed_size ${real},
  observed_mtime_ms ${real},
  sha256 ${text}
) ${strict};
CREATE INDEX file_of_source ON file (source_no, item_no);
CREATE INDEX file_rev ON file (source_no, rev);
CREATE INDEX file_path ON file (source_no, path);

CREATE TABLE indexed (
  item_no ${integer} NOT NULL REFERENCES item ON DELETE CASCADE,
  -- '' for the domain's own store, whichever that is.
  store ${text} NOT NULL,
  source_no ${integer} NOT NULL,
  rev ${integer} NOT NULL,
  file_id ${text} NOT NULL,
  vector_store_id ${text} NOT NULL,
  path ${text} NOT NULL,
  list_item_id ${integer} NOT NULL,
  name ${text} NOT NULL,
  size ${real} NOT NULL,
  modified_at ${text} NOT NULL,
  downloaded_at ${text} NOT NULL,
  uploaded_at ${text} NOT NULL,
  embedded_at ${text} NOT NULL,
  source_error ${text} NOT NULL,
  processing_error ${text} NOT NULL,
  embedding_error ${text} NOT NULL,
  sha256 ${text} NOT NULL,
  PRIMARY KEY (item_no, store)
) ${strict};
CREATE INDEX indexed_of_source ON indexed (source_no, store, item_no);
CREATE INDEX indexed_rev ON indexed (source_no, store, rev);

-- Vector stores beside the domain's own: 'building' or 'superseded'.
CREATE TABLE store (
  domain_id ${text} NOT NULL,
  store_id ${text} NOT NULL,
  state ${text} NOT NULL,
  since ${text} NOT NULL,
  PRIMARY KEY (domain_id, store_id)
) ${strict};

-- Up to when the clock was looked after, for which schedule, and the crawl that was started last.
CREATE TABLE schedule (
  domain_id ${text} NOT NULL PRIMARY KEY,
  cron ${text} NOT NULL,
  checked_at ${text} NOT NULL,
  job_id ${text} NOT NULL,
  attempts ${integer} NOT NULL
) ${strict};

-- Why a web page or a registered address is in its source, and what the index has of it.
CREATE TABLE member (
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  item_id ${text} NOT NULL,
  -- asked, led or no.
  wanted ${text} NOT NULL,
  unlinked_count ${integer} NOT NULL,
  file_id ${text} NOT NULL,
  content_hash ${text} NOT NULL,
  indexed_generation ${integer} NOT NULL,
  PRIMARY KEY (source_no, item_id)
) ${strict};
CREATE INDEX member_item ON member (item_id);

-- Uploads to a remote service, noted before they are sent: its file, or that no answer came; settled when nothing is left to do about it.
CREATE TABLE upload (
  upload_no ${serial},
  domain_id ${text} NOT NULL,
  source_id ${text} NOT NULL,
  store_id ${text} NOT NULL,
  item_id ${text} NOT NULL,
  name ${text} NOT NULL,
  bytes ${real} NOT NULL,
  sent_at ${text} NOT NULL,
  file_id ${text} NOT NULL,
  sha256 ${text} NOT NULL,
  lost_at ${text} NOT NULL,
  settled ${integer} NOT NULL
) ${strict};
CREATE INDEX upload_of_place ON upload (domain_id, source_id, store_id, upload_no);
CREATE INDEX upload_file ON upload (file_id);

-- Every version that was embedded into the domain's own store, each an entry of files_metadata.json, in this order. They belong to the
-- domain's own row in source: history outlives sources. NULL: the entry does not have the field.
CREATE TABLE embedded_file (
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  entry_no ${integer} NOT NULL,
  rev ${integer} NOT NULL,
  -- '' for what is no entry: then properties has it.
  file_id ${text} NOT NULL,
  item_id ${text},
  list_item_id ${integer},
  path ${text},
  url ${text},
  raw_url ${text},
  server_path ${text},
  name ${text},
  size ${real},
  modified_at ${text},
  embedded_at ${text},
  source_id ${text},
  source_type ${text},
  -- The user's, as a JSON object.
  properties ${text} NOT NULL,
  PRIMARY KEY (source_no, entry_no)
) ${strict};
CREATE INDEX embedded_file_of_id ON embedded_file (source_no, file_id);
CREATE INDEX embedded_file_of_item ON embedded_file (source_no, item_id);

-- The last crawl of a web site, or the one under way.
CREATE TABLE site_crawl (
  source_no ${integer} NOT NULL PRIMARY KEY REFERENCES source ON DELETE CASCADE,
  crawl_no ${integer} NOT NULL,
  digest ${text} NOT NULL,
  site ${text} NOT NULL,
  started_at ${text} NOT NULL,
  finished ${integer} NOT NULL
) ${strict};

-- Pages, and lists of pages (sitemaps, feeds), as a crawl last looked at them.
CREATE TABLE page (
  page_no ${serial},
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  page_id ${text} NOT NULL,
  crawl_no ${integer} NOT NULL,
  url ${text} NOT NULL,
  depth ${integer} NOT NULL,
  outcome ${text} NOT NULL,
  -- What it turned out to be; '' when it was only read on the way to that.
  item_id ${text} NOT NULL,
  undated ${text} NOT NULL,
  -- 1: page_link has everything it links to.
  complete ${integer} NOT NULL,
  etag ${text} NOT NULL,
  last_modified ${text} NOT NULL,
  UNIQUE (source_no, page_id)
) ${strict};
CREATE INDEX page_of_crawl ON page (source_no, crawl_no, depth, page_no);

CREATE TABLE page_link (
  page_no ${integer} NOT NULL REFERENCES page ON DELETE CASCADE,
  -- link, feed, alias or list.
  kind ${text} NOT NULL,
  n ${integer} NOT NULL,
  target ${text} NOT NULL,
  -- As a sitemap says.
  modified ${text} NOT NULL,
  PRIMARY KEY (page_no, kind, n)
) ${sqlite ? "STRICT, WITHOUT ROWID" : ""};

-- Who alone works on something of the domain: until expires_at (milliseconds since 1970), unless it is renewed.
CREATE TABLE lease (
  domain_id ${text} NOT NULL,
  name ${text} NOT NULL,
  owner ${text} NOT NULL,
  nonce ${text} NOT NULL,
  host ${text} NOT NULL,
  pid ${integer} NOT NULL,
  birth ${text} NOT NULL,
  expires_at ${integer} NOT NULL,
  PRIMARY KEY (domain_id, name)
) ${strict};

-- Of trees: which file is which document, and what became of those that are not there any more.
CREATE TABLE tracked (
  item_no ${integer} NOT NULL PRIMARY KEY REFERENCES item ON DELETE CASCADE,
  source_no ${integer} NOT NULL,
  rev ${integer} NOT NULL,
  status ${text} NOT NULL,
  folder ${text} NOT NULL,
  name ${text} NOT NULL,
  size ${real} NOT NULL,
  modified_at ${text} NOT NULL,
  stamp ${text} NOT NULL,
  node ${text} NOT NULL,
  content_hash ${text} NOT NULL,
  -- Of the content that the current version was made from; '' when there is none.
  kept_hash ${text} NOT NULL,
  last_seen_at ${text} NOT NULL,
  retry_count ${integer} NOT NULL,
  error ${text} NOT NULL,
  missing_since_at ${text} NOT NULL,
  missing_runs ${integer} NOT NULL,
  deleted_at ${text} NOT NULL
) ${strict};
CREATE INDEX tracked_of_source ON tracked (source_no, item_no);
CREATE INDEX tracked_present ON tracked (source_no, folder, name, status, stamp, node) WHERE status IN ('active', 'error');
CREATE INDEX tracked_content ON tracked (source_no, content_hash, node) WHERE status IN ('active', 'error');
CREATE INDEX tracked_absent ON tracked (source_no, item_no) WHERE status IN ('missing', 'deleted');
CREATE INDEX tracked_gone_from ON tracked (source_no, folder, name) WHERE status IN ('missing', 'deleted');
CREATE INDEX tracked_unkept ON tracked (source_no, item_no) WHERE status = 'active' AND kept_hash <> content_hash;

CREATE TABLE version (
  item_no ${integer} NOT NULL REFERENCES tracked ON DELETE CASCADE,
  n ${integer} NOT NULL,
  version_id ${text} NOT NULL,
  made_at ${text} NOT NULL,
  hash ${text} NOT NULL,
  PRIMARY KEY (item_no, n)
) ${strict};

CREATE TABLE lineage (
  item_no ${integer} NOT NULL REFERENCES tracked ON DELETE CASCADE,
  n ${integer} NOT NULL,
  event ${text} NOT NULL,
  from_path ${text} NOT NULL,
  certainty ${real} NOT NULL,
  happened_at ${text} NOT NULL,
  PRIMARY KEY (item_no, n)
) ${strict};

-- Facets that were cleared since their map file was last written: a row that is still in it does not bring them back.
CREATE TABLE cleared (
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  facet ${text} NOT NULL,
  item_id ${text} NOT NULL,
  rev ${integer} NOT NULL,
  PRIMARY KEY (source_no, facet, item_id)
) ${strict};

-- Map files as they were last written by us: another stamp and another hash mean that somebody edited them.
CREATE TABLE export (
  source_no ${integer} NOT NULL REFERENCES source ON DELETE CASCADE,
  name ${text} NOT NULL,
  rev ${integer} NOT NULL,
  stamp ${text} NOT NULL,
  size ${integer} NOT NULL,
  sha256 ${text} NOT NULL,
  -- 1: a run appends rows behind those, or was killed while it did.
  appending ${integer} NOT NULL,
  -- Written down before the file is put in its place, so that a crash between the two does not look like an edit.
  pending_rev ${integer} NOT NULL,
  pending_sha256 ${text} NOT NULL,
  PRIMARY KEY (source_no, name)
) ${strict};
${acknowledged}${feedback}`,
  };
}
