/** The queries and curves of a scalar card under the present settings of the page. */

import type { Run } from '../../api/types.ts';
import type { Curve, Span } from '../../charts/chart_model.ts';
import { styleOf } from '../../runs/colours.ts';
import { chosenGroups, groupColour } from '../../runs/group_colours.ts';
import { groupBy, groupCenter } from '../../runs/grouping.ts';
import type { RunGroup } from '../../runs/run_groups.ts';
import { tags } from '../../state/catalogue.ts';
import { colour } from '../../style/theme.ts';
import type { Unit } from '../../units/ticks.ts';
import {
  groupBand,
  smoothing,
  smoothKind,
  windowWidth,
  xLog,
  xMode,
  xTag,
  zooms,
} from '../settings/chart_settings.ts';
import type { CurvePart } from '../settings/curve_part.ts';
import type { CurveQuery, LoadedCurve } from './curve_loader.ts';

/** Lines on one chart, and runs in one query: the card shows when there are more. */
const MOST_LINES = 2000;
const MOST_RUNS = 500;
const MOST_RUNS_OF_GROUPS = 1000;
const TAG_COLOURS = 20;

/** What decides the curves of a card apart from its runs. */
export interface CurveSettings {
  x: CurveQuery['x'];
  /** Names the kind of x: charts alike share their cross-hair. */
  axis: string;
  unit: Unit;
  name: string;
  log: boolean;
  smooth: CurveQuery['smooth'];
}

/** The runs of which a chart of so many tags draws curves: the first ones, where there are too many. */
export function drawnRuns(runs: Run[], parts: number): Run[] {
  const isAveraged = groupBy.value !== '' && groupCenter.value !== 'each';
  const most = isAveraged
    ? MOST_RUNS_OF_GROUPS
    : Math.min(MOST_RUNS, Math.floor(MOST_LINES / Math.max(1, parts)));
  return runs.length > most ? runs.slice(0, most) : runs;
}

/** The settings of the page; `own` is the card's smoothing in place of the page's. */
export function curveSettings(own?: number): CurveSettings {
  const mode = xMode.value;
  const other =
    mode === 'tag' ? tags.value.find((t) => t.kind === 'scalar' && t.name === xTag.value) : undefined;
  const amount = own ?? smoothing.value;
  const kind = smoothKind.value;
  const smooth =
    amount <= 0 ? null : { kind, weight: kind === 'ema' ? Math.min(0.9999, amount) : windowWidth(amount) };
  const log = xLog.value && mode !== 'wall';
  if (other)
    return { x: { tag: other.id }, axis: `tag:${other.name}`, unit: 'number', name: other.name, log, smooth };
  if (mode === 'relative')
    return { x: 'relative', axis: 'relative', unit: 'duration', name: 'after', log, smooth };
  if (mode === 'wall') return { x: 'wall', axis: 'wall', unit: 'time', name: 'at', log, smooth };
  return { x: 'step', axis: 'step', unit: 'step', name: 'step', log, smooth };
}

/** The groups whose means are drawn; null where each run is drawn. */
export const groupsOfRuns = (runs: Run[]): RunGroup[] | null =>
  groupCenter.value === 'each' ? null : chosenGroups(runs);

export function queryOf(
  part: CurvePart,
  runs: Run[],
  groups: RunGroup[] | null,
  settings: CurveSettings,
  zoom: Span | null,
  px: number,
): CurveQuery {
  const ids = runs.map((run) => run.id);
  const what = part.expression
    ? { expression: part.expression.text, variables: part.expression.variables, join: 'last' }
    : { tag: part.tag.id };
  return {
    ...what,
    ...(groups ? {} : { runs: ids }),
    x: settings.x,
    x_scale: settings.log ? 'log' : 'linear',
    lo: zoom ? zoom[0] : null,
    hi: zoom ? zoom[1] : null,
    px,
    smooth: settings.smooth,
    group: groups
      ? {
          runs: groups.map((group) => group.runs.map((run) => run.id)),
          center: groupCenter.value,
          band: groupBand.value === 'none' ? 'std' : groupBand.value,
        }
      : null,
    superseded: true,
  };
}

