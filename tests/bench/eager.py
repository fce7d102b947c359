#!/usr/bin/env python3
"""Compares eager kernels with PyTorch's on one thread. The interpreter and generic code run eager kernels.

usage: eager.py [--json FILE] KILN [OPERATOR...]      needs PyTorch (Debian: python3-torch)

A line is an operator on operands of 16 K elements and more: the median time of a call by PyTorch, that by `kiln run` (a loop
of n calls minus one of a single call), and their ratio, above 1 if Kiln is faster. The two alternate, and the best of three
counts.
"""
import argparse, json, math, os, subprocess, tempfile, time
import numpy as np, torch


def T(*sizes): return torch.randn(*sizes)
def I(high, *sizes): return torch.randint(0, high, sizes)


def positive(n):
    a = T(n, n)
    return a @ a.t() + n * torch.eye(n)


# name: the call, its operands
OPERATORS = {
    "add": ("x + y", dict(x=T(512, 512), y=T(512, 512))),
    "add_bcast": ("x + y", dict(x=T(512, 512), y=T(512, 1))),
    "mul_scalar": ("x * 2.0", dict(x=T(512, 512))),
    "exp": ("torch.exp(x)", dict(x=T(256, 256))),
    "tanh": ("torch.tanh(x)", dict(x=T(256, 256))),
    "gelu": ("torch.nn.functional.gelu(x)", dict(x=T(256, 256))),
    "sigmoid": ("torch.sigmoid(x)", dict(x=T(256, 256))),
    "where": ("torch.where(x > 0, x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "add_f64": ("x + y", dict(x=T(256, 256).double(), y=T(256, 256).double())),
    "add_i64": ("x + y", dict(x=I(9, 256, 256), y=I(9, 256, 256))),
    "add_f16": ("x + y", dict(x=T(256, 256).half(), y=T(256, 256).half())),
    "clone": ("x.clone()", dict(x=T(512, 512))),
    "transpose_contig": ("x.t().contiguous()", dict(x=T(512, 512))),
    "permute_contig": ("x.permute(0, 2, 3, 1).contiguous()", dict(x=T(8, 64, 32, 32))),
    "to_double": ("x.to(torch.float64)", dict(x=T(512, 512))),
    "to_half": ("x.to(torch.float16)", dict(x=T(512, 512))),
    "cat": ("torch.cat([x, y], 1)", dict(x=T(256, 256), y=T(256, 256))),
    "stack": ("torch.stack([x, y], 2)", dict(x=T(256, 256), y=T(256, 256))),
    "index_select": ("torch.index_select(x, 0, i)", dict(x=T(1000, 128), i=I(1000, 512))),
    "index": ("x[i]", dict(x=T(1000, 128), i=I(1000, 512))),
    "gather": ("torch.gather(x, 1, i)", dict(x=T(256, 256), i=I(256, 256, 256))),
    "scatter": ("torch.scatter(x, 1, i, y)", dict(x=T(256, 256), i=I(256, 256, 256), y=T(256, 256))),
    "scatter_add": ("torch.scatter_add(x, 1, i, y)", dict(x=T(256, 256), i=I(256, 256, 256), y=T(256, 256))),
    "index_add": ("torch.index_add(x, 0, i, y)", dict(x=T(1000, 64), i=I(1000, 512), y=T(512, 64))),
    "masked_fill": ("x.masked_fill(x > 0, 1.0)", dict(x=T(256, 256))),
    "masked_select": ("torch.masked_select(x, x > 0)", dict(x=T(256, 256))),
    "nonzero": ("torch.nonzero(x > 0)", dict(x=T(256, 256))),
    "sum": ("x.sum()", dict(x=T(512, 512))),
    "sum0": ("x.sum(0)", dict(x=T(512, 512))),
    "sum1": ("x.sum(1)", dict(x=T(512, 512))),
    "mean_hw": ("x.mean([2, 3])", dict(x=T(8, 64, 32, 32))),
    "var": ("x.var(1)", dict(x=T(512, 512))),
    "max1": ("torch.max(x, 1)[0]", dict(x=T(512, 512))),
    "argmax0": ("torch.argmax(x, 0)", dict(x=T(512, 512))),
    "prod": ("x.prod(1)", dict(x=T(512, 512))),
    "norm": ("torch.norm(x)", dict(x=T(512, 512))),
    "logsumexp": ("torch.logsumexp(x, 1)", dict(x=T(256, 256))),
    "softmax": ("torch.softmax(x, -1)", dict(x=T(256, 256))),
    "softmax0": ("torch.softmax(x, 0)", dict(x=T(256, 256))),
    "log_softmax": ("torch.log_softmax(x, -1)", dict(x=T(256, 1000))),
    "cumsum": ("torch.cumsum(x, 1)", dict(x=T(512, 512))),
    "cumsum0": ("torch.cumsum(x, 0)", dict(x=T(512, 512))),
    "sort": ("torch.sort(x, 1)[0]", dict(x=T(128, 512))),
    "topk": ("torch.topk(x, 10, 1)[0]", dict(x=T(128, 1000))),
    "unique": ("torch._unique2(x)[0]", dict(x=I(1000, 20000))),
    "mm": ("torch.mm(x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "mm_t": ("torch.mm(x, y.t())", dict(x=T(256, 256), y=T(256, 256))),
    "mm_f64": ("torch.mm(x, y)", dict(x=T(256, 256).double(), y=T(256, 256).double())),
    "mv": ("torch.mv(x, y)", dict(x=T(1024, 1024), y=T(1024))),
    "bmm": ("torch.bmm(x, y)", dict(x=T(16, 64, 64), y=T(16, 64, 64))),
    "linear": ("torch.nn.functional.linear(x, y)", dict(x=T(64, 512), y=T(512, 512))),
    "linear1": ("torch.nn.functional.linear(x, y)", dict(x=T(1, 1024), y=T(1024, 1024))),
    "einsum": ("torch.einsum('bij,bkj->bik', [x, y])", dict(x=T(8, 64, 64), y=T(8, 64, 64))),
    "conv3": ("torch.conv2d(x, w, None, [1, 1], [1, 1])", dict(x=T(1, 64, 32, 32), w=T(64, 64, 3, 3))),
    "conv1": ("torch.conv2d(x, w)", dict(x=T(1, 64, 32, 32), w=T(128, 64, 1, 1))),
    "conv_dw": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 64)", dict(x=T(1, 64, 56, 56), w=T(64, 1, 3, 3))),
    "conv_g": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 4)", dict(x=T(1, 64, 32, 32), w=T(64, 16, 3, 3))),
    "conv1d": ("torch.conv1d(x, w, None, [1], [1])", dict(x=T(4, 64, 256), w=T(64, 64, 3))),
    "conv3d": ("torch.conv3d(x, w, None, [1, 1, 1], [1, 1, 1])", dict(x=T(1, 16, 8, 32, 32), w=T(16, 16, 3, 3, 3))),
    "convT": ("torch.conv_transpose2d(x, w, None, [2, 2], [1, 1])", dict(x=T(1, 64, 16, 16), w=T(64, 32, 4, 4))),
    "maxpool": ("torch.max_pool2d(x, [2, 2])", dict(x=T(4, 64, 32, 32))),
    "maxpool3": ("torch.max_pool2d(x, [3, 3], [2, 2], [1, 1])", dict(x=T(1, 64, 112, 112))),
    "avgpool": ("torch.avg_pool2d(x, [2, 2])", dict(x=T(4, 64, 32, 32))),
    "adaptive": ("torch.adaptive_avg_pool2d(x, [7, 7])", dict(x=T(4, 64, 32, 32))),
    "bn": ("torch.batch_norm(x, w, w, m, v, False, 0.1, 1e-5, True)", dict(x=T(4, 64, 32, 32), w=T(64), m=T(64), v=T(64).abs())),
    "bn_train": ("torch.batch_norm(x, w, w, m, v, True, 0.1, 1e-5, True)", dict(x=T(4, 64, 32, 32), w=T(64), m=T(64), v=T(64).abs())),
    "ln": ("torch.layer_norm(x, [512])", dict(x=T(128, 512))),
    "gn": ("torch.group_norm(x, 8)", dict(x=T(4, 64, 32, 32))),
    "embedding": ("torch.embedding(w, i)", dict(w=T(10000, 128), i=I(10000, 512))),
    "interp": ("torch.upsample_bilinear2d(x, [64, 64], False)", dict(x=T(1, 32, 32, 32))),
    "nearest": ("torch.upsample_nearest2d(x, [64, 64])", dict(x=T(1, 32, 32, 32))),
    "pad": ("torch.constant_pad_nd(x, [1, 1, 1, 1], 0.0)", dict(x=T(4, 64, 32, 32))),
    "reflect": ("torch.reflection_pad2d(x, [1, 1, 1, 1])", dict(x=T(4, 64, 32, 32))),
    "flip": ("torch.flip(x, [1])", dict(x=T(512, 512))),
    "roll": ("torch.roll(x, [3], [1])", dict(x=T(512, 512))),
    "tril": ("torch.tril(x)", dict(x=T(512, 512))),
    "repeat": ("x.repeat([4, 2])", dict(x=T(256, 256))),
    "cdist": ("torch.cdist(x, y)", dict(x=T(256, 64), y=T(256, 64))),
    "grid": ("torch.grid_sampler(x, g, 0, 0, False)", dict(x=T(1, 32, 64, 64), g=torch.rand(1, 64, 64, 2)*2-1)),
    "fft": ("torch.abs(torch.fft_fft(x))", dict(x=T(64, 512))),
    "fft_odd": ("torch.abs(torch.fft_fft(x))", dict(x=T(64, 400))),
    "inverse": ("torch.linalg_inv(x)", dict(x=T(64, 64)+8*torch.eye(64))),
    "svd": ("torch.linalg_svd(x)[1]", dict(x=T(64, 64))),
    "cholesky": ("torch.linalg_cholesky(x)", dict(x=positive(64))),
    "cross_entropy": ("torch.cross_entropy_loss(x, i)", dict(x=T(256, 1000), i=I(1000, 256))),
    "randn_like": ("torch.randn_like(x)", dict(x=T(256, 256))),
    "dropout": ("torch.dropout(x, 0.5, True)", dict(x=T(256, 256))),
    "bincount": ("torch.bincount(i)", dict(i=I(1000, 20000))),
    "searchsorted": ("torch.searchsorted(s, x)", dict(s=torch.sort(T(1000))[0], x=T(20000))),
}


