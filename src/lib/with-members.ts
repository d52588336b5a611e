/** Returns the same object with other members, or without those that are given as undefined; the object itself stays as it is. */
export function withMembers<T extends object>(object: T, members: Partial<{ [K in keyof T]: T[K] | undefined }>): T {
  return new Proxy(object, {
    get(target, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(target, key);
      // Private fields are those of the object, not of its proxy.
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, key) => (Object.hasOwn(members, key) ? Reflect.get(members, key) !== undefined : key in target),
  });
}
