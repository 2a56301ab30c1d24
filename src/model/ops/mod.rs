//! The operations that blocks are made of, each forward beside its vector-Jacobian product.
//!
//! On the CPU in f32 and f64 they are kernels of our own over slices (`cpu`, `attention`, `matmul`); on any other
//! device or dtype they are compositions of candle operations (`composed`) with the same meaning. A block never
//! knows which.
//!
//! Letters: `S` rows of the sequence, `B` targets in a chunk, `s <= S` rows that the chunk's targets can see, `H` width.

use candle_core::{CpuStorage, DType, Device, Result, Storage, StorageRef, Tensor};

mod attention;
mod composed;
mod cpu;
mod matmul;
mod past;
mod simd;

use matmul::Mat;
pub(crate) use simd::Real;

/// How the columns of a `[.., W]` query-key-value row are divided into heads: `[q … | k … | v …]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// Query heads.
    pub n_heads: usize,
    /// Key and value heads; query head `h` reads key head `h / (n_heads / n_kv_heads)`.
    pub n_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
}

impl HeadLayout {
    /// `W`, the width of a row.
    pub fn width(self) -> usize {
        (self.n_heads + 2 * self.n_kv_heads) * self.head_dim
    }

    /// Width of a row of keys and values without queries, `[k … | v …]`: what later rows need of earlier ones.
    pub fn past_width(self) -> usize {
        2 * self.n_kv_heads * self.head_dim
    }

    /// Heads that carry a position: queries and keys.
    fn n_rotated(self) -> usize {
        self.n_heads + self.n_kv_heads
    }

    /// First columns of the query, key and value of query head `h`.
    fn columns(self, h: usize) -> (usize, usize, usize) {
        let kv = h / (self.n_heads / self.n_kv_heads);
        let d = self.head_dim;
        (h * d, (self.n_heads + kv) * d, (self.n_heads + self.n_kv_heads + kv) * d)
    }
}

/// A contiguous CPU tensor, borrowed as a slice.
struct Host<'a> {
    storage: StorageRef<'a>,
    start: usize,
    len: usize,
}

impl<'a> Host<'a> {
    fn new(t: &'a Tensor) -> Result<Self> {
        let (storage, layout) = t.storage_and_layout();
        match layout.contiguous_offsets() {
            Some((start, end)) => Ok(Host { storage, start, len: end - start }),
            None => candle_core::bail!("a kernel was given a tensor that is not contiguous: {:?}", layout),
        }
    }

    fn slice<T: Real>(&self) -> Result<&[T]> {
        match &*self.storage {
            Storage::Cpu(cpu) => {
                let all: &[T] = CpuStorage::as_slice(cpu)?;
                Ok(&all[self.start..self.start + self.len])
            }
            _ => candle_core::bail!("a CPU kernel was given a tensor of another device"),
        }
    }
}

/// Runs the first expression with `$t` bound to f32 or f64 for such tensors on the CPU, the second one otherwise.
macro_rules! dispatch {
    ($x:expr, $t:ident => $kernel:expr, $composed:expr) => {
        match ($x.device(), $x.dtype()) {
            (Device::Cpu, DType::F32) => {
                type $t = f32;
                $kernel
            }
            (Device::Cpu, DType::F64) => {
                type $t = f64;
                $kernel
            }
            _ => $composed,
        }
    };
}

fn on_cpu<T: Real>(data: Vec<T>, like: &Tensor, last: usize) -> Result<Tensor> {
    let mut dims = like.dims().to_vec();
    if let Some(d) = dims.last_mut() {
        *d = last;
    }
    Tensor::from_vec(data, dims, &Device::Cpu)
}

/// Rows of a tensor whose last dimension is the row.
fn rows(x: &Tensor) -> Result<(usize, usize)> {
    let width = x.dim(candle_core::D::Minus1)?;
    Ok((x.elem_count() / width.max(1), width))
}

/// `x Wᵀ + b` for `x` `[.., K]`, `w` `[N, K]`, `b` `[N]`; returns `[.., N]`.
pub fn linear(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    dispatch!(
        x,
        T => {
            let ((m, k), n) = (rows(x)?, w.dim(0)?);
            let (xs, ws) = (Host::new(x)?, Host::new(w)?);
            let mut y = matmul::product::<T>(Mat::new(xs.slice()?, m, k, k), Mat::new(ws.slice()?, n, k, k).t());
            if let Some(b) = b {
                cpu::add_bias(&mut y, Host::new(b)?.slice()?);
            }
            on_cpu(y, x, n)
        },
        composed::linear(x, w, b)
    )
}

