"""A kernel in JAX, bf16, which returns its outputs. A program: the last line is the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np

import assay

SUPPORTS = {
    "types": ["bf16"],
    "group_sizes": 1,
    "most_rows": 1,
    "no_sequences_without_rows": 1,
    "no_live_nan": 1,
    "no_live_infinity": 1,
    "most_sequences": 4,
    "most_keys": 128,
}


@assay.kernel(arrays="jax", supports=SUPPORTS)
def decode(
    q: Any, k: Any, v: Any, block_table: Any, seqlens_k: Any, o: Any, lse: Any, scale: float, page_size: int
) -> Any:
    """One row a sequence, all heads alike."""
    import jax.numpy as jnp

    rows = []
    for s, keys in enumerate(np.asarray(seqlens_k)):
        page, slot = np.divmod(np.arange(keys), page_size)
        ks, vs = (pool[block_table[s, page], slot].astype("float32") for pool in (k, v))
        x = jnp.einsum("hd,khd->hk", q[s].astype("float32"), ks) * scale
        m = x.max(1, initial=-1e30)
        p = jnp.exp(x - m[:, None])
        z = p.sum(1)
        row_o = jnp.where(z[:, None] > 0, jnp.einsum("hk,khd->hd", p, vs) / z[:, None], 0)
        rows.append((row_o, jnp.where(z > 0, m + jnp.log(z), -jnp.inf)))
    if not rows:
        return {}
    return {
        "o": jnp.stack([row[0] for row in rows]).astype(o.dtype).reshape(o.shape),
        "lse": jnp.stack([row[1] for row in rows]).reshape(lse.shape),
    }


if __name__ == "__main__":
    result = decode.verify(cases=20, seed=1, jobs=2, accept_blunt=True, properties=["output_enclosed"])
    print(result)
    print(result.verdict)
