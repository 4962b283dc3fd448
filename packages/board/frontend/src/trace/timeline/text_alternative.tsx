/** The content of the canvas as lists, for screen readers. */

import { useSignalEffect } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { itemsBetween, MERGED } from '../data/trace_items.ts';
import { rows, sections, selectedArea, selectedSlice, shown, timeView } from '../state/trace_state.ts';

const MOST_ITEMS = 12;
const MOST_TRACKS = 100;
const WAIT_MS = 250;

interface TrackText {
  title: string;
  items: string[];
  more: number;
}

export function TextAlternative() {
  const [{ tracks, more }, setTracks] = useState<{ tracks: TrackText[]; more: number }>({
    tracks: [],
    more: 0,
  });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useSignalEffect(() => {
    void [timeView.value, rows.value];
    for (const model of shown.value) void model.version.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setTracks(trackTexts()), WAIT_MS);
  });
  const slice = selectedSlice.value;
  const area = selectedArea.value;
  return (
    <div class="hidden-for-the-eye">
      <p id="trace-keys">
        Arrow keys go from slice to slice; with Shift they select an area. W and S zoom, A and D pan, F fits,
        M marks, Escape clears. The list named Tracks has what is visible.
      </p>
      <p role="status">
        {slice
          ? `Selected: ${safeText(slice.node, 200)}, ${nanosecondsText(slice.dur)}`
          : 'No slice is selected'}
        {area &&
          `. Area: ${nanosecondsText(area.t1 - area.t0)} from ${nanosecondsText(area.t0)}, ${
            area.lanes ? `tracks ${area.lanes.map((lane) => lane + 1).join(', ')}` : 'all tracks'
          }`}
      </p>
      <ul id="trace-mirror" aria-label="Tracks">
        {tracks.map((track) => (
          <li key={track.title}>
            {track.title}
            <ul>
              {track.items.map((item) => (
                <li key={item}>{item}</li>
              ))}
              {track.more > 0 && <li>and {track.more} more</li>}
            </ul>
          </li>
        ))}
        {more > 0 && <li>and {more} more tracks</li>}
      </ul>
    </div>
  );
}

function trackTexts(): { tracks: TrackText[]; more: number } {
  const view = timeView.peek();
  const models = shown.peek();
  const parts = sections.peek();
  const all = rows.peek().filter((row) => row.kind === 'track');
  return {
    more: Math.max(0, all.length - MOST_TRACKS),
    tracks: all.slice(0, MOST_TRACKS).map((row) => {
      const section = parts[row.section];
      const model = models.find((one) => one.id === section?.trace);
      const lane = section?.lanes[row.lanes[0]!];
      const under = lane?.row ? `, row ${lane.row + 1}` : '';
      const place = lane ? `${lane.task_title} ${lane.device_title} ${lane.thread}${under}` : row.title;
      const title = safeText(section?.title ? `${section.title}, ${place}` : place, 200);
      const items = model?.items;
      const header = model?.header.peek();
      if (!items || !header) return { title, items: [], more: 0 };
      const [from, to] = itemsBetween(items, row.lanes[0]!, view.t0, view.t1);
      const { dur, kind, count, op, name, start } = items.columns;
      // The longest items, in order of time.
      const longest = Array.from({ length: to - from }, (_, k) => from + k)
        .sort((a, b) => dur[b]! - dur[a]!)
        .slice(0, MOST_ITEMS)
        .sort((a, b) => a - b);
      const texts = longest.map((i) => {
        const what =
          kind[i] === MERGED
            ? `${count[i]} slices, mostly ${safeText(header.ops[op[i]!] ?? '', 60)}`
            : safeText(items.names[name[i]!] ?? '', 200);
        return `${what}, ${nanosecondsText(dur[i]!)} at ${nanosecondsText(start[i]!)}`;
      });
      return { title, items: texts, more: to - from - texts.length };
    }),
  };
}
