# SPDX-License-Identifier: Apache-2.0
"""Traces a module with torch.fx, and finds the parts that are not supported."""

from __future__ import annotations

import dis
import inspect
import operator
import os
import sys
import traceback
import types
from typing import Any, NamedTuple

import torch
import torch.fx
from torch import nn

from ..errors import BadInput
from .modules import rule_of
from .tables import ATTRIBUTES, FUNCTIONS, METHODS

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_MASKS = {"eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "and_", "or_", "invert",
          "bool"}  # operations whose results are truth values
WHOLE = "whole"  # what _whole() names the module
_SIZES = {"size", "dim", "numel", "shape", "ndim", "dtype", "device", "is_cuda"}
_IN_PLACE = {operator.iadd, operator.isub, operator.imul, operator.itruediv}
_CHECKS = {torch._assert, torch.fx._symbolic_trace._assert_is_none}
_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Problem(NamedTuple):
    where: str  # the module's name; for operations also the line
    what: str  # the layer or the operation
    why: str


class Report:
    """What yolk.check found: `ok`; `problems`, each (where, what, why); `notes` on layers that act as in eval()."""
    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []

    @property
    def ok(self) -> bool:
        return not self.problems

    def add(self, where: str, what: str, why: str) -> None:
        problem = Problem(where, what, why)
        if problem not in self.problems:
            self.problems.append(problem)

    def __repr__(self) -> str:
        lines = [
            f"{self.name}: " +
            ("everything is supported."
             if self.ok else f"{len(self.problems)} part{'s are' if len(self.problems) > 1 else ' is'} not supported.")
        ]
        lines += [f"  {where}: {what}: {why}" for where, what, why in self.problems]
        lines += [f"  note: {where}: {what} {why}" for where, what, why in self.notes]
        return "\n".join(lines)


class _Tracer(torch.fx.Tracer):
    proxy_buffer_attributes = True

    def __init__(self) -> None:
        super().__init__()
        self.failed_in: str | None = None
        self._within: list[str] = []

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        if rule_of(m) is not None:
            return True
        return type(m).__module__.startswith("torch.nn") and not isinstance(m, _CONTAINERS)

    def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        self._within.append(self.path_of_module(m))
        try:
            return super().call_module(m, forward, args, kwargs)
        except Exception:
            self.failed_in = self.failed_in or self._within[-1]
            raise
        finally:
            self._within.pop()

    def create_node(self, *arguments: Any, **named: Any) -> torch.fx.Node:
        node = super().create_node(*arguments, **named)
        node.meta["yolk_place"] = (self._within[-1] if self._within else "forward") + _line(_users_frame())
        return node

    def iter(self, obj: torch.fx.Proxy) -> Any:
        """`a, b = x.shape`: yields as many parts as the statement unpacks."""
        frame = _users_frame()
        if frame is not None:
            for step in dis.get_instructions(frame.f_code):
                if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
                    return (obj[index] for index in range(step.argval))
        raise torch.fx.proxy.TraceError("going through a traced value")


def _is_ours(file: str) -> bool:
    return file.startswith((_TORCH, _HERE, "<"))


def _users_frame() -> types.FrameType | None:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _line(frame: types.FrameType | None) -> str:
    return "" if frame is None else f" ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"


def _raised_at(reason: BaseException) -> str:
    """The innermost line outside torch and Yolk."""
    for frame in reversed(traceback.extract_tb(reason.__traceback__)):
        if not _is_ours(frame.filename):
            return f" ({os.path.basename(frame.filename)}:{frame.lineno})"
    return ""


def _why_not_traced(reason: BaseException) -> str:
    if isinstance(reason, torch.fx.proxy.TraceError):
        return ("forward branches on, or loops over, a value that is unknown during tracing (if, while, and, or, for, "
                "len()); use torch.where, or a fixed shape")
    return f"torch.fx cannot trace forward: {type(reason).__name__}: {reason}"


