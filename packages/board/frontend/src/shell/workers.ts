/** Starts a worker of the build by its name (the file src/.../NAME.worker.ts). */

declare const WORKER_FILES: Record<string, string>;

interface Policy {
  createScriptURL(url: string): string;
}
interface PolicyFactory {
  createPolicy(name: string, rules: Policy): Policy;
}

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
const rules: Policy = { createScriptURL: (url) => url };
// The page's policy lets scripts come from our own list only.
const policy = factory ? factory.createPolicy('headrace', rules) : rules;

export function startWorker(name: string): Worker {
  const file = WORKER_FILES[name];
  if (!file) throw new Error(`the build has no worker ${name}`);
  return new Worker(policy.createScriptURL(new URL(`assets/${file}`, document.baseURI).href));
}
