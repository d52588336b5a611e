/** Where accounts of Azure, of any of its clouds, answer. A token of this machine's identity is shown to nobody else. */
const AZURE_HOST =
  /^[a-z0-9-]+(\.z\d+)?\.blob\.(core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|storage\.azure\.net)$/;

export function isAzureHost(host: string): boolean {
  return AZURE_HOST.test(host.toLowerCase());
}

/** The same address without query, fragment, user and the slashes at its end. */
export function plainAddress(url: URL): URL {
  const place = new URL(url.origin);
  place.pathname = url.pathname.replace(/\/+$/, "");
  return place;
}

export function isSamePlace(one: URL, other: URL): boolean {
  const plain = (url: URL): string => url.origin + readable(plainAddress(url).pathname);
  return plain(one) === plain(other);
}

export function containerNameOf(place: URL): string {
  return readable(place.pathname.slice(place.pathname.lastIndexOf("/") + 1));
}

function readable(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