const TAG_DASHES = [
  [5, 3],
  [2, 2],
  [8, 3, 2, 3],
];

/** The curves that are drawn of those that were loaded: with names, colours and dashes. */
export function styledCurves(
  { lists, parts, groups }: { lists: LoadedCurve[][]; parts: CurvePart[]; groups: RunGroup[] | null },
  nameOf: (run: number) => string,
): Curve[] {
  // Where only tags differ, colours are those of tags.
  const isOfTags = parts.length > 1 && lists.every((list) => list.length <= 1);
  const curves = lists.flatMap((list, i) => {
    const part = parts[i];
    return part ? list.map((curve) => styled(curve, part, i, groups, nameOf, isOfTags)) : [];
  });
  // Dashes tell curves apart: a lone one needs none.
  if (curves.length === 1) curves[0]!.dash = [];
  return curves;
}

function styled(
  loaded: LoadedCurve,
  part: CurvePart,
  index: number,
  groups: RunGroup[] | null,
  nameOf: (run: number) => string,
  isOfTags: boolean,
): Curve {
  const group = loaded.group === null ? undefined : groups?.[loaded.group];
  const style = loaded.run === null ? null : styleOf(loaded.run);
  const own = style?.colour ?? (group ? groupColour(group.title) : colour('run-0'));
  const withBand = group !== undefined && groupBand.value !== 'none';
  return {
    id: `${part.expression?.text ?? part.tag.id}/${loaded.run ?? `g${loaded.group}`}`,
    label: group ? `${group.title} (${group.runs.length})` : loaded.run === null ? '' : nameOf(loaded.run),
    run: loaded.run,
    tag: part.tag.name,
    colour: isOfTags ? colour(`run-${index % TAG_COLOURS}`) : own,
    dash: isOfTags ? [] : index === 0 ? (style?.dash ?? []) : TAG_DASHES[(index - 1) % TAG_DASHES.length]!,
    x: loaded.x,
    y: loaded.y,
    flags: loaded.flags,
    raw: loaded.raw,
    lo: withBand ? loaded.lo : null,
    hi: withBand ? loaded.hi : null,
    right: part.right,
    n: loaded.n,
    drawn: loaded.drawn,
    superseded: loaded.superseded,
  };
}

export interface Zoom {
  x: Span;
  y: Span | null;
}

export function zoomOf(card: string): Zoom | null {
  for (const item of zooms.value) {
    const at = item.lastIndexOf('=');
    if (item.slice(0, at) !== card) continue;
    const ends = item
      .slice(at + 1)
      .split(':')
      .map(Number);
    if (ends.length < 2 || ends.some((v) => !Number.isFinite(v))) return null;
    return { x: [ends[0]!, ends[1]!], y: ends.length >= 4 ? [ends[2]!, ends[3]!] : null };
  }
  return null;
}

const tidy = (value: number, span: number): string =>
  String(
    Number(
      value.toPrecision(Math.min(17, Math.max(6, Math.ceil(Math.log10(Math.abs(value) / span || 1)) + 5))),
    ),
  );

export function setZoom(card: string, zoom: Zoom | null): void {
  const rest = zooms.value.filter((item) => item.slice(0, item.lastIndexOf('=')) !== card);
  if (!zoom) {
    zooms.value = rest;
    return;
  }
  const ends = [...zoom.x.map((v) => tidy(v, zoom.x[1] - zoom.x[0]))];
  if (zoom.y) ends.push(...zoom.y.map((v) => tidy(v, zoom.y![1] - zoom.y![0])));
  zooms.value = [...rest, `${card}=${ends.join(':')}`];
}
