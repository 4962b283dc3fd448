/** A check box with its label. */

export function Check(props: {
  label: string;
  title: string;
  on: boolean;
  off?: boolean;
  set: (on: boolean) => void;
}) {
  return (
    <label class={`check${props.off ? ' off' : ''}`} title={props.title}>
      <input
        type="checkbox"
        checked={props.on && !props.off}
        disabled={props.off ?? false}
        onChange={(event) => props.set(event.currentTarget.checked)}
      />
      {props.label}
    </label>
  );
}
