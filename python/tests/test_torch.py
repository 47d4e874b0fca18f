# SPDX-License-Identifier: Apache-2.0
import copy
import math

import numpy as np
import pytest

import yolk

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


def rows(tensor):
    """A tensor's numbers, whichever NumPy torch was built for."""
    return np.array(tensor.detach().double().tolist())


def check_forward(module, *inputs, tolerance=2e-5):
    module.eval()
    with torch.no_grad():
        expected = module(*inputs)
    found = yolk.from_torch(module)(*inputs)
    pairs = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    for got, wanted in pairs:
        if wanted is None:
            assert got is None
            continue
        assert tuple(got.shape) == (tuple(wanted.shape) or (1, )) and got.dtype == torch.float32
        np.testing.assert_allclose(rows(got), rows(wanted).reshape(got.shape), rtol=tolerance, atol=tolerance)


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)


ACTIVATIONS = [
    nn.ReLU(),
    nn.ReLU6(),
    nn.SiLU(),
    nn.GELU(),
    nn.GELU("tanh"),
    nn.Tanh(),
    nn.Sigmoid(),
    nn.Mish(),
    nn.Hardswish(),
    nn.Hardsigmoid(),
    nn.LogSigmoid(),
    nn.Softsign(),
    nn.Tanhshrink(),
    nn.SELU(),
    nn.LeakyReLU(0.2),
    nn.ELU(0.7),
    nn.CELU(1.3),
    nn.Hardtanh(-0.5, 0.7),
    nn.GLU(),
    nn.Softplus(2.0, 5.0),
    nn.Threshold(0.1, -2.0),
    nn.Softmax(-1),
    nn.LogSoftmax(0),
    nn.PReLU(),
    nn.Identity(),
    nn.Dropout(0.5)
]


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=lambda one: type(one).__name__)
def test_activations(layer):
    for shape in [(6, ), (4, 6), (2, 3, 8)]:
        check_forward(layer, 4 * numbers(*shape))


@pytest.mark.parametrize(
    "layer, shapes",
    [(nn.Linear(6, 4), [(6, ), (5, 6), (2, 3, 6)]), (nn.Linear(6, 4, bias=False), [(5, 6)]),
     (nn.LayerNorm(6), [(6, ), (5, 6), (2, 3, 6)]), (nn.LayerNorm([3, 6]), [(2, 3, 6)]),
     (nn.LayerNorm(6, elementwise_affine=False), [(5, 6)]), (nn.GroupNorm(2, 6), [(3, 6), (3, 6, 5)]),
     (nn.BatchNorm1d(6), [(3, 6), (3, 6, 4)]), (nn.BatchNorm2d(3), [(2, 3, 4, 5)]),
     (nn.Conv1d(6, 4, 3, stride=2, padding=1), [(2, 6, 9), (6, 9)]),
     (nn.Conv2d(3, 4, (3, 2), padding="same", dilation=2), [(2, 3, 7, 6)]),
     (nn.Conv2d(4, 6, 3, groups=2, bias=False), [(2, 4, 5, 6), (4, 5, 6)]), (nn.Conv3d(2, 3, 2), [(1, 2, 3, 3, 4)]),
     (nn.MaxPool2d(2, 1, 1), [(2, 3, 4, 5)]), (nn.AvgPool2d(2), [(2, 3, 4, 6), (3, 4, 6)]),
     (nn.AdaptiveAvgPool2d(1), [(2, 3, 4, 5)]), (nn.Flatten(), [(2, 3, 4)]), (nn.Unflatten(1, (2, 3)), [(4, 6)]),
     (nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(), nn.Linear(8, 2), nn.Softmax(-1)), [(6, ), (5, 6)]), ],
    ids=str)
def test_layers(layer, shapes):
    for value in layer.parameters():  # scales and shifts begin as ones and zeros, which would hide them
        nn.init.normal_(value, 0.3)
    for name, value in layer.named_buffers():
        if "running" in name:
            value.uniform_(0.5, 1.5)
    for shape in shapes:
        check_forward(layer, numbers(*shape))


@pytest.mark.skipif(not hasattr(nn, "RMSNorm"), reason="torch before 2.4")
def test_rms_norm():
    check_forward(nn.RMSNorm(6), numbers(5, 6))


def test_embeddings_take_ids_of_any_shape():
    for shape in [(), (5, ), (2, 3)]:
        ids = torch.randint(0, 9, shape)
        with torch.no_grad():
            expected = nn.Embedding(9, 4)
            found = yolk.from_torch(expected)(ids)
        np.testing.assert_allclose(rows(found).reshape(*shape, 4), rows(expected(ids)), rtol=1e-6)


@pytest.mark.parametrize("kind, options", [(nn.GRUCell, {}), (nn.LSTMCell, {}), (nn.RNNCell, {"nonlinearity": "relu"}),
                                           (nn.GRUCell, {"bias": False})])
