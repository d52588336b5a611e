import { blobsHistory } from "./histories/blobs.ts";
import { commandLineHistory } from "./histories/command-line.ts";
import { domainsHistory } from "./histories/domains.ts";
import { endpointsHistory } from "./histories/endpoints.ts";
import { folderHistory, folderTroubleHistory } from "./histories/folder.ts";
import { generationsHistory } from "./histories/generations.ts";
import { ingestHistory } from "./histories/ingest.ts";
import { libraryHistory, libraryMapsHistory, libraryStepsHistory, libraryTroubleHistory } from "./histories/library.ts";
import { listHistory } from "./histories/list.ts";
import { pagesHistory } from "./histories/pages.ts";
import { storesHistory } from "./histories/stores.ts";
import { webHistory } from "./histories/web.ts";
import type { History } from "./history.ts";

export const HISTORIES: readonly History[] = [
  ...[libraryHistory, libraryTroubleHistory, libraryMapsHistory, libraryStepsHistory],
  ...[listHistory, pagesHistory],
  ...[folderHistory, folderTroubleHistory],
  ...[blobsHistory, webHistory, ingestHistory],
  ...[domainsHistory, generationsHistory, storesHistory, endpointsHistory, commandLineHistory],
];
