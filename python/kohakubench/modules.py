"""The modules that the presets measure. Imports PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F


class ScaledDotProductAttention(nn.Module):
    """softmax(q·kᵀ/√d)·v of [batch, heads, seq, d]: PyTorch's own where it has one (2.0 and later)."""

    def forward(self, q, k, v, attn_mask=None, is_causal=False):
        fused = getattr(F, "scaled_dot_product_attention", None)
        if fused is not None:
            return fused(q, k, v, attn_mask=attn_mask, is_causal=is_causal)
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        if is_causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        if attn_mask is not None:
            unseen = attn_mask.dtype == torch.bool
            scores = scores.masked_fill(~attn_mask, float("-inf")) if unseen else scores + attn_mask
        return scores.softmax(-1) @ v


class MultiHeadAttention(nn.Module):
    """Projections of q, k and v, attention, and a projection of the result; without biases."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.attention = ScaledDotProductAttention()

    def _heads(self, x):
        return x.unflatten(-1, (self.num_heads, x.shape[-1] // self.num_heads)).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self._heads(proj(x)) for proj in (self.q_proj, self.k_proj, self.v_proj))
        return self.out_proj(self.attention(q, k, v).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """down(act(up(x)))."""

    def __init__(self, embed_dim, hidden_dim, activation, bias=False):
        super().__init__()
        self.up = nn.Linear(embed_dim, hidden_dim, bias=bias)
        self.down = nn.Linear(hidden_dim, embed_dim, bias=bias)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class SwiGLU(nn.Module):
    """up projects to two halves, x and gate; down(silu(gate)·x)."""

    def __init__(self, embed_dim, hidden_dim):
        super().__init__()
        self.up = nn.Linear(embed_dim, 2 * hidden_dim, bias=False)
        self.down = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x):
        x, gate = self.up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * x)


class DepthwiseConv2d(nn.Module):
    """A convolution of each channel alone and, with `pointwise`, a 1×1 one of all of them."""

    def __init__(self, channels, kernel_size, stride, padding, pointwise):
        super().__init__()
        self.depthwise = nn.Conv2d(
            channels, channels, kernel_size, stride=stride, padding=padding, groups=channels, bias=False
        )
        self.pointwise = nn.Conv2d(channels, channels, 1, bias=False) if pointwise else nn.Identity()

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


class RMSNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class TransformerBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.mlp = MLP(embed_dim, hidden_dim, F.gelu, bias=True)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ResBlock(nn.Module):
    """x + conv(silu(norm(conv(silu(norm(x))))))."""

    def __init__(self, channels, groups):
        super().__init__()
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        return x + self.conv2(F.silu(self.norm2(h)))
