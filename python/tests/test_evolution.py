# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

import yolk


def target_score(parameters, target=0.7):
    return -float(sum(((value - target)**2).sum() for value in parameters.values()))


def make(**settings):
    nest = {"w": np.zeros((6, 5)), "b": np.zeros(4)}
    return yolk.Evolution(nest, **{"population": 64, "sigma": 0.1, "learning_rate": 0.05, "maximize": True, **settings})


def run_for(run, generations, score=target_score, **how):
    for _ in range(generations):
        members = run.ask()
        told = [score(member) for member in members]
        run.tell(told)
    return run


def test_it_climbs():
    run = make()
    before = target_score(run.parameters)
    run_for(run, 60)
    assert target_score(run.parameters) > 0.3 * before
    assert run.generation == 60 and run.history["mean"].shape == (60,)


def test_the_wrong_way_round_gets_worse():
    # The same scores, told as losses: the update must go the other way.
    run = make(maximize=None)
    before = target_score(run.parameters)
    for _ in range(40):
        members = run.ask()
        run.tell(losses=[target_score(member) for member in members])
    assert target_score(run.parameters) < before


def test_rewards_losses_and_scores_agree():
    hashes = set()
    for how in ({"rewards": 1.0}, {"losses": -1.0}):
        run = make(maximize=None)
        for _ in range(3):
            members = run.ask()
            ((name, sign),) = how.items()
            run.tell(**{name: [sign * target_score(member) for member in members]})
        hashes.add(run.state_hash)
    hashes.add(run_for(make(), 3).state_hash)
    down = make(maximize=False)
    hashes.add(run_for(down, 3, lambda member: -target_score(member)).state_hash)
    assert len(hashes) == 1


def test_members_one_by_one_and_all_at_once():
    members = make().ask()
    assert len(members) == 64
    all_at_once = members.arrays
    assert all_at_once["w"].shape == (64, 6, 5) and all_at_once["b"].shape == (64, 4)
    for index, member in enumerate(members):
        np.testing.assert_array_equal(member["w"], all_at_once["w"][index])
        np.testing.assert_array_equal(member["b"], all_at_once["b"][index])
    np.testing.assert_array_equal(members[-1]["w"], all_at_once["w"][63])
    with pytest.raises(IndexError):
        members[64]


def test_pairs_are_opposite_and_have_the_size_of_sigma():
    arrays = yolk.Evolution({"v": np.zeros(2000)}, population=64, sigma=0.25).ask().arrays
    np.testing.assert_array_equal(arrays["v"][0::2], -arrays["v"][1::2])
    assert arrays["v"].std() == pytest.approx(0.25, rel=0.02)


@pytest.mark.parametrize("rank", [1, 3])
def test_factors_are_the_members(rank):
    mean = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
    run = yolk.Evolution({"w": mean}, population=8, rank=rank, sigma=0.1)
    members = run.ask()
    a, b, scale = members.factors("w")
    assert a.shape == (8, 6, rank) and b.shape == (8, 5, rank)
    np.testing.assert_allclose(mean + scale * a @ b.transpose(0, 2, 1), members.arrays["w"], rtol=1e-5, atol=1e-6)
    with pytest.raises(yolk.BadInput, match="nothing"):
        members.factors("nothing")


def test_any_nest_comes_back_as_it_was():
    nest = {"a": [np.ones((2, 3)), (np.zeros(4), np.float32(2.0))], "c": [1.0, 2.0], "d": np.zeros((2, 3, 4))}
    run = yolk.Evolution(nest, population=4)
    back = run.parameters
    assert isinstance(back["a"][1], tuple) and back["d"].shape == (2, 3, 4) and back["a"][1][1].shape == ()
    np.testing.assert_array_equal(back["a"][0], nest["a"][0])
    np.testing.assert_array_equal(back["c"], [1.0, 2.0])
    assert run.ask().arrays["d"].shape == (4, 2, 3, 4)


def test_arrays_of_other_layouts_and_types():
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    frozen = base[::2, ::-1].astype(np.float64)
    frozen.flags.writeable = False
    run = yolk.Evolution({"strided": base.T[1:, ::2], "read_only": frozen}, population=4)
    np.testing.assert_array_equal(run.parameters["strided"], base.T[1:, ::2])
    np.testing.assert_array_equal(run.parameters["read_only"], frozen)


def test_a_log_replays_to_the_same_state(tmp_path):
    run = run_for(make(log=tmp_path / "log.yolk", optimizer="adam"), 5)
    again = make(optimizer="adam")
    assert again.replay(tmp_path / "log.yolk") == 5
    assert again.state_hash == run.state_hash
    with pytest.raises(yolk.BadInput, match="other settings"):
        make(optimizer="adam", sigma=0.2).replay(tmp_path / "log.yolk")
    run_for(again, 2)
    run_for(run, 2)
    assert again.state_hash == run.state_hash


