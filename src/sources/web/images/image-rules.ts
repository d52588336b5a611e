/** What a picture has to be to be kept. */
export interface ImageRules {
  readonly minWidth: number;
  readonly minHeight: number;
  readonly minArea: number;
  readonly minBytes: number;
  readonly maxAspect: number;
  readonly enableSvg: boolean;
}

const DECORATION = /favicon|apple-touch-icon|mask-icon|sprite|logo|brandmark|\/icons\/|\/emoji\//i;

export function seemsDecoration(url: string): boolean {
  return DECORATION.test(url);
}

/** Why a picture of this size is not kept, "" when it is. */
export function tooSmall(
  { width, height, bytes }: { readonly width: number; readonly height: number; readonly bytes: number },
  rules: ImageRules,
): string {
  const size = `${width} x ${height} pixels`;
  if (width < rules.minWidth || height < rules.minHeight) {
    return `${size}; at least ${rules.minWidth} x ${rules.minHeight} are asked for`;
  }
  if (width * height < rules.minArea) return `${size}; an area of at least ${rules.minArea} is asked for`;
  if (Math.max(width / height, height / width) > rules.maxAspect) {
    return `${size}; one side may be at most ${rules.maxAspect} times as long as the other`;
  }
  return bytes < rules.minBytes ? `${bytes} bytes; at least ${rules.minBytes} are asked for` : "";
}
