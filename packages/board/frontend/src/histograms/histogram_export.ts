/** A histogram card's data as CSV and JSON. */
import { csvCell } from '../picture/download.ts';
import type { Layer } from './histogram_scene.ts';
import { PERCENTS } from './histogram_table.ts';

/** One line per bucket: run, step, wall time, borders, count. */
export function bucketsCsv(layers: Layer[]): string {
  const lines = ['run,step,wall_time,bucket_from,bucket_to,count'];
  for (const { name, table } of layers) {
    for (let row = 0; row < table.rows; row++) {
      const start = [csvCell(name), table.steps[row], table.walls[row]].join(',');
      for (let bin = 0; bin < table.bins; bin++) {
        const count = table.counts[row * table.bins + bin];
        lines.push([start, table.edges[bin], table.edges[bin + 1], count].join(','));
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

export function tableJson(tag: string, layers: Layer[]): string {
  const runs = layers.map(({ name, table }) => ({
    run: name,
    total_rows: table.total,
    edges: [...table.edges],
    rows: Array.from({ length: table.rows }, (_, row) => ({
      step: table.steps[row],
      wall_time: table.walls[row],
      values: table.sums[row],
      counts: [...table.counts.subarray(row * table.bins, (row + 1) * table.bins)],
      percentiles: [...table.percentiles.subarray(row * 9, row * 9 + 9)],
    })),
  }));
  return JSON.stringify({ tag, percents: PERCENTS, runs }, null, 1);
}

/** All events of a run with their logged buckets. */
export interface RawHistograms {
  rows: {
    step: number;
    wall_time: number;
    left?: number[];
    right?: number[];
    count?: number[];
    /** Set instead of the lists if the record cannot be read. */
    error?: string;
  }[];
}

/** One line per logged bucket; unreadable events have none. */
export function rawBucketsCsv(runs: ({ run: string } & RawHistograms)[]): string {
  const lines = ['run,step,wall_time,bucket_from,bucket_to,count'];
  for (const { run, rows } of runs) {
    for (const { step, wall_time, left = [], right = [], count = [] } of rows) {
      const start = [csvCell(run), step, wall_time].join(',');
      left.forEach((from, bin) => {
        lines.push([start, from, right[bin], count[bin]].join(','));
      });
    }
  }
  return `${lines.join('\n')}\n`;
}
