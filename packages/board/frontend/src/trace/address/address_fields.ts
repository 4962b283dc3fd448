/** The fields of the Trace page in the address. */
import { type Codec, choice, flag, list, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';
import { formatView, parseView, type TimeView } from '../layout/time_view.ts';

const viewCodec: Codec<TimeView | null> = { encode: formatView, decode: parseView };

const markCodec: Codec<TimeView | null> = {
  encode: (range) => (range && range.t0 === range.t1 ? String(Math.round(range.t0)) : formatView(range)),
  decode: (value) => {
    const time = value === '' ? Number.NaN : Number(value);
    return Number.isFinite(time) ? { t0: time, t1: time } : parseView(value);
  },
};

export type Colouring = 'kind' | 'op' | 'scope' | 'device' | 'family';
export type SideTab = 'step' | 'slice' | 'area' | 'compare' | 'placement';

export const traceTag = urlSignal<string>('ttag', text, '');
/** Keys (trace_keys.ts) of the steps that are shown below the chosen one. */
export const comparedSteps = urlSignal<string[]>('tcmp', list, []);
/** null shows the whole step. */
export const windowOfTime = urlSignal<TimeView | null>('tv', viewCodec, null);
export const colouring = urlSignal<Colouring>(
  'tcol',
  choice('kind', 'op', 'scope', 'device', 'family'),
  'kind',
);
export const showCritical = urlSignal<boolean>('tcrit', flag, false);
export const showArrows = urlSignal<boolean>('tarr', flag, true);
/** auto shows them where there are few tracks. */
export const scopesChoice = urlSignal<'auto' | 'on' | 'off'>('tsco', choice('auto', 'on', 'off'), 'auto');
export const showMemory = urlSignal<boolean>('tmem', flag, true);
export const closedGroups = urlSignal<string[]>('tclosed', list, []);
/** Keys (rows.ts) of pinned and of hidden tracks. */
export const pinnedTracks = urlSignal<string[]>('tpin', list, []);
export const hiddenTracks = urlSignal<string[]>('thide', list, []);
/** Shows only tracks whose title contains this text. */
export const trackFilter = urlSignal<string>('tlanes', text, '');
/** A marked range of time; a point in time has two equal ends. */
export const mark = urlSignal<TimeView | null>('tm', markCodec, null);
/** The pattern of the search box. */
export const pattern = urlSignal<string>('tq', text, '');
/** `section.slice` and `section.t0~t1.lanes`, as selection_address.ts reads them. */
export const sliceInUrl = urlSignal<string>('tsl', text, '');
export const areaInUrl = urlSignal<string>('tar', text, '');
export const sidebarTab = urlSignal<SideTab>(
  'tside',
  choice('step', 'slice', 'area', 'compare', 'placement'),
  'step',
);
/** The order of the nodes of the placement, with a minus before it from the largest down; "" is that of the step. */
export const placementOrder = urlSignal<string>('tporder', text, '');
/** Shows only the nodes of the placement whose name or op contains this text. */
export const placementFind = urlSignal<string>('tpfind', text, '');
/** Shows only the nodes on the device of this name. */
export const placementDevice = urlSignal<string>('tpdev', text, '');
