/** The left panel: tensor, colours, and projection. */

import { cssOf } from '../../picture/label_colours.ts';
import { safeText } from '../../strings/safe_text.ts';
import { colour, themeVersion } from '../../style/theme.ts';
import { count, shortNumber } from '../../units/numbers.ts';
import {
  colourBy,
  focusRow,
  labelBy,
  pickedRows,
  showLabels,
  shownEmbedding,
  showSprites,
  spherical,
} from '../address/address_fields.ts';
import {
  chosen,
  colourColumn,
  colouring,
  embeddings,
  labelColumn,
  labelNotes,
  labels,
  nameOf,
  sprite,
  table,
} from '../data/projector_data.ts';
import { groupColour, shareColour } from '../points/emphasis.ts';
import { BookmarkList } from './bookmark_list.tsx';
import { MethodPanel } from './method_panel.tsx';

export function DataPanel() {
  const shown = table.value;
  const all = embeddings.value ?? [];
  const folders = new Set(all.map((info) => info.folder));
  return (
    <aside class="pj-side" aria-label="Tensor and projection">
      <section class="pj-section">
        <label class="pj-field">
          <span>Tensor</span>
          <select
            value={chosen.value ? nameOf(chosen.value) : ''}
            onChange={(event) => {
              shownEmbedding.value = event.currentTarget.value;
              focusRow.value = null;
              pickedRows.value = [];
            }}
          >
            {all.map((info) => (
              <option key={nameOf(info)} value={nameOf(info)}>
                {safeText(folders.size > 1 ? `${info.folder} · ${info.name}` : info.name, 80)}
              </option>
            ))}
          </select>
        </label>
        {shown && (
          <p class="pj-facts">
            {count(shown.sourceRows)} points · {count(shown.sourceDims)} dimensions
          </p>
        )}
        {[...(shown?.notes ?? []), ...labelNotes.value].map((note) => (
          <p key={note} class="pj-note" role="note">
            {safeText(note)}
          </p>
        ))}
        <label class="pj-check" title="Centre the points and give each of them unit length">
          <input
            type="checkbox"
            checked={spherical.value}
            onChange={(event) => {
              spherical.value = event.currentTarget.checked;
            }}
          />
          On a sphere
        </label>
      </section>
      <BookmarkList />
      <MethodPanel />
      {labels.value.length > 0 && (
        <section class="pj-section">
          <label class="pj-field">
            <span>Label by</span>
            <select
              value={labelColumn.value?.name ?? ''}
              onChange={(event) => {
                labelBy.value = event.currentTarget.value;
              }}
            >
              {labels.value.map((column) => (
                <option key={column.name} value={column.name}>
                  {safeText(column.name, 60)}
                </option>
              ))}
            </select>
          </label>
          <div class="pj-checks">
            <label class="pj-check">
              <input
                type="checkbox"
                checked={showLabels.value}
                onChange={(event) => {
                  showLabels.value = event.currentTarget.checked;
                }}
              />
              Names
            </label>
            {sprite.value && (
              <label class="pj-check">
                <input
                  type="checkbox"
                  checked={showSprites.value}
                  onChange={(event) => {
                    showSprites.value = event.currentTarget.checked;
                  }}
                />
                Images
              </label>
            )}
          </div>
          <label class="pj-field">
            <span>Colour by</span>
            <select
              value={colourColumn.value?.name ?? '-'}
              onChange={(event) => {
                colourBy.value = event.currentTarget.value;
              }}
            >
              <option value="-">one colour</option>
              {labels.value.map((column) => (
                <option key={column.name} value={column.name}>
                  {safeText(column.name, 60)}
                </option>
              ))}
            </select>
          </label>
          <Legend />
        </section>
      )}
    </aside>
  );
}

function Legend() {
  void themeVersion.value;
  const by = colouring.value;
  const column = colourColumn.value;
  if (by.kind === 'none' || !column) return null;
  if (by.kind === 'scale') {
    const stops = Array.from({ length: 11 }, (_, i) => cssOf(shareColour(i / 10))).join(', ');
    return (
      <div>
        <div
          class="pj-bar"
          ref={(element) => {
            element?.style.setProperty('background', `linear-gradient(90deg, ${stops})`);
          }}
        />
        <div class="pj-ends">
          <span>{shortNumber(by.least, 4)}</span>
          <span>{shortNumber(by.most, 4)}</span>
        </div>
      </div>
    );
  }
  return (
    <ul class="pj-legend" aria-label={`Groups by ${safeText(column.name, 60)}`}>
      {by.groups.map((group) => (
        <li key={`${group.slot} ${group.value}`}>
          <button
            type="button"
            class="quiet pj-item"
            title="Select these points"
            onClick={() => {
              const rows = table.peek()!.row;
              const inside: number[] = [];
              by.slotOf.forEach((slot, i) => {
                if (slot === group.slot) inside.push(rows[i]!);
              });
              focusRow.value = null;
              pickedRows.value = inside;
            }}
          >
            <i
              class="pj-dot"
              ref={(element) => {
                element?.style.setProperty('background', dotColour(group.slot));
              }}
            />
            <span class="pj-name">{group.value === '' ? 'no value' : safeText(group.value, 80)}</span>
            <span class="pj-count">{count(group.count)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

const dotColour = (slot: number): string => (slot < 0 ? colour('text-faint') : cssOf(groupColour(slot)));
