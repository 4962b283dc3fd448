/** What the HParams page shows; all of it in the address. */
import { computed } from '@preact/signals';
import { type Codec, choice, flag, list, text } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { runById } from '../state/catalogue.ts';
import { hparams } from '../state/hparams.ts';
import { type RunChoice, runChoiceCodec } from '../state/run_choice.ts';
import { rowsThatMeet } from './axis.ts';
import { inOrder } from './axis_order.ts';
import { type Aggregate, type Column, sorted, tableOf } from './model.ts';

export type View = 'parallel' | 'scatter';

/** Pairs as a list: the key, then the value. */
const record: Codec<Record<string, string>> = {
  encode: (value) =>
    list.encode(
      Object.keys(value)
        .sort()
        .flatMap((key) => (value[key] ? [key, value[key]!] : [])),
    ),
  decode: (text) => {
    const items = list.decode(text);
    if (!items || items.length % 2) return undefined;
    const value: Record<string, string> = Object.create(null);
    for (let i = 0; i < items.length; i += 2) value[items[i]!] = items[i + 1]!;
    return value;
  },
};

export const view = urlSignal<View>('hpview', choice<View>('parallel', 'scatter'), 'parallel');
export const aggregate = urlSignal<Aggregate>('hpagg', choice<Aggregate>('last', 'min', 'max'), 'last');
/** The metric that colours lines and whose importance is computed; '' is the first. */
export const target = urlSignal('hpmetric', text, '');
/** Conditions by column. */
export const filters = urlSignal<Record<string, string>>('hpfilter', record, {});
export const hiddenColumns = urlSignal<string[]>('hphide', list, []);
/** Columns with the other scale than the one that their values suggest. */
export const flippedScales = urlSignal<string[]>('hpscale', list, []);
/** Column id, with a minus before it when descending. */
export const order = urlSignal('hpsort', text, '');
/** Whether brushing also chooses the runs of all other pages. */
export const brushChooses = urlSignal('hpruns', flag, true);

/** The runs that were chosen before conditions chose them; null: conditions choose none. */
export const runsBefore = urlSignal<RunChoice | null>(
  'hpbefore',
  {
    encode: (value) => (value ? `.${runChoiceCodec.encode(value)}` : ''),
    decode: (text) => (text.startsWith('.') ? runChoiceCodec.decode(text.slice(1)) : undefined),
  },
  null,
);
/** Whether repeats of a session are one row, with the means of their metrics. */
export const averaged = urlSignal('hpmean', flag, false);
/** Columns in the order of the axes; other columns follow. */
export const axisOrder = urlSignal<string[]>('hpaxes', list, []);

export const table = computed(() =>
  tableOf(hparams.value, (id) => runById.value.get(id)?.name ?? '', aggregate.value, averaged.value),
);

/** The row of a run. */
export const rowOfRun = computed(
  () => new Map(table.value.members.flatMap((runs, row) => runs.map((run) => [run, row] as const))),
);

export const shownColumns = computed(() =>
  inOrder(
    table.value.columns.filter((column) => !hiddenColumns.value.includes(column.id)),
    axisOrder.value,
  ),
);

export const targetColumn = computed((): Column | null => {
  const metrics = table.value.columns.filter((column) => column.role === 'metric');
  return metrics.find((column) => column.id === target.value) ?? metrics[0] ?? null;
});

/** Rows that meet all conditions. */
export const metRows = computed(() =>
  rowsThatMeet(table.value.columns, filters.value, table.value.runs.length),
);

/** The same in the order of the table. */
export const orderedRows = computed(() => {
  const descending = order.value.startsWith('-');
  const id = descending ? order.value.slice(1) : order.value;
  const column = table.value.columns.find((one) => one.id === id);
  const cells = column?.cells ?? table.value.names;
  return sorted(metRows.value, cells, descending && (column !== undefined || id === 'run'));
});
