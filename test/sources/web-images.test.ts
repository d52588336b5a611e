// Pictures of pages are kept once, small, and without camera data.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import type { Sharp } from "sharp";
import sharp from "sharp";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { PageImage } from "../../src/contracts/web.ts";
import { identifyUrl } from "../../src/plan/web/item-identity.ts";
import { newItem } from "../../src/plan/web/item-state.ts";
import { createWebImages } from "../../src/sources/web/web-images.ts";
import { closeOpened, forever, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

const RULES = { minWidth: 128, minHeight: 128, minArea: 16_384, minBytes: 5000, maxAspect: 6, enableSvg: false };

const root = mkdtempSync(join(tmpdir(), "web-images-"));
after(() => rmSync(root, { recursive: true }));

/** A picture like no other seed's: patches of light, and grain that keeps it from shrinking to nothing. */
function scene(seed: number, width: number, height: number): Sharp {
  let state = seed;
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  const patches = Array.from({ length: 36 }, () => Math.floor(next() * 255));
  const pixels = Buffer.alloc(width * height * 3);
  for (let at = 0; at < pixels.length; at += 1) {
    const pixel = Math.floor(at / 3);
    const [x, y] = [((pixel % width) / width) * 6, (Math.floor(pixel / width) / height) * 6];
    const patch = patches[Math.floor(y) * 6 + Math.floor(x)] ?? 0;
    pixels[at] = Math.floor(patch * 0.85 + next() * 35);
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

interface Shown {
  readonly bytes: Uint8Array;
  readonly etag?: string;
  readonly redirect?: string;
}

async function openWorld(rules: Partial<typeof RULES> = {}) {
  const shown = new Map<string, Shown | number>();
  const site = await startSite((request, response) => {
    const found = shown.get(request.url ?? "") ?? 404;
    if (typeof found === "number") return response.writeHead(found).end();
    if (found.redirect) return response.writeHead(302, { location: found.redirect }).end();
    const etag = found.etag ?? "";
    if (etag && request.headers["if-none-match"] === etag) return response.writeHead(304, { etag }).end();
    return response.writeHead(200, { "content-type": "image/x", ...(etag && { etag }) }).end(found.bytes);
  });
  const folder = mkdtempSync(join(root, "images-"));
  const open = (changed: Partial<typeof RULES> = {}) =>
    createWebImages({ folder, client: openClient(), rules: { ...RULES, ...rules, ...changed } });
  const page = newItem(identifyUrl(`${site.origin}/page`, { trackingPrefixes: [] }), new Date());
  const image = (path: string, more: Partial<PageImage> = {}): PageImage => ({
    url: `${site.origin}${path}`,
    alt: "",
    caption: "",
    surroundings: "",
    position: 0,
    isPagePicture: false,
    ...more,
  });
  const pageFolder = join(folder, page.id.slice(4, 6), page.id);
  return { site, shown, images: open(), open, page, image, pageFolder };
}

const names = (folder: string): string[] => readdirSync(folder).sort();

test("a picture is kept under its page with a thumbnail, without what the camera wrote", async () => {
  const { shown, images, page, image, pageFolder, site } = await openWorld();
  const exif = { IFD0: { Copyright: "Somebody", ImageDescription: "at home" } };
  const bytes = await scene(1, 2400, 1200).withExif(exif).jpeg().toBuffer();
  shown.set("/photo.jpg", { bytes });
  const found = image("/photo.jpg", { alt: "A pump", caption: "Fig. 1", surroundings: "Pumps.", position: 3 });
  assert.equal(await images.replace(page, [found], forever), 1);
  const [kept] = await images.of(page.id);
  assert.match(kept?.id ?? "", /^img_[a-z2-7]{26}$/);
  const { id = "", contentHash, bytes: size, ...rest } = kept ?? {};
  assert.match(contentHash ?? "", /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    ...found,
    parentPageId: page.id,
    parentPageUrl: `${site.origin}/page`,
    width: 1920,
    height: 960,
    mimeType: "image/jpeg",
  });
  const full = await images.read(page.id, id, "full");
  assert.equal(full?.mimeType, "image/jpeg");
  assert.equal(full?.bytes.length, size);
  const metadata = await sharp(full?.bytes).metadata();
  assert.deepEqual([metadata.width, metadata.height, metadata.exif], [1920, 960, undefined]);
  const thumbnail = await images.read(page.id, id, "thumbnail");
  const small = await sharp(thumbnail?.bytes).metadata();
  assert.deepEqual([small.format, small.width, small.height], ["jpeg", 320, 160]);
  assert.deepEqual(names(pageFolder), [`${id}.jpg`, `${id}.thumbnail.jpg`, "images.json"].sort());
});

const kinds: readonly [title: string, make: () => Promise<Uint8Array>, mimeType: string][] = [
  ["PNG without transparency", () => scene(2, 200, 150).png().toBuffer(), "image/jpeg"],
  ["PNG with transparency", () => scene(2, 200, 150).ensureAlpha(0.5).png().toBuffer(), "image/png"],
  ["WebP", () => scene(2, 200, 150).webp().toBuffer(), "image/jpeg"],
  ["TIFF", () => scene(2, 200, 150).tiff({ compression: "lzw" }).toBuffer(), "image/jpeg"],
  ["GIF", () => scene(2, 200, 150).gif().toBuffer(), "image/jpeg"],
  ["BMP", () => bitmap(2, 201, 150), "image/jpeg"],
];

test("formats: each is kept as JPEG, or as PNG where it is transparent, and looks as it did", async () => {
  const { shown, open, page, image } = await openWorld();
  for (const [title, make, mimeType] of kinds) {
    shown.set("/picture", { bytes: await make() });
    const images = open();
    assert.equal(await images.replace(page, [image("/picture")], forever), 1, title);
    const [kept] = await images.of(page.id);
    assert.equal(kept?.mimeType, mimeType, title);
    const { bytes } = (await images.read(page.id, kept?.id ?? "", "full")) ?? assert.fail(title);
    assert.ok((await difference(bytes, 2)) < 12, title);
  }
});

/** Mean difference to the scene, of 255. */
async function difference(bytes: Uint8Array, seed: number): Promise<number> {
  const grey = async (picture: Sharp): Promise<Buffer> =>
    await picture.flatten({ background: "white" }).greyscale().resize(24, 24, { fit: "fill" }).raw().toBuffer();
  const alpha = (await sharp(bytes).metadata()).hasAlpha;
  const expected = alpha ? sharp(await scene(seed, 200, 150).ensureAlpha(0.5).png().toBuffer()) : scene(seed, 200, 150);
  const [one, other] = [await grey(sharp(bytes)), await grey(expected)];
  return one.reduce((sum, value, at) => sum + Math.abs(value - (other[at] ?? 0)), 0) / one.length;
}

async function bitmap(seed: number, width: number, height: number): Promise<Uint8Array> {
  const pixels = await scene(seed, width, height).raw().toBuffer();
  const stride = Math.ceil((width * 3) / 4) * 4;
  const file = Buffer.alloc(54 + stride * height);
  file.write("BM");
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(24, 28);
  for (let at = 0; at < width * height; at += 1) {
    const to = 54 + stride * (height - 1 - Math.floor(at / width)) + (at % width) * 3;
    pixels.copy(file, to, at * 3, at * 3 + 3);
    file.subarray(to, to + 3).reverse();
  }
  return file;
}

test("what is too small, too long, decoration, unreadable or not a picture is left out, and it says why", async () => {
  const { shown, images, page, image, pageFolder } = await openWorld();
  const png = async (width: number, height: number): Promise<Uint8Array> =>
    await scene(3, width, height).png({ compressionLevel: 0 }).toBuffer();
  shown.set("/narrow.png", { bytes: await png(127, 400) });
  shown.set("/long.png", { bytes: await png(1000, 140) });
  shown.set("/flat.png", {
    bytes: await sharp({ create: { width: 300, height: 300, channels: 3, background: "red" } })
      .png()
      .toBuffer(),
  });
  shown.set("/page.html", { bytes: Buffer.from(`<html>${"no picture ".repeat(900)}`) });
  shown.set("/drawing.svg", { bytes: Buffer.from(`<svg width="500" height="500">${"<rect/>".repeat(900)}</svg>`) });
  shown.set("/cut.png", { bytes: (await png(300, 300)).subarray(0, 20_000) });
  shown.set("/bomb.png", { bytes: hugePng(10_000) });
  shown.set("/icons/a.png", { bytes: await png(300, 300) });
  shown.set("/LOGO.png", { bytes: await png(300, 300) });
  const paths = [
    "narrow.png",
    "long.png",
    "flat.png",
    "page.html",
    "drawing.svg",
    "cut.png",
    "bomb.png",
    "gone.png",
    "icons/a.png",
    "LOGO.png",
  ];
  assert.equal(
    await images.replace(
      page,
      paths.map((path) => image(`/${path}`)),
      forever,
    ),
    0,
  );
  assert.deepEqual(await images.of(page.id), []);
  assert.deepEqual(names(pageFolder), ["images.json"]);
  const { asked } = JSON.parse(readFileSync(join(pageFolder, "images.json"), "utf8")) as {
    asked: { url: string; skipped: string }[];
  };
  const reasons: readonly [path: string, reason: RegExp][] = [
    ["narrow.png", /^127 x 400 pixels; at least 128 x 128/],
    ["long.png", /^1000 x 140 pixels; one side may be at most 6 times/],
    ["flat.png", /^\d+ bytes; at least 5000/],
    ["page.html", /^not a JPEG/],
    ["drawing.svg", /IMAGE_ENABLE_SVG/],
    ["cut.png", /^cannot be read/],
    ["bomb.png", /^cannot be read: .*pixel/],
    ["gone.png", /404/],
  ];
  assert.equal(asked.length, reasons.length);
  for (const [at, [path, reason]] of reasons.entries()) {
    assert.ok(asked[at]?.url.endsWith(path));
    assert.match(asked[at]?.skipped ?? "", reason);
  }
});

/** Black, in a few kilobytes. */
function hugePng(side: number): Uint8Array {
  const chunk = (name: string, content: Uint8Array): Buffer => {
    const bytes = Buffer.alloc(content.length + 12);
    bytes.writeUInt32BE(content.length, 0);
    bytes.write(name, 4, "latin1");
    bytes.set(content, 8);
    bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), content.length + 8);
    return bytes;
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  const rows = deflateSync(Buffer.alloc(side * (Math.ceil(side / 8) + 1)));
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]);
}

