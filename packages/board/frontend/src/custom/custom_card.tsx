/** The card of a layout of custom scalars: its charts by category, which the user can edit. */
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import { messageOf } from '../api/error_message.ts';
import type { CardProps } from '../cards/card.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { visibleRuns } from '../runs/visible_runs.ts';
import { runById, seriesByTag } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { CustomChart } from './custom_chart.tsx';
import { asLayout, type Layout } from './layout.ts';
import { LayoutEditor } from './layout_editor.tsx';
import { isUserLayout, keepLayout, layouts } from './layouts.ts';

const CHART_HEIGHT = 220;
const LEAST_WIDTH = 320;
const GAP = 12;

/** One root for every state: the frame follows its height. */
export default function CustomCard(props: CardProps) {
  return (
    <div class="custom-card">
      <Charts {...props} />
    </div>
  );
}

function Charts({ tag, runs, width }: CardProps) {
  const [written, setWritten] = useState<Layout | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const frame = useCardFrame();
  const version = (seriesByTag.value.get(tag.id) ?? []).map((one) => `${one.run}:${one.n}`).join();
  const ids = runs.map((run) => run.id).join();
  const isUsers = isUserLayout(tag);
  useEffect(() => {
    if (isUsers) return;
    const stop = new AbortController();
    getJson<{ layouts: (Layout & { run: number })[] }>('custom_scalars', {}, stop.signal).then(
      ({ layouts: all }) => {
        setFailure(null);
        setWritten(joined(all.filter((one) => runs.some((run) => run.id === one.run))));
      },
      (error) => !stop.signal.aborted && setFailure(messageOf(error)),
    );
    return () => stop.abort();
  }, [version, ids]);
  const mine = Object.hasOwn(layouts.value, tag.name) ? asLayout(layouts.value[tag.name]) : null;
  const layout = mine ?? written;
  useEffect(() => {
    frame.setInfo(isUsers ? 'created on this page' : mine ? 'changed on this page' : '');
    frame.setMenu([
      { text: editing ? 'Cancel the changes' : 'Edit the layout', run: () => setEditing(!editing) },
      ...(mine
        ? [
            {
              text: isUsers ? 'Remove this layout' : 'Restore the layout of the log',
              run: () => keepLayout(tag.name, null),
            },
          ]
        : []),
    ]);
  }, [editing, mine !== null, isUsers]);
  if (failure) {
    return (
      <p class="card-note" role="alert">
        {safeText(failure, 300)}
      </p>
    );
  }
  if (!layout) return <p class="card-note" />;
  // A layout that has nothing yet is there to be made.
  if (editing || (isUsers && layout.categories.length === 0)) {
    return (
      <LayoutEditor
        layout={layout}
        onSave={(next) => {
          keepLayout(tag.name, next);
          setEditing(false);
        }}
        onLeave={() => setEditing(false)}
      />
    );
  }
  const columns = Math.max(1, Math.floor((width - GAP) / (LEAST_WIDTH + GAP)));
  const chartWidth = Math.floor((width - GAP * (columns + 1)) / columns);
  // A layout names tags, not runs: all runs that are shown are drawn.
  const drawn = visibleRuns.value.filter((run) => runById.value.has(run.id));
  return (
    <>
      {layout.categories.map((category, at) => (
        <details key={String(at)} open={!category.closed}>
          <summary>
            {safeText(category.title || 'Charts', 120)} <span class="faint">{category.charts.length}</span>
          </summary>
          <div class="custom-charts">
            {category.charts.map((chart, i) => (
              <CustomChart
                key={String(i)}
                id={`custom:${tag.name}/${at}/${i}`}
                chart={chart}
                runs={drawn}
                width={chartWidth}
                height={CHART_HEIGHT}
              />
            ))}
          </div>
        </details>
      ))}
      {layout.categories.length === 0 && <p class="card-note">The layout is empty.</p>}
    </>
  );
}

/** The layouts of several runs as one; equal categories once. */
function joined(layouts: Layout[]): Layout {
  const seen = new Set<string>();
  const categories = layouts.flatMap((one) => asLayout(one).categories);
  return {
    categories: categories.filter((category) => {
      const key = JSON.stringify(category);
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    }),
  };
}
