import { BadInputError } from "../../contracts/errors.ts";
import { checkIn, checkOut, undoCheckOut } from "../tenant/check-out.ts";
import { describeItem } from "../tenant/describe-library.ts";
import { approveItem, discardDraft, publishItem, restoreVersion, setHidden } from "../tenant/versions.ts";
import { present } from "./control-input.ts";
import type { Operation } from "./operations.ts";

/** Check-out, publishing and going back, for files, pages and (by path) rows. */
export const versionOperations: Readonly<Record<string, Operation>> = {
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
