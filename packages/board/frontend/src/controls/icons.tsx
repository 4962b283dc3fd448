/** The few pictures on buttons: 16 units square, one stroke, the colour of the text. */

const paths = {
  pin: 'M6 2.5h4l-.6 4 2.1 2.2v.8H4.5v-.8l2.1-2.2zM8 9.5v4',
  grow: 'M9.5 3H13v3.5M13 3 9 7M6.5 13H3V9.5M3 13l4-4',
  shrink: 'M13 6.5H9.5V3M9.5 6.5 13.5 2.5M3 9.5h3.5V13M6.5 9.5l-4 4',
  more: 'M8 3.4v.01M8 8v.01M8 12.6v.01',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9M10.3 10.3 14 14',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  palette: 'M8 2.5a5.5 5.5 0 1 0 0 11c1.6 0 .9-1.6 1.3-2.2c.5-.8 2.6.1 3.7-1.1c1.2-1.4-.3-7.7-5-7.7',
  download: 'M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.3h10',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M12.9 9.6A5.4 5.4 0 0 1 6.4 3.1a5.4 5.4 0 1 0 6.5 6.5',
  contrast: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 2.5v11M10 4.5v7M12 6.2v3.6',
  auto: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 2.5v11',
  panel: 'M2.5 3h11v10h-11zM9.8 3v10',
  archive: 'M2.5 3.5h11v2.8h-11zM3.5 6.3v6.2h9V6.3M6.5 9h3',
  eye: 'M1.8 8S4 4 8 4s6.2 4 6.2 4S12 12 8 12S1.8 8 1.8 8M8 6.4a1.6 1.6 0 1 1 0 3.2a1.6 1.6 0 0 1 0-3.2',
  bookmark: 'M4.5 2.5h7v11L8 10.8 4.5 13.5z',
  plus: 'M8 3.5v9M3.5 8h9',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  sliders: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 3.2v3.6M6 9.2v3.6',
  layout: 'M2.5 2.5h4.5v4.5h-4.5zM9 2.5h4.5v4.5h-4.5zM2.5 9h4.5v4.5h-4.5zM9 9h4.5v4.5h-4.5z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
