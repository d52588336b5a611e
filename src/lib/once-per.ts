/** Works out for each object once what it is asked for again and again, and forgets it with the object. */
export function oncePer<Of extends object, T>(work: (of: Of) => T): (of: Of) => T {
  const known = new WeakMap<Of, { readonly value: T }>();
  return (of) => {
    let found = known.get(of);
    if (!found) {
      found = { value: work(of) };
      known.set(of, found);
    }
    return found.value;
  };
}
