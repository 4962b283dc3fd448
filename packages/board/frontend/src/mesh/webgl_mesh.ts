/** Paints meshes with WebGL2 on one hidden canvas that all cards share: browsers allow few contexts. */
import { LIGHT } from './mesh_geometry.ts';
import type { MeshPainter, MeshScene } from './mesh_scene.ts';

const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 colour;
uniform mat4 matrix;
uniform float size;
out vec3 shade;
out vec3 facing;
void main() {
  gl_Position = matrix * vec4(position, 1.0);
  gl_PointSize = size / max(gl_Position.w, 0.1);
  shade = colour;
  facing = normal;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec3 shade;
in vec3 facing;
uniform vec3 light;
uniform int kind;
out vec4 result;
void main() {
  float bright = 1.0;
  if (kind == 0) bright = 0.42 + 0.58 * abs(dot(normalize(facing + vec3(1e-9)), light));
  if (kind == 2 && length(gl_PointCoord - 0.5) > 0.5) discard;
  result = vec4(shade * bright, 1.0);
}`;

interface Kept {
  scene: MeshScene;
  buffers: WebGLBuffer[];
  faces: WebGLBuffer | null;
  edges: WebGLBuffer | null;
}

const MOST_KEPT = 8;

/** `onLost` is called when the WebGL context is lost. */
export function webglMeshPainter(onLost: () => void): MeshPainter | null {
  const canvas = document.createElement('canvas');
  canvas.addEventListener('webglcontextlost', onLost);
  const gl = canvas.getContext('webgl2', { antialias: true, preserveDrawingBuffer: true });
  if (!gl) return null;
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
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  const [matrixAt, sizeAt, lightAt, kindAt] = ['matrix', 'size', 'light', 'kind'].map((name) =>
    gl.getUniformLocation(program, name),
  );
  const kept: Kept[] = [];

  function filled(target: number, data: ArrayBufferView): WebGLBuffer {
    const buffer = gl!.createBuffer();
    gl!.bindBuffer(target, buffer);
    gl!.bufferData(target, data as ArrayBufferView<ArrayBuffer>, gl!.STATIC_DRAW);
    return buffer;
  }

  function sent(scene: MeshScene): Kept {
    const at = kept.findIndex((one) => one.scene === scene);
    if (at >= 0) return kept[at]!;
    const one: Kept = {
      scene,
      buffers: [scene.positions, scene.normals, scene.colours].map((data) => filled(gl!.ARRAY_BUFFER, data)),
      faces: null,
      edges: null,
    };
    kept.push(one);
    if (kept.length > MOST_KEPT) {
      const gone = kept.shift()!;
      for (const buffer of [...gone.buffers, gone.faces, gone.edges]) gl!.deleteBuffer(buffer);
    }
    return one;
  }

  return {
    kind: 'webgl2',
    draw(on, scene, mode, matrix, axes, width, height, ratio) {
      if (gl.isContextLost()) return;
      if (canvas.width < width || canvas.height < height) {
        canvas.width = Math.max(canvas.width, width);
        canvas.height = Math.max(canvas.height, height);
      }
      const one = sent(scene);
      gl.viewport(0, canvas.height - height, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.useProgram(program);
      one.buffers.forEach((buffer, at) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(at);
        const bytes = at === 2;
        gl.vertexAttribPointer(at, 3, bytes ? gl.UNSIGNED_BYTE : gl.FLOAT, bytes, 0, 0);
      });
      gl.uniformMatrix4fv(matrixAt!, false, matrix);
      gl.uniform1f(sizeAt!, 3.5 * ratio);
      const light = [0, 1, 2].map((k) => LIGHT.reduce((sum, part, a) => sum + part * axes[a]![k]!, 0));
      gl.uniform3f(lightAt!, light[0]!, light[1]!, light[2]!);
      gl.uniform1i(kindAt!, mode === 'surface' ? 0 : mode === 'wireframe' ? 1 : 2);
      if (mode === 'points') gl.drawArrays(gl.POINTS, 0, scene.positions.length / 3);
      else if (mode === 'wireframe') {
        one.edges ??= filled(gl.ELEMENT_ARRAY_BUFFER, scene.edges());
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, one.edges);
        gl.drawElements(gl.LINES, scene.edges().length, gl.UNSIGNED_INT, 0);
      } else {
        one.faces ??= filled(gl.ELEMENT_ARRAY_BUFFER, scene.geometry.faces);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, one.faces);
        gl.drawElements(gl.TRIANGLES, scene.geometry.faces.length, gl.UNSIGNED_INT, 0);
      }
      on.drawImage(canvas, 0, 0, width, height, 0, 0, width, height);
    },
  };
}
