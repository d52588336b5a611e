import { createHostGate, type GateOptions, type HostGate } from "./host-gate.ts";

/** A gate for each host that was asked; those nobody needs are forgotten when there are too many. */
export interface HostGates {
  /** With the port where it is an unusual one: http and https of a host are one server, another port is another. */
  of(host: string): HostGate;
  /** Turns away everybody who waits. */
  close(reason: string): void;
}

const MAX_GATES = 5000;

export function createHostGates(options: Omit<GateOptions, "host">): HostGates {
  const gates = new Map<string, HostGate>();
  return {
    of(host) {
      const known = gates.get(host);
      if (known) return known;
      if (gates.size >= MAX_GATES) for (const [name, gate] of gates) if (gate.isIdle()) gates.delete(name);
      const gate = createHostGate({ host, ...options });
      gates.set(host, gate);
      return gate;
    },
    close(reason) {
      for (const gate of gates.values()) gate.rest(Number.POSITIVE_INFINITY, reason);
    },
  };
}