def CL(*sizes): return T(*sizes).contiguous(memory_format=torch.channels_last)


# other dtypes and layouts of the same families
OPERATORS.update({
    "add_t": ("x + y.t()", dict(x=T(512, 512), y=T(512, 512))),
    "add_row": ("x + y", dict(x=T(512, 512), y=T(512))),
    "add_channel": ("x + y", dict(x=T(8, 64, 32, 32), y=T(64, 1, 1))),
    "add_slice": ("x[:, ::2] + y[:, ::2]", dict(x=T(512, 512), y=T(512, 512))),
    "add_bf16": ("x + y", dict(x=T(256, 256).bfloat16(), y=T(256, 256).bfloat16())),
    "mul_i32": ("x * y", dict(x=I(9, 256, 256).int(), y=I(9, 256, 256).int())),
    "add_i32": ("x + y", dict(x=I(9, 256, 256).int(), y=I(9, 256, 256).int())),
    "mul_u8": ("x * y", dict(x=I(9, 256, 256).byte(), y=I(9, 256, 256).byte())),
    "add_mixed": ("x + y", dict(x=T(256, 256), y=I(9, 256, 256))),
    "and_bool": ("x & y", dict(x=I(2, 256, 256).bool(), y=I(2, 256, 256).bool())),
    "gt_scalar": ("x > 0.5", dict(x=T(256, 256))),
    "eq_i64": ("x == y", dict(x=I(9, 256, 256), y=I(9, 256, 256))),
    "sqrt": ("torch.sqrt(x)", dict(x=T(256, 256).abs())),
    "rsqrt": ("torch.rsqrt(x)", dict(x=T(256, 256).abs())),
    "log": ("torch.log(x)", dict(x=T(256, 256).abs())),
    "sin": ("torch.sin(x)", dict(x=T(256, 256))),
    "exp_f64": ("torch.exp(x)", dict(x=T(256, 256).double())),
    "silu": ("torch.nn.functional.silu(x)", dict(x=T(256, 256))),
    "hardswish": ("torch.nn.functional.hardswish(x)", dict(x=T(256, 256))),
    "leaky": ("torch.nn.functional.leaky_relu(x)", dict(x=T(256, 256))),
    "clamp": ("torch.clamp(x, -1.0, 1.0)", dict(x=T(256, 256))),
    "pow2": ("x ** 2", dict(x=T(256, 256))),
    "pow_t": ("torch.pow(x, y)", dict(x=T(256, 256).abs(), y=T(256, 256))),
    "atan2": ("torch.atan2(x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "floor_div": ("torch.floor_divide(x, y)", dict(x=I(99, 256, 256), y=I(9, 256, 256) + 1)),
    "remainder": ("torch.remainder(x, 0.7)", dict(x=T(256, 256))),
    "lerp": ("torch.lerp(x, y, 0.3)", dict(x=T(256, 256), y=T(256, 256))),
    "addcmul": ("torch.addcmul(x, y, y)", dict(x=T(256, 256), y=T(256, 256))),
    "where_bcast": ("torch.where(m, x, y)", dict(m=I(2, 256, 1).bool(), x=T(256, 256), y=T(256, 256))),
    "add_inplace": ("x.clone().add_(y)", dict(x=T(256, 256), y=T(256, 256))),
    "mul_c64": ("torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))", dict(x=T(256, 128, 2), y=T(256, 128, 2))),
    "clone_cl": ("x.contiguous()", dict(x=CL(8, 64, 32, 32))),
    "transpose_f64": ("x.t().contiguous()", dict(x=T(512, 512).double())),
    "transpose_f16": ("x.t().contiguous()", dict(x=T(512, 512).half())),
    "transpose_u8": ("x.t().contiguous()", dict(x=I(9, 512, 512).byte())),
    "expand_contig": ("x.expand(512, 512).contiguous()", dict(x=T(512, 1))),
    "slice_contig": ("x[:, ::2].contiguous()", dict(x=T(512, 1024))),
    "to_i64": ("x.to(torch.int64)", dict(x=T(256, 256))),
    "i64_to_float": ("x.to(torch.float32)", dict(x=I(9, 256, 256))),
    "bool_to_float": ("x.to(torch.float32)", dict(x=I(2, 256, 256).bool())),
    "u8_to_float": ("x.to(torch.float32)", dict(x=I(255, 256, 256).byte())),
    "float_to_u8": ("x.to(torch.uint8)", dict(x=T(256, 256).abs())),
    "bool_to_i64": ("x.to(torch.int64)", dict(x=I(2, 256, 256).bool())),
    "f64_to_f32": ("x.to(torch.float32)", dict(x=T(256, 256).double())),
    "to_bf16": ("x.to(torch.bfloat16)", dict(x=T(512, 512))),
    "cat_dim0": ("torch.cat([x, y], 0)", dict(x=T(256, 256), y=T(256, 256))),
    "cat_i64": ("torch.cat([x, y], 1)", dict(x=I(9, 256, 256), y=I(9, 256, 256))),
    "index_select1": ("torch.index_select(x, 1, i)", dict(x=T(256, 256), i=I(256, 128))),
    "gather0": ("torch.gather(x, 0, i)", dict(x=T(256, 256), i=I(256, 256, 256))),
    "index_put": ("torch.index_put(x, [i], y)", dict(x=T(1000, 128), i=I(1000, 512), y=T(512, 128))),
    "scatter_add0": ("torch.scatter_add(x, 0, i, y)", dict(x=T(256, 256), i=I(256, 256, 256), y=T(256, 256))),
    "take": ("torch.take(x, i)", dict(x=T(256, 256), i=I(65536, 256, 256))),
    "one_hot": ("torch.one_hot(i, 64)", dict(i=I(64, 1024))),
    "sum_f64": ("x.sum(1)", dict(x=T(512, 512).double())),
    "sum_f16": ("x.sum(1)", dict(x=T(512, 512).half())),
    "sum_bf16_0": ("x.sum(0)", dict(x=T(512, 512).bfloat16())),
    "sum_i64": ("x.sum(1)", dict(x=I(9, 512, 512))),
    "sum_bool": ("x.sum()", dict(x=I(2, 512, 512).bool())),
    "sum_t": ("x.t().sum(1)", dict(x=T(512, 512))),
    "sum_mid": ("x.sum(1)", dict(x=T(64, 64, 64))),
    "mean_cl": ("x.mean([2, 3])", dict(x=CL(8, 64, 32, 32))),
    "max_all": ("x.max()", dict(x=T(512, 512))),
    "max0": ("torch.max(x, 0)[0]", dict(x=T(512, 512))),
    "amax": ("torch.amax(x, 1)", dict(x=T(512, 512))),
    "max_i64": ("torch.max(x, 1)[0]", dict(x=I(99, 512, 512))),
    "argmax1": ("torch.argmax(x, 1)", dict(x=T(512, 512))),
    "any": ("torch.any(x, 1)", dict(x=I(2, 512, 512).bool())),
    "norm_dim": ("torch.norm(x, 2, 1)", dict(x=T(512, 512))),
    "std0": ("x.std(0)", dict(x=T(512, 512))),
    "softmax_f64": ("torch.softmax(x, -1)", dict(x=T(256, 256).double())),
    "softmax_f16": ("torch.softmax(x.float(), -1).half()", dict(x=T(256, 256).half())),
    "softmax_bf16": ("torch.softmax(x, -1)", dict(x=T(256, 256).bfloat16())),
    "softmax_4d1": ("torch.softmax(x, 1)", dict(x=T(8, 64, 16, 16))),
    "softmax_short": ("torch.softmax(x, -1)", dict(x=T(8192, 8))),
    "cumsum_i64": ("torch.cumsum(x, 1)", dict(x=I(9, 256, 256))),
    "sort0": ("torch.sort(x, 0)[0]", dict(x=T(512, 128))),
    "sort_i64": ("torch.sort(x, 1)[0]", dict(x=I(1000, 128, 512))),
    "mm_bf16": ("torch.mm(x, y)", dict(x=T(128, 128).bfloat16(), y=T(128, 128).bfloat16())),
    "mm_i64": ("torch.mm(x, y)", dict(x=I(9, 128, 128), y=I(9, 128, 128))),
    "mm_tall": ("torch.mm(x, y)", dict(x=T(2048, 32), y=T(32, 32))),
    "addmm": ("torch.addmm(b, x, y)", dict(b=T(256), x=T(256, 256), y=T(256, 256))),
    "bmm_t": ("torch.bmm(x, y.transpose(1, 2))", dict(x=T(16, 64, 64), y=T(16, 64, 64))),
    "conv3_cl": ("torch.conv2d(x, w, None, [1, 1], [1, 1])", dict(x=CL(1, 64, 32, 32), w=T(64, 64, 3, 3))),
    "conv3_s2": ("torch.conv2d(x, w, None, [2, 2], [1, 1])", dict(x=T(1, 64, 56, 56), w=T(64, 64, 3, 3))),
    "conv3_small": ("torch.conv2d(x, w, None, [1, 1], [1, 1])", dict(x=T(1, 256, 7, 7), w=T(256, 256, 3, 3))),
    "conv7": ("torch.conv2d(x, w, None, [2, 2], [3, 3])", dict(x=T(1, 3, 112, 112), w=T(64, 3, 7, 7))),
    "conv_dil": ("torch.conv2d(x, w, None, [1, 1], [2, 2], [2, 2])", dict(x=T(1, 64, 32, 32), w=T(64, 64, 3, 3))),
    "conv_dw5": ("torch.conv2d(x, w, None, [2, 2], [2, 2], [1, 1], 64)", dict(x=T(1, 64, 56, 56), w=T(64, 1, 5, 5))),
    "conv_dw7": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 256)", dict(x=T(1, 256, 7, 7), w=T(256, 1, 3, 3))),
    "conv_dw1d": ("torch.conv1d(x, w, None, [1], [3], [1], 64)", dict(x=T(4, 64, 256), w=T(64, 1, 7))),
    "conv_g32": ("torch.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 32)", dict(x=T(1, 128, 28, 28), w=T(128, 4, 3, 3))),
    "convT_dw": ("torch.conv_transpose2d(x, w, None, [2, 2], [1, 1], [0, 0], 32)", dict(x=T(1, 32, 32, 32), w=T(32, 1, 4, 4))),
    "maxpool_s1": ("torch.max_pool2d(x, [3, 3], [1, 1], [1, 1])", dict(x=T(1, 64, 56, 56))),
    "maxpool_cl": ("torch.max_pool2d(x, [2, 2])", dict(x=CL(4, 64, 32, 32))),
    "maxpool1d": ("torch.max_pool1d(x, [2])", dict(x=T(8, 64, 256))),
    "avgpool3": ("torch.avg_pool2d(x, [3, 3], [1, 1], [1, 1])", dict(x=T(1, 64, 56, 56))),
    "adaptive1": ("torch.adaptive_avg_pool2d(x, [1, 1])", dict(x=T(8, 256, 7, 7))),
    "bn_cl": ("torch.batch_norm(x, w, w, m, v, False, 0.1, 1e-5, True)", dict(x=CL(4, 64, 32, 32), w=T(64), m=T(64), v=T(64).abs())),
    "ln_w": ("torch.layer_norm(x, [512], w, b)", dict(x=T(128, 512), w=T(512), b=T(512))),
    "ln_short": ("torch.layer_norm(x, [32], w, b)", dict(x=T(4096, 32), w=T(32), b=T(32))),
    "in_norm": ("torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, True)", dict(x=T(4, 64, 32, 32))),
    "lstm": ("torch.lstm(x, [h, h], [w, u, b, b], True, 1, 0.0, False, False, False)[0]",
             dict(x=T(20, 16, 128), h=T(1, 16, 128), w=T(512, 128), u=T(512, 128), b=T(512))),
    "gru": ("torch.gru(x, h, [w, u, b, b], True, 1, 0.0, False, False, False)[0]",
            dict(x=T(20, 16, 128), h=T(1, 16, 128), w=T(384, 128), u=T(384, 128), b=T(384))),
    "embedding_f16": ("torch.embedding(w, i)", dict(w=T(10000, 128).half(), i=I(10000, 512))),
    "embedding_small": ("torch.embedding(w, i)", dict(w=T(1000, 16), i=I(1000, 4096))),
    "bag": ("torch.embedding_bag(w, i, o)[0]", dict(w=T(1000, 64), i=I(1000, 2048), o=torch.arange(0, 2048, 16))),
    "bicubic": ("torch.upsample_bicubic2d(x, [64, 64], False)", dict(x=T(1, 32, 32, 32))),
    "nearest_cl": ("torch.upsample_nearest2d(x, [64, 64])", dict(x=CL(1, 32, 32, 32))),
    "pixel_shuffle": ("torch.pixel_shuffle(x, 2)", dict(x=T(1, 64, 32, 32))),
    "pad_replicate": ("torch.replication_pad2d(x, [2, 2, 2, 2])", dict(x=T(4, 32, 32, 32))),
    "rfft": ("torch.abs(torch.fft_rfft(x))", dict(x=T(64, 512))),
    "fft_prime": ("torch.abs(torch.fft_fft(x))", dict(x=T(64, 509))),
    "fft2": ("torch.abs(torch.fft_fft2(x))", dict(x=T(4, 64, 64))),
    "solve": ("torch.linalg_solve(x, y)", dict(x=T(64, 64) + 8 * torch.eye(64), y=T(64, 64))),
    "qr": ("torch.linalg_qr(x)[1]", dict(x=T(64, 64))),
    "eigh": ("torch.linalg_eigvalsh(x)", dict(x=positive(48))),
    "attention": ("torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * 0.125, -1) @ k", dict(q=T(8, 64, 64), k=T(8, 64, 64))),
    "mse": ("torch.mse_loss(x, y)", dict(x=T(256, 256), y=T(256, 256))),
    "bce": ("torch.binary_cross_entropy_with_logits(x, y)", dict(x=T(256, 256), y=torch.rand(256, 256))),
    "rand_like": ("torch.rand_like(x)", dict(x=T(256, 256))),
    "bernoulli": ("torch.bernoulli(x)", dict(x=torch.rand(256, 256))),
    "randint": ("torch.randint_like(x, 100)", dict(x=T(256, 256))),
})


