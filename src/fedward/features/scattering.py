"""Wavelet scattering of order 2: averages of how strongly a picture varies, and of how that varies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary

_BLOCK = 64
_WIDTH, _SLANT, _FREQUENCY = 0.8, 0.5, 3.0 * math.pi / 4.0
# A picture has at least 2^J pixels a side; and neighbouring pixels tell no finer directions apart.
_MOST_SCALES, _MOST_ANGLES = 16, 360


@dataclass(frozen=True, kw_only=True)
class Scattering:
    """Wavelet scattering of order 2, fitted to no data.

        S0 = x * φ_J    S1 = |x * ψ_{j,θ}| * φ_J    S2 = ||x * ψ_{j,θ}| * ψ_{j',θ'}| * φ_J,    j < j'

    with Morlet wavelets ψ of J scales and L angles, and a Gaussian φ_J, of which every 2^J-th value in either
    direction is kept. Convolutions are periodic on the picture mirrored at its far edges by 2^J.

    Args:
      scales: J.
      angles: L, how many directions half a turn is divided into.

    >>> Scattering(scales=2, angles=4).compute(torch.rand(2, 1, 16, 16), None).shape
    torch.Size([2, 400])

    Bruna and Mallat 2013.
    """

    scales: int = 2
    angles: int = 8

    source: ClassVar[str] = ""
    source_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("scales", self.scales, at_most=_MOST_SCALES)
        whole("angles", self.angles, at_most=_MOST_ANGLES)

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        step = 2**self.scales
        if isinstance(x, Ragged) or x.ndim != 4 or min(x.shape[2:]) < step:
            shape = "sequences" if isinstance(x, Ragged) else f"shape {tuple(x.shape[1:])}"
            raise InvalidValue(
                f"examples must be pictures of at least {step} x {step} pixels for scattering, got {shape}"
            )
        return torch.cat([self._scatter(x[i : i + _BLOCK].float()) for i in range(0, len(x), _BLOCK)])

    def _scatter(self, x: Tensor) -> Tensor:
        step, (height, width) = 2**self.scales, x.shape[2:]
        padded = torch.nn.functional.pad(
            x, (0, step, 0, step), mode="reflect" if step < height else "replicate"
        )
        low, wavelets = _filters(self.scales, self.angles, *padded.shape[2:])
        spectrum = torch.fft.fft2(padded)

        def average(spectrum: Tensor) -> Tensor:
            found: Tensor = torch.fft.ifft2(spectrum * low).real[..., :height:step, :width:step]
            return found.reshape(len(x), -1)

        parts = [average(spectrum)]
        for j, around in enumerate(wavelets):
            for wavelet in around:
                first = torch.fft.fft2(torch.fft.ifft2(spectrum * wavelet).abs())
                parts.append(average(first))
                for coarser in wavelets[j + 1 :]:
                    second = torch.fft.ifft2(first.unsqueeze(1) * coarser[None, :, None]).abs()
                    parts.append(average(torch.fft.fft2(second)))
        return torch.cat(parts, dim=1)


@lru_cache(maxsize=4)
def _filters(scales: int, angles: int, height: int, width: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The low pass, and for each scale the wavelets ``[angles, height, width]``, as real spectra.

    A Morlet wavelet is a wave under a Gaussian, less as much of the Gaussian as makes its mean zero.
    """
    down = 2 * math.pi * torch.fft.fftfreq(height).unsqueeze(1)
    across = 2 * math.pi * torch.fft.fftfreq(width).unsqueeze(0)

    def bell(spread: float, at: tuple[float, float], turn: float) -> Tensor:
        total = torch.zeros(down.shape[0], across.shape[1])
        # A spectrum repeats itself: what lies beyond half the sampling rate is folded back.
        for p in (-1, 0, 1):
            for q in (-1, 0, 1):
                v, u = down + 2 * math.pi * p - at[0], across + 2 * math.pi * q - at[1]
                along = math.cos(turn) * u + math.sin(turn) * v
                beside = (math.cos(turn) * v - math.sin(turn) * u) / (_SLANT if any(at) or turn else 1.0)
                total += torch.exp(-0.5 * spread**2 * (along**2 + beside**2))
        return total

    wavelets = []
    for j in range(scales):
        spread, frequency, turned = _WIDTH * 2.0**j, _FREQUENCY / 2.0**j, []
        for angle in range(angles):
            turn = math.pi * angle / angles + 1e-9
            wave = bell(spread, (frequency * math.sin(turn), frequency * math.cos(turn)), turn)
            still = bell(spread, (0.0, 0.0), turn)
            turned.append(wave - still * (wave[0, 0] / still[0, 0]))
        wavelets.append(torch.stack(turned))
    low = bell(_WIDTH * 2.0 ** (scales - 1), (0.0, 0.0), 0.0)
    return low / low[0, 0], tuple(wavelets)
