import assert from 'node:assert/strict';
import { test } from 'node:test';
import { affinitiesOf } from './affinities.ts';
import { greatestEigen, jacobi } from './eigen.ts';
import { allNeighbours, nearestTo } from './neighbours.ts';
import { principalComponents, sphered } from './pca.ts';
import { gaussian, seeded } from './random.ts';
import { SpaceTree } from './space_tree.ts';
import { Tsne } from './tsne.ts';

const close = (a: number, b: number, tolerance: number, what = '') =>
  assert.ok(Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b)), `${what} ${a} is not ${b}`);

function cloud(rows: number, dims: number, seed = 1): Float32Array {
  const random = seeded(seed);
  return Float32Array.from({ length: rows * dims }, () => gaussian(random));
}

test('Jacobi finds the eigenvalues of a matrix whose decomposition is known', () => {
  // Eigenvalues 3 and 1, vectors (1, 1) and (1, -1).
  const { values, vectors } = jacobi(Float64Array.of(2, 1, 1, 2), 2);
  close(values[0]!, 3, 1e-12);
  close(values[1]!, 1, 1e-12);
  close(vectors[0]![0]!, Math.SQRT1_2, 1e-12);
  close(vectors[0]![1]!, Math.SQRT1_2, 1e-12);
});

test('iterating a subspace gives what Jacobi gives', () => {
  const n = 60;
  const half = cloud(n, n, 3);
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      for (let k = 0; k < n; k++) matrix[i * n + j]! += half[i * n + k]! * half[j * n + k]!;
    }
  }
  const all = jacobi(matrix, n);
  const some = greatestEigen(matrix, n, 5);
  for (let c = 0; c < 5; c++) {
    close(some.values[c]!, all.values[c]!, 1e-8);
    let dot = 0;
    for (let k = 0; k < n; k++) dot += some.vectors[c]![k]! * all.vectors[c]![k]!;
    close(Math.abs(dot), 1, 1e-6);
  }
});

test('principal components of points stretched along known axes are these axes', () => {
  const rows = 400;
  const dims = 50;
  const random = seeded(5);
  // Variances 16, 4, 1 along three orthogonal directions, and nothing else.
  const axes = [0, 1, 2].map((c) =>
    Float64Array.from({ length: dims }, (_, k) =>
      k % 3 === c ? 1 / Math.sqrt(Math.ceil((dims - c) / 3)) : 0,
    ),
  );
  const points = new Float32Array(rows * dims);
  for (let i = 0; i < rows; i++) {
    axes.forEach((axis, c) => {
      const length = gaussian(random) * [4, 2, 1][c]!;
      for (let k = 0; k < dims; k++) points[i * dims + k]! += 3 + length * axis[k]!;
    });
  }
  const { axes: found, shares, coordinates } = principalComponents(points, rows, dims, 3);
  axes.forEach((axis, c) => {
    let dot = 0;
    for (let k = 0; k < dims; k++) dot += axis[k]! * found[c]![k]!;
    close(Math.abs(dot), 1, 0.02);
  });
  close(shares[0]! + shares[1]! + shares[2]!, 1, 1e-6);
  close(shares[0]!, 16 / 21, 0.1);
  // Coordinates are centred and uncorrelated.
  for (let a = 0; a < 3; a++) {
    let sum = 0;
    let cross = 0;
    for (let i = 0; i < rows; i++) {
      sum += coordinates[a]![i]!;
      cross += coordinates[a]![i]! * coordinates[(a + 1) % 3]![i]!;
    }
    close(sum / rows, 0, 1e-4);
    close(cross / rows, 0, 1e-3);
  }
});

test('components of points with fewer dimensions than requested, or all alike, are finite', () => {
  const line = principalComponents(Float32Array.of(1, 2, 3), 3, 1, 10);
  assert.equal(line.coordinates.length, 1);
  assert.deepEqual([...line.coordinates[0]!], [-1, 0, 1]);
  const alike = principalComponents(new Float32Array(60 * 50).fill(2), 60, 50, 3);
  assert.ok(alike.coordinates.every((c) => c.every((v) => Math.abs(v) < 1e-9)));
  assert.ok(alike.shares.every((s) => s === 0));
});

test('neighbours of one and of all are those of a sort by distance', () => {
  const rows = 120;
  const dims = 5;
  const points = cloud(rows, dims, 9);
  const square = (i: number, j: number) => {
    let sum = 0;
    for (let k = 0; k < dims; k++) sum += (points[i * dims + k]! - points[j * dims + k]!) ** 2;
    return sum;
  };
  const table = allNeighbours(points, rows, dims, 7);
  for (let i = 0; i < rows; i++) {
    const order = Array.from({ length: rows }, (_, j) => j)
      .filter((j) => j !== i)
      .sort((a, b) => square(i, a) - square(i, b));
    assert.deepEqual([...table.index.subarray(i * 7, i * 7 + 7)], order.slice(0, 7));
    const near = nearestTo(points, rows, dims, i, 7, 'euclidean');
    assert.deepEqual(
      near.map((n) => n.index),
      order.slice(0, 7),
    );
    close(near[3]!.distance, Math.sqrt(square(i, order[3]!)), 1e-6);
  }
});

