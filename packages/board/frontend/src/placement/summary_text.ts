/** What a placement is expected to bring, in two sentences. */
import { memorySize } from '../units/bytes.ts';
import { counted } from '../units/numbers.ts';
import { microseconds } from './figures.ts';
import type { PlacementSummary, Receives } from './placement_api.ts';

type Step = Pick<PlacementSummary, 'simulated' | 'expected_us' | 'first_devices_us' | 'measured_us'>;

export function stepText({ simulated, expected_us, first_devices_us, measured_us }: Step): string {
  const took = `this one took ${microseconds(measured_us)}`;
  if (expected_us === null) return `No node had a choice among devices, so no step was simulated; ${took}.`;
  const expected = `a step is expected to take ${microseconds(expected_us)}`;
  if (!simulated)
    return `Not placed by a simulation, each node is on the first device that it may have, accelerators before CPUs: ${expected}; ${took}.`;
  const first =
    first_devices_us === null ? '' : `, ${microseconds(first_devices_us)} with each node on its first device`;
  return `Placed by a simulation: ${expected}${first}; ${took}.`;
}

export function receivesText({ delayed, peak_bytes, peak_bytes_before }: Receives): string {
  if (delayed === 0) return 'No tensor is delayed until its receiver needs it.';
  const tensors = `${counted(delayed, 'tensor')} ${delayed === 1 ? 'is' : 'are'} sent no earlier than needed`;
  if (peak_bytes === null || peak_bytes_before === null) return `${tensors}.`;
  return `${tensors}: at most ${memorySize(peak_bytes)} wait for a reader at one time, not ${memorySize(peak_bytes_before)}.`;
}
