export default function MetricsPage() {
  return <p class="empty">Nothing here yet.</p>;
}
