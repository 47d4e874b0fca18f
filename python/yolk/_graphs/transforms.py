# SPDX-License-Identifier: Apache-2.0
"""Transforms: each takes a graph and gives a graph, so they nest in any order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from .. import _core
from .graph import Graph, Place
from ..errors import BadInput

_MOST, _MOST_REPEATED = 2**31 - 1, 2**16
_LISTED = ("integer", "text", "list", "record")  # kinds that a batch has one of for each element


def pushforward(graph: Graph, *, rules: Mapping[str, Callable[..., Any]] | None = None) -> Graph:
    """Directional derivatives: after the inputs comes "d NAME" for each tensor, number or text, after the outputs how
    they move. Texts move by texts; "" is no movement.

    rules  by the name of a host function or of a yolk.custom function, before their own: see set_pushforward
    Raises Unsupported, which names the equation, for what has no rule.
    """
    raw = _raw(graph).pushforward({**_own(graph, "push"), **_callables(rules)})
    moving_in = _moving(graph._inputs, graph._raw.inputs())
    inputs = _extended(graph._inputs, [(f"d {name}", place) for name, place in moving_in])
    outputs = _extended(graph._outputs, [(f"d {name}" if name else "", place)
                                         for name, place in _moving(graph._outputs, graph._raw.outputs())])
    return graph._like(raw, inputs=inputs, outputs=outputs, kind=_wider(graph, outputs))


def pullback(graph: Graph, *, inputs: Sequence[str] | None = None, parameters: Sequence[str] | None = None,
             rules: Mapping[str, Callable[..., Any]] | None = None) -> Graph:
    """Vector-Jacobian products: after the inputs comes "d output I" for each tensor, number or text among the outputs;
    after the outputs come the cotangents of the chosen inputs, then of the chosen parameters, each of its own type. The
    cotangents of texts are feedback: what is read several times gets all of it, one behind the other.

    inputs, parameters  names; all that can move where they are not given
    rules  by the name of a host function or of a yolk.custom function, before their own: see set_pullback
    Raises BadInput for other names, Unsupported, which names the equation, for what has no rule.
    """
    ports = _raw(graph).inputs()
    wanted = None
    if inputs is not None:
        places = dict(graph._inputs)
        names = _names(inputs, "inputs")
        wanted = [ports[leaf][0] for name in names if name in places for leaf in _leaves(places[name])]
        wanted += [name for name in names if name not in places]  # refused there, with those that there are
    chosen = None if parameters is None else _names(parameters, "parameters")
    raw = graph._raw.pullback(wanted, chosen, {**_own(graph, "pull"), **_callables(rules)})
    seeds = [(f"d output {index}", place) for index, (_, place) in enumerate(graph._outputs)
             if graph._raw.outputs()[_leaves(place)[0]][3]]
    asked = [(f"d {name}", place) for name, place in _moving(graph._inputs, ports)
             if wanted is None or ports[_leaves(place)[0]][0] in wanted]
    own = [(f"d {name}", index) for index, (name, _, _, moves) in enumerate(graph._raw.parameters())
           if moves and (chosen is None or name in chosen)]
    outputs = _extended(graph._outputs, asked, own)
    if graph._kind != "dict":
        outputs = [("", place) for _, place in outputs]
    return graph._like(raw, inputs=_extended(graph._inputs, seeds), outputs=outputs, kind=_wider(graph, outputs))


def batch(graph: Graph, size: int, in_axes: Any = 0) -> Graph:
    """The graph for `size` values of its inputs at once: tensor equations run once, on stacks.

    in_axes  the axis that counts the elements; None (or False): all elements share the input. One for all inputs, one
             for each, or a dict by name, in which the others are 0 (True).
    Outputs get a leading axis. Numbers and truth values become an array [size]; texts, integers, lists and dicts a list.
    Raises BadInput for an empty batch and axes that do not fit.
    """
    ports = _raw(graph).inputs()
    size = _size(graph, size)
    axes = _axes(graph, in_axes)
    flat_axes: list[int | None] = [None] * len(ports)
    for (name, place), axis in zip(graph._inputs, axes):
        for leaf in _leaves(place):
            flat_axes[leaf] = _axis(axis, name, ports[leaf])
    raw = graph._raw.batch(size, flat_axes)
    inputs = _listed(graph._inputs, [size if axis is not None and port[2] in _LISTED else 0
                                     for axis, port in zip(flat_axes, ports)])
    outputs = _listed(graph._outputs, [size if port[2] in _LISTED else 0 for port in graph._raw.outputs()])
    return graph._like(raw, inputs=inputs, outputs=outputs)


def dce(graph: Graph, outputs_used: Sequence[Any]) -> Graph:
    """The graph of those outputs alone, given by positions or names: what none of them needs is gone. Inputs stay; host
    functions, factors and checkpoints stay, model calls do not."""
    _raw(graph)
    chosen = _chosen(graph, outputs_used)
    used = [False] * len(graph._raw.outputs())
    for index in chosen:
        for leaf in _leaves(graph._outputs[index][1]):
            used[leaf] = True
    raw = graph._raw.dce(used)
    before = [leaf for leaf, is_used in enumerate(used) if is_used]
    outputs = [(name, _moved(place, before.index)) for index, (name, place) in enumerate(graph._outputs) if index in chosen]
    return graph._like(raw, outputs=outputs)


def inline_calls(graph: Graph) -> Graph:
    """Calls (of yolk.custom functions, of as_call) replaced by their bodies' equations, all the way down."""
    return graph._like(_raw(graph).inline_calls())


