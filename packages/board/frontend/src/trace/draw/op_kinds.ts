/** Kinds of ops, and the hue of each. */

export interface OpKind {
  id: string;
  title: string;
  /** Of OKLCH; null is grey. */
  hue: number | null;
}

export const OP_KINDS: OpKind[] = [
  { id: 'matrix', title: 'Matrix and convolution', hue: 255 },
  { id: 'elementwise', title: 'Elementwise', hue: 150 },
  { id: 'reduction', title: 'Reduction, pooling, norm', hue: 200 },
  { id: 'update', title: 'Variables and updates', hue: 300 },
  { id: 'shape', title: 'Shape and data movement', hue: 95 },
  { id: 'transfer', title: 'Send, receive, copy', hue: 55 },
  { id: 'input', title: 'Input and queues', hue: 345 },
  { id: 'control', title: 'Constants and control', hue: null },
  { id: 'other', title: 'Other', hue: 230 },
];

const RULES: [RegExp, string][] = [
  [/^(_?(Host)?(Send|Recv)|RecvTensor|MEMCPY|Memcpy|_?Copy|CollectiveReduce|Nccl)/, 'transfer'],
  [/(MatMul|Conv\d|Conv2D|Conv3D|Einsum|LSTM|GRU|Cholesky|Svd|Gemm|gemm|sgemm)/, 'matrix'],
  [
    /^(Apply|SparseApply|ResourceApply|Assign|ScatterUpdate|ScatterAdd|Variable|VarHandle|_ReadSlot|ReadVariable|ResourceScatter|ResourceGather|IsVariable|TemporaryVariable)/,
    'update',
  ],
  [
    /^(Queue|Barrier|Iterator|Read|Decode|Parse|Stage|Unstage|RandomShuffleQueue|FIFOQueue|TensorDataset|Enqueue|Dequeue)/,
    'input',
  ],
  [
    /(Pool|Sum$|^Sum|Mean|^Max$|^Min$|^Prod$|^All$|^Any$|ArgM|BatchNorm|FusedBatch|LRN|Softmax|TopK|L2Loss|Norm|CrossEntropy|Segment|Cum(sum|prod))/,
    'reduction',
  ],
  [
    /^(Identity|Reshape|Transpose|Concat|Split|Slice|StridedSlice|Gather|Pad|MirrorPad|Pack|Unpack|Stack|Unstack|Tile|ExpandDims|Squeeze|Reverse|SpaceTo|DepthTo|Cast|Bitcast|Fill|ZerosLike|OnesLike|BroadcastTo|OneHot|DynamicStitch|DynamicPartition|_Arg|_Retval|Where|Resize|Layout|_Reorder)/,
    'shape',
  ],
  [
    /^(Const|NoOp|_SOURCE|_SINK|Switch|Merge|Enter|Exit|NextIteration|LoopCond|ControlTrigger|Placeholder|Shape|Size|Rank|Assert|Print|If|While|PartitionedCall|StatefulPartitionedCall|Call|_HostConst|RefSwitch|RefMerge)/,
    'control',
  ],
  [
    /(^Add|^Sub$|^Mul|^Div|^RealDiv|^FloorDiv|^Neg|^Exp|^Log|^Tanh|^Sigmoid|Relu|^Elu|^Selu|^Sqrt|^Rsqrt|^Square|^Pow|^Abs|^Sign|^Maximum|^Minimum|^Equal|^NotEqual|^Greater|^Less|^Logical|^Select|^Bias|^Softplus|^Softsign|^Sin|^Cos|^Erf|^Round|^Floor|^Ceil|^Mod|^ClipBy|^Random|^Truncated|Grad$|^Dropout|^Reciprocal|^Inv|_Fused|Elementwise)/,
    'elementwise',
  ],
];

/** Ops of PyTorch, functions of GPU libraries and ops of XLA, whose names are lower case. */
const LOWER_CASE: [RegExp, string][] = [
  [/(^|_)(mm|bmm|addmm|baddbmm|matmul|linear|dot)($|_)|conv|gemm|xmma|cutlass|einsum|attention/, 'matrix'],
  [/copy|memcpy|memset|^to$|nccl|all_?reduce|all_?gather|collective/, 'transfer'],
  [/adam|sgd|^optimizer|foreach|fused_adam/, 'update'],
  [/norm|pool|softmax|(^|_)(sum|mean|max|min|argmax|reduce)|nll_loss|cross_entropy/, 'reduction'],
  [
    /view|reshape|transpose|permute|^t$|cat|slice|select|expand|empty|zero|fill|pad|broadcast|tuple|gather/,
    'shape',
  ],
  [
    /add|sub|mul|div|relu|gelu|tanh|sigmoid|exp|log|sqrt|pow|elementwise|fusion|dropout|threshold/,
    'elementwise',
  ],
];

const known = new Map<string, OpKind>();

/** The kind of an op; of fused ops (`AddV2+Relu`) the kind of the first known one. */
export function kindOf(op: string): OpKind {
  let kind = known.get(op);
  if (!kind) {
    kind = OP_KINDS.find(({ id }) => id === idOf(op))!;
    known.set(op, kind);
  }
  return kind;
}

function idOf(op: string): string {
  for (const part of op.split('+')) {
    for (const [rule, id] of RULES) if (rule.test(part)) return id;
  }
  const plain = op.replace(/^aten::_?/, '').toLowerCase();
  if (plain !== op.toLowerCase() || op === plain || op.endsWith('_kernel')) {
    for (const [rule, id] of LOWER_CASE) if (rule.test(plain)) return id;
  }
  return 'other';
}

/** A hue derived from a text; similar texts have different hues. */
export function hueOfText(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) % 360;
}

/** The scope that determines a node's colour: the first part of its name; of gradients the second. */
export function scopeOf(node: string): string {
  const parts = node.split('/');
  if (parts[0] === 'gradients' && parts.length > 1) return parts[1]!.replace(/_grad$/, '');
  return parts.length > 1 ? parts[0]! : '';
}