def _check_values(module: nn.Module, report: Report) -> None:
    for kind, all_of in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
        for name, value in all_of:
            where = name or "module"
            if isinstance(value, nn.parameter.UninitializedTensorMixin):
                report.add(where, kind, "has no shape yet; call the module once in torch")
            elif value.device.type == "meta":
                report.add(
                    where, kind,
                    "is on the meta device and has no values; call module.to_empty(device='cpu') and load the weights")
            elif value.device.type != "cpu":
                report.add(
                    where, kind,
                    f"is on {value.device}; call module.cpu() first, and Yolk copies the weights to its own device")
            elif value.is_sparse or value.is_quantized:
                report.add(where, kind, "is sparse or quantized; only dense tensors are supported")
            elif kind == "parameter" and (not value.is_floating_point() or value.numel() == 0):
                report.add(
                    where, kind, f"has dtype {value.dtype} and shape {tuple(value.shape)}; a parameter must be a "
                    "floating-point tensor with at least one element")


def modules_of(module: nn.Module) -> dict[str, nn.Module]:
    return {WHOLE: module, **dict(module.named_modules())}


def _check_module(name: str, module: nn.Module, report: Report) -> None:
    """A module that torch.fx does not trace into, and the modules inside it."""
    known = set(map(id, module.parameters()))
    for inner, one in module.named_modules(prefix=name):
        inner = inner or "module"
        rule = rule_of(one)
        if rule is None:
            if not isinstance(one, _CONTAINERS):
                report.add(inner, type(one).__name__, "this layer is not supported; write it with torch's functions")
            continue
        why = rule.refuse(one)
        if why:
            report.add(inner, type(one).__name__, why)
        if rule.note:
            report.notes.append(Problem(inner, type(one).__name__, rule.note))
        weight = getattr(one, "weight", None)
        if isinstance(weight, torch.Tensor) and id(weight) not in known:
            report.add(inner,
                       type(one).__name__, "a parametrization computes its weight; remove the parametrization first")


def _place(node: torch.fx.Node) -> str:
    return str(node.meta.get("yolk_place", "forward"))


def _is_size(node: torch.fx.Node, traced: set) -> bool:
    if node.op == "call_method":
        return node.target in _SIZES
    if node.target is getattr:
        return node.args[1] in _SIZES
    return node.target in (torch.numel, ) or not any(one in traced for one in node.all_input_nodes)


def _check_graph(module: nn.Module, graph: torch.fx.Graph, report: Report) -> None:
    traced: set = set()
    parameters = set(map(id, module.parameters()))
    modules = modules_of(module)
    for node in graph.nodes:
        if node.op == "placeholder":
            traced.add(node)
        elif node.op == "get_attr":
            if id(operator.attrgetter(node.target)(module)) in parameters:
                traced.add(node)
        elif node.op == "call_module":
            traced.add(node)
            _check_module("" if modules[node.target] is module else node.target, modules[node.target], report)
        elif node.op in ("call_function", "call_method") and any(one in traced for one in node.all_input_nodes):
            if not _is_size(node, traced):
                traced.add(node)
            _check_call(node, report)
        _check_in_place(node, modules, report)


def _check_in_place(node: torch.fx.Node, modules: dict[str, nn.Module], report: Report) -> None:
    """Values of a graph never change. An in-place operation is fine if nothing reads its operand afterwards."""
    changes = node.op == "call_method" and node.target.endswith("_") and not node.target.endswith("__")
    changes |= node.op == "call_module" and getattr(modules[node.target], "inplace", False)
    changes |= node.op == "call_function" and (node.kwargs.get("inplace") is True or node.target in _IN_PLACE)
    if changes and node.args and isinstance(node.args[0], torch.fx.Node):
        order = {one: index for index, one in enumerate(node.graph.nodes)}
        if any(order[user] > order[node] for user in node.args[0].users):
            report.add(_place(node), str(node.name),
                       "modifies its operand in place, and the operand is used again; write x = f(x)")


def _has_mask(key: Any) -> bool:
    """Whether an index is the result of a comparison."""
    parts = key if isinstance(key, tuple) else (key, )
    nodes = [part for part in parts if isinstance(part, torch.fx.Node)]
    return any(node.target in _MASKS or getattr(node.target, "__name__", "") in _MASKS for node in nodes)


def _check_call(node: torch.fx.Node, report: Report) -> None:
    if node.op == "call_method":
        if node.target not in METHODS:
            report.add(_place(node), f"Tensor.{node.target}", "this method is not supported")
    elif node.target is getattr:
        if node.args[1] not in ATTRIBUTES:
            report.add(_place(node), f"Tensor.{node.args[1]}", "this attribute is not supported")
    elif node.target is operator.getitem and _has_mask(node.args[1]):
        report.add(_place(node), "x[mask]", "its shape depends on data; use torch.where")
    elif node.target not in FUNCTIONS:
        name = getattr(node.target, "__name__", str(node.target))
        home = (getattr(node.target, "__module__", "") or "torch").replace("_operator",
                                                                           "operator").replace("._C._", ".")
        report.add(_place(node), f"{home}.{name.removeprefix('fft_')}", "this function is not supported")


