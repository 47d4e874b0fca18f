# SPDX-License-Identifier: Apache-2.0
"""A torch.nn.Module as a system."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.fx
from torch import nn

from .. import _core
from .._devices import Chosen, request_of
from .._parameters import Matrix, Vector
from .._system import Hyperfunction, Outcome, System, _make, metric
from .._trees import as_float32
from ..errors import BadInput, Unsupported
from . import losses
from .checking import modules_of, report_of
from .modules import rule_of
from .tables import ATTRIBUTES, FUNCTIONS, METHODS
from .values import has_traced, is_traced, plain, reshape, to_tensor


def _used(module: nn.Module, graph: torch.fx.Graph) -> set[int]:
    """The identities of the parameters that the graph uses."""
    used: set[int] = set()
    modules = modules_of(module)
    for node in graph.nodes:
        if node.op == "call_module":
            used |= set(map(id, modules[node.target].parameters()))
        elif node.op == "get_attr":
            used.add(id(operator.attrgetter(node.target)(module)))
    return used


def _groups(module: nn.Module, graph: torch.fx.Graph) -> dict[int, tuple[str, nn.Parameter, Hyperfunction]]:
    """A parameter group for each parameter that the graph uses, by identity, so that layers may share one."""
    groups = {}
    used = _used(module, graph)
    for name, value in module.named_parameters():
        if id(value) not in used:
            continue
        array = as_float32(value, name)
        flat = array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(-1)
        kind = Matrix.of(flat) if array.ndim > 1 else Vector(flat.size, values=flat)
        groups[id(value)] = (name, value, _make(lambda weight: weight, kind, name, value.requires_grad, None, None))
    return groups


class Forward:
    """Runs a module's graph over traced values."""
    def __init__(self, module: nn.Module, graph: torch.fx.Graph) -> None:
        self.module, self.graph = module, graph
        self.names = [node.target for node in graph.nodes if node.op == "placeholder"]
        self.groups = _groups(module, graph)
        self.outputs: Any = None  # the structure of the last output, with a number in place of each traced value
        self._modules = modules_of(module)

    def matrix(self, value: Any) -> Any:
        """A parameter as a matrix, [first axis, all other axes], and its own shape."""
        return self._value(value), tuple(value.shape)

    def parameter(self, value: Any) -> Any:
        """A parameter in its own shape. None stays None."""
        if value is None:
            return None
        traced = self._value(value)
        return reshape(traced, value.shape) if value.ndim > 2 else traced

    def _value(self, value: Any) -> Any:
        group = self.groups.get(id(value))
        if group is None:
            raise Unsupported(
                "a weight is not a parameter of the module; if a parametrization computes it, remove that first"
            )
        return group[2]()

    def constant(self, value: Any) -> Any:
        return plain(value)

    def call(self, module: nn.Module, *arguments: Any, **named: Any) -> Any:
        """Applies the rule of a module."""
        rule = rule_of(module)
        if rule is None:
            raise Unsupported(f"the layer {type(module).__name__} is not supported")
        return rule.apply(self, module, *arguments, **named)

    def activation(self, function: Any, x: Any) -> Any:
        if isinstance(function, nn.Module):
            return self.call(function, x)
        if function not in FUNCTIONS:
            raise Unsupported(f"the activation {function!r} is not supported")
        return FUNCTIONS[function](x)

    def __call__(self, inputs: Any) -> Any:
        result = self.run(inputs)
        if is_traced(result):
            self.outputs = 0
            return result
        leaves: list[Any] = []
        self.outputs = _numbered(result, leaves)
        if not leaves:
            raise Unsupported("The module's output does not depend on its inputs.")
        return _core.operations.pack({str(index): leaf for index, leaf in enumerate(leaves)})

    def run(self, inputs: Any) -> Any:
        """What the module returns for these traced values by name."""
        values: dict[torch.fx.Node, Any] = {}
        for node in self.graph.nodes:
            try:
                values[node] = self._node(node, inputs, values)
            except (Unsupported, BadInput) as reason:
                what = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", node.target)
                raise type(reason)(f"{type(self.module).__name__}, '{what or 'forward'}': {reason}") from None
            if node.op == "output":
                return values[node]
        raise BadInput("The module returns nothing.")

    def _node(self, node: torch.fx.Node, inputs: Any, values: dict[torch.fx.Node, Any]) -> Any:
        if node.op == "placeholder":
            return inputs[node.target]
        if node.op == "get_attr":
            found = operator.attrgetter(node.target)(self.module)
            return self.parameter(found) if id(found) in self.groups else found
        arguments = torch.fx.node.map_arg(node.args, lambda one: values[one])
        named = torch.fx.node.map_arg(node.kwargs, lambda one: values[one])
        if node.op == "output":
            return arguments[0]
        if node.op == "call_module":
            return self.call(self._modules[node.target], *arguments, **named)
        return self._call(node, arguments, dict(named))

    def _call(self, node: torch.fx.Node, arguments: Any, named: dict[str, Any]) -> Any:
        if not has_traced(arguments) and not has_traced(named):  # a constant: torch computes it
            if node.op == "call_method":
                return getattr(arguments[0], node.target)(*arguments[1:], **named)
            return node.target(*arguments, **named)
        arguments = [plain(one) for one in arguments]
        named = {key: plain(one) for key, one in named.items()}
        if node.target is getattr:
            return ATTRIBUTES[arguments[1]](arguments[0])
        if named.get("out", 0) is None:
            del named["out"]
        if "input" in named:  # torch's name of the first operand
            arguments.insert(0, named.pop("input"))
        table: Mapping[Any, Callable[..., Any]] = METHODS if node.op == "call_method" else FUNCTIONS
        return table[node.target](*arguments, **named)


