export default function GraphPage() {
  return <p class="empty">Nothing here yet.</p>;
}
