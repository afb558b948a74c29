"""A script's reference, more exact than the script computes it, and how far an answer may be off.

verify is called on the same values in a wider type: float64 where all tensors are float32, else
float32. How far its usual answer is from that one is the rounding of plain PyTorch, and twice as much
is allowed; at the least two roundings of the output and of the sums before it, relative to the root of
the mean square of the output.
"""

from assay import tensors

ALIKE_OF_RMS, ALIKE_RELATIVE = 0.25, 0.125  # else the wide answer is not of the same function
_UNITS = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8, "e4m3": 2.0 ** -4,
          "e5m2": 2.0 ** -3}


class Reference:
    """verify of one workload."""

    def __init__(self, verify):
        self.verify = verify
        self.wide = None  # whether the wide answer can be had: not known yet
        self.relative = self.absolute = 0

    def answers(self, make):
        """What verify returns for an instance of make()."""
        if self.wide:
            return tensors.as_tuple(self.verify(widened(make())))
        return tensors.as_tuple(self.verify(make()))

    def learn(self, make, outputs):
        """Tries the wide answer, and sets the tolerance for outputs like these."""
        import torch

        usual = tensors.as_tuple(self.verify(make()))
        self.wide = False
        exact = self._try(make)
        floating = [(o, u) for o, u in zip(outputs, usual) if o.dtype.is_floating_point]
        if len(usual) != len(outputs) or not floating:
            return
        self.wide = exact is not None and len(exact) == len(usual) and all(map(_are_alike, usual, exact))
        noise = 0.0
        if self.wide:
            noise = 2 * max(_distance(u, e) for u, e in zip(usual, exact))
        if noise == 0 and all(u.dtype == torch.float32 for _, u in floating):
            noise = 8 * self._conditioning(make, usual)
        unit = max(_UNITS.get(tensors.dtype_name(o), 0) for o, _ in floating)
        rms = max(_rms(u) for _, u in floating)
        roundings = 2 if self.wide else 6  # a reference in the same type rounds as often
        self.relative = roundings * unit + 2.0 ** -21
        sums = 2.0 ** -23 * max(_summed(make(), o) for o, _ in floating) ** 0.5
        self.absolute = max((roundings * unit + 2.0 ** -22 + sums) * rms, noise)

    def _conditioning(self, make, usual):
        """By how much answers differ for inputs that differ by a rounding: a verify that computes in
        float32 whatever it is given tells nothing of its own rounding."""
        moved = tensors.as_tuple(self.verify(_moved(make())))
        return max(_distance(u, m) for u, m in zip(usual, moved))

    def _try(self, make):
        """Scripts that insist on their types do not get this far."""
        try:
            return tensors.as_tuple(self.verify(widened(make())))
        except Exception:
            return None


def widened(made):
    """The same instance with its floating-point tensors in a wider type."""
    import torch

    found = [t for _, t in tensors.walk(vars(made)) if t.dtype.is_floating_point]
    wide = torch.float64 if all(t.dtype in (torch.float32, torch.float64) for t in found) else torch.float32
    for key, value in list(vars(made).items()):
        table = {id(t): _widen(t, wide) for _, t in tensors.walk(value)
                 if t.dtype.is_floating_point and tensors.is_as_precise(wide, t.dtype)}
        made.__dict__[key] = tensors.replaced(value, table)
    return made


def _moved(made):
    """The same instance with its float32 tensors changed by half a unit in the last place or so."""
    import torch

    chance = torch.Generator().manual_seed(1)
    for key, value in list(vars(made).items()):
        table = {}
        for _, t in tensors.walk(value):
            if t.dtype == torch.float32:
                by = (torch.rand(t.shape, generator=chance) - 0.5) * 2.0 ** -23
                table[id(t)] = t.detach() * (1 + by.to(t.device))
        made.__dict__[key] = tensors.replaced(value, table)
    return made


def _widen(tensor, wide):
    made = tensor.detach().to(wide)
    return made.requires_grad_() if tensor.requires_grad else made


def _double(tensor):
    return tensor.detach().double()


def _rms(tensor):
    import torch

    values = _double(tensor)
    values = values[torch.isfinite(values)]
    return float(values.square().mean().sqrt()) if values.numel() else 0.0


def _are_alike(usual, exact):
    """Is one the other up to rounding?"""
    import torch

    if usual.shape != exact.shape or not usual.dtype.is_floating_point:
        return usual.shape == exact.shape and usual.dtype == exact.dtype
    a, b = _double(usual), _double(exact)
    finite = torch.isfinite(b)
    if not torch.equal(torch.isfinite(a), finite):
        return False
    far = (a - b).abs() - ALIKE_RELATIVE * b.abs() - ALIKE_OF_RMS * _rms(exact)
    return not bool((far[finite] > 0).any())


def _distance(usual, exact):
    import torch

    far = (_double(usual) - _double(exact)).abs()
    far = far[torch.isfinite(far)]
    return float(far.max()) if far.numel() else 0.0


def _summed(made, output):
    """How many elements may have been summed for one of an output."""
    found = [t for path, t in tensors.walk(vars(made)) if path[0] not in ("out", tensors.OPERANDS)]
    return max([1] + [max(t.shape[-1] if t.dim() else 1, t.numel() / max(output.numel(), 1)) for t in found])