def test_cells(kind, options):
    cell = kind(3, 5, **options)
    for batch in [(), (4, )]:
        state = numbers(*batch, 5, seed=1)
        check_forward(cell, numbers(*batch, 3))

        class Stateful(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = cell

            def forward(self, x, h):
                return self.cell(x, (h, h * 0.5)) if kind is nn.LSTMCell else self.cell(x, h)

        check_forward(Stateful(), numbers(*batch, 3), state)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("options",
                         [{}, {"num_layers": 2, "batch_first": True}, {"bidirectional": True, "num_layers": 2}])
def test_recurrent_layers(kind, options):
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = kind(3, 4, **options)

        def forward(self, x):
            return self.layer(x)[0]

    check_forward(Last(), numbers(2, 5, 3))
    check_forward(Last(), numbers(5, 3))


class Attending(nn.Module):
    def __init__(self, weights=False, mask=None, cross=False, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **options)
        self.weights, self.cross = weights, cross
        self.register_buffer("mask", mask)
        nn.init.normal_(self.attention.in_proj_bias)

    def forward(self, x):
        other = x * 0.5 if self.cross else x
        return self.attention(x, other, other, need_weights=self.weights, attn_mask=self.mask)


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_first": True}, {"weights": True}, {"cross": True},
     {"mask": torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)}, {"mask": torch.triu(torch.full((4, 4), -2.0), 1)}, ],
    ids=lambda one: ",".join(one))
def test_multi_head_attention(options):
    module = Attending(**options)
    check_forward(module, numbers(4, 4, 8))
    check_forward(module, numbers(4, 8))


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder(norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=norm_first)
    check_forward(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), numbers(3, 4, 8))


class Block(nn.Module):
    """A language model as users write it."""
    def __init__(self, width=8, heads=2, words=11):
        super().__init__()
        self.heads = heads
        self.words = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.randn(6, width))
        self.project = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.words.weight
        self.register_buffer("mask", torch.tril(torch.ones(6, 6)))

    def forward(self, ids, scale: float = 1.0):
        batch, length = ids.shape
        x = self.words(ids) + self.place[:length]
        q, k, v = self.project(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (one.view(batch, length, self.heads, -1).transpose(1, 2) for one in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) * scale
        scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
        x = x + (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, -1)
        return self.out(F.gelu(x))


def test_a_users_own_module():
    check_forward(Block(), torch.randint(0, 11, (3, 5)))


@pytest.mark.parametrize("function", [
    lambda x: torch.cat([x, x.flip(0)], dim=1).unsqueeze(1).expand(-1, 2, -1),
    lambda x: x.var(dim=1, keepdim=True) + x.std() + x.norm(dim=0),
    lambda x: torch.where(x > 0, x, -x).clamp(min=0.1, max=0.9)**2, lambda x: x[:, None, 1:] * x[..., 0][:, None, None],
    lambda x: torch.stack([x.unbind(0)[1], x[2]], 1).reshape(-1, 2).amax(1),
    lambda x: torch.logsumexp(x, 1) + x.max(dim=1)[0] + x.argmax(dim=1) + x.min(1)[0] - x.sum(
        (0, 1)), lambda x: F.normalize(x, dim=1) + torch.erf(x) + torch.floor(x) % 3,
    lambda x: x.permute(1, 0).contiguous().view(-1), lambda x: F.scaled_dot_product_attention(x, x, x)
    if hasattr(F, "scaled_dot_product_attention") else x, lambda x: F.pad(x, (1, 2), value=3.0) - torch.arange(7),
    lambda x: torch.addmm(x, x, torch.eye(4)) * torch.ones_like(x).tril(), lambda x:
    (x.max(dim=1)[0], {"low": x.min(), "all": [x.mean(1)]})[0],
])
def test_functions(function):
    class Of(nn.Module):
        def forward(self, x):
            return function(x)

    check_forward(Of(), numbers(4, 4))


def test_results_keep_their_structure():
    class Several(nn.Module):
        def forward(self, x):
            return {"twice": x * 2, "rest": [x + 1, None, 3]}

    found = yolk.from_torch(Several())(torch.ones(2))
    assert found["rest"][1:] == [None, 3] and found["twice"].tolist() == [2.0, 2.0
                                                                          ] and found["rest"][0].tolist() == [2.0, 2.0]
    assert isinstance(yolk.from_torch(Several())(np.ones(2))["twice"], np.ndarray)


def xor():
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)), x, (x.sum(1, keepdim=True) == 1).float()


@pytest.mark.parametrize("settings", [{"generations": 200, "population": 128, "sigma": 0.1, "learning_rate": 0.3},
                                      {"generations": 150, "gradient": {"rule": "adam", "learning_rate": 0.05}}])
def test_training_changes_the_module(settings):
    module, x, y = xor()
    before = F.mse_loss(module(x), y).item()
    outcome = yolk.from_torch(module).optimize([(x, y)], nn.MSELoss(), **settings)
    after = F.mse_loss(module(x), y).item()
    assert after == pytest.approx(-outcome.best_reward, abs=1e-5) and after < 0.02 < before


def test_batches_of_a_loader():
    module, x, y = xor()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)
    outcome = yolk.from_torch(module).optimize(loader,
                                               F.mse_loss,
                                               generations=3,
                                               population=8,
                                               examples_per_generation=1)
    assert outcome.best_reward >= outcome.start_reward