/// Gradient of [`linear`] with respect to `x`: `dy W` for `dy` `[.., N]`; returns `[.., K]`.
pub fn linear_vjp(dy: &Tensor, w: &Tensor) -> Result<Tensor> {
    dispatch!(
        dy,
        T => {
            let ((m, n), k) = (rows(dy)?, w.dim(1)?);
            let (ds, ws) = (Host::new(dy)?, Host::new(w)?);
            on_cpu(matmul::product::<T>(Mat::new(ds.slice()?, m, n, n), Mat::new(ws.slice()?, n, k, k)), dy, k)
        },
        composed::linear_vjp(dy, w)
    )
}

/// `x / sqrt(mean(x²) + eps) ∘ w` over the last dimension (Zhang and Sennrich 2019, arXiv:1910.07467).
pub fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    dispatch!(
        x,
        T => {
            let (xs, ws) = (Host::new(x)?, Host::new(w)?);
            on_cpu(cpu::rms_norm::<T>(xs.slice()?, ws.slice()?, eps), x, w.elem_count())
        },
        composed::rms_norm(x, w, eps)
    )
}

/// Gradient of `residual path + rms_norm(x)`: `x` is `[s, H]`, `dy` and `residual` (the gradient that by-passes the
/// norm) are `[B, s, H]`, as is the result.
pub fn rms_norm_vjp(x: &Tensor, w: &Tensor, eps: f64, dy: &Tensor, residual: &Tensor) -> Result<Tensor> {
    dispatch!(
        x,
        T => {
            let (xs, ws, ds, rs) = (Host::new(x)?, Host::new(w)?, Host::new(dy)?, Host::new(residual)?);
            let dx = cpu::rms_norm_vjp::<T>(xs.slice()?, ws.slice()?, eps, ds.slice()?, rs.slice()?);
            on_cpu(dx, dy, w.elem_count())
        },
        composed::rms_norm_vjp(x, w, eps, dy)?.add(residual)
    )
}

/// `silu(gate) ∘ up` for `[.., 2F]` rows `[gate | up]` (Shazeer 2020, arXiv:2002.05202); returns `[.., F]`.
pub fn swiglu(gate_up: &Tensor) -> Result<Tensor> {
    dispatch!(
        gate_up,
        T => {
            let f = rows(gate_up)?.1 / 2;
            on_cpu(cpu::swiglu::<T>(Host::new(gate_up)?.slice()?, f), gate_up, f)
        },
        composed::swiglu(gate_up)
    )
}

/// The two derivatives of [`swiglu`] at `gate_up`, rows `[∂/∂gate | ∂/∂up]`; every target's gradient uses them.
pub fn swiglu_jacobian(gate_up: &Tensor) -> Result<Tensor> {
    dispatch!(
        gate_up,
        T => {
            let f = rows(gate_up)?.1 / 2;
            on_cpu(cpu::swiglu_jacobian::<T>(Host::new(gate_up)?.slice()?, f), gate_up, 2 * f)
        },
        composed::swiglu_jacobian(gate_up)
    )
}

/// Gradient of [`swiglu`] from its [`swiglu_jacobian`] `[s, 2F]` for `d_out` `[B, s, F]`; returns `[B, s, 2F]`.
pub fn swiglu_vjp(jacobian: &Tensor, d_out: &Tensor) -> Result<Tensor> {
    dispatch!(
        jacobian,
        T => {
            let f = rows(d_out)?.1;
            let (js, ds) = (Host::new(jacobian)?, Host::new(d_out)?);
            on_cpu(cpu::swiglu_vjp::<T>(js.slice()?, ds.slice()?, f), d_out, 2 * f)
        },
        composed::swiglu_vjp(jacobian, d_out)
    )
}

/// Rotates query and key heads of `[.., s, W]` rows by position (Su et al. 2021, arXiv:2104.09864), pairing element
/// `i` with `i + head_dim / 2`; `cos` and `sin` are `[s, head_dim / 2]`.
pub fn rope(qkv: &Tensor, cos: &Tensor, sin: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    rotate(qkv, cos, sin, heads, false)
}

/// Gradient of [`rope`]: the rotation the other way.
pub fn rope_vjp(d_qkv: &Tensor, cos: &Tensor, sin: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    rotate(d_qkv, cos, sin, heads, true)
}

fn rotate(qkv: &Tensor, cos: &Tensor, sin: &Tensor, heads: HeadLayout, inverse: bool) -> Result<Tensor> {
    dispatch!(
        qkv,
        T => {
            let (xs, cs, ss) = (Host::new(qkv)?, Host::new(cos)?, Host::new(sin)?);
            let out = cpu::rope::<T>(xs.slice()?, cs.slice()?, ss.slice()?, heads, inverse);
            on_cpu(out, qkv, heads.width())
        },
        composed::rope(qkv, cos, sin, heads, inverse)
    )
}

