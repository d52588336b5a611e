import { describeItem } from "../tenant/describe-library.ts";
import { addPage, addPagesLibrary, editPage, publishPage } from "../tenant/page-operations.ts";
import { type ControlInput, present } from "./control-input.ts";
import type { Operation } from "./operations.ts";

/** What authors do to site pages; `discard-draft` and check-out are those of every file. */
export const pageOperations: Readonly<Record<string, Operation>> = {
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
