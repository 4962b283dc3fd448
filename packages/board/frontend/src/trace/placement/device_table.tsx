/** The devices of a placement; a click shows the nodes of one only. */
import { microseconds } from '../../placement/figures.ts';
import type { PlacementSummary } from '../../placement/placement_api.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count, counted } from '../../units/numbers.ts';
import { placementDevice } from '../address/address_fields.ts';

export function DeviceTable({ placement }: { placement: PlacementSummary }) {
  const { devices, device_count, unused_devices } = placement;
  return (
    <section>
      <h3>Devices</h3>
      <table class="trace-compare placement-devices">
        <thead>
          <tr>
            <th scope="col">Device</th>
            <th scope="col">Nodes</th>
            <th scope="col">Expected</th>
            <th scope="col">Measured</th>
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => {
            const chosen = placementDevice.value === device.name;
            return (
              <tr key={device.id}>
                <th scope="row">
                  <button
                    type="button"
                    class="trace-link"
                    aria-pressed={chosen}
                    title={`${chosen ? 'Show the nodes of all devices' : 'Show its nodes only'}: ${safeText(device.name, 300)}`}
                    onClick={() => {
                      placementDevice.value = chosen ? '' : device.name;
                    }}
                  >
                    {safeText(device.title, 100)}
                  </button>
                </th>
                <td>{count(device.nodes)}</td>
                <td>{microseconds(device.expected_us)}</td>
                <td title={`${count(device.measured_nodes)} of ${counted(device.nodes, 'node')} measured`}>
                  {microseconds(device.measured_us)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {device_count > devices.length && (
        <p class="faint">
          The first {devices.length} of {count(device_count)}.
        </p>
      )}
      {unused_devices > 0 && (
        <p class="faint">
          {counted(unused_devices, 'other device')} {unused_devices === 1 ? 'has' : 'have'} no nodes.
        </p>
      )}
    </section>
  );
}
