import { libraryHistory, libraryMapsHistory, libraryStepsHistory, libraryTroubleHistory } from "./histories/library.ts";
import type { History } from "./history.ts";

export const HISTORIES: readonly History[] = [
  libraryHistory,
  libraryTroubleHistory,
  libraryMapsHistory,
  libraryStepsHistory,
];