def as_call(graph: Graph) -> Graph:
    """The graph as one call of itself."""
    return graph._like(_raw(graph).as_call())


def sched(graph: Graph, eligible: Callable[[_core.Equation], bool] | None = None) -> Graph:
    """The graph in stages: of each the eligible equations, if they are several, become one, `parallel`, whose body
    `await graph.call_async(...)` overlaps. Eligible where not given: host functions. The values are the same."""
    if eligible is not None and not callable(eligible):
        raise BadInput(f"sched: eligible is {eligible!r}; a function of a yolk.Equation is needed.")
    return graph._like(_raw(graph).sched(eligible))


def weighted(graph: Graph) -> Graph:
    """With one more output, "weight": the product of all yolk.factor on the path that was run; 1 without any."""
    raw = _raw(graph).weighted()
    outputs = _extended(graph._outputs, [("weight" if graph._kind == "dict" else "", 0)])
    return graph._like(raw, outputs=outputs, kind=_wider(graph, outputs))


class Collected(NamedTuple):
    graph: Graph  #: with the values behind the outputs
    keys: list[str]  #: of the further outputs


def collect(graph: Graph, collection: str = "") -> Collected:
    """(graph, keys): yolk.checkpoint values of one collection behind the outputs, in the order of the equations. Raises
    BadInput for a checkpoint of it inside a loop or a branch."""
    raw, keys = _raw(graph).collect(collection)
    outputs = _extended(graph._outputs, *([(key if graph._kind == "dict" else "", 0)] for key in keys))
    return Collected(graph._like(raw, outputs=outputs, kind=_wider(graph, outputs)), keys)


def inject(graph: Graph, values: Any, collection: str = "") -> Graph:
    """The graph with these values in place of checkpoints: a dict by key, or pairs, of which those of one key go to its
    checkpoints in order. Raises BadInput for a key without a checkpoint left, a value of another type."""
    return graph._like(_raw(graph).inject(collection, _pairs(values, "inject")))


def with_static_inputs(graph: Graph, values: Mapping[str, Any]) -> Graph:
    """The graph with these values for inputs, which are inputs no more."""
    _raw(graph)
    places = dict(graph._inputs)
    given = dict(_pairs(values, "with_static_inputs"))
    flat: list[tuple[str, Any]] = []
    for name, value in given.items():
        if name in places and not isinstance(places[name], int):
            raise BadInput(f"with_static_inputs: input '{name}' is a batch; give the value before batching.")
        flat.append((name, value))
    raw = graph._raw.with_static_inputs(flat)
    gone = {places[name] for name in given}
    before = [leaf for leaf in range(len(graph._raw.inputs())) if leaf not in gone]
    inputs = [(name, _moved(place, before.index)) for name, place in graph._inputs if name not in given]
    return graph._like(raw, inputs=inputs)


def fold(graph: Graph) -> Graph:
    """What follows from literals, computed here and now; what has effects stays."""
    return graph._like(_raw(graph).fold())


def folded_outputs(graph: Graph) -> Any:
    """The outputs of a graph that folds to them. Raises BadInput, with the equation on the way, for one that depends on an
    input, a parameter or an effect."""
    return graph._nested(_raw(graph).folded_outputs())


def memoize(graph: Graph, memo: _core.Memo | None = None) -> Graph:
    """The graph that remembers results of equations by what went in, to the bit: host functions are not called again.
    Several graphs may share a yolk.Memo; graph.memo.hits counts what was known. Checkpoints and factors always run."""
    if memo is not None and not isinstance(memo, _core.Memo):
        raise BadInput(f"memoize: memo is {memo!r}; a yolk.Memo is needed.")
    return graph._like(_raw(graph), memo=memo or _core.Memo())


def _raw(graph: Any) -> _core.RawGraph:
    if isinstance(graph, Graph):
        return graph._raw
    raise BadInput(f"The graph is {graph!r}; a yolk.Graph is needed: yolk.trace(function, example) makes one.")


def _own(graph: Graph, which: str) -> dict[str, Any]:
    return {name: getattr(rules, which) for name, rules in graph._rules.items() if getattr(rules, which) is not None}


def _callables(rules: Mapping[str, Callable[..., Any]] | None) -> dict[str, Any]:
    if rules is None:
        return {}
    if not isinstance(rules, Mapping):
        raise BadInput(f"rules is {rules!r}; a dict of functions by the names of host and custom functions is needed.")
    for name, rule in rules.items():
        if not isinstance(name, str) or not callable(rule):
            raise BadInput(f"rules: {name!r}: {rule!r}; functions by the names of host and custom functions are needed.")
    return dict(rules)


