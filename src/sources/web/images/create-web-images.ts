import type { WebClient, WebImages } from "../../../contracts/web.ts";
import { createOneAtATime } from "../../../lib/one-at-a-time.ts";
import { checkedItemName, itemName } from "../item-name.ts";
import { ImageGatherer } from "./gather-images.ts";
import { ImageFolder } from "./image-folder.ts";
import type { ImageRules } from "./image-rules.ts";
import { PICTURE_REVISION } from "./make-picture.ts";

export function createWebImages(options: {
  readonly folder: string;
  readonly client: WebClient;
  readonly rules: ImageRules;
}): WebImages {
  const { folder: root, client, rules } = options;
  const revision = `${PICTURE_REVISION} ${JSON.stringify(rules)}`;
  const inTurn = createOneAtATime();
  const folderOf = (id: string): ImageFolder => new ImageFolder(root, checkedItemName(id));
  return {
    async replace(page, images, signal) {
      const folder = folderOf(page.id);
      return await inTurn(page.id, async () => {
        const known = await folder.readWhole();
        const found = await new ImageGatherer({ client, rules, folder, page, known, revision }).gather(images, signal);
        if (found.asked.length === 0) await folder.remove();
        else await folder.replaceList(found);
        return found.images.length;
      });
    },

    async of(page) {
      const name = itemName(page);
      if (!name) return [];
      const { images } = await new ImageFolder(root, name).readList();
      return images.map(({ looksLike: _, ...image }) => image);
    },

    async read(page, image, size) {
      const name = itemName(page);
      if (!name) return undefined;
      const folder = new ImageFolder(root, name);
      // Only what the list names becomes a path.
      const found = (await folder.readList()).images.find(({ id }) => id === image);
      if (!found) return undefined;
      const mimeType = size === "full" ? found.mimeType : "image/jpeg";
      const bytes = await (size === "full" ? folder.readFull(found.id, mimeType) : folder.readThumbnail(found.id));
      return bytes && { bytes, mimeType };
    },

    async delete(page) {
      const folder = folderOf(page);
      await inTurn(page, () => folder.remove());
    },
  };
}