class Names:
    """Makes torch.X available in Python as in TorchScript."""
    def __getattr__(self, name):
        for module in torch, torch._C._nn, torch.nn.functional:
            if hasattr(module, name): return getattr(module, name)
        for start, module in ("linalg_", torch.linalg), ("fft_", torch.fft):
            if name.startswith(start): return getattr(module, name[len(start):])
        raise AttributeError(name)


def source(call, args):
    named = ", ".join(f"{k}: Tensor" for k in args)
    return f"def forward({named}, n: int=1) -> Tensor:\n    z = {call}\n    for turn in range(n):\n        z = {call}\n    return z\n"


def by_torch(call, args, n):
    code, names = compile(call, "call", "eval"), dict(torch=Names())
    start = time.perf_counter()
    for _ in range(n): eval(code, names, args)
    return (time.perf_counter() - start) / n


def arrays(args):
    """Returns the operands as inputs: bfloat16 as two-byte void, other layouts with their strides."""
    out = {}
    for k, v in args.items():
        plain = v.contiguous()
        out[k] = plain.view(torch.int16).numpy().view("V2") if v.dtype == torch.bfloat16 else plain.numpy()
        if not v.is_contiguous(): out[k + ".strides"] = np.array(v.stride(), dtype=np.int64)
    return out


