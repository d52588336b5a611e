/** Returns the last part of a `/`-separated path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Tells whether a file's node identifies it: without an inode it only names the device. */
export function hasInode(node: string): boolean {
  return node !== "" && !node.endsWith(":");
}

/** Returns the folder of a path; "" for the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