test("the page's own picture may be called a logo, and SVG is kept when enabled", async () => {
  const { shown, images, page, image } = await openWorld({ enableSvg: true });
  shown.set("/logo.png", { bytes: await scene(4, 300, 300).png().toBuffer() });
  shown.set("/drawing.svg", {
    bytes: Buffer.from(
      `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="500" height="300">${"<circle cx='90' cy='90' r='50' fill='red'/>".repeat(200)}</svg>`,
    ),
  });
  const found = [image("/logo.png", { isPagePicture: true }), image("/drawing.svg")];
  assert.equal(await images.replace(page, found, forever), 2);
  assert.deepEqual(
    (await images.of(page.id)).map(({ width, height, mimeType }) => [width, height, mimeType]),
    [
      [300, 300, "image/jpeg"],
      [500, 300, "image/png"],
    ],
  );
});

test("the same picture in another size or format is kept once, with what each says about it", async () => {
  const { shown, images, page, image, pageFolder } = await openWorld();
  shown.set("/a.jpg", { bytes: await scene(5, 800, 600).jpeg().toBuffer(), etag: '"a"' });
  shown.set("/b.webp", {
    bytes: await sharp(await scene(5, 800, 600).png().toBuffer())
      .resize(400)
      .webp({ quality: 90 })
      .toBuffer(),
    etag: '"b"',
  });
  shown.set("/c.jpg", { bytes: await scene(6, 800, 600).jpeg().toBuffer(), etag: '"c"' });
  const [a, b, c] = [image("/a.jpg"), image("/b.webp", { alt: "A pump" }), image("/c.jpg")];
  assert.equal(await images.replace(page, [a, b, c], forever), 2);
  const kept = await images.of(page.id);
  assert.deepEqual(
    kept.map(({ url, alt, width }) => [url, alt, width]),
    [
      [a.url, "A pump", 800],
      [c.url, "", 800],
    ],
  );
  assert.equal(names(pageFolder).length, 5);
  // The one that stood for both leaves the page: the other still shows the same picture.
  assert.equal(await images.replace(page, [b], forever), 1);
  const [left] = await images.of(page.id);
  assert.deepEqual([left?.id, left?.url], [kept[0]?.id, b.url]);
  assert.ok(await images.read(page.id, left?.id ?? "", "full"));
});

