"""The programs of `models` in PyTorch: modules, autograd, torch.optim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import models
import numpy as np
import torch
from models_graph import after_steps, checksum
from programs import Program
from torch import nn
from torch.nn import functional as F


def program(row: str) -> Program:
    if row == "elementwise_chain":
        x = torch.from_numpy(models.elements())
        return measured(lambda: gelu(x))
    if row == "matmul":
        a, b = (torch.from_numpy(m) for m in models.matrices())
        return measured(lambda: a @ b)
    return trained(row)


def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1.0 + torch.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def measured(compute: Callable[[], torch.Tensor]) -> Program:
    def once() -> np.ndarray:
        with torch.no_grad():
            return compute().numpy()

    return Program(once, check=checksum(once()))


class Classifier(nn.Module):
    def __init__(self, row: str, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.row = row
        self.convolutions, self.dense = nn.ModuleList(), nn.ModuleList()
        for name in [n[:-2] for n in weights if n.endswith("/w")]:
            w = torch.from_numpy(weights[f"{name}/w"])
            if name.startswith("conv"):
                layer: Any = self.convolution(len(self.convolutions), w.shape)
                w = w.permute(3, 2, 0, 1)
                self.convolutions.append(layer)
            else:
                layer = nn.Linear(*w.shape)
                if name == "dense0" and len(self.convolutions):
                    w = as_chw(w, self.convolutions[-1].out_channels)
                w = w.T
                self.dense.append(layer)
            layer.weight.data = w.contiguous()
            layer.bias.data = torch.from_numpy(weights[f"{name}/b"]).clone()

    def convolution(self, i: int, shape: torch.Size) -> nn.Conv2d:
        stride = models.STRIDES.get(self.row, (1,) * 9)[i]
        padding = 2 if stride > 1 else shape[0] // 2
        return nn.Conv2d(shape[2], shape[3], shape[0], stride, padding)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.convolutions):
            h = F.relu(layer(h))
            if i in models.POOLED[self.row]:
                h = self.pooled(h)
        if self.convolutions:
            h = h.flatten(1)
        for i, layer in enumerate(self.dense):
            h = layer(h)
            h = F.relu(h) if i < len(self.dense) - 1 else h
        return h

    def pooled(self, h: torch.Tensor) -> torch.Tensor:
        size = models.POOL_SIZE[self.row]
        # SAME of an even side adds its one row and column at the end.
        ceil = models.POOL_PADDING[self.row] == "SAME"
        return F.max_pool2d(h, size, 2, ceil_mode=ceil)


def as_chw(w: torch.Tensor, channels: int) -> torch.Tensor:
    """Returns: a dense kernel of flattened [h, w, c] as one of flattened [c, h, w]."""
    n_out = w.shape[1]
    return w.reshape(-1, channels, n_out).permute(1, 0, 2).reshape(-1, n_out)


class Lstm(nn.Module):
    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(models.VOCABULARY, models.HIDDEN)
        self.lstm = nn.LSTM(models.HIDDEN, models.HIDDEN, 2, batch_first=True)
        self.dense = nn.Linear(models.HIDDEN, models.VOCABULARY)
        tensors = {name: torch.from_numpy(value) for name, value in weights.items()}
        self.embedding.weight.data = tensors["embedding"].clone()
        for layer in range(2):
            w_input, w_hidden = tensors[f"lstm{layer}/w"].split(models.HIDDEN)
            getattr(self.lstm, f"weight_ih_l{layer}").data = w_input.T.contiguous()
            getattr(self.lstm, f"weight_hh_l{layer}").data = w_hidden.T.contiguous()
            for name in ("bias_ih", "bias_hh"):  # PyTorch's LSTM has two biases
                getattr(self.lstm, f"{name}_l{layer}").data.zero_()
        self.dense.weight.data = tensors["dense0/w"].T.contiguous()
        self.dense.bias.data = tensors["dense0/b"].clone()

    def forward(self, words: torch.Tensor, state: Any) -> Any:
        h, state = self.lstm(self.embedding(words), state)
        return self.dense(h.reshape(-1, models.HIDDEN)), state


def optimizer(rule: models.Optimizer, parameters: Any) -> torch.optim.Optimizer:
    rate = rule.learning_rate
    if rule.name == "adam":
        return torch.optim.Adam(parameters, rate, fused=True)
    if rule.name == "momentum":
        return torch.optim.SGD(parameters, rate, momentum=0.9, fused=True)
    return torch.optim.SGD(parameters, rate, fused=True)


def trained(row: str) -> Program:
    model = models.TRAINED[row]()
    net: nn.Module = Lstm(model.weights) if row == "lstm" else Classifier(row, model.weights)
    rule = optimizer(model.optimizer, net.parameters())
    inputs = model.inputs
    if inputs.ndim == 4:
        inputs = np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    zeros = torch.zeros(2, models.LSTM_BATCH, models.HIDDEN)
    state: Any = (zeros, zeros)

    def once() -> float:
        nonlocal state
        rule.zero_grad()
        x, t = torch.from_numpy(inputs), torch.from_numpy(model.labels)
        if row == "lstm":
            logits, state = net(x, tuple(part.detach() for part in state))
            loss = F.cross_entropy(logits, t.flatten(), reduction="sum") / models.LSTM_BATCH
        else:
            loss = F.cross_entropy(net(x), t)
        loss.backward()
        if model.optimizer.clip_norm is not None:
            nn.utils.clip_grad_norm_(net.parameters(), model.optimizer.clip_norm)
        rule.step()
        return loss.item()

    return Program(once, check=after_steps(once))