def _names(given: Any, what: str) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise BadInput(f"{what} is {given!r}; names are needed.")
    return names


def _pairs(values: Any, what: str) -> list[tuple[str, Any]]:
    pairs = list(values.items()) if isinstance(values, Mapping) else list(values)
    if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise BadInput(f"{what}: {values!r}; a dict of values by name, or pairs of a name and a value, are needed.")
    return pairs


def _leaves(place: Place) -> list[int]:
    return [place] if isinstance(place, int) else [leaf for inner in place for leaf in _leaves(inner)]


def _moved(place: Place, to: Callable[[int], int]) -> Place:
    return to(place) if isinstance(place, int) else [_moved(inner, to) for inner in place]


def _moving(ports: list[tuple[str, Place]], described: list[tuple[str, str, str, bool]]) -> list[tuple[str, Place]]:
    return [(name, place) for name, place in ports if described[_leaves(place)[0]][3]]


def _position(order: list[int], first: int, leaf: int) -> int:
    return first + order.index(leaf)


def _element(first: list[int], element: int, leaf: int) -> int:
    return first[leaf] + element


def _extended(ports: list[tuple[str, Place]], *more: list[tuple[str, Place]]) -> list[tuple[str, Place]]:
    """Ports behind those there are: of each list the places are numbered anew, in their order."""
    all_ports = list(ports)
    taken = {name for name, _ in ports}
    count = sum(len(_leaves(place)) for _, place in ports)
    for group in more:
        order = sorted(leaf for _, place in group for leaf in _leaves(place))
        for name, place in group:
            while name and name in taken:
                name += "'"
            taken.add(name)
            all_ports.append((name, _moved(place, partial(_position, order, count))))
        count += len(order)
    return all_ports


def _wider(graph: Graph, outputs: list[Any]) -> str:
    return "tuple" if graph._kind == "one" and len(outputs) > 1 else graph._kind


def _listed(ports: list[tuple[str, Place]], sizes: list[int]) -> list[tuple[str, Place]]:
    """Places where a flat one became `sizes` of them; 0: it stays one. The new dimension is the outermost."""
    first: list[int] = []
    count = 0
    for size in sizes:
        first.append(count)
        count += size or 1

    def place_of(place: Place) -> Place:
        size = sizes[_leaves(place)[0]]
        if not size:
            return _moved(place, first.__getitem__)
        return [_moved(place, partial(_element, first, element)) for element in range(size)]

    return [(name, place_of(place)) for name, place in ports]


def _size(graph: Graph, given: Any) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__") or operator.index(given) < 1:
        raise BadInput(f"batch: size is {given!r}; a whole number from 1 on is needed.")
    size = operator.index(given)
    ports = graph._raw.inputs() + graph._raw.outputs()
    repeated = any(port[2] in _LISTED for port in ports) or any(one.is_host for one in graph.equations)
    if size > (_MOST_REPEATED if repeated else _MOST):
        raise BadInput(f"batch: size is {size}; at most {_MOST_REPEATED if repeated else _MOST} are possible"
                       f"{', since texts and host functions are repeated for each element' if repeated else ''}.")
    return size


def _axes(graph: Graph, given: Any) -> list[Any]:
    names = [name for name, _ in graph._inputs]
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise BadInput(f"batch: in_axes names {unknown[0]!r}; the inputs are {', '.join(names)}.")
        return [given.get(name, 0) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise BadInput(f"batch: {len(given)} in_axes for {len(names)} inputs ({', '.join(names)}).")
        return list(given)
    return [given] * len(names)


def _axis(axis: Any, name: str, port: tuple[str, str, str, bool]) -> int | None:
    if axis is None or axis is False:
        return None
    if axis is True:
        return 0
    if not isinstance(axis, int):
        raise BadInput(f"batch: the axis of '{name}' is {axis!r}; a whole number, None, True or False is needed.")
    if axis < 0:
        rank = port[1].count(",") + 1 if port[2] == "tensor" else 0
        if axis + rank + 1 < 0:
            raise BadInput(f"batch: the axis of '{name}' is {axis}; from {-rank - 1} to {rank} are possible.")
        return axis + rank + 1
    return axis


def _chosen(graph: Graph, given: Any) -> list[int]:
    names = [name for name, _ in graph._outputs]
    wanted = [given] if isinstance(given, (int, str)) else list(given)
    if wanted and all(isinstance(one, bool) for one in wanted):
        if len(wanted) != len(names):
            raise BadInput(f"dce: {len(wanted)} flags were given; the graph has {len(names)} outputs.")
        return [index for index, used in enumerate(wanted) if used]
    chosen: list[int] = []
    for one in wanted:
        index = names.index(one) if isinstance(one, str) and one in names else one
        if not isinstance(index, int) or isinstance(index, bool) or not -len(names) <= index < len(names):
            raise BadInput(f"dce: there is no output {one!r}; the graph has {len(names)}"
                           f"{': ' + ', '.join(names) if any(names) else ''}.")
        chosen.append(index % len(names))
    return sorted(set(chosen))
