/** Of a path below a root, `/`-separated: the last part of it. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether the node of a file tells it from others: without an inode it only says on which device the file lies. */
export function hasInode(node: string): boolean {
  return node !== "" && !node.endsWith(":");
}

/** What it lies in; "" for the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