test("unchanged pictures are not downloaded again; what left the page leaves the disk", async () => {
  const { shown, images, page, image, site, pageFolder } = await openWorld();
  const bytes = await scene(7, 300, 300).png().toBuffer();
  shown.set("/a.png", { bytes, etag: '"1"' });
  shown.set("/b.png", { bytes: await scene(8, 300, 300).png().toBuffer(), etag: '"1"' });
  shown.set("/small.png", { bytes: await scene(9, 50, 50).png().toBuffer(), etag: '"1"' });
  assert.equal(await images.replace(page, [image("/a.png"), image("/b.png"), image("/small.png")], forever), 2);
  // From now on whoever downloads gets something else.
  for (const path of ["/a.png", "/small.png"])
    shown.set(path, { bytes: await scene(10, 300, 300).png().toBuffer(), etag: '"1"' });
  for (const name of ["left-over.tmp", "just-begun.tmp"]) writeFileSync(join(pageFolder, name), "x");
  utimesSync(join(pageFolder, "left-over.tmp"), 0, 0);
  const [before] = await images.of(page.id);
  assert.equal(await images.replace(page, [image("/a.png", { alt: "new text" }), image("/small.png")], forever), 1);
  assert.deepEqual(await images.of(page.id), [{ ...before, alt: "new text" }]);
  assert.deepEqual(
    names(pageFolder),
    ["images.json", `${before?.id}.jpg`, `${before?.id}.thumbnail.jpg`, "just-begun.tmp"].sort(),
  );
  assert.equal(site.asked.filter((path) => path === "/a.png").length, 2);
  shown.set("/a.png", { bytes, etag: '"2"' });
  assert.equal(await images.replace(page, [image("/a.png")], forever), 1);
  assert.equal((await images.of(page.id))[0]?.id, before?.id);
  assert.equal(await images.replace(page, [], forever), 0);
  assert.throws(() => statSync(pageFolder), /ENOENT/);
});

