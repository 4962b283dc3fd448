/** What the texts of a card can be saved as. */
import type { Run, Tag } from '../api/types.ts';
import type { MenuItem } from '../cards/card_frame.tsx';
import type { Place } from '../media/blob_rows.ts';
import { download } from '../picture/download.ts';
import { allTexts, textOf } from './text_rows.ts';

/** Of the texts that are shown, and of every step of the runs. */
export function textMenu(tag: Tag, runs: Run[], places: Place[]): MenuItem[] {
  const nameOf = (id: number) => runs.find((run) => run.id === id)?.name ?? '';
  return [
    {
      text: 'Save the texts shown',
      hint: 'txt',
      run: async () => {
        const texts = await Promise.all(places.map(textOf));
        const parts = texts.map((row, i) => {
          const title = `# ${nameOf(places[i]!.run)}, step ${places[i]!.step}`;
          const body = row?.values.join('\n') ?? '';
          return places.length > 1 ? `${title}\n\n${body}\n` : body;
        });
        download(`${tag.name}_${places[0]?.step ?? ''}.txt`, parts.join('\n'));
      },
    },
    {
      text: 'Save all steps',
      hint: 'json',
      run: async () => {
        const all = await Promise.all(
          runs.map(async (run) => ({
            run: run.name,
            rows: (await allTexts(run.id, tag.id)).map(({ step, wall, values, shape, cut }) => ({
              step,
              wall_time: wall,
              values,
              shape,
              ...(cut ? { cut } : {}),
            })),
          })),
        );
        download(
          `${tag.name}.json`,
          JSON.stringify({ tag: tag.name, runs: all }, null, 1),
          'application/json',
        );
      },
    },
  ];
}