/// RMS norm of each query head (`wq`) and key head (`wk`) of `[S, W]` rows, as Qwen3 has before [`rope`].
pub fn head_norm(qkv: &Tensor, wq: &Tensor, wk: &Tensor, eps: f64, heads: HeadLayout) -> Result<Tensor> {
    dispatch!(
        qkv,
        T => {
            let (xs, qs, ks) = (Host::new(qkv)?, Host::new(wq)?, Host::new(wk)?);
            on_cpu(cpu::head_norm::<T>(xs.slice()?, qs.slice()?, ks.slice()?, eps, heads), qkv, heads.width())
        },
        composed::head_norm(qkv, wq, wk, eps, heads)
    )
}

/// Gradient of [`head_norm`] for `dy` `[B, s, W]` over the shared `qkv` `[s, W]`.
pub fn head_norm_vjp(
    qkv: &Tensor,
    wq: &Tensor,
    wk: &Tensor,
    eps: f64,
    heads: HeadLayout,
    dy: &Tensor,
) -> Result<Tensor> {
    dispatch!(
        qkv,
        T => {
            let (xs, qs, ks, ds) = (Host::new(qkv)?, Host::new(wq)?, Host::new(wk)?, Host::new(dy)?);
            let (xs, qs, ks, ds) = (xs.slice()?, qs.slice()?, ks.slice()?, ds.slice()?);
            on_cpu(cpu::head_norm_vjp::<T>(xs, qs, ks, eps, heads, ds), dy, heads.width())
        },
        composed::head_norm_vjp(qkv, wq, wk, eps, heads, dy)
    )
}

/// Result of [`attention`].
pub struct Attention {
    /// The heads' outputs `[S, n_heads * head_dim]`.
    pub out: Tensor,
    /// `[n_heads, S, S]`, zero above the diagonal; absent where it was not asked for.
    pub probabilities: Option<Tensor>,
}

/// Scaled dot-product attention under a causal mask over rotated rows `qkv` `[S, W]`; keys and values are shared by
/// groups of query heads (Ainslie et al. 2023, arXiv:2305.13245). `keep` keeps what [`attention_vjp`] needs.
pub fn attention(qkv: &Tensor, heads: HeadLayout, keep: bool) -> Result<Attention> {
    dispatch!(
        qkv,
        T => {
            let s = qkv.dim(0)?;
            let (out, p) = attention::attention::<T>(Host::new(qkv)?.slice()?, heads, keep);
            let out = on_cpu(out, qkv, heads.n_heads * heads.head_dim)?;
            let probabilities = keep.then(|| Tensor::from_vec(p, (heads.n_heads, s, s), &Device::Cpu)).transpose()?;
            Ok(Attention { out, probabilities })
        },
        composed::attention(qkv, heads, keep)
    )
}

/// The heads' outputs `[R, n_heads * head_dim]` of rotated rows `qkv` `[R, W]` that follow `P` others, of which `past`
/// `[P, 2 * n_kv_heads * head_dim]` holds the rotated keys and the values: [`attention`] of all of them, last `R` rows.
pub fn attention_after(qkv: &Tensor, past: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    dispatch!(
        qkv,
        T => {
            let (xs, ps) = (Host::new(qkv)?, Host::new(past)?);
            on_cpu(past::attention_after::<T>(xs.slice()?, ps.slice()?, heads), qkv, heads.n_heads * heads.head_dim)
        },
        past::attention_after_composed(qkv, past, heads)
    )
}

/// Gradient of [`attention`] with respect to the rotated rows: `d_out` `[B, s, n_heads * head_dim]` to `[B, s, W]`.
pub fn attention_vjp(qkv: &Tensor, forward: &Attention, heads: HeadLayout, d_out: &Tensor) -> Result<Tensor> {
    let Some(probabilities) = &forward.probabilities else {
        candle_core::bail!("attention was run without keeping what its gradient needs");
    };
    dispatch!(
        qkv,
        T => {
            let (xs, ps, os) = (Host::new(qkv)?, Host::new(probabilities)?, Host::new(&forward.out)?);
            let shared = attention::AttentionView::<T> {
                qkv: xs.slice()?,
                probabilities: ps.slice()?,
                out: os.slice()?,
                s_all: probabilities.dim(1)?,
                heads,
            };
            let s = d_out.dim(1)?;
            on_cpu(attention::attention_vjp(&shared, Host::new(d_out)?.slice()?, s), d_out, heads.width())
        },
        composed::attention_vjp(qkv, probabilities, &forward.out, heads, d_out)
    )
}

/// ‖x∘g‖₂ and Σ x∘g over the last dimension, for `g` `[B, s, H]` over the shared `x` `[s, H]`; `B * s` pairs, in f64.
pub fn input_x_gradient(x: &Tensor, g: &Tensor) -> Result<Vec<[f64; 2]>> {
    dispatch!(
        x,
        T => {
            let (xs, gs) = (Host::new(x)?, Host::new(g)?);
            Ok(cpu::input_x_gradient::<T>(xs.slice()?, gs.slice()?, rows(x)?.1))
        },
        composed::input_x_gradient(x, g)
    )
}

#[cfg(test)]
mod tests;
