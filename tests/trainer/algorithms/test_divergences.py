"""Divergences of distributions for distillation, against values of verl 0.9.1 and TRL 1.16."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from rewardkit.trainer.algorithms.divergences import DIVERGENCES  # noqa: E402
from tests.closeness import near  # noqa: E402

STUDENT = [[1.0, 0.0, -1.0, 0.5], [0.2, 0.1, 0.0, -0.3]]
TEACHER = [[2.0, 0.0, -2.0, 0.0], [0.0, 0.0, 1.0, 0.0]]


def distances(name: str, *, top: int = 4, beta: float = 0.5) -> tuple[Tensor, Tensor]:
    """Return the divergence of each token, and the gradient of their sum."""
    student = torch.tensor(STUDENT, dtype=torch.float64, requires_grad=True)
    log_p = student.log_softmax(-1)
    log_q = torch.tensor(TEACHER, dtype=torch.float64).log_softmax(-1)
    ids = log_q.topk(top).indices
    found = DIVERGENCES[name].compute(log_p.gather(-1, ids), log_q.gather(-1, ids), beta)
    (gradient,) = torch.autograd.grad(found.sum(), student)
    return found.detach(), gradient


@pytest.mark.parametrize(
    ("name", "top", "values"),
    [
        ("forward_kl", 4, [0.2018086, 0.1347005]),
        ("reverse_kl", 4, [0.2411906, 0.1273976]),
        ("forward_kl_topk", 1, [0.3822471, 0.3134254]),
        ("forward_kl_topk", 2, [0.328985, 0.3063137]),
        ("forward_kl_topk", 4, [0.2018086, 0.1347005]),
        ("forward_kl_topk_tail", 1, [0.1910533, 0.1230456]),
        ("forward_kl_topk_tail", 2, [0.2000344, 0.1342635]),
    ],
)
def test_values_are_those_of_verl_and_trl(name: str, top: int, values: list[float]) -> None:
    assert distances(name, top=top)[0].tolist() == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(("beta", "mean"), [(0.1, 0.0151486), (0.5, 0.04285), (0.9, 0.0162406)])
def test_the_jensen_shannon_divergence_is_trl_s(beta: float, mean: float) -> None:
    assert float(distances("jsd", beta=beta)[0].mean()) == pytest.approx(mean, abs=1e-6)


def test_gradients_are_those_of_verl_and_trl() -> None:
    reverse = [[-0.1739314, 0.0232, 0.0406086, 0.1101228], [0.0620505, 0.0425599, -0.096712, -0.0078984]]
    found = distances("reverse_kl")[1] / 2  # TRL's mean over two tokens
    assert found.flatten().tolist() == pytest.approx([x for row in reverse for x in row], abs=1e-6)
    top = [[-0.3583137, 0.0485923, 0.0565011, 0.2532203], [0.1952628, 0.1766811, -0.3154992, -0.0564448]]
    tied = distances("forward_kl_topk", top=2)[1]  # three of the second token's probabilities are equal
    assert tied[0].tolist() == pytest.approx(top[0], abs=1e-6)


def test_tokens_that_are_ruled_out_neither_count_nor_make_the_gradient_nan() -> None:
    """A token may have no probability for the teacher, the policy or both."""
    student = torch.tensor([[1.0, 0.0, -torch.inf, -1.0]], dtype=torch.float64, requires_grad=True)
    teacher = torch.tensor([[1.0, 0.0, -torch.inf, -torch.inf]], dtype=torch.float64)
    for name in ("forward_kl", "jsd"):
        found = DIVERGENCES[name].compute(student.log_softmax(-1), teacher.log_softmax(-1), 0.5)
        (gradient,) = torch.autograd.grad(found.sum(), student)
        assert torch.isfinite(found).all() and torch.isfinite(gradient[:, [0, 1, 3]]).all(), name
    same = DIVERGENCES["jsd"].compute(teacher.log_softmax(-1), teacher.log_softmax(-1), 0.5)
    assert same.tolist() == near([0.0])
