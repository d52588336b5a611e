import { crawlFolder, openFolderApp } from "./folder-app.ts";
import { report } from "./measure.ts";

await report(async () => {
  const app = await openFolderApp();
  const { download, embed } = await crawlFolder(app);
  await app.close();
  const { added = -1, changed = -1, moved = -1, removed = -1, unchanged = -1 } = download ?? {};
  return { added, changed, moved, removed, unchanged, embedded: embed.added };
});
