/** The menus above the table of runs: its columns, and what is done with many runs at once. */
import { useRef, useState } from 'preact/hooks';
import { FormLayer } from '../../controls/form_layer.tsx';
import { Icon } from '../../controls/icons.tsx';
import { Menu } from '../../controls/menu.tsx';
import { tags } from '../../state/catalogue.ts';
import { hparams } from '../../state/hparams.ts';
import { safeText } from '../../strings/safe_text.ts';
import { fuzzy } from '../run_query.ts';
import {
  archive,
  archivedRuns,
  listedRuns,
  setRunsShown,
  showArchived,
  showEveryRun,
  showOnly,
  visibleRuns,
} from '../visible_runs.ts';
import { columns, sorting } from './table_rows.ts';

const MOST_LISTED = 60;

/** Every column that there could be, with its name. */
function possibleColumns(): [column: string, name: string][] {
  return [
    ...hparams.value.params.map((p): [string, string] => [p.name, p.display || p.name]),
    ['tags', 'tags of readers'],
    ['steps', 'last step'],
    ['restarts', 'restarts'],
    ...tags.value
      .filter((tag) => tag.kind === 'scalar')
      .flatMap(({ name }): [string, string][] => [
        [name, `${name}, last`],
        [`min:${name}`, `${name}, min`],
        [`max:${name}`, `${name}, max`],
      ]),
  ];
}

export function ColumnsMenu() {
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const [requested, setRequested] = useState('');
  const close = () => {
    setOpen(false);
    button.current?.focus({ preventScroll: true });
  };
  const all = open ? possibleColumns() : [];
  const word = requested.trim().toLowerCase();
  // Shown columns are first, so that they are easy to find.
  const matching = all.filter(([, name]) => word === '' || fuzzy(name.toLowerCase(), word));
  const isShown = (column: string) => columns.value.includes(column);
  const found = [
    ...matching.filter(([column]) => isShown(column)),
    ...matching.filter(([column]) => !isShown(column)),
  ];
  return (
    <>
      <button
        ref={button}
        type="button"
        class="tool"
        aria-label="Columns"
        title="Columns"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="columns" />
      </button>
      {open && button.current && (
        <FormLayer anchor={button.current} close={close} label="Columns" class="columns">
          <input
            type="search"
            aria-label="Find a column"
            placeholder="Find a hyperparameter or a tag"
            spellcheck={false}
            value={requested}
            onInput={(event) => setRequested(event.currentTarget.value)}
          />
          <div class="column-list">
            {found.slice(0, MOST_LISTED).map(([column, name]) => (
              <label key={column} class="check">
                <input
                  type="checkbox"
                  checked={isShown(column)}
                  onChange={() => {
                    columns.value = isShown(column)
                      ? columns.value.filter((one) => one !== column)
                      : [...columns.value, column];
                  }}
                />
                <span>{safeText(name, 80)}</span>
              </label>
            ))}
          </div>
          {found.length > MOST_LISTED && (
            <p class="faint">and {found.length - MOST_LISTED} more: search for them by name</p>
          )}
          {found.length === 0 && <p class="faint">No column matches.</p>}
        </FormLayer>
      )}
    </>
  );
}

export function TableMenu() {
  const shown = visibleRuns.value.map((run) => run.name);
  const archivedNames = archivedRuns.value;
  return (
    <Menu
      label="More of the runs"
      items={[
        { text: 'Show all', run: showEveryRun },
        {
          text: 'Show none',
          run: () =>
            setRunsShown(
              listedRuns.value.map((run) => run.name),
              false,
            ),
        },
        {
          text: 'Invert the selection',
          run: () => {
            const on = new Set(shown);
            showOnly(listedRuns.value.filter((run) => !on.has(run.name)).map((run) => run.name));
          },
        },
        null,
        {
          text: 'Sort by name',
          checked: sorting.value === 'name',
          run: () => {
            sorting.value = sorting.value === 'name' ? '' : 'name';
          },
        },
        null,
        {
          text: `Archive the ${shown.length} shown`,
          off: shown.length === 0,
          run: () => archive(shown, true),
        },
        {
          text: 'List archived runs',
          checked: showArchived.value,
          run: () => {
            showArchived.value = !showArchived.value;
          },
        },
        {
          text: 'Restore all archived runs',
          off: archivedNames.length === 0,
          run: () => archive(archivedNames, false),
        },
      ]}
    />
  );
}
