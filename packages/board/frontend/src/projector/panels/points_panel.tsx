/** The right panel: search, the focused point with its neighbours, and the selection. */

import { ToolChoice } from '../../controls/tool_bar.tsx';
import { TypedField } from '../../controls/typed_field.tsx';
import { cssOf } from '../../picture/label_colours.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count, shortNumber } from '../../units/numbers.ts';
import {
  focusRow,
  hoveredPoint,
  metric,
  neighbourCount,
  pickedRows,
  query,
  queryIsPattern,
} from '../address/address_fields.ts';
import { labelColumn, labelOf, labels, table } from '../data/projector_data.ts';
import { colourOf, focus, matches, neighbours, picked, searchFailure } from '../points/emphasis.ts';

const MOST_LISTED = 200;

export function PointsPanel() {
  return (
    <aside class="pj-side pj-right" aria-label="Points">
      <Search />
      {focus.value !== null ? <Focused point={focus.value} /> : <Hint />}
      {picked.value.length > 0 && <Picked />}
    </aside>
  );
}

function Search() {
  const found = matches.value;
  const column = labelColumn.value;
  return (
    <section class="pj-section">
      <div class="pj-search">
        <input
          type="search"
          placeholder={column ? `Search ${safeText(column.name, 30)}` : 'No labels to search'}
          aria-label="Search labels"
          disabled={!column}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
        />
        <button
          type="button"
          class="tool"
          aria-pressed={queryIsPattern.value}
          title="Regular expression"
          onClick={() => {
            queryIsPattern.value = !queryIsPattern.value;
          }}
        >
          .*
        </button>
      </div>
      {searchFailure.value && (
        <p class="pj-note error" role="alert">
          {safeText(searchFailure.value)}
        </p>
      )}
      {query.value !== '' && !searchFailure.value && (
        <>
          <p class="pj-facts" role="status">
            {found.length === 0 ? 'No point has it.' : `${count(found.length)} points`}
            {found.length > 0 && (
              <button
                type="button"
                class="quiet pj-small"
                onClick={() => {
                  const rows = table.peek()!.row;
                  focusRow.value = null;
                  pickedRows.value = found.map((i) => rows[i]!);
                }}
              >
                Select all
              </button>
            )}
          </p>
          {focus.value === null && (
            <PointList label="Search results" points={found.map((index) => ({ index }))} />
          )}
        </>
      )}
    </section>
  );
}

function Hint() {
  if (query.value !== '' || picked.value.length > 0) return null;
  return (
    <section class="pj-section pj-hint">
      <p>Click a point to see its nearest neighbours.</p>
      <p>
        Drag to turn, with the right button to move, <kbd>Shift</kbd> and drag to select a box.
      </p>
    </section>
  );
}

function Focused({ point }: { point: number }) {
  const near = neighbours.value;
  const most = near.at(-1)?.distance ?? 0;
  return (
    <section class="pj-section" aria-label="Chosen point">
      <div class="pj-title">
        <i
          class="pj-dot"
          ref={(element) => {
            element?.style.setProperty('background', cssOf(colourOf(point)));
          }}
        />
        <strong>{safeText(labelOf(point), 120)}</strong>
        <button
          type="button"
          class="quiet pj-small"
          onClick={() => {
            focusRow.value = null;
          }}
        >
          Clear
        </button>
      </div>
      <dl class="pj-values">
        <dt>row</dt>
        <dd>{table.value?.row[point]}</dd>
        {labels.value.slice(0, 12).map((column) => (
          <>
            <dt key={`${column.name} name`}>{safeText(column.name, 40)}</dt>
            <dd key={`${column.name} value`}>{safeText(column.values[point] ?? '', 120)}</dd>
          </>
        ))}
      </dl>
      <div class="pj-row">
        <span>Nearest</span>
        <TypedField
          type="number"
          aria-label="How many neighbours"
          min={1}
          max={200}
          value={String(neighbourCount.value)}
          onCommit={(text) => {
            const value = Math.round(Number(text));
            if (Number.isFinite(value)) neighbourCount.value = Math.max(1, Math.min(200, value));
          }}
        />
        <ToolChoice
          label="Distance"
          value={metric.value}
          options={[
            ['cosine', 'cosine'],
            ['euclidean', 'euclidean'],
          ]}
          onChange={(name) => {
            metric.value = name;
          }}
        />
      </div>
      <PointList label="Nearest neighbours" points={near} most={most} />
    </section>
  );
}

function Picked() {
  return (
    <section class="pj-section" aria-label="Selection">
      <div class="pj-title">
        <strong>{count(picked.value.length)} points selected</strong>
        <button
          type="button"
          class="quiet pj-small"
          onClick={() => {
            pickedRows.value = [];
          }}
        >
          Clear
        </button>
      </div>
      {focus.value === null && (
        <PointList label="Selected points" points={picked.value.map((index) => ({ index }))} />
      )}
    </section>
  );
}

interface PointListProps {
  label: string;
  points: { index: number; distance?: number }[];
  /** The distance of a full bar. */
  most?: number;
}

function PointList({ label, points, most = 0 }: PointListProps) {
  return (
    <>
      <ol class="pj-list" aria-label={label}>
        {points.slice(0, MOST_LISTED).map(({ index, distance }) => (
          <li key={index}>
            <button
              type="button"
              class="quiet pj-item"
              onClick={() => {
                focusRow.value = table.peek()!.row[index]!;
              }}
              onPointerEnter={() => {
                hoveredPoint.value = index;
              }}
              onPointerLeave={() => {
                hoveredPoint.value = null;
              }}
              onFocus={() => {
                hoveredPoint.value = index;
              }}
              onBlur={() => {
                hoveredPoint.value = null;
              }}
            >
              <i
                class="pj-dot"
                ref={(element) => {
                  element?.style.setProperty('background', cssOf(colourOf(index)));
                }}
              />
              <span class="pj-name">{safeText(labelOf(index), 100)}</span>
              {distance !== undefined && <span class="pj-count">{shortNumber(distance, 4)}</span>}
              {distance !== undefined && (
                <i
                  class="pj-length"
                  ref={(element) => {
                    const share = most > 0 ? distance / most : 0;
                    element?.style.setProperty('width', `${Math.max(1, share * 100)}%`);
                  }}
                />
              )}
            </button>
          </li>
        ))}
      </ol>
      {points.length > MOST_LISTED && (
        <p class="pj-facts">
          {MOST_LISTED} of {count(points.length)} are listed.
        </p>
      )}
    </>
  );
}
