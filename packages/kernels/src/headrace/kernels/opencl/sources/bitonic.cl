// A block of a bitonic network, in local memory: KEY and the number of each of BLOCK places, ordered
// by a group of GROUP items with PRECEDES(key, number, other key, other number,
// n).

// The first place of a pair at a distance.
static int place(int pair, int distance) {
  return pair / distance * 2 * distance + pair % distance;
}

// The block begins at a place of the whole network. With first = 2, runs of up to `last` places are
// in order afterwards. With first = last = run, it does the distances of a run that are less than
// BLOCK.
static void order_block(local KEY *key, local int *number, int begin, int n, int first, int last) {
  const int item = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint run = first; run <= (uint)last; run *= 2) {
    for (int distance = min(run, (uint)BLOCK) / 2; distance > 0; distance /= 2) {
      for (int pair = item; pair < BLOCK / 2; pair += GROUP) {
        const int a = place(pair, distance), b = a + distance;
        const KEY key_a = key[a], key_b = key[b];
        const int number_a = number[a], number_b = number[b];
        const int rises = ((begin + a) & run) == 0;
        if (PRECEDES(key_a, number_a, key_b, number_b, n) == rises) continue;
        key[a] = key_b;
        key[b] = key_a;
        number[a] = number_b;
        number[b] = number_a;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