def by_kiln(kiln, folder, n):
    """Returns the seconds of a call, or the error message if it fails."""
    spent = []
    for turns in 0, n:
        with np.load(folder + "/args.npz") as args: np.savez(folder + "/in.npz", n=np.int64(turns), **args)
        start = time.perf_counter()
        p = subprocess.run([kiln, "run", folder + "/m.py", "-i", folder + "/in.npz", "-o", folder + "/out.npz", "-O0", "--no-grad"],
                           capture_output=True, text=True)
        spent.append(time.perf_counter() - start)
        if p.returncode: raise RuntimeError(p.stderr.strip().splitlines()[-1])
    return (spent[1] - spent[0]) / n


def row(kiln, name, folder):
    call, args = OPERATORS[name]
    with open(folder + "/m.py", "w") as f: f.write(source(call, args))
    np.savez(folder + "/args.npz", **arrays(args))
    once = min(by_torch(call, args, 2) for _ in range(2))
    n = max(5, int(0.15 / once))
    pairs = [(by_torch(call, args, n), by_kiln(kiln, folder, n)) for _ in range(3)]
    theirs, ours = min(p[0] for p in pairs), min(p[1] for p in pairs)
    if ours <= 0: raise RuntimeError("the machine is too busy to tell")
    return theirs, ours


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--json")
    p.add_argument("kiln")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    torch.set_num_threads(1)
    found = {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for name in a.names or OPERATORS:
            try: theirs, ours = row(os.path.abspath(a.kiln), name, folder)
            except Exception as e:
                print(f"{name:16} {e}")
                continue
            found[name] = dict(torch=theirs, kiln=ours, ratio=theirs / ours)
            print(f"{name:16} PyTorch {theirs * 1e6:9.1f} us  Kiln {ours * 1e6:9.1f} us  ratio {theirs / ours:6.2f}", flush=True)
    ratios = [r["ratio"] for r in found.values()]
    if ratios:
        print(f"{len(ratios)} operators, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, "
              f"{sum(r < 0.4 for r in ratios)} below 0.4")
    if a.json:
        with open(a.json, "w") as f: json.dump(found, f, indent=1)


if __name__ == "__main__":
    main()
