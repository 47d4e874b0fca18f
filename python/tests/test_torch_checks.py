# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules that are refused, and the words for it."""
import time

import pytest

import yolk

torch = pytest.importorskip("torch")
nn = torch.nn


class Choosing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            return self.first(x)
        return x


def test_check_names_what_cannot_go():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.fold = nn.Fold((4, 5), (2, 2))
            self.table = nn.Embedding(3, 4, max_norm=1.0)
            self.drop = nn.Dropout()

        def forward(self, x):
            return torch.fft.fft(self.drop(self.fold(self.first(x)))).svd() + self.table(x)

    start = time.monotonic()
    report = yolk.check(Model())
    assert time.monotonic() - start < 1.0
    assert not report.ok and not yolk.check(nn.Linear(2, 2)).problems
    found = {where.partition(" ")[0]: (what, why) for where, what, why in report.problems}
    assert found["fold"][0] == "Fold" and "max_norm" in found["table"][1]
    text = str(report)
    assert "fft" in text and "svd" in text and "test_torch_checks.py:" in text and "Dropout" in text
    with pytest.raises(yolk.Unsupported, match="Fold"):
        yolk.from_torch(Model())


def test_choosing_by_a_value_is_named_with_its_line():
    report = yolk.check(nn.Sequential(nn.Linear(2, 2), Choosing()))
    (where, what, why), = report.problems
    assert where.startswith("1 (test_torch_checks.py:") and what == "Choosing" and "torch.where" in why


def test_modules_elsewhere_and_other_things_are_refused():
    with pytest.raises(yolk.Unsupported, match="meta"):
        yolk.from_torch(nn.Linear(2, 2, device="meta"))
    with pytest.raises(yolk.BadInput, match="no torch.nn.Module"):
        yolk.from_torch(torch.zeros(2))
    with pytest.raises(yolk.BadInput, match="no torch.nn.Module"):
        yolk.check(None)
    with pytest.raises(yolk.Unsupported, match="parametrization"):
        yolk.from_torch(nn.utils.parametrizations.orthogonal(nn.Linear(2, 2)))
    net = yolk.from_torch(nn.Linear(2, 2))
    with pytest.raises(yolk.BadInput, match="takes input"):
        net()
    with pytest.raises(yolk.BadInput, match="pairs"):
        net.evaluate(torch.ones(3, 2), nn.MSELoss())
    with pytest.raises(yolk.BadInput, match="Example 0"):
        net.evaluate([torch.ones(3, 2, 2)], nn.MSELoss())
    with pytest.raises(yolk.Error):
        net(torch.ones(3, 5))
    with pytest.raises(yolk.Unsupported, match="none"):
        net.evaluate([(torch.ones(2), torch.ones(2))], nn.MSELoss(reduction="none"))


def test_each_refusal_says_what_to_do():

    class Module(nn.Module):

        def __init__(self, forward):
            super().__init__()
            self.run = forward

        def forward(self, x):
            return self.run(x)

    class Several(nn.Module):

        def forward(self, *xs):
            return xs[0]

    for module, words in ((Module(lambda x: x[x > 0]), "x[mask]"), (Module(lambda x: x.view(-1, 4)), "cannot become"),
                          (Module(lambda x: x * x.sum().item()), "Tensor.item"), (Several(), "*args"),
                          (nn.ModuleList(), "no forward"), (torch.jit.script(nn.Linear(2, 2)), "TorchScript"),
                          (nn.DataParallel(nn.Linear(2, 2)), "module.module"), (nn.LazyLinear(2), "no shape yet")):
        with pytest.raises(yolk.Error) as caught:
            yolk.from_torch(module)(torch.ones(3, 2))
        assert words in str(caught.value)
    net = yolk.from_torch(nn.Linear(2, 2))
    x = torch.ones(3, 2)
    for given, words in ((x.to_sparse(), "no array"), (torch.ones(3, 2, device="meta"), "meta"), (None, "None")):
        with pytest.raises(yolk.BadInput, match=words):
            net(given)
    for metric, words in ((None, "None"), ("mse", "mse"), (nn.Tanh(), "target")):
        with pytest.raises(yolk.BadInput, match=words):
            net.evaluate([(x, x)], metric)
    for settings, words in (({"inputs": 3}, "inputs is 3"), ({"inputs": ["y"]}, "forward takes input"),
                            ({"device": "no such"}, "no such"), ({"device": 1.5}, "device is 1.5")):
        with pytest.raises(yolk.BadInput, match=words):
            yolk.from_torch(nn.Linear(2, 2), **settings)