_STARS = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def _given(module: nn.Module, inputs: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of the arguments that each call passes, and the defaults of the others."""
    if isinstance(inputs, str):
        inputs = [inputs]
    if inputs is not None and not (isinstance(inputs, (list, tuple)) and all(isinstance(one, str) for one in inputs)):
        raise BadInput(f"inputs is {inputs!r}; pass a list of names of the arguments of forward.")
    kinds = inspect.Parameter
    signature = [one for one in inspect.signature(module.forward).parameters.values() if one.kind not in _STARS]
    names = [one.name for one in signature]
    wanted = [one.name for one in signature if one.default is kinds.empty] if inputs is None else list(inputs)
    if unknown := [name for name in wanted if name not in names]:
        raise BadInput(f"inputs names {', '.join(map(repr, unknown))}; forward takes {', '.join(names) or 'nothing'}.")
    return [name for name in names if name in wanted], {
        one.name: one.default
        for one in signature if one.name not in wanted and one.default is not kinds.empty
    }


def report_of(module: Any, inputs: Any = None) -> tuple[Report, torch.fx.Graph | None]:
    """The report, and the graph if tracing succeeded."""
    if not isinstance(module, nn.Module):
        raise BadInput(f"{module!r} is no torch.nn.Module.")
    report = Report(type(module).__name__)
    names, fixed = _given(module, inputs)
    _check_kind(module, report)
    if not report.ok:
        return report, None
    _check_values(module, report)
    tracer = _Tracer()
    try:
        whole = tracer.is_leaf_module(module, "")
        graph = _whole(module, names) if whole else _pruned(tracer.trace(module, concrete_args=fixed), names)
    except Exception as reason:  # the user's forward may raise anything
        where = (tracer.failed_in or "forward") + _raised_at(reason)
        report.add(
            where,
            type(module).__name__
            if tracer.failed_in is None else type(module.get_submodule(tracer.failed_in)).__name__,
            _why_not_traced(reason))
        for name, one in module.named_modules():
            if type(one).__module__.startswith("torch.nn") and not isinstance(one, _CONTAINERS):
                _check_module(name, one, report)
        return report, None
    _check_graph(module, graph, report)
    if not any(node.op == "placeholder" for node in graph.nodes):
        report.add("forward", type(module).__name__, "forward takes no input")
    return report, graph


def _check_kind(module: nn.Module, report: Report) -> None:
    """Modules that torch.fx cannot begin with."""
    kind = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        report.add("module", kind, "TorchScript has compiled it; pass the module that it was made of")
    elif isinstance(getattr(module, "_orig_mod", None), nn.Module):
        report.add("module", kind, "torch.compile has wrapped it; pass module._orig_mod")
    elif isinstance(module, nn.DataParallel):
        report.add("module", kind, "it wraps another module; pass module.module")
    elif type(module).forward is nn.Module.forward:
        report.add("module", kind, "it has no forward")
    elif rule_of(module) is None and any(one.kind in _STARS
                                         for one in inspect.signature(module.forward).parameters.values()):
        report.add("forward", kind, "*args and **kwargs are not supported; name the arguments")


def _pruned(graph: torch.fx.Graph, names: list[str]) -> torch.fx.Graph:
    """Removes arguments that keep their defaults, and the checks that torch.fx adds for them."""
    for node in reversed(graph.nodes):
        if node.target in _CHECKS:
            checked = node.all_input_nodes
            graph.erase_node(node)
            for one in checked:
                if one.op == "call_function" and not one.users:
                    graph.erase_node(one)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.target not in names and not node.users:
            graph.erase_node(node)
    return graph


def _whole(module: nn.Module, names: list[str]) -> torch.fx.Graph:
    """A graph with one call of a module that torch.fx does not trace into."""
    graph = torch.fx.Graph()
    graph.output(graph.call_module(WHOLE, tuple(graph.placeholder(name) for name in names)))
    return graph