def test_scores_that_are_not_finite_count_as_the_worst():
    run = make()
    scores = [target_score(member) for member in run.ask()]
    scores[3] = math.nan
    scores[8] = -math.inf
    summary = run.tell(scores)
    assert summary["not_finite"] == 2 and np.isfinite(run.parameters["w"]).all()
    run = make()
    run.ask()
    with pytest.raises(yolk.Failed):
        run.tell([math.nan] * 64)


def test_asking_and_telling_in_the_wrong_order():
    run = make()
    with pytest.raises(yolk.BadInput, match="before ask"):
        run.tell([0.0] * 64)
    old = run.ask()
    run.tell(np.arange(64.0))
    with pytest.raises(yolk.BadInput, match="before ask"):
        run.tell([0.0] * 64)
    with pytest.raises(yolk.BadInput, match="Ask again"):
        old[0]


@pytest.mark.parametrize("scores, words", [
    ([1.0] * 63, "64"),
    ([[1.0] * 64] * 2, "64"),
    (3.0, "64"),
    (["a"] * 64, "dtype"),
    ([1j] * 64, "complex"),
    ([None] * 64, "dtype"),
])
def test_bad_scores_are_refused(scores, words):
    run = make()
    run.ask()
    with pytest.raises(yolk.BadInput, match=words):
        run.tell(scores)
    run.tell(np.arange(64.0))  # nothing was lost


@pytest.mark.parametrize("nest, words", [
    ({}, "no parameters"),
    ({"a": np.zeros(0)}, "no values"),
    ({"a": np.array([math.inf])}, "not finite"),
    ({"a": "text"}, "dtype"),
    ({"a": None}, "dtype"),
    ({1: np.zeros(2)}, "key 1"),
    ({"a": {"b": np.zeros(2)}, "a.b": np.zeros(2)}, "a.b"),
])
def test_bad_parameters_are_refused(nest, words):
    with pytest.raises(yolk.BadInput, match=words):
        yolk.Evolution(nest, population=4)


def test_a_direction_must_be_given():
    run = make(maximize=None)
    run.ask()
    with pytest.raises(yolk.BadInput, match="higher or lower"):
        run.tell([0.0] * 64)
    with pytest.raises(yolk.BadInput, match="one of"):
        run.tell(rewards=[0.0] * 64, losses=[0.0] * 64)


def test_threads_take_turns():
    import threading

    run = make()
    errors = []

    def look():
        for _ in range(20):
            try:
                run.ask()[0]
                run.parameters
            except yolk.BadInput:
                pass  # the other thread has told in between
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    run_for(run, 5)
    for thread in threads:
        thread.join()
    assert not errors and run.generation == 5


def test_the_defaults_are_the_library_s():
    import inspect

    signature = inspect.signature(yolk.Evolution.__init__).parameters
    for name, value in yolk._core.evolution_defaults().items():
        default = signature[name].default
        default = list(default) if isinstance(default, tuple) else default
        assert default == pytest.approx(value) if isinstance(value, float) else default == value, name


def told(run, generations):
    for _ in range(generations):
        values = run.ask().arrays
        run.tell(rewards=-((values["w"] - 0.5)**2).sum(axis=(1, 2)))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_saved_run_goes_on_to_the_same_bits(tmp_path, optimizer):
    def made(log=""):
        return yolk.Evolution({"w": np.zeros((5, 3))}, population=16, optimizer=optimizer, log=log)

    whole = made(tmp_path / "whole.log")
    told(whole, 6)
    first = made(tmp_path / "run.log")
    told(first, 4)
    first.save(tmp_path / "state.yolk")
    told(first, 1)  # what the log has after the saved state goes
    second = made(tmp_path / "run.log")
    second.load(tmp_path / "state.yolk")
    assert second.generation == 4
    told(second, 2)
    assert second.state_hash == whole.state_hash
    replayed = made()
    assert replayed.replay(tmp_path / "run.log") == 6 and replayed.state_hash == whole.state_hash


def test_states_of_other_runs_are_refused(tmp_path):
    run = yolk.Evolution({"w": np.zeros((5, 3))}, population=16)
    told(run, 1)
    run.save(tmp_path / "state.yolk")
    with pytest.raises(yolk.BadInput, match=r"w \[5, 3\]"):
        yolk.Evolution({"w": np.zeros((3, 5))}, population=16).load(tmp_path / "state.yolk")
    with pytest.raises(yolk.BadInput, match="sigma"):
        yolk.Evolution({"w": np.zeros((5, 3))}, population=16, sigma=0.1).load(tmp_path / "state.yolk")
    with pytest.raises(yolk.FileError):
        run.load(tmp_path / "none.yolk")
    bytes_ = bytearray((tmp_path / "state.yolk").read_bytes())
    bytes_[-3] ^= 1
    (tmp_path / "damaged.yolk").write_bytes(bytes_)
    with pytest.raises(yolk.BadInput):
        run.load(tmp_path / "damaged.yolk")
    assert run.generation == 1
