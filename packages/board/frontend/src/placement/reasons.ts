/** Why a node runs where it does, in words. */
import { safeText } from '../strings/safe_text.ts';
import type { PlacedNode } from './placement_api.ts';

type Why = Pick<PlacedNode, 'why' | 'with' | 'requested' | 'request_ignored'> & {
  estimates: readonly unknown[];
};

const REASONS: Record<string, (node: Why) => string> = {
  first: () => 'the first device that it may have',
  requested: (node) => `requested: ${safeText(node.requested, 200)}`,
  kernels: () => 'only there is a kernel for it',
  colocated: (node) => `colocated with ${safeText(node.with, 200)}`,
  reference: (node) => `refers to the state of ${safeText(node.with, 200)}`,
  state: () => 'its state is there',
  accelerator: () => 'the first accelerator that it may have',
  simulated: (node) => (node.estimates.length ? 'ends soonest there' : 'ends soonest there, with its group'),
};

export function whyText(node: Why): string {
  const reason = Object.hasOwn(REASONS, node.why) ? REASONS[node.why] : undefined;
  const text = reason ? reason(node) : `a reason that this version does not know (${safeText(node.why, 40)})`;
  if (!node.request_ignored) return text;
  return `${text} (requested ${safeText(node.requested, 200)}, no such device for it: soft placement)`;
}
