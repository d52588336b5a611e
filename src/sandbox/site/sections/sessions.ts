import { fastHash } from "../../../lib/hash.ts";
import { htmlDocument, listed, numbered } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

const GOODS = 4;

/** A shop that puts a session into every link, another on every page. Its pages say which address they mean. */
export const sessions: MakeSection = () => ({
  name: "shop",
  entrances: ["/shop/goods-1?sid=front"],
  pages: () => numbered(GOODS, (i) => listed(`/shop/goods-${i}`, `puffin${i}`, { depth: i === 1 ? 1 : 2 })),
  answer(asked) {
    const number = Number(/^\/shop\/goods-(\d)$/.exec(asked.path)?.[1] ?? 0);
    if (number < 1 || number > GOODS) return undefined;
    const session = fastHash(asked.path + asked.query.slice(0, 12)) % 3;
    return htmlDocument(
      {
        word: `puffin${number}`,
        head: `<link rel="canonical" href="/shop/goods-${number}">`,
        links: numbered(GOODS, (i) => `/shop/goods-${i}?sid=${session}`),
      },
      asked,
    );
  },
});
