"""The presets that come with KoBench: what they are called, and the cases of each.

A preset's module is imported when its cases are made, and PyTorch with it."""

#: name: (module, what it is, the factories of its cases)
PRESETS = {
    "attn": ("attention", "self-attention with its projections", ("multi_head_attention_case",)),
    "mlp": ("mlp", "feed-forward layers, with GELU and with SwiGLU", ("standard_mlp_case", "swiglu_mlp_case")),
    "conv": ("convolution", "convolutions, dense and depthwise", ("conv2d_case", "depthwise_conv2d_case")),
    "norm": ("norms", "LayerNorm, GroupNorm and RMSNorm", ("layer_norm_case", "group_norm_case", "rms_norm_case")),
    "transformer": ("transformer", "a transformer block", ("transformer_block_case",)),
    "sdres": ("stable_diffusion", "a residual block of Stable Diffusion", ("stable_diffusion_resblock_case",)),
}


def build(name, device=None, dtype=None):
    """The cases of a built-in preset, made one by one."""
    from importlib import import_module

    module, _, factories = PRESETS[name]
    found = import_module(f"kohakubench.presets.{module}")
    for factory in factories:
        yield getattr(found, factory)(device=device, dtype=dtype)