test('cosine distance depends on the direction only', () => {
  const points = Float32Array.of(1, 0, 10, 0, 0, 1, -1, 0, 0, 0);
  const near = nearestTo(points, 5, 2, 0, 10, 'cosine');
  assert.deepEqual(
    near.map((n) => [n.index, n.distance]),
    [
      [1, 0],
      [2, 1],
      [4, 1],
      [3, 2],
    ],
  );
});

test('each row of the affinities has the requested perplexity', () => {
  const rows = 200;
  const near = allNeighbours(cloud(rows, 4, 11), rows, 4, 45);
  const p = affinitiesOf(near, rows, 15);
  let total = 0;
  for (let i = 0; i < rows; i++) {
    for (let at = p.start[i]!; at < p.start[i + 1]!; at++) {
      total += p.value[at]!;
      const j = p.index[at]!;
      const back = p.index.subarray(p.start[j]!, p.start[j + 1]!).indexOf(i);
      assert.equal(p.value[p.start[j]! + back], p.value[at]);
    }
  }
  close(total, 1, 1e-9);
});

for (const dims of [2, 3] as const) {
  test(`the gradient of t-SNE in ${dims}D is the derivative of its cost`, () => {
    const rows = 30;
    const p = affinitiesOf(allNeighbours(cloud(rows, 6, 13), rows, 6, 12), rows, 4);
    const initial = Float64Array.from(cloud(rows, dims, 17));
    const tsne = new Tsne(p, rows, { dims, learningRate: 10, theta: 0.5, initial });
    const gradient = new Float64Array(rows * dims);
    tsne.gradientInto(gradient);
    const scratch = new Float64Array(rows * dims);
    for (const at of [0, 7, 20, rows * dims - 1]) {
      const e = 1e-5;
      const here = tsne.y[at]!;
      tsne.y[at] = here + e;
      const above = tsne.gradientInto(scratch);
      tsne.y[at] = here - e;
      const below = tsne.gradientInto(scratch);
      tsne.y[at] = here;
      close(gradient[at]!, (above - below) / (2 * e), 1e-6);
    }
  });

  test(`the tree's pushes in ${dims}D are those of all pairs`, () => {
    const rows = 500;
    const y = Float64Array.from(cloud(rows, dims, 19));
    for (let d = 0; d < dims; d++) y[d] = y[dims + d] = y[2 * dims + d]!; // three at one place
    const tree = new SpaceTree(dims, rows);
    tree.fill(y, rows);
    tree.fill(y, rows);
    for (const [theta, tolerance] of [
      [0, 1e-9],
      [0.4, 0.05],
    ] as const) {
      for (const i of [0, 1, 5, 499]) {
        const force = new Float64Array(dims);
        const z = tree.push(y, i, theta, force);
        const exact = new Float64Array(dims);
        let exactZ = 0;
        for (let j = 0; j < rows; j++) {
          if (j === i) continue;
          let square = 0;
          for (let d = 0; d < dims; d++) square += (y[i * dims + d]! - y[j * dims + d]!) ** 2;
          const q = 1 / (1 + square);
          exactZ += q;
          for (let d = 0; d < dims; d++) exact[d]! += q * q * (y[i * dims + d]! - y[j * dims + d]!);
        }
        close(z, exactZ, tolerance);
        const length = Math.hypot(...exact);
        for (let d = 0; d < dims; d++) assert.ok(Math.abs(force[d]! - exact[d]!) <= tolerance * (length + 1));
      }
    }
  });
}

test('t-SNE brings clusters apart, by pairs and by the tree', () => {
  for (const rows of [150, 2100]) {
    const dims = 8;
    const points = cloud(rows, dims, 23);
    for (let i = 0; i < rows; i++) points[i * dims + (i % 3)]! += 12;
    const p = affinitiesOf(allNeighbours(points, rows, dims, 30), rows, 10);
    const tsne = new Tsne(p, rows, { dims: 2, learningRate: rows / 12, theta: 0.6 });
    for (let round = 0; round < (rows > 2000 ? 60 : 400); round++) tsne.step();
    let same = 0;
    const y = Float32Array.from(tsne.y);
    for (let i = 0; i < 150; i++) {
      const [near] = nearestTo(y, rows, 2, i, 1, 'euclidean');
      if (near!.index % 3 === i % 3) same++;
    }
    assert.ok(same >= 145, `${same} of 150 are next to their own (${rows} points)`);
  }
});

test('sphered points have unit length about the origin', () => {
  const out = sphered(cloud(40, 3, 29), 40, 3);
  for (let i = 0; i < 40; i++) close(Math.hypot(...out.subarray(i * 3, i * 3 + 3)), 1, 1e-6);
});
