/** Every kind of card on one page. */
import '../style/metrics.css';
import { Grid } from './grid.tsx';

export default function MetricsPage() {
  return <Grid />;
}