def test_tied_and_frozen_weights_and_buffers():
    module = Block()
    module.project.weight.requires_grad_(False)
    state = copy.deepcopy(module.state_dict())
    net = yolk.from_torch(module)
    ids = torch.randint(0, 11, (4, 5))
    outcome = net.optimize([(ids, ids.roll(-1, 1).reshape(-1))],
                           lambda p, e: float(np.mean(p)),
                           generations=2,
                           population=8)
    assert outcome.best_reward > outcome.start_reward
    assert module.out.weight is module.words.weight and "out.weight" not in net.parameters
    after = module.state_dict()
    changed = {name for name in state if not torch.equal(state[name], after[name])}
    assert "words.weight" in changed and "place" in changed
    assert not changed & {"project.weight", "mask"}
    with torch.no_grad():
        np.testing.assert_allclose(rows(net(ids)), rows(module(ids)), rtol=2e-5, atol=2e-5)


def test_what_torch_changed_is_read_and_a_file_is_written_back(tmp_path):
    module, x, _ = xor()
    net = yolk.from_torch(module)
    net.save(tmp_path / "weights.safetensors")
    first = rows(module(x))
    with torch.no_grad():
        module[0].weight.mul_(2.0)
    assert not np.allclose(rows(net(x)), rows(module(x)))
    net.read()
    np.testing.assert_allclose(rows(net(x)), rows(module(x)), rtol=1e-5, atol=1e-6)
    net.load(tmp_path / "weights.safetensors")
    np.testing.assert_allclose(rows(module(x)), first, rtol=1e-6)


@pytest.mark.parametrize("loss, prediction, target",
                         [(nn.MSELoss(), (3, 4), None), (nn.L1Loss(reduction="sum"), (3, 4), None),
                          (nn.HuberLoss(delta=0.5), (3, 4), None), (nn.SmoothL1Loss(), (3, 4), None),
                          (nn.BCEWithLogitsLoss(), (3, 4), torch.rand(3, 4)),
                          (nn.CrossEntropyLoss(), (3, 4), torch.tensor([0, 3, 2])),
                          (nn.CrossEntropyLoss(), (4, ), torch.tensor(2)),
                          (nn.CrossEntropyLoss(label_smoothing=0.1), (3, 4), torch.tensor([0, 3, 2])),
                          (nn.CrossEntropyLoss(ignore_index=3), (3, 4), torch.tensor([0, 3, 2])),
                          (nn.CrossEntropyLoss(), (2, 4, 5), torch.randint(0, 4, (2, 5))),
                          (nn.CrossEntropyLoss(), (3, 4), torch.softmax(torch.randn(3, 4), 1)),
                          (nn.NLLLoss(), (3, 4), torch.tensor([0, 3, 2])),
                          (F.cross_entropy, (3, 4), torch.tensor([0, 3, 2])), ],
                         ids=str)
def test_losses(loss, prediction, target):
    x = numbers(*prediction)
    target = numbers(*prediction, seed=3) if target is None else target
    found = yolk.from_torch(nn.Identity()).evaluate([(x, target)], loss)
    assert found.reward == pytest.approx(-loss(x, target).item(), rel=2e-5)


def test_a_language_model_learns_by_adam():
    module = Block()
    ids = torch.arange(24).reshape(4, 6) % 11

    class NextWord(nn.Module):
        def forward(self, logits, ids):
            return F.cross_entropy(logits[:, :-1].reshape(-1, 11), ids[:, 1:].reshape(-1))

    before = NextWord()(module(ids), ids).item()
    yolk.from_torch(module).optimize([(ids, ids)],
                                     NextWord(),
                                     generations=30,
                                     gradient={"rule": "adam", "learning_rate": 0.03})
    assert NextWord()(module(ids), ids).item() < before / 2


def test_what_changes_in_place_is_refused_where_it_is_seen():
    class Adding(nn.Module):
        def __init__(self, again):
            super().__init__()
            self.again = again

        def forward(self, x):
            y = x * 2
            z = y.add_(1)
            return z + y if self.again else z

    check_forward(Adding(False), numbers(3))
    assert "in place" in yolk.check(Adding(True)).problems[0].why


def test_a_device_is_chosen_by_name():
    name = yolk.devices()[0].name
    assert yolk.from_torch(nn.Identity(), device=name)(np.ones(2)).tolist() == [1.0, 1.0]
    assert yolk.Evolution(np.zeros(4), maximize=True, device=name).device == name


def test_other_dtypes_are_computed_in_fp32_and_written_back_as_they_are():
    module = nn.Linear(2, 1).double()
    yolk.from_torch(module).optimize([(torch.ones(3, 2), torch.zeros(3, 1))], nn.MSELoss(), generations=2, population=8)
    assert module.weight.dtype == torch.float64
    with pytest.raises(yolk.BadInput, match="complex"):
        yolk.from_torch(module)(torch.ones(3, 2, dtype=torch.complex64))


def test_yolk_does_not_import_torch(python):
    assert python("import sys, yolk; assert 'torch' not in sys.modules").returncode == 0