test("an address with a password or a signature is asked as it is, and written down without", async () => {
  const { shown, images, page, image, site, pageFolder } = await openWorld();
  const bytes = await scene(7, 300, 300).png().toBuffer();
  shown.set("/a.png?v=1&sv=2&sig=hunter2", { bytes, etag: '"1"' });
  const secretive = image("/a.png?v=1&sv=2&sig=hunter2");
  const found = { ...secretive, url: secretive.url.replace("http://", "http://user:hunter2@") };
  const other = image("/none.png?token=hunter2");
  for (let times = 0; times < 2; times += 1) {
    assert.equal(await images.replace(page, [found, other], forever), 1);
    assert.deepEqual(
      (await images.of(page.id)).map(({ url }) => url),
      [`${site.origin}/a.png?v=1`],
    );
    assert.doesNotMatch(readFileSync(join(pageFolder, "images.json"), "utf8"), /hunter2|sv=/);
  }
  assert.equal(site.asked.filter((path) => path === "/a.png?v=1&sv=2&sig=hunter2").length, 2);
});

test("a picture that cannot be had now stays; one that is gone leaves; redirects are followed", async () => {
  const { shown, images, page, image } = await openWorld();
  shown.set("/a.png", { bytes: await scene(11, 300, 300).png().toBuffer() });
  shown.set("/b.png", { bytes: Buffer.alloc(0), redirect: "/hop" });
  shown.set("/hop", { bytes: Buffer.alloc(0), redirect: "/b-there.png" });
  shown.set("/b-there.png", { bytes: await scene(12, 300, 300).png().toBuffer() });
  shown.set("/loop.png", { bytes: Buffer.alloc(0), redirect: "/loop.png" });
  const found = [image("/a.png"), image("/b.png"), image("/loop.png")];
  assert.equal(await images.replace(page, found, forever), 2);
  const before = await images.of(page.id);
  shown.set("/a.png", 503);
  shown.set("/b-there.png", 410);
  assert.equal(await images.replace(page, found, forever), 1);
  assert.deepEqual(await images.of(page.id), before.slice(0, 1));
});

