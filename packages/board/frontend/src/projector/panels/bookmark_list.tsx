/** The list of views that were saved with an embedding. */
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import {
  camera,
  colourBy,
  components,
  customWords,
  dimensions,
  focusRow,
  labelBy,
  learningRate,
  method,
  perplexity,
  pickedRows,
  umapNeighbours,
} from '../address/address_fields.ts';
import { type BookmarkedView, bookmarkedViews } from '../address/bookmarks.ts';
import { chosen } from '../data/projector_data.ts';

export function BookmarkList() {
  const info = chosen.value;
  const [views, set] = useState<BookmarkedView[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    set([]);
    setFailure(null);
    if (!info?.bookmarks) return;
    const stop = new AbortController();
    getJson<{ bookmarks: unknown }>('embedding/bookmarks', { id: info.id }, stop.signal).then(
      (reply) => set(bookmarkedViews(reply.bookmarks)),
      (error) => {
        if (!stop.signal.aborted) setFailure(messageOf(error));
      },
    );
    return () => stop.abort();
  }, [info?.id, info?.version, info?.bookmarks]);
  if (failure !== null) return <p class="pj-note">No bookmarks: {safeText(failure, 200)}.</p>;
  if (views.length === 0) return null;
  return (
    <section class="pj-section" aria-label="Bookmarks">
      <span class="pj-facts">Bookmarks</span>
      <ul class="pj-legend">
        {views.map((view, i) => (
          <li key={String(i)}>
            <button type="button" class="quiet pj-item" onClick={() => show(view)}>
              <span class="pj-name">{safeText(view.title, 80)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function show(view: BookmarkedView): void {
  focusRow.value = null;
  if (view.components) components.value = view.components;
  if (view.dimensions) dimensions.value = view.dimensions;
  if (view.perplexity !== undefined) perplexity.value = view.perplexity;
  if (view.learningRate !== undefined) learningRate.value = view.learningRate;
  if (view.neighbours !== undefined) umapNeighbours.value = view.neighbours;
  if (view.colourBy !== undefined) colourBy.value = view.colourBy;
  if (view.labelBy !== undefined) labelBy.value = view.labelBy;
  if (view.words) customWords.value = view.words;
  if (view.selected) pickedRows.value = [...view.selected].sort((a, b) => a - b);
  if (view.camera) camera.value = view.camera;
  if (view.method) method.value = view.method;
}
