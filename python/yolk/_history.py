# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 320, 58, 14, 16, 40
_LINES = (("mean_return", "#6b7a8f", "population, mean"), ("policy_return", "#d9480f", "policy"))


class History(list):
    """The generations of a run, one dict each; `history["mean_return"]` is a column of all of them, as an array."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.array([entry[key] for entry in list.__iter__(self)])
        return super().__getitem__(key)

    def svg(self) -> str:
        """Returns against generations, as a picture in SVG."""
        generations = self["generation"].astype(float)
        curves = [(self[name].astype(float), colour, label) for name, colour, label in _LINES]
        finite = np.concatenate([values[np.isfinite(values)] for values, _, _ in curves]) if len(self) else np.zeros(0)
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        first, last = (generations[0], max(generations[-1], generations[0] + 1.0)) if len(self) else (0.0, 1.0)

        def x(value: float) -> float:
            return _LEFT + (value - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

        def y(value: float) -> float:
            return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            f'font-family="sans-serif" font-size="12">',
            f'<path d="M{_LEFT},{_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none" stroke="#888"/>',
        ]
        for value in np.linspace(low, high, 5):
            parts.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#555">{value:.4g}</text>')
        for value in (first, last):
            parts.append(f'<text x="{x(value):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle" fill="#555">'
                         f'{value:.0f}</text>')
        parts.append(f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle" fill="#555">'
                     'generation</text>')
        for index, (values, colour, label) in enumerate(curves):
            points = " ".join(f"{x(g):.1f},{y(v):.1f}" for g, v in zip(generations, values) if np.isfinite(v))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts.append(f'<text x="{_WIDTH - _RIGHT - 4}" y="{_HEIGHT - _BOTTOM - 10 - 16 * index}" text-anchor="end" '
                         f'fill="{colour}">{label}</text>')
        return "".join(parts) + "</svg>"
