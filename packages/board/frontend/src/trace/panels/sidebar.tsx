/** The sidebar: tabs about the step, its placement, the selected slice, the selected area, and compared steps. */

import { comparedSteps, sidebarTab } from '../address/address_fields.ts';
import { isProfile, markedOf, selectedArea, selectedSlice } from '../state/trace_state.ts';
import { AreaTab } from './area_tab.tsx';
import { CompareTab } from './compare_tab.tsx';
import { PlacementTab } from './placement_tab.tsx';
import { SliceTab } from './slice_tab.tsx';
import { StepTab } from './step_tab.tsx';

type Tab = typeof sidebarTab.value;

export function Sidebar() {
  const tabs: [Tab, string, boolean][] = [
    ['step', 'Step', true],
    ...(isProfile.value ? [] : [['placement', 'Placement', true] satisfies [Tab, string, boolean]]),
    ['slice', 'Slice', selectedSlice.value !== null || markedOf.value !== null],
    ['area', 'Area', selectedArea.value !== null],
    ['compare', 'Compare', comparedSteps.value.length > 0],
  ];
  const open = tabs.find(([id, , there]) => id === sidebarTab.value && there)?.[0] ?? 'step';
  const choose = (event: KeyboardEvent) => {
    const there = tabs.filter(([, , on]) => on).map(([id]) => id);
    const at = there.indexOf(open);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    sidebarTab.value = there[(to + there.length) % there.length]!;
    document.getElementById(`trace-tab-${sidebarTab.peek()}`)?.focus();
  };
  return (
    <aside class="trace-side" aria-label="About the step">
      <div class="trace-tabs" role="tablist" aria-label="Details" onKeyDown={choose}>
        {tabs.map(([id, title, there]) => (
          <button
            key={id}
            id={`trace-tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === open}
            aria-controls="trace-panel"
            tabIndex={id === open ? 0 : -1}
            disabled={!there}
            onClick={() => {
              sidebarTab.value = id;
            }}
          >
            {title}
          </button>
        ))}
      </div>
      <div
        class="trace-panel"
        id="trace-panel"
        role="tabpanel"
        aria-labelledby={`trace-tab-${open}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        tabIndex={0}
      >
        {open === 'step' && <StepTab />}
        {open === 'placement' && <PlacementTab />}
        {open === 'slice' && <SliceTab />}
        {open === 'area' && <AreaTab />}
        {open === 'compare' && <CompareTab />}
      </div>
    </aside>
  );
}
