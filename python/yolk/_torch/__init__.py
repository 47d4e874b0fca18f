# SPDX-License-Identifier: Apache-2.0
"""PyTorch's modules as systems. Torch is imported when one of these functions is called, not with yolk."""

from __future__ import annotations

from typing import Any

from ..errors import Unsupported


def _torch() -> None:
    try:
        import torch  # noqa: F401
        import torch.fx  # noqa: F401
    except ImportError as reason:
        raise Unsupported("PyTorch is not installed: pip install torch.") from reason


def from_torch(module: Any, *, inputs: Any = None, name: str | None = None, seed: int = 1, device: Any = None) -> Any:
    """A torch.nn.Module as a yolk.System, which trains the module's own weights on the Vulkan device.

        net = yolk.from_torch(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
        net.optimize([(x, y), ...], torch.nn.MSELoss(), generations=100, gradient="adam")
        net.module.state_dict()     # has the weights that were found

    module  on the processor. A parameter with requires_grad=False is not trained; one that several layers share is one;
            buffers are constants. Dropout does nothing, and BatchNorm takes its running statistics, as in eval().
    inputs  names of forward's arguments that are given in each call; None: those without a default

    Raises Unsupported with every layer and operation that cannot go and the reason, as yolk.check(module) lists them, and
    BadInput for what is no module. Weights are computed with in fp32, and written back in the dtype that they have.
    """
    _torch()
    from .network import Network
    return Network(module, inputs=inputs, name=name, seed=seed, device=device)


def check(module: Any, *, inputs: Any = None) -> Any:
    """Which layers and operations of a torch.nn.Module yolk.from_torch cannot take, and why; nothing is compiled.

        report = yolk.check(module)
        report.ok, report.problems      # [(where, what, why), ...]
        print(report)

    Raises BadInput for what is no module.
    """
    _torch()
    from .checking import report_of
    return report_of(module, inputs)[0]
