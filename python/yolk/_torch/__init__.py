# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules as systems. Importing yolk does not import torch; calling these functions does."""

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
    """Makes a yolk.System of a torch.nn.Module. It trains the module's own weights on the Vulkan device.

        net = yolk.from_torch(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
        net.optimize([(x, y), ...], torch.nn.MSELoss(), generations=100, gradient="adam")
        net.module.state_dict()     # has the trained weights

    module  must be on the CPU. Parameters with requires_grad=False are not trained, shared parameters stay shared, and
            buffers are constants. As in eval(), Dropout does nothing and BatchNorm uses its running statistics.
    inputs  the names of the arguments of forward that each call passes; None: all arguments without a default
    device  index, UUID or part of the name; None: the best one

    All arithmetic is fp32. Weights of other dtypes are converted, and converted back when they are written.

    Raises Unsupported if yolk.check(module) finds a problem, with its report, and BadInput if `module` is no module.
    """
    _torch()
    from .network import Network
    return Network(module, inputs=inputs, name=name, seed=seed, device=device)


def check(module: Any, *, inputs: Any = None) -> Any:
    """Lists the layers and operations of a torch.nn.Module that yolk.from_torch does not support. Compiles nothing.

        report = yolk.check(module)
        report.ok, report.problems      # [(where, what, why), ...]
        print(report)

    Raises BadInput if `module` is no module.
    """
    _torch()
    from .checking import report_of
    return report_of(module, inputs)[0]
