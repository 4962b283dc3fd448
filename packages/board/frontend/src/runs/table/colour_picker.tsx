/** Picks a run's colour: one of the palette, or any. */

import { useEffect, useRef } from 'preact/hooks';
import type { Run } from '../../api/types.ts';
import { FormLayer } from '../../controls/form_layer.tsx';
import { runTitle } from '../../state/run_title.ts';
import { safeText } from '../../strings/safe_text.ts';
import { colour } from '../../style/theme.ts';
import { COLOURS } from '../colour_slots.ts';
import { pickColour, runColour } from '../colours.ts';

export function ColourPicker({ run, anchor, close }: { run: Run; anchor: Element; close: () => void }) {
  return (
    <FormLayer
      anchor={anchor}
      close={close}
      label={`Colour of ${safeText(runTitle(run.name), 120)}`}
      class="colours"
    >
      <div class="colour-grid">
        {Array.from({ length: COLOURS }, (_, i) => (
          <Choice key={i} index={i} run={run} close={close} />
        ))}
      </div>
      <label class="any-colour">
        <input
          type="color"
          value={/^#[0-9a-f]{6}$/i.test(runColour(run)) ? runColour(run) : '#888888'}
          onInput={(event) => pickColour(run.name, event.currentTarget.value)}
        />
        another colour
      </label>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          pickColour(run.name, null);
          close();
        }}
      >
        default colour
      </button>
    </FormLayer>
  );
}

function Choice({ index, run, close }: { index: number; run: Run; close: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    button.current!.style.background = colour(`run-${index}`);
  });
  return (
    <button
      type="button"
      ref={button}
      class="colour-choice"
      aria-label={`colour ${index + 1}`}
      onClick={() => {
        pickColour(run.name, String(index));
        close();
      }}
    />
  );
}
