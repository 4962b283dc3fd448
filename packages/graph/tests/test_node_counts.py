"""Graphs count as many nodes as TensorFlow 1.15's, so that ops without a seed get its numbers.

The numbers of nodes are those of TensorFlow 1.15.5, by the call that adds them.
"""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.framework.default_graph import count_nodes, counted_as, get_seed
from headrace.graph.ops.matmul.einsum_nodes import einsum_nodes

NODES = {
    "m.random_normal([3])": 6,
    "m.random_uniform([3],0,5,m.int32)": 4,
    "m.random_shuffle(m.zeros([3]))": 2,
    "m.multinomial(m.zeros([1,3]),2)": 3,
    "m.random_gamma([2],1.0)": 9,
    "m.random_crop(m.zeros([3,4]),[2,2])": 19,
    "m.random_poisson(1.0,[2])": 3,
    "m.split(x,[1,3],2)": 3,
    "m.concat([x,x],1)": 2,
    "m.stack([x,x])": 1,
    "m.stack([x,x],1)": 1,
    "m.unstack(x,axis=1)": 1,
    "m.one_hot([1,2],5)": 5,
    "m.boolean_mask(x, x[:,0,0]>0)": 33,
    "m.boolean_mask(s, [True,False])": 28,
    "m.clip_by_value(x,0.,1.)": 4,
    "m.sequence_mask([1,2],3)": 9,
    "m.sequence_mask([1,2])": 12,
    "m.clip_by_norm(x,1.0)": 17,
    "m.clip_by_global_norm([x,x],1.0)": 23,
    "m.eye(3)": 2,
    "m.eye(3,4)": 3,
    "m.nn.moments(x,[0,1])": 8,
    "m.nn.moments(s,[0])": 8,
    "m.nn.log_softmax(x)": 1,
    "m.nn.softmax(x)": 1,
    "m.nn.conv2d(m.zeros([1,4,4,3]),m.zeros([2,2,3,5]),[1,1,1,1],'SAME')": 3,
    "m.nn.depthwise_conv2d(m.zeros([1,4,4,3]),m.zeros([2,2,3,5]),[1,1,1,1],'SAME')": 5,
    "m.nn.convolution(m.zeros([1,4,4,3]),m.zeros([2,2,3,5]),'SAME')": 3,
    "m.nn.conv1d(m.zeros([1,4,3]),m.zeros([2,3,5]),1,'SAME')": 8,
    "m.nn.embedding_lookup([m.zeros([3,2]),m.zeros([3,2])],[0,1])": 25,
    "m.nn.sigmoid_cross_entropy_with_logits(labels=s,logits=s)": 10,
    "m.nn.weighted_cross_entropy_with_logits(s,s,1.0)": 16,
    "m.losses.mean_squared_error(s,s)": 32,
    "m.losses.absolute_difference(s,s)": 33,
    "m.losses.log_loss(s,s)": 45,
    "m.losses.huber_loss(s,s)": 42,
    "m.losses.hinge_loss(s,s)": 40,
    "m.losses.sigmoid_cross_entropy(s,s)": 41,
    "m.losses.softmax_cross_entropy(s,s)": 63,
    "m.losses.cosine_distance(s,s,1)": 36,
    "m.tensordot(x,m.zeros([4,3]),1)": 26,
    "m.get_variable('v',[3,4])": 10,
    "m.get_variable('v',[3,4],initializer=m.zeros_initializer())": 4,
    "m.get_variable('v',[3,4],initializer=m.random_normal_initializer())": 9,
    "m.get_variable('v',[3,4],initializer=m.truncated_normal_initializer())": 9,
    "m.get_variable('v',[3,4],initializer=m.constant_initializer(1.))": 4,
    "m.get_variable('v',[3,4],use_resource=True)": 11,
    "m.get_variable('v',initializer=m.zeros([3]))": 4,
    "m.get_variable('v',[3,4],regularizer=lambda w:m.nn.l2_loss(w))": 11,
    "m.Variable(m.zeros([3]))": 4,
    "m.Variable(m.truncated_normal([3,3],stddev=.1))": 9,
    "m.Variable(0,trainable=False)": 4,
    "m.layers.dense(s,3,kernel_regularizer=lambda w:m.nn.l2_loss(w))": 17,
    "m.layers.dense(s,3,m.nn.relu,use_bias=False)": 12,
    "m.layers.conv2d(m.placeholder(m.float32,[None,8,8,3]),4,3,2,'same',dilation_rate=1)": 18,
    "m.layers.conv2d(m.placeholder(m.float32,[None,8,8,3]),4,3,1,'same',dilation_rate=2)": 29,
    "m.layers.batch_normalization(s,training=True,scale=False)": 35,
    "m.layers.max_pooling2d(m.placeholder(m.float32,[None,8,8,3]),2,2)": 2,
    "m.layers.average_pooling2d(m.placeholder(m.float32,[None,8,8,3]),2,2)": 2,
    "m.layers.max_pooling1d(m.placeholder(m.float32,[None,8,3]),2,2)": 5,
    "m.image.random_flip_left_right(m.zeros([4,4,3]))": 20,
    "m.image.per_image_standardization(m.zeros([4,4,3]))": 24,
    "m.image.per_image_standardization(m.placeholder(m.float32,[None,4,4,3]))": 46,
    "m.image.per_image_standardization(m.placeholder(m.uint8,[4,4,3]))": 33,
    "m.assert_equal(2,2)": 1,
    "m.assert_equal(i,j)": 10,
    "m.assert_less(i,j,message='x')": 12,
    "m.assert_rank(s,2)": 4,
    "m.image.random_brightness(s,0.5)": 9,
    "m.nn.nce_loss(s,x[0,0,:2],m.placeholder(m.int64,[5,1]),y[0],1,2)": 118,
    "m.nn.sampled_softmax_loss(s,x[0,0,:2],m.placeholder(m.int64,[5,1]),y[0],1,2)": 149,
    "m.nn.sparse_softmax_cross_entropy_with_logits(labels=m.cast(x[:,:,0],m.int32),logits=x)": 39,
    "m.losses.sparse_softmax_cross_entropy([0,1],s)": 33,
    "m.contrib.seq2seq.LuongAttention(3,y)": 21,
    "m.contrib.seq2seq.LuongAttention(3,y,[1,2])": 43,
    "m.contrib.seq2seq.BahdanauAttention(3,x,[1,2])": 43,
    "m.Assert(True,['x',m.constant(1)])": 5,
    "m.Assert(True,['x',m.constant(1.0)])": 15,
    "m.assert_equal(m.placeholder(m.float32),s)": 25,
    "m.assert_equal(s,s)": 1,
    "m.assert_less(m.constant(1),m.constant(2))": 12,
    "m.assert_positive(m.placeholder(m.float32))": 25,
    "m.assert_non_positive(m.placeholder(m.float32))": 23,
    "m.assert_near(m.zeros([2]),m.zeros([2]))": 32,
    "m.assert_rank(m.placeholder(m.float32),2)": 13,
    "m.assert_rank(m.zeros([2]),1)": 5,
    "m.assert_rank(m.placeholder(m.float32),m.placeholder(m.int32,[]))": 17,
    "m.assert_rank_in(m.placeholder(m.float32),[1,2])": 17,
    "m.is_non_decreasing(m.zeros([2,2]))": 36,
    "m.linalg.LinearOperatorIdentity(3).matmul(m.zeros([3,2]))": 2,
    "m.linalg.LinearOperatorIdentity(3,batch_shape=[2]).matmul(m.zeros([3,2]))": 5,
    "m.linalg.LinearOperatorScaledIdentity(3,m.constant(2.)).matmul(m.zeros([3,2]))": 10,
    "m.linalg.LinearOperatorZeros(3).matmul(m.zeros([3,2]))": 6,
    "m.linalg.LinearOperatorLowerTriangular(m.zeros([3,3])).solve(m.zeros([3,2]))": 6,
    "m.train.batch([m.SparseTensor([[0]],[1.0],[2])],2)": 24,
    "m.train.maybe_batch([m.SparseTensor([[0]],[1.0],[2])],m.placeholder(m.bool,[]),2)": 43,
    "m.train.string_input_producer(['a'])": 19,
    "m.train.string_input_producer(['a'],num_epochs=2,shuffle=False)": 24,
    "m.contrib.training.bucket_by_sequence_length(3,[s],4,[2,4])": 102,
    "m.set_random_seed(1)": 0,
    "m.nn.dropout(s,.5)": 16,
    "m.layers.dropout(s,.5,training=True)": 16,
    "m.nn.rnn_cell.BasicLSTMCell(3).zero_state(2,m.float32)": 16,
    "m.nn.static_rnn(m.nn.rnn_cell.GRUCell(3),[s,s],dtype=m.float32)": 74,
    "m.nn.dynamic_rnn(m.nn.rnn_cell.BasicLSTMCell(3),x,dtype=m.float32)": 159,
    "m.nn.dynamic_rnn(m.nn.rnn_cell.GRUCell(3),y,sequence_length=[1,2],dtype=m.float32)": 170,
    "m.nn.dynamic_rnn(c.LSTMCell(3,use_peepholes=True),y,time_major=True,dtype=m.float32)": 168,
    "m.nn.bidirectional_dynamic_rnn(*[c.GRUCell(3) for _ in s.shape],y,dtype=m.float32)": 300,
    "c.DropoutWrapper(c.GRUCell(3),variational_recurrent=True,dtype=m.float32)": 23,
    "m.map_fn(lambda r:r,y)": 54,
    "m.map_fn(lambda r:r,x)": 55,
    "m.foldl(lambda a,r:a+r,y)": 48,
    "m.foldr(lambda a,r:a+r,x)": 51,
    "m.scan(lambda a,r:a+r,y)": 65,
    "m.scan(lambda a,r:a+r,x,reverse=True)": 72,
    "m.scan(lambda a,r:a+r,x,initializer=m.zeros([5,4]))": 63,
    "m.TensorArray(m.float32,size=2).unstack(y).stack()": 16,
    "m.TensorArray(m.float32,size=2).split(y,[1,1]).concat()": 6,
    "m.TensorArray(m.float32,size=2).write(0,1.0).read(0)": 7,
    "m.einsum('ij,ij->i',s,s)": 7,
    "m.tensordot(m.placeholder(m.float32),x,1)": 60,
    "m.zeros([i,3])": 8,
    "m.one_hot([1,2],5,1.,0.)": 7,
    "m.sort(s)": 10,
    "m.argsort(s,0)": 12,
    "m.meshgrid(s[0],s[0])": 26,
    "m.repeat(s[0],2)": 26,
    "m.confusion_matrix([0,1],[1,1])": 64,
    "m.nn.zero_fraction(s)": 26,
    "m.reduce_logsumexp(s,1)": 14,
    "m.case([(i>0,lambda:s)])": 35,
    "m.nn.swish(s)": 4,
    "m.nn.atrous_conv2d(m.placeholder(m.float32,[None,8,None,3]),m.zeros([2,2,3,5]),2,'SAME')": 78,
    "m.layers.conv2d_transpose(m.placeholder(m.float32,[None,4,4,3]),4,3,2,'same')": 40,
    "m.losses.mean_squared_error(s,s,s)": 21,
    "m.losses.mean_squared_error(x,x,x)": 146,
    "m.losses.mean_squared_error(m.placeholder(m.float32),s)": 155,
    "m.losses.mean_pairwise_squared_error(s,s)": 61,
    "m.image.flip_left_right(y)": 3,
    "m.image.random_flip_left_right(x[...,None])": 52,
    "m.image.resize_image_with_crop_or_pad(m.placeholder(m.uint8,[None,None,3]),2,2)": 177,
    "m.image.central_crop(y,.5)": 4,
    "m.image.rot90(y)": 63,
    "m.image.grayscale_to_rgb(y[...,None])": 18,
    "m.image.decode_image('')": 78,
    "m.signal.frame(s,2,1)": 67,
    "m.signal.hann_window(4)": 24,
    "m.layers.dropout(s,.5,training=i>0)": 26,
    "m.train.piecewise_constant(i,[1,2,3],[.1,.2,.3,.4])": 74,
    "m.train.polynomial_decay(.1,i,10,cycle=True)": 26,
    "m.train.cosine_decay_restarts(.1,i,10)": 53,
    "m.sparse_concat(1,[m.SparseTensor([[0,0]],[1.],[2,3])]*3)": 5,
    "m.parse_example([''],{'a':m.SparseFeature(['i','j','k'],'v',m.float32,[5,4,3])})": 34,
    "m.linalg.diag(s)": 1,
}


