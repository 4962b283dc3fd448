/** Starts a worker of the build by its name (the file src/.../NAME.worker.ts). */
import { showMessage } from './messages.ts';

declare const WORKER_FILES: Record<string, string>;

interface Policy {
  createScriptURL(url: string): string;
}
interface PolicyFactory {
  createPolicy(name: string, rules: Policy): Policy;
}

const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
const rules: Policy = { createScriptURL: (url) => url };
// The page's content policy allows scripts from the build's list only.
const policy = factory ? factory.createPolicy('headrace', rules) : rules;

/**
 * Starts a worker.
 *
 * `failed` is called with the reason when the worker died or could not be fetched, and should fail what waits for it;
 * by default the page shows a message.
 */
export function startWorker(name: string, failed: (why: string) => void = showMessage): Worker {
  const file = WORKER_FILES[name];
  if (!file) throw new Error(`the build has no worker ${name}`);
  const worker = new Worker(policy.createScriptURL(new URL(`assets/${file}`, document.baseURI).href));
  worker.addEventListener('error', (event) => {
    // Without a message it was not fetched: the server is away, or was upgraded while the page was open.
    const why = event.message || 'its code could not be loaded; reload the page';
    failed(`The work "${name.replaceAll('_', ' ')}" failed: ${why}`);
  });
  worker.addEventListener('messageerror', () => {
    failed(`The work "${name.replaceAll('_', ' ')}" failed: its response cannot be read`);
  });
  return worker;
}
