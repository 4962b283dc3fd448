/** Paints points with WebGL2: one call for all of them. */
import { DIMMED_SCALE, type PointPainter, type PointScene, RAISED_SCALE, type Tiles } from './point_scene.ts';

const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
layout(location = 2) in float rank;
layout(location = 3) in float tile;
uniform mat4 matrix;
uniform float size;
uniform vec2 most;
out vec4 shade;
flat out float which;
flat out float pixels;
flat out float faint;
void main() {
  gl_Position = matrix * vec4(position, 1.0);
  float scale = rank > 1.5 ? ${RAISED_SCALE.toFixed(2)} : rank > 0.5 ? 1.0 : ${DIMMED_SCALE.toFixed(2)};
  float near = gl_Position.w > 0.0 ? 1.0 / gl_Position.w : 0.0;
  pixels = clamp(size * scale * near, most.x, most.y);
  gl_PointSize = pixels;
  // Highlighted points are in front of all others, dimmed ones behind them.
  gl_Position.z = (gl_Position.z / 3.0 + (1.0 - rank) * 0.6 * gl_Position.w);
  shade = colour;
  which = tile;
  faint = rank < 0.5 ? 0.72 : 0.0;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 shade;
flat in float which;
flat in float pixels;
flat in float faint;
uniform vec3 ground;
uniform sampler2D image;
uniform vec4 grid;
out vec4 result;
void main() {
  if (grid.x > 0.0 && which >= 0.0) {
    float column = mod(which, grid.x);
    float row = floor(which / grid.x);
    vec2 at = (vec2(column, row) + clamp(gl_PointCoord, 0.01, 0.99)) * grid.yz;
    result = vec4(mix(texture(image, at).rgb, ground, faint), 1.0);
    vec2 edge = min(gl_PointCoord, 1.0 - gl_PointCoord) * pixels;
    if (min(edge.x, edge.y) < max(1.0, pixels * 0.06)) result = vec4(shade.rgb, 1.0);
    return;
  }
  float radius = length(gl_PointCoord - 0.5) * pixels;
  float alpha = clamp(pixels * 0.5 - radius, 0.0, 1.0);
  if (alpha < 0.05) discard;
  result = vec4(shade.rgb * alpha, alpha);
}`;

export function webglPainter(canvas: HTMLCanvasElement): PointPainter | null {
  const gl = canvas.getContext('webgl2', { antialias: false, premultipliedAlpha: true });
  if (!gl) return null;
  const program = link(gl);
  if (!program) return null;
  const buffers = [0, 1, 2, 3].map(() => gl.createBuffer());
  const where = (name: string) => gl.getUniformLocation(program, name);
  const [matrixAt, sizeAt, mostAt, gridAt, groundAt] = ['matrix', 'size', 'most', 'grid', 'ground'].map(
    where,
  );
  const [, mostSize] = gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE) as Float32Array;
  let sent: Partial<PointScene> = {};
  let texture: WebGLTexture | null = null;
  let textured: ImageBitmap | null = null;
  let grid: [number, number, number, number] = [0, 0, 0, 0];

  function attribute(
    at: number,
    data: ArrayBufferView,
    size: number,
    type: number,
    normalised: boolean,
  ): void {
    gl!.bindBuffer(gl!.ARRAY_BUFFER, buffers[at]!);
    gl!.bufferData(gl!.ARRAY_BUFFER, data as BufferSource & ArrayBufferView, gl!.DYNAMIC_DRAW);
    gl!.enableVertexAttribArray(at);
    gl!.vertexAttribPointer(at, size, type, normalised, 0, 0);
  }

  function setTiles(tiles: Tiles | null, n: number): void {
    if (!tiles) {
      grid = [0, 0, 0, 0];
      attribute(3, new Float32Array(n), 1, gl!.FLOAT, false);
      return;
    }
    attribute(3, Float32Array.from(tiles.index), 1, gl!.FLOAT, false);
    grid = [tiles.perRow, tiles.width / tiles.image.width, tiles.height / tiles.image.height, 0];
    if (textured === tiles.image) return;
    texture ??= gl!.createTexture();
    gl!.bindTexture(gl!.TEXTURE_2D, texture);
    gl!.texImage2D(gl!.TEXTURE_2D, 0, gl!.RGBA, gl!.RGBA, gl!.UNSIGNED_BYTE, fitting(gl!, tiles.image));
    gl!.generateMipmap(gl!.TEXTURE_2D);
    gl!.texParameteri(gl!.TEXTURE_2D, gl!.TEXTURE_MIN_FILTER, gl!.LINEAR);
    gl!.texParameteri(gl!.TEXTURE_2D, gl!.TEXTURE_WRAP_S, gl!.CLAMP_TO_EDGE);
    gl!.texParameteri(gl!.TEXTURE_2D, gl!.TEXTURE_WRAP_T, gl!.CLAMP_TO_EDGE);
    textured = tiles.image;
  }

  return {
    kind: 'webgl2',
    draw(scene, matrix, width, height, ratio) {
      if (gl.isContextLost()) return;
      const n = scene.positions.length / 3;
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.useProgram(program);
      gl.enable(gl.DEPTH_TEST);
      gl.depthFunc(gl.LEQUAL);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      if (sent.positions !== scene.positions) attribute(0, scene.positions, 3, gl.FLOAT, false);
      if (sent.colours !== scene.colours) attribute(1, scene.colours, 4, gl.UNSIGNED_BYTE, true);
      if (sent.rank !== scene.rank) attribute(2, scene.rank, 1, gl.UNSIGNED_BYTE, false);
      if (sent.tiles !== scene.tiles || sent.positions?.length !== scene.positions.length) {
        setTiles(scene.tiles, n);
      }
      sent = { ...scene };
      gl.uniformMatrix4fv(matrixAt!, false, matrix);
      gl.uniform1f(sizeAt!, scene.size * ratio);
      gl.uniform2f(mostAt!, 1.5 * ratio, Math.min(mostSize ?? 64, 96 * ratio));
      gl.uniform4f(gridAt!, ...grid);
      const [r, g, b] = scene.ground;
      gl.uniform3f(groundAt!, r / 255, g / 255, b / 255);
      gl.drawArrays(gl.POINTS, 0, n);
    },
    dispose() {
      for (const buffer of buffers) gl.deleteBuffer(buffer);
      gl.deleteTexture(texture);
      gl.deleteProgram(program);
    },
  };
}

/** The image, scaled down to the limit of the GPU. */
function fitting(gl: WebGL2RenderingContext, image: ImageBitmap): TexImageSource {
  const most = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number;
  const scale = Math.min(1, most / image.width, most / image.height);
  if (scale === 1) return image;
  const canvas = document.createElement('canvas');
  canvas.width = Math.floor(image.width * scale);
  canvas.height = Math.floor(image.height * scale);
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function link(gl: WebGL2RenderingContext): WebGLProgram | null {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) return null;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}