@pytest.mark.parametrize("call", NODES)
def test_a_call_counts_as_tensorflows(call, graph):
    names = {
        "m": hr,
        "x": hr.placeholder(hr.float32, [None, 5, 4]),
        "s": hr.zeros([2, 4]),
        "y": hr.zeros([2, 5, 4]),
        "c": hr.nn.rnn_cell,
        "i": hr.placeholder(hr.int32, []),
        "j": hr.placeholder(hr.int32, []),
    }
    start = graph._last_id
    eval(call, names)
    assert graph._last_id - start == NODES[call]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i...,j->ij", [[2, 3], [4]]),
        ("ii->i", [[2, 2]]),
        ("i,i,i->", [[2]] * 3),
        ("ij,j->i", [None, [2]]),
    ],
)
def test_einsum_nodes_of_equations_that_tensorflow_builds_otherwise(equation, shapes):
    assert einsum_nodes(equation, shapes) is None


def test_counted_nodes_change_later_seeds(graph):
    hr.set_random_seed(3)
    assert get_seed(None) == (3, 0)
    hr.constant(1)
    count_nodes(4)
    assert get_seed(None) == (3, 5) and graph.version == 1
    with counted_as(10):
        hr.constant(1)
        count_nodes(2)
    assert get_seed(None) == (3, 15) and graph.version == 2
