/** The keys of an image card: arrows change the step, brackets the sample, plus, minus, 0 and 1 the zoom. */
import { lookOf, setChoice, setLook } from '../media_view.ts';
import { nextZoom } from './tile_grid.ts';

interface Options {
  tag: string;
  steps: number[];
  step: number | null;
  sample: number;
  samples: number;
}

export function imageKeys(options: Options): (event: KeyboardEvent) => void {
  return (event) => {
    if ((event.target as HTMLElement).closest('input, select, [role=radio], [role=menu]')) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!onImageKey(options, event.key, event.shiftKey ? 10 : 1)) return;
    event.preventDefault();
    event.stopPropagation();
  };
}

function onImageKey({ tag, steps, step, sample, samples }: Options, key: string, places: number): boolean {
  const moveBy = (by: number) => {
    if (step === null) return;
    const next = steps[Math.max(0, Math.min(steps.length - 1, steps.indexOf(step) + by))];
    if (next !== undefined) setChoice(tag, { step: next });
  };
  const scale = lookOf(tag).zoom || 1;
  const zoomTo = (zoom: number) => setLook(tag, { zoom });
  if (key === 'ArrowLeft') moveBy(-places);
  else if (key === 'ArrowRight') moveBy(places);
  else if (key === 'Home') moveBy(-steps.length);
  else if (key === 'End') moveBy(steps.length);
  else if (key === '+' || key === '=') zoomTo(nextZoom(scale, true));
  else if (key === '-') zoomTo(nextZoom(scale, false));
  else if (key === '0') zoomTo(0);
  else if (key === '1') zoomTo(1);
  else if (key === '[' && sample > 0) setChoice(tag, { sample: sample - 1 });
  else if (key === ']' && sample < samples - 1) setChoice(tag, { sample: sample + 1 });
  else return false;
  return true;
}
