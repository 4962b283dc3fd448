"""Modules of flat scopes: blocks by name, motifs such as conv-bn-relu, blocks between dominators.

The steps, each on the flow that the step before left:
1. a layer that computes and the light layers that follow it (or precede it) in a chain are a motif;
2. layers whose names begin alike (`conv2_block1_`, `block1a_`) are a block;
3. between two parts through which all data pass lies a block, its join included;
4. a sequence of parts that repeats (attention, feed-forward, attention, ...) is a block;
5. where nothing of this holds, the steps of an unrolled loop.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from headrace.board.graph.structure.modules.flat_scope import Flow, Part, is_convex, merged

FEWEST_PARTS = 8  # a scope with fewer is shown as it is
_MOTIFS = 3  # a motif occurs as often as this
_NAMED_PARTS = 4  # mean size of blocks by name
_NAMED_BLOCKS = 3
_LONGEST_PERIOD = 8
_STEPS = 4  # of an unrolled loop
_NUMBERED = re.compile(r"(.*?[0-9]+[a-z]?)_")
_DIGITS = re.compile(r"[0-9]+")

_SHORT = (
    (re.compile(r".*BatchNorm|.*batch_?norm|(.*_)?bn(_|$)"), "bn"),
    (re.compile(r".*LayerNorm"), "ln"),
    (re.compile(r".*Normalization"), "norm"),
    (re.compile(r".*[Rr]e[Ll][Uu]"), "relu"),
    (re.compile(r".*[Ss](wish|ilu)"), "swish"),
    (re.compile(r"[Aa]ctivation"), "act"),
    (re.compile(r".*[Dd]ropout"), "drop"),
    (re.compile(r".*Bias"), "bias"),
    (re.compile(r".*Sigmoid"), "sigmoid"),
    (re.compile(r".*Softmax"), "softmax"),
)


def find_modules(flow: Flow) -> Flow:
    """Returns the flow in which the modules that were found are parts."""
    if len(flow.parts) < FEWEST_PARTS or not flow.acyclic:
        return flow
    before = len(flow.parts)
    flow = fold_motifs(flow)
    flow = fold_names(flow)
    flow = fold_dominators(flow)
    flow = fold_periods(flow)
    if len(flow.parts) == before:
        flow = fold_unrolled(flow)
    return flow


def fold_names(flow: Flow) -> Flow:
    """Makes blocks of parts whose names begin with the same number: block1a_dwconv, block1a_bn."""
    blocks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for v, part in enumerate(flow.parts):
        for match in _prefixes(_first_name(part)):
            pattern = re.sub(r"[0-9]+[a-z]?", "#", match)
            blocks[pattern][match].append(v)
    best: list[tuple[str, list[int]]] = []
    for of_prefix in blocks.values():
        found = [(name, vs) for name, vs in of_prefix.items() if len(vs) > 1]
        layers = sum(len(flow.parts[v].vertices) for _, vs in found for v in vs)
        if len(found) < _NAMED_BLOCKS or layers < _NAMED_PARTS * len(found):
            continue
        found = [(name, vs) for name, vs in found if is_convex(flow, set(vs))]
        if len(found) > max(len(best), _NAMED_BLOCKS - 1):
            best = found
    groups = []
    for name, members in best:
        parts = [flow.parts[v] for v in members]
        groups.append((merged(name, parts, named=True), members))
    return flow.contracted(groups)


def _first_name(part: Part) -> str:
    while part.parts:
        part = part.parts[0]
    return part.label


def _prefixes(label: str) -> list[str]:
    return [label[: m.end() - 1] for m in re.finditer(r"[0-9][a-z]?_", label)]


def fold_motifs(flow: Flow) -> Flow:
    """Makes a module of each part that computes, with the light parts that follow it."""
    following = _motifs(flow, forward=True)
    preceding = _motifs(flow, forward=False)
    covered = [sum(len(chain) for chain in chains) for chains in (following, preceding)]
    chains = following if covered[0] >= covered[1] else preceding
    kinds = Counter(_motif_kind(flow, chain) for chain in chains)
    groups = []
    for chain in chains:
        if kinds[_motif_kind(flow, chain)] < _MOTIFS:
            continue
        parts = [flow.parts[v] for v in chain]
        groups.append((merged(_motif_label(parts), parts, block=False), chain))
    return flow.contracted(groups)


def _motifs(flow: Flow, forward: bool) -> list[list[int]]:
    chains = []
    for v, part in enumerate(flow.parts):
        if not part.computes or part.is_module:
            continue
        chain = [v]
        while True:
            ends = flow.after[chain[-1]] if forward else flow.before[chain[0]]
            if len(ends) != 1:
                break
            u = ends[0]
            if len(flow.before[u] if forward else flow.after[u]) != 1 or not flow.parts[u].light:
                break
            chain = [*chain, u] if forward else [u, *chain]
        if len(chain) > 1:
            chains.append(chain)
    return chains


def _motif_kind(flow: Flow, chain: list[int]) -> tuple[str, ...]:
    return tuple("*" if flow.parts[v].computes else flow.parts[v].kind for v in chain)


def _motif_label(parts: list[Part]) -> str:
    return "-".join(part.label if part.computes else _short(part) for part in parts)


def _short(part: Part) -> str:
    words = [op.lstrip("0123456789") for op in part.kind.split("+")]
    for text in (*words, part.label):
        for pattern, word in _SHORT:
            if pattern.match(text):
                return word
    return words[0].lower()


def fold_dominators(flow: Flow) -> Flow:
    """Makes a block of what lies between two parts through which all data pass."""
    cuts, order = _cuts(flow)
    blocks: list[list[int]] = []
    for before, after in zip(cuts, cuts[1:]):
        if after - before > 1:
            blocks.append(order[before + 1 : after + 1])
    if len(blocks) < 2:
        return flow
    followers = _common_followers(flow, blocks)
    groups = []
    for block in blocks:
        end = block[-1]
        while len(flow.after[end]) == 1:
            u = flow.after[end][0]
            if (flow.parts[block[-1]].kind, flow.parts[u].kind) not in followers:
                break
            if len(flow.before[u]) != 1 or flow.parts[u].is_module:
                break
            block = [*block, u]
            end = u
        parts = [flow.parts[v] for v in block]
        groups.append((merged(_block_label(parts), parts), block))
    return flow.contracted(groups)


def _cuts(flow: Flow) -> tuple[list[int], list[int]]:
    """Returns the places of the parts through which all data pass, and the order of parts.

    Further inputs and outputs of the scope are not counted, only the data of the largest flow.
    """
    spine = _main_flow(flow)
    order = [v for v in flow.order if v in spine]
    place = {v: i for i, v in enumerate(order)}
    jumps = [0] * (len(order) + 1)
    for a in order:
        for b in flow.after[a]:
            if b in place and place[b] - place[a] > 1:
                jumps[place[a] + 1] += 1
                jumps[place[b]] -= 1
    cuts, crossing = [], 0
    for at in range(len(order)):
        crossing += jumps[at]
        if crossing == 0:
            cuts.append(at)
    return cuts, order


def _main_flow(flow: Flow) -> set[int]:
    """Returns the parts between the source that reaches most and the sink that depends on most."""

    def reach(start: int, step: list[list[int]]) -> set[int]:
        seen, stack = {start}, [start]
        while stack:
            for u in step[stack.pop()]:
                if u not in seen:
                    seen.add(u)
                    stack.append(u)
        return seen

    sources = [v for v in range(len(flow.parts)) if not flow.before[v] and flow.after[v]][:200]
    if not sources:
        return set()
    down = _largest([reach(v, flow.after) for v in sources])
    sinks = [v for v in down if not flow.after[v]][:200]
    return down & _largest([reach(v, flow.before) for v in sinks])


def _largest(sets: list[set[int]]) -> set[int]:
    """Returns the largest set; none of several, because the order in the file must not decide."""
    most = max(map(len, sets), default=0)
    largest = [one for one in sets if len(one) == most]
    return largest[0] if len(largest) == 1 else set()


def _common_followers(flow: Flow, blocks: list[list[int]]) -> set[tuple[str, str]]:
    """Returns the pairs (join, light part after it) that most blocks with such a join have."""
    joins: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for block in blocks:
        join = block[-1]
        kind = flow.parts[join].kind
        joins[kind] += 1
        after = flow.after[join]
        if len(after) == 1 and flow.parts[after[0]].light and len(flow.before[after[0]]) == 1:
            pairs[kind, flow.parts[after[0]].kind] += 1
    return {pair for pair, count in pairs.items() if count * 2 >= joins[pair[0]]}


def _block_label(parts: list[Part]) -> str:
    """Returns what the names of the parts begin with, else the name of the join."""
    labels = [part.label for part in parts]
    common = labels[0]
    for label in labels[1:]:
        while not label.startswith(common):
            common = common[:-1]
    common = common.rstrip("_-/.")
    if len(common) > 3 and _DIGITS.search(common) and not labels[-1][len(common) :][:1].isdigit():
        return common
    joins = [part for part in parts if not part.light and not part.computes]
    main = [part for part in parts if part.computes]
    residual = joins and re.match(r"1(Add|AddV2|aten::add)", joins[-1].kind)
    if residual and main and not main[0].is_module and len(main) == 1:
        return f"{main[0].label} block"
    if residual and main:
        return f"{main[0].label.split('-')[0]} block"
    return (joins or parts)[-1].label


def fold_periods(flow: Flow) -> Flow:
    """Makes a block of each period of a sequence that repeats along the chain of parts."""
    cuts, order = _cuts(flow)
    runs: list[list[int]] = []
    chain: list[int] = []
    for before, at in zip([-2, *cuts], cuts):
        if at != before + 1 and chain:
            runs.append(chain)
            chain = []
        chain.append(order[at])
    runs.append(chain)
    groups: list[tuple[Part, list[int]]] = []
    for run in runs:
        kinds = [flow.parts[v].kind for v in run]
        at = 0
        while at < len(run):
            period, times = _best_period(kinds, at)
            first = [flow.parts[v] for v in run[at : at + period]]
            blocks = any(part.block for part in first)
            if times < 2 or not blocks or any(part.named for part in first):
                at += 1
                continue
            for number in range(times):
                members = run[at + number * period : at + (number + 1) * period]
                parts = [flow.parts[v] for v in members]
                groups.append((merged(f"block_{len(groups)}", parts), members))
            at += period * times
    return flow.contracted(groups)


def _best_period(kinds: list[str], at: int) -> tuple[int, int]:
    """Returns length and number of the repetitions that cover most from a place on."""
    best = (1, 0)
    for period in range(2, _LONGEST_PERIOD + 1):
        first = kinds[at : at + period]
        if len(set(first)) == 1:
            continue  # a series of single parts
        times = 1
        while kinds[at + times * period : at + (times + 1) * period] == first:
            times += 1
        if times > 1 and period * times > best[0] * best[1]:
            best = (period, times)
    return best


def fold_unrolled(flow: Flow) -> Flow:
    """Makes a module of each step of an unrolled loop.

    The parts of some kind that computes lie one after the other, one a step. A part belongs to the
    step whose number is that of such parts that it depends on.
    """
    by_kind: dict[str, list[int]] = defaultdict(list)
    for v in flow.order:
        if flow.parts[v].computes:
            by_kind[flow.parts[v].kind].append(v)
    for anchors in [by_kind[k] for k in sorted(by_kind, key=lambda k: (-len(by_kind[k]), k))]:
        if len(anchors) < _STEPS:
            break
        steps = _steps_of(flow, set(anchors))
        if steps is None:
            continue
        sizes = Counter(tuple(sorted(flow.parts[v].kind for v in step)) for step in steps)
        if max(sizes.values()) * 3 < len(steps) * 2 or min(map(len, steps)) < 3:
            continue
        groups = []
        for number, step in enumerate(steps):
            groups.append((merged(f"step_{number}", [flow.parts[v] for v in step]), step))
        return flow.contracted(groups)
    return flow


def _steps_of(flow: Flow, anchors: set[int]) -> list[list[int]] | None:
    """Returns the parts of each step; None if the anchors are not one after the other."""
    last = len(anchors)
    depth = [0] * len(flow.parts)
    for v in flow.order:
        depth[v] = max((depth[u] for u in flow.before[v]), default=0) + (v in anchors)
    if sorted(depth[v] for v in anchors) != list(range(1, last + 1)):
        return None
    # What leads only to one step, such as its input, belongs to that step, not to the one before.
    feeds = depth[:]
    for v in reversed(flow.order):
        if v not in anchors and flow.after[v]:
            next_step = min(feeds[u] for u in flow.after[v])
            leads = _only_prepares(flow, v, anchors, depth)
            feeds[v] = next_step if leads else depth[v]
    steps: list[list[int]] = [[] for _ in range(last)]
    for v in flow.order:
        readers = flow.after[v]
        shared = not flow.before[v] and len({feeds[u] for u in readers}) > 1
        if 1 <= feeds[v] <= last and not shared:
            steps[feeds[v] - 1].append(v)
    return steps


def _only_prepares(flow: Flow, v: int, anchors: set[int], depth: list[int]) -> bool:
    """Returns whether all that a part feeds is the next anchor, directly or through such parts."""
    stack, seen = [v], {v}
    while stack:
        at = stack.pop()
        if not flow.after[at] or len(seen) > 12:
            return False
        for u in flow.after[at]:
            if u in anchors:
                continue
            if u in seen or depth[u] != depth[v]:
                if depth[u] != depth[v]:
                    return depth[u] == depth[v] + 1 and not flow.before[v]
                continue
            seen.add(u)
            stack.append(u)
    return True
