/** The columns of the table of nodes, and the order that a click on a head brings. */

export interface NodeColumn {
  /** The order in the requests of the server (docs/board_api.md). */
  key: string;
  title: string;
  hint: string;
  /** Numbers are sorted from the largest down first. */
  number: boolean;
}

export const NODE_COLUMNS: NodeColumn[] = [
  { key: 'name', title: 'Node', hint: 'Sort by name', number: false },
  { key: 'op', title: 'Op', hint: 'Sort by op', number: false },
  { key: 'device', title: 'Device', hint: 'Where it runs', number: false },
  { key: 'why', title: 'Why', hint: 'Sort by reason', number: false },
  { key: 'expected', title: 'Expected', hint: 'From static shapes, on one thread', number: true },
  { key: 'measured', title: 'Measured', hint: 'In this trace, else in earlier steps', number: true },
  {
    key: 'ratio',
    title: 'Ratio',
    hint: 'Measured over expected time; marked above 3 and below 1/3',
    number: true,
  },
  { key: 'bytes', title: 'Bytes', hint: 'Of its outputs', number: true },
];

/** The order after a click on a column: its first order, then the other, then the order of the step (""). */
export function nextOrder(now: string, { key, number }: NodeColumn): string {
  const [first, second] = number ? [`-${key}`, key] : [key, `-${key}`];
  return now === first ? second : now === second ? '' : first;
}

/** An order of the address that the server knows. */
export function knownOrder(text: string): string {
  return NODE_COLUMNS.some(({ key }) => key === text.replace(/^-/, '')) ? text : 'start';
}

export function sortOf(order: string, { key }: NodeColumn): 'ascending' | 'descending' | 'none' {
  return order === key ? 'ascending' : order === `-${key}` ? 'descending' : 'none';
}
