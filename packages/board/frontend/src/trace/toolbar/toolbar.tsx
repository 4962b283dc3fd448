/** The toolbar of the Trace page: steps, colours, overlays and search. */
import { apiUrl } from '../../api/client.ts';
import { Menu } from '../../controls/menu.tsx';
import { ToolSheet } from '../../controls/tool_sheet.tsx';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { count } from '../../units/numbers.ts';
import {
  type Colouring,
  colouring,
  scopesChoice,
  showArrows,
  showCritical,
  showMemory,
} from '../address/address_fields.ts';
import { chosen, isProfile, mainTrace, showScopes } from '../state/trace_state.ts';
import { fit } from '../timeline/keys.ts';
import { arrowCounts } from '../timeline/timeline_canvas.ts';
import { FindBox } from './find_box.tsx';
import { CompareMenu, RunChoice, StepChoice } from './step_choice.tsx';

const COLOURINGS: [Colouring, string][] = [
  ['kind', 'Kind of op'],
  ['op', 'Op'],
  ['scope', 'Scope'],
  ['device', 'Device'],
  ['family', 'Structure'],
];

export function Toolbar() {
  const row = chosen.value;
  const header = mainTrace.value?.header.value;
  return (
    <div class="trace-toolbar" role="toolbar" aria-label="Trace">
      <RunChoice />
      <StepChoice />
      {header && <strong class="trace-duration">{nanosecondsText(header.duration_ns)}</strong>}
      <ToolSheet label="Tools of the trace">
        <CompareMenu />
        <span class="trace-line" />
        <ColourChoice />
        <Overlays />
      </ToolSheet>
      <span class="grow" />
      <FindBox />
      <button type="button" title="Fit the selection, or the step (F)" onClick={fit}>
        Fit
      </button>
      {row && (
        <Menu
          label="More"
          items={[
            {
              text: 'Save as Chrome / Perfetto JSON',
              href: apiUrl(`trace/${row.id}/chrome.json`),
              download: row.step === null ? 'trace.json' : `trace_step_${row.step}.json`,
            },
          ]}
        />
      )}
    </div>
  );
}

function ColourChoice() {
  return (
    <label class="trace-pick">
      <span class="faint">Colour</span>
      <select
        value={colouring.value}
        onChange={(event) => {
          colouring.value = event.currentTarget.value as Colouring;
        }}
      >
        {COLOURINGS.map(([id, title]) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Switches for what is drawn over and between the tracks. */
function Overlays() {
  const arrows = arrowCounts.value;
  return (
    <>
      {!isProfile.value && (
        <Toggle of={showCritical} title="What the step had to wait for (C)">
          Critical path
        </Toggle>
      )}
      <Toggle of={showArrows} title="Long waits, and the longest visible transfers between devices">
        {arrows.drawn < arrows.seen && showArrows.value
          ? `Arrows: ${arrows.drawn} of ${count(arrows.seen)}`
          : 'Arrows'}
      </Toggle>
      <button
        type="button"
        class={`trace-toggle${showScopes.value ? ' on' : ''}`}
        aria-pressed={showScopes.value}
        title="Name scopes above the tracks"
        onClick={() => {
          scopesChoice.value = showScopes.peek() ? 'off' : 'on';
        }}
      >
        Scopes
      </button>
      {!isProfile.value && (
        <Toggle of={showMemory} title="Memory that the allocators held">
          Memory
        </Toggle>
      )}
    </>
  );
}

function Toggle({ of, title, children }: { of: typeof showCritical; title: string; children: string }) {
  return (
    <button
      type="button"
      class={`trace-toggle${of.value ? ' on' : ''}`}
      aria-pressed={of.value}
      title={title}
      onClick={() => {
        of.value = !of.peek();
      }}
    >
      {children}
    </button>
  );
}