test("other rules look at everything again, and lose nothing when nobody answers", async () => {
  const { shown, open, page, image } = await openWorld();
  shown.set("/a.png", { bytes: await scene(13, 300, 300).png().toBuffer(), etag: '"1"' });
  shown.set("/b.png", { bytes: await scene(14, 100, 100).png().toBuffer(), etag: '"1"' });
  const found = [image("/a.png"), image("/b.png")];
  assert.equal(await open().replace(page, found, forever), 1);
  const a = shown.get("/a.png") ?? 0;
  shown.set("/a.png", 503);
  assert.equal(await open({ minWidth: 50, minHeight: 50, minArea: 0 }).replace(page, found, forever), 2);
  shown.set("/a.png", a);
  assert.equal(await open({ minWidth: 301 }).replace(page, found, forever), 0);
});

test("what another process is adding is spared, and what it removed comes back although nothing changed", async () => {
  const { shown, open, page, image, pageFolder } = await openWorld();
  shown.set("/a.png", { bytes: await scene(17, 300, 300).png().toBuffer(), etag: '"1"' });
  shown.set("/b.png", { bytes: await scene(18, 300, 300).png().toBuffer(), etag: '"1"' });
  const [one, other] = [open(), open()];
  assert.equal(await one.replace(page, [image("/a.png"), image("/b.png")], forever), 2);
  const all = names(pageFolder);
  const sound = readFileSync(join(pageFolder, "images.json"));
  // As if the other had read the list before these were in it.
  writeFileSync(join(pageFolder, "images.json"), "{}");
  assert.equal(await other.replace(page, [image("/a.png")], forever), 1);
  assert.deepEqual(names(pageFolder), all);
  writeFileSync(join(pageFolder, "images.json"), sound);
  for (const { id } of await one.of(page.id)) rmSync(join(pageFolder, `${id}.thumbnail.jpg`));
  assert.equal(await one.replace(page, [image("/a.png"), image("/b.png")], forever), 2);
  assert.deepEqual(names(pageFolder), all);
});

test("a list that is damaged or names paths is no list", async () => {
  const { shown, images, page, image, pageFolder } = await openWorld();
  shown.set("/a.png", { bytes: await scene(15, 300, 300).png().toBuffer(), etag: '"1"' });
  await images.replace(page, [image("/a.png")], forever);
  const list = join(pageFolder, "images.json");
  const sound = readFileSync(list, "utf8");
  writeFileSync(list, sound.replaceAll(/img_\w+/g, "../../../../etc/passwd"));
  assert.deepEqual(await images.of(page.id), []);
  writeFileSync(list, sound.slice(0, 100));
  assert.deepEqual(await images.of(page.id), []);
  assert.equal(await images.replace(page, [image("/a.png")], forever), 1);
  assert.equal(await images.read(page.id, "../images.json", "full"), undefined);
  assert.equal(await images.read("../.." as ItemId, "img_x", "full"), undefined);
  assert.deepEqual(await images.of("not a page" as ItemId), []);
  await assert.rejects(images.delete("../.." as ItemId), /An item's id is/);
  await images.delete(page.id);
  assert.deepEqual(await images.of(page.id), []);
});

test("called off, the old list stays", async () => {
  const { shown, images, page, image } = await openWorld();
  shown.set("/a.png", { bytes: await scene(16, 300, 300).png().toBuffer() });
  await images.replace(page, [image("/a.png")], forever);
  const before = await images.of(page.id);
  await assert.rejects(images.replace(page, [image("/b.png")], AbortSignal.abort()), /cancelled/);
  assert.deepEqual(await images.of(page.id), before);
});