def _numbered(result: Any, leaves: list[Any]) -> Any:
    if is_traced(result):
        leaves.append(result)
        return len(leaves) - 1
    if isinstance(result, dict):
        return {key: _numbered(value, leaves) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [_numbered(value, leaves) for value in result] if isinstance(result, list) else tuple(
            _numbered(value, leaves) for value in result)
    return None if result is None else _Fixed(result)


class _Fixed:
    """A part of the output that is not traced."""
    def __init__(self, value: Any) -> None:
        self.value = value


def _filled(structure: Any, values: Any) -> Any:
    if isinstance(structure, int):
        return values[structure]
    if isinstance(structure, dict):
        return {key: _filled(value, values) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return type(structure)(_filled(value, values) for value in structure)
    return structure.value if isinstance(structure, _Fixed) else None


def _array(value: Any, what: str) -> Any:
    """Tensors and arrays become fp32 arrays. Anything else stays as it is."""
    if isinstance(value, (torch.Tensor, np.ndarray)) or hasattr(value, "__dlpack__"):
        return as_float32(value, what)
    if isinstance(value, dict):
        return {key: _array(one, what) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(one, torch.Tensor) for one in value):
        return {str(index): _array(one, what) for index, one in enumerate(value)}
    return value


def loss_metric(given: Any) -> Any:
    """A torch loss as a metric: its negative, since higher is better."""
    if isinstance(given, _core.Metric):
        return given
    if isinstance(given, nn.Module):
        report, graph = report_of(given)
        if graph is None or not report.ok:
            raise Unsupported(f"The loss is not supported. {report}")
        if any(True for _ in given.parameters()):
            raise Unsupported(
                "The loss has parameters. Make it part of the module, so that the module returns the loss.")
        run = Forward(given, graph)
        if len(run.names) != 2:
            raise BadInput(f"The loss takes {', '.join(run.names)}; it must take a prediction and a target.")
        return _core.make_metric(lambda x, y: -run.run(dict(zip(run.names, (x, y)))), type(given).__name__, True)
    if not callable(given):
        raise BadInput(f"The metric is {given!r}; pass a torch loss, one of yolk.metrics, or a function.")
    loss = losses.functions().get(given)
    return metric(given) if loss is None else _core.make_metric(lambda x, y: -loss(x, y), given.__name__, True)


class Network(System):
    """A torch.nn.Module as a system. Training changes the weights of `module` itself.

    An example is one call of the module and its target: (inputs, expected). `inputs` is a tensor, a tuple of tensors,
    or a dict by the names of forward's arguments, with the batch dimension that the module takes. A DataLoader yields
    such pairs.
    """
    def __init__(self,
                 module: Any,
                 *,
                 inputs: Any = None,
                 name: str | None = None,
                 seed: int = 1,
                 device: Any = None) -> None:
        report, graph = report_of(module, inputs)
        if graph is None or not report.ok:
            raise Unsupported(str(report))
        self.module: nn.Module = module
        self.report = report
        self.name = name or type(module).__name__
        self._forward = Forward(module, graph)
        self._raw = _core.RawSystem(self.name, self._forward, seed)
        self._chosen = Chosen(device)
        if device is not None:
            self._raw.use_device(request_of(device))
        for _, _, function in self._forward.groups.values():
            self.add(function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the module. Returns torch tensors if an input is one, else NumPy arrays. A scalar has the shape [1]."""
        inputs = self._named(arguments, named)
        found = self._raw.call({key: _array(value, key) for key, value in inputs.items()})
        structure = self._forward.outputs
        values = [found] if structure == 0 else [found[str(index)] for index in range(len(found))]
        if any(isinstance(value, torch.Tensor) for value in inputs.values()):
            values = [to_tensor(value) for value in values]
        return _filled(structure, values)

    def _named(self, arguments: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        names = self._forward.names
        if len(arguments) > len(names) or set(names[len(arguments):]) != set(named):
            raise BadInput(
                f"{self.name} takes {', '.join(names)}; the call has {len(arguments)} positional arguments and "
                f"{', '.join(named) or 'none'} by name.")
        return {**dict(zip(names, arguments)), **named}

    def _examples(self, examples: Iterable[Any]) -> list[Any]:
        if not isinstance(examples, Iterable):
            raise BadInput(f"The examples are {examples!r}; pass a list of pairs (inputs, expected).")
        if isinstance(examples, (str, torch.Tensor, np.ndarray)):
            raise BadInput("The examples are a single array. Pass a list of pairs (inputs, expected): [(x, y)].")
        found = []
        for index, one in enumerate(examples):
            if not isinstance(one, (tuple, list)) or len(one) != 2:
                raise BadInput(f"Example {index} is of the type {type(one).__name__}; it must be a pair "
                               "(inputs, expected).")
            inputs, expected = one
            if isinstance(inputs, dict):
                named = self._named((), inputs)
            elif isinstance(inputs, (tuple, list)) and len(inputs) == len(
                    self._forward.names) and not all(isinstance(part, (int, float)) for part in inputs):
                named = self._named(inputs, {})
            else:
                named = self._named((inputs, ), {})
            found.append(({key: _array(value, f"'{key}' of example {index}")
                           for key, value in named.items()}, _array(expected, f"what example {index} expects")))
        return found

    def evaluate(self, examples: Iterable[Any], metric: Any) -> Outcome:
        """reward, per_example and predictions. metric: a yolk metric, a torch loss (negated), or a function."""
        return super().evaluate(self._examples(examples), loss_metric(metric))

    def evaluate_population(self, candidates: Sequence[dict[str, Any]], examples: Iterable[Any],
                            metric: Any) -> Outcome:
        """The rewards of candidates (parameters by their names in the module), all at once on the device."""
        shaped = [{key: _flat(value, key) for key, value in one.items()} for one in candidates]
        return super().evaluate_population(shaped, self._examples(examples), loss_metric(metric))

    def optimize(self,
                 examples: Iterable[Any],
                 metric: Any,
                 *,
                 held_out: Iterable[Any] | None = None,
                 **settings: Any) -> Outcome:
        """Trains the weights and writes them into the module. Takes the settings of System.optimize.

        examples  batches: pairs (inputs, expected)
        metric    a torch loss (a module, or a function of torch.nn.functional), which is negated; or any yolk metric

        Afterwards the module has the best weights found. If training raises, the module keeps its weights.
        """
        others = None if held_out is None else self._examples(held_out)
        outcome = super().optimize(self._examples(examples), loss_metric(metric), held_out=others, **settings)
        if not settings.get("dry_run"):
            self.write_back()
        return outcome

    def ablate(self, examples: Iterable[Any], metric: Any, how: str = "zero", seed: int = 1) -> list[dict[str, Any]]:
        """Measures how much each parameter contributes: "zero", "reset", "freeze" or "perturb"."""
        return super().ablate(self._examples(examples), loss_metric(metric), how, seed)

    @property
    def parameters(self) -> dict[str, Any]:
        """Copies of all parameters as arrays, by their names in the module."""
        shapes = {name: tuple(value.shape) for name, value, _ in self._forward.groups.values()}
        return {name: value.reshape(shapes[name]) for name, value in super().parameters.items()}

    def set(self, name: str, value: Any) -> None:
        """Sets a parameter, also in the module."""
        super().set(name, _flat(value, name))
        self.write_back()

    def load(self, file: Any) -> None:
        """Loads all parameters from a file, also into the module."""
        super().load(file)
        self.write_back()

    def write_back(self) -> None:
        """Copies the weights into the module. `optimize` does this itself."""
        found = self.parameters
        with torch.no_grad():
            for name, value, _ in self._forward.groups.values():
                value.copy_(to_tensor(found[name]).reshape(value.shape))

    def read(self) -> None:
        """Copies the weights from the module, after torch has changed them."""
        for name, value, _ in self._forward.groups.values():
            super().set(name, _flat(value, name))


def _flat(value: Any, name: str) -> np.ndarray:
    array = as_float32(value, f"'{name}'")
    return array.reshape(array.shape[0], -1) if array.ndim > 1 else array.reshape(-1)
