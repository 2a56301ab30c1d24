//! The operations that blocks are made of, each forward beside its vector-Jacobian product.
//!
//! On the CPU in f32 and f64 they are kernels of our own over slices (`cpu`, `attention`, `mlp`, all on the products of
//! `kernel`); on any other device or dtype they are compositions of candle operations (`composed`) with the same
//! meaning, which on CUDA devices use kernels of our own (`fused`) between the matrix products. A block never knows which,
//! nor in which [`Precision`] products are worked out.
//!
//! Letters: `S` rows of the sequence, `B` targets in a chunk, `s <= S` rows that the chunk's targets can see, `H` width.

use std::ops::Range;

use candle_core::{CpuStorage, DType, Device, Result, Storage, StorageRef, Tensor, WithDType};

mod attention;
mod biased;
mod composed;
mod cpu;
#[cfg(feature = "cuda")]
mod fused;
#[cfg(feature = "cuda")]
mod fused_check;
mod groups;
mod instructions;
mod kernel;
mod mlp;
mod past;
mod road;
mod scratch;
mod simd;
mod stored;
mod weight;

pub use groups::KeyGroups;
pub use instructions::{Instructions, SWITCH as VECTORS_SWITCH, instructions};
pub(crate) use kernel::BLOCK_ROWS;
pub use kernel::has_bf16_products;
use kernel::{Bf16, Rounded};
pub(crate) use mlp::UNITS;
pub use road::{Chosen, Road, SWITCH as ROAD_SWITCH, Source, road};
pub(crate) use simd::{Real, vectorised};
pub(crate) use stored::KEPT_AFTER;
pub use stored::StoredRows;
use weight::Held;
pub(crate) use weight::TABLE_ROWS;
pub use weight::{Precision, Weight};

/// How the columns of a `[.., W]` query-key-value row are divided into heads, `[q … | k … | v …]`, and how far back a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// Query heads.
    pub n_heads: usize,
    /// Key and value heads; query head `h` reads key head `h / (n_heads / n_kv_heads)`.
    pub n_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Keys that a query sees under the causal mask, its own among them: those at `0 <= q - k < window` (Beltagy et al. 2020,
    /// arXiv:2004.05150; Mistral). All up to its own where absent.
    pub window: Option<usize>,
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

    /// Query heads that share a key head.
    fn group(self) -> usize {
        self.n_heads / self.n_kv_heads
    }

    /// The keys that the query at `position` sees.
    fn visible(self, position: usize) -> Range<usize> {
        let end = position + 1;
        self.window.map_or(0, |window| end.saturating_sub(window))..end
    }

    /// First columns of the query, key and value of query head `h`.
    fn columns(self, h: usize) -> (usize, usize, usize) {
        let kv = h / self.group();
        let d = self.head_dim;
        (h * d, (self.n_heads + kv) * d, (self.n_heads + self.n_kv_heads + kv) * d)
    }
}

/// Compares the kernels of our own with candle's compositions on a device that has been opened; on a CUDA device they are used
/// only after that, and only if they agree.
pub(crate) fn check_fused_kernels(device: &Device) {
    #[cfg(feature = "cuda")]
    fused_check::check(device);
    #[cfg(not(feature = "cuda"))]
    let _ = device;
}

/// Whether operations on CUDA devices may use kernels of our own (they do unless told otherwise) or only candle's: for
/// comparing the two. Without the feature `cuda` it does nothing.
pub fn use_fused_kernels(on: bool) {
    #[cfg(feature = "cuda")]
    fused::enable(on);
    #[cfg(not(feature = "cuda"))]
    let _ = on;
}

/// Why operations on a CUDA device do without kernels of our own, if they do; known once such a device was used.
pub fn fused_kernels_problem() -> Option<String> {
    #[cfg(feature = "cuda")]
    return fused::problem();
    #[cfg(not(feature = "cuda"))]
    None
}

#[cfg(test)]
thread_local! {
    /// Makes the thread's operations take the compositions, as a GPU's do.
    static COMPOSED_ONLY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether there are kernels for `x`'s device; their dtypes are the macro's below.
fn has_kernels(x: &Tensor) -> bool {
    #[cfg(test)]
    if COMPOSED_ONLY.get() {
        return false;
    }
    x.device().is_cpu()
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
        match (has_kernels($x), $x.dtype()) {
            (true, DType::F32) => {
                type $t = f32;
                $kernel
            }
            (true, DType::F64) => {
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
            let norm = cpu::NormRows::<T> { x: xs.slice()?, w: ws.slice()?, eps };
            let dx = norm.vjp(ds.slice()?, rs.slice()?);
            on_cpu(dx, dy, w.elem_count())
        },
        composed::rms_norm_vjp(x, w, eps, dy, Some(residual))
    )
}

/// What the gate of a gated network goes through: `x σ(a(x))` for an odd polynomial `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// `a(x) = x` (Elfwing et al. 2017, arXiv:1702.03118).
    Silu,
    /// `a(x) = 2 √(2/π) (x + 0.044715 x³)`: the approximation of GELU by a hyperbolic tangent (Hendrycks and Gimpel 2016,
    /// arXiv:1606.08415), which T5 calls `gelu_new`.
    GeluNew,
}

impl Gate {
    /// `a(x) = c (x + d x³)`.
    fn coefficients(self) -> (f64, f64) {
        match self {
            Gate::Silu => (1.0, 0.0),
            Gate::GeluNew => (2.0 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2, 0.044_715),
        }
    }
}

/// `act(gate) ∘ up`, element by element (Shazeer 2020, arXiv:2002.05202).
pub fn gated(act: Gate, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    dispatch!(
        gate,
        T => {
            let f = rows(gate)?.1;
            on_cpu(cpu::gated::<T>(act, Host::new(gate)?.slice()?, Host::new(up)?.slice()?, f), gate, f)
        },
        composed::gated(act, gate, up)
    )
}

/// The derivatives of [`gated`] by `gate` and by `up`, of their shape; every target's gradient uses them.
pub fn gated_jacobian(act: Gate, gate: &Tensor, up: &Tensor) -> Result<(Tensor, Tensor)> {
    dispatch!(
        gate,
        T => {
            let f = rows(gate)?.1;
            let (d_gate, d_up) = cpu::gated_jacobian::<T>(act, Host::new(gate)?.slice()?, Host::new(up)?.slice()?, f);
            Ok((on_cpu(d_gate, gate, f)?, on_cpu(d_up, gate, f)?))
        },
        composed::gated_jacobian(act, gate, up)
    )
}

/// An RMS norm with weight `w` `[H]` at one input `x` `[S, H]`: what the gradients of all targets share.
#[derive(Debug, Clone)]
pub struct NormAt {
    x: Tensor,
    w: Tensor,
    eps: f64,
}

impl NormAt {
    /// [`rms_norm`] of `x`.
    pub fn new(x: &Tensor, w: &Tensor, eps: f64) -> Self {
        NormAt { x: x.clone(), w: w.clone(), eps }
    }

    /// At the rows `first..first + n` only.
    fn rows(&self, first: usize, n: usize) -> Result<Self> {
        Ok(NormAt { x: self.x.narrow(0, first, n)?, ..self.clone() })
    }

    /// Gradient of `x + rest(norm(x))` with respect to `x`, for that of the norm and of the sum, both `[B, s, H]`, `s <= S`.
    pub fn vjp(&self, d_normed: &Tensor, dy: &Tensor) -> Result<Tensor> {
        rms_norm_vjp(&self.x.narrow(0, 0, dy.dim(1)?)?, &self.w, self.eps, d_normed, dy)
    }

    /// The same where the norm's gradient is that of a projection, `d` `[B, s, N]` through `weight`, the transposed one.
    pub fn projection_vjp(&self, weight: &Weight, d: &Tensor, dy: &Tensor) -> Result<Tensor> {
        let at = self.rows(0, dy.dim(1)?)?;
        macro_rules! on_panels {
            ($panels:expr) => {{
                let (xs, ws, ds, rs) = (Host::new(&at.x)?, Host::new(&at.w)?, Host::new(d)?, Host::new(dy)?);
                let norm = cpu::NormRows { x: xs.slice()?, w: ws.slice()?, eps: at.eps };
                let panels = $panels.whole();
                on_cpu(mlp::projection_vjp(&panels, &norm, ds.slice()?, rs.slice()?), dy, panels.outputs)
            }};
        }
        match &weight.held {
            Held::F32(panels) => on_panels!(panels),
            Held::F64(panels) => on_panels!(panels),
            Held::Bf16(panels) => on_panels!(panels),
            Held::Rounded(panels) => on_panels!(panels),
            Held::Tensor(_) => at.vjp(&weight.linear(d, None)?, dy),
        }
    }
}

/// A feed-forward network behind a norm and around a residual, `x + down(hidden(norm(x)))`, at one input: everything that the
/// gradients of all targets share.
#[derive(Debug)]
pub struct MlpGradient {
    norm: NormAt,
    down: Weight,
    /// Each projection into the hidden units, and the derivative of these by it: rows one behind the other, in one tensor or more.
    branches: Vec<(Weight, Vec<Tensor>)>,
}

impl MlpGradient {
    /// From the weight out of the hidden units, as the forward pass has it, and for each projection into them its transposed
    /// weight and the derivative of the units by it, `[S, F]` in one tensor or as several with rows that follow each other.
    pub fn new(norm: NormAt, down: &Weight, branches: Vec<(Weight, Vec<Tensor>)>) -> Self {
        MlpGradient { norm, down: down.transposed(), branches }
    }

    /// Of `down(act(gate(n)) ∘ up(n))`, from the weights as the forward pass has them and `gate(n)`, `up(n)` `[S, F]` at the
    /// normed rows `n`.
    pub fn gated(
        act: Gate,
        norm: NormAt,
        down: &Weight,
        [gate, up]: [&Weight; 2],
        [gate_x, up_x]: [&Tensor; 2],
    ) -> Result<Self> {
        let (d_gate, d_up) = gated_jacobian(act, gate_x, up_x)?;
        let branches = vec![(gate.transposed(), vec![d_gate]), (up.transposed(), vec![d_up])];
        Ok(MlpGradient::new(norm, down, branches))
    }

    /// Of `down(relu(up(n)))`, from the weights as the forward pass has them and `up(n)` `[S, F]` at the normed rows `n`.
    pub fn relu(norm: NormAt, down: &Weight, up: &Weight, up_x: &Tensor) -> Result<Self> {
        let d_up = up_x.gt(&up_x.zeros_like()?)?.to_dtype(up_x.dtype())?;
        Ok(MlpGradient::new(norm, down, vec![(up.transposed(), vec![d_up])]))
    }

    /// Gradient with respect to rows `first..first + s` of `x`, for `dy` `[B, s, H]` of these rows.
    pub fn vjp(&self, dy: &Tensor, first: usize) -> Result<Tensor> {
        let s = dy.dim(1)?;
        let norm = self.norm.rows(first, s)?;
        let derivatives =
            self.branches.iter().map(|(_, parts)| narrow_parts(parts, first, s)).collect::<Result<Vec<_>>>()?;
        macro_rules! on_panels {
            ($down:expr, $held:path) => {{
                let (xs, ws, ds) = (Host::new(&norm.x)?, Host::new(&norm.w)?, Host::new(dy)?);
                let norm = cpu::NormRows { x: xs.slice()?, w: ws.slice()?, eps: norm.eps };
                let derivatives = derivatives.iter().map(|parts| hosts(parts)).collect::<Result<Vec<_>>>()?;
                let weights = self.branches.iter().map(|(weight, _)| match &weight.held {
                    $held(panels) => Ok(panels.whole()),
                    _ => candle_core::bail!("the weights of one network are held in unlike ways"),
                });
                let weights = weights.collect::<Result<Vec<_>>>()?;
                let mut branches = Vec::with_capacity(derivatives.len());
                for (weight, parts) in weights.iter().zip(&derivatives) {
                    let derivative = parts.iter().map(Host::slice).collect::<Result<_>>()?;
                    branches.push(mlp::Branch { weight, derivative });
                }
                let down = $down.whole();
                let mlp = mlp::Mlp { down: &down, branches: &branches };
                on_cpu(mlp.vjp(&norm, ds.slice()?), dy, down.inputs)
            }};
        }
        match &self.down.held {
            Held::F32(down) => on_panels!(down, Held::F32),
            Held::F64(down) => on_panels!(down, Held::F64),
            Held::Bf16(down) => on_panels!(down, Held::Bf16),
            Held::Rounded(down) => on_panels!(down, Held::Rounded),
            Held::Tensor(_) => {
                let d_hidden = self.down.linear(dy, None)?;
                let mut parts = self.branches.iter().zip(&derivatives).map(|((weight, _), parts)| {
                    weight.linear(&composed::rows_mul(&Tensor::cat(parts, 0)?, &d_hidden)?, None)
                });
                let one = parts.next().unwrap_or_else(|| dy.zeros_like())?;
                norm.vjp(&parts.try_fold(one, |sum, part| sum + part?)?, dy)
            }
        }
    }
}

fn hosts(tensors: &[Tensor]) -> Result<Vec<Host<'_>>> {
    tensors.iter().map(Host::new).collect()
}

/// Rows `first..first + n` of rows that lie one behind the other in several tensors.
fn narrow_parts(parts: &[Tensor], first: usize, n: usize) -> Result<Vec<Tensor>> {
    let mut start = 0;
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let end = start + part.dim(0)?;
        let (from, to) = (first.clamp(start, end), (first + n).clamp(start, end));
        if from < to {
            out.push(part.narrow(0, from - start, to - from)?);
        }
        start = end;
    }
    Ok(out)
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
#[derive(Debug)]
pub struct Attention {
    /// The heads' outputs `[S, n_heads * head_dim]`.
    pub out: Tensor,
    kept: Option<Kept>,
}

#[cfg(test)]
impl Attention {
    /// The probabilities that were kept, `[n_heads, S, S]`.
    fn probabilities(&self) -> Option<Tensor> {
        let s = self.out.dim(0).ok()?;
        macro_rules! tensor {
            ($kept:expr) => {{
                let heads = $kept.probabilities().into_iter().map(|mut p| {
                    p.truncate(s * s);
                    Tensor::from_vec(p, (s, s), &Device::Cpu)
                });
                Tensor::stack(&heads.collect::<Result<Vec<_>>>().ok()?, 0).ok()
            }};
        }
        match self.kept.as_ref()? {
            Kept::Probabilities(p) => Some(p.clone()),
            Kept::F32(kept) => tensor!(kept),
            Kept::F64(kept) => tensor!(kept),
            Kept::Bf16(kept) => tensor!(kept),
            Kept::Rounded(kept) => tensor!(kept),
        }
    }
}

/// What the gradient of [`attention`] needs; probabilities `[n_heads, S, S]` are zero where a query does not see a key.
#[derive(Debug)]
enum Kept {
    Probabilities(Tensor),
    F32(attention::Kept<f32>),
    F64(attention::Kept<f64>),
    Bf16(attention::Kept<Bf16>),
    Rounded(attention::Kept<Rounded>),
}

/// Scaled dot-product attention under a causal mask, and within the window of `heads` if it has one, over rotated rows `qkv`
/// `[S, W]`; keys and values are shared by groups of query heads (Ainslie et al. 2023, arXiv:2305.13245). `keep` keeps what
/// [`attention_vjp`] needs.
pub fn attention(qkv: &Tensor, heads: HeadLayout, keep: bool, precision: Precision) -> Result<Attention> {
    macro_rules! kernel {
        ($element:ty, $kept:path) => {{
            let (out, kept) = attention::attention::<$element>(Host::new(qkv)?.slice()?, heads, keep);
            Ok(Attention { out: on_cpu(out, qkv, heads.n_heads * heads.head_dim)?, kept: kept.map($kept) })
        }};
    }
    match (has_kernels(qkv), qkv.dtype(), precision) {
        (true, DType::F64, _) => kernel!(f64, Kept::F64),
        (true, DType::F32, Precision::Full) => kernel!(f32, Kept::F32),
        (true, DType::F32, Precision::Bf16) => kernel!(Bf16, Kept::Bf16),
        (true, DType::F32, Precision::Rounded) => kernel!(Rounded, Kept::Rounded),
        _ => {
            let (out, probabilities) = composed::attention(qkv, heads, keep)?;
            Ok(Attention { out, kept: probabilities.map(Kept::Probabilities) })
        }
    }
}

/// The heads' outputs `[R, n_heads * head_dim]` of rotated rows `qkv` `[R, W]` that follow `P` others, of which `past`
/// `[P, 2 * n_kv_heads * head_dim]` holds the rotated keys and the values: [`attention`] of all of them, last `R` rows.
pub fn attention_after(qkv: &Tensor, past: &Tensor, heads: HeadLayout, precision: Precision) -> Result<Tensor> {
    macro_rules! kernel {
        ($element:ty) => {{
            let (xs, ps) = (Host::new(qkv)?, Host::new(past)?);
            let out = past::attention_after::<$element>(xs.slice()?, ps.slice()?, heads);
            on_cpu(out, qkv, heads.n_heads * heads.head_dim)
        }};
    }
    match (has_kernels(qkv), qkv.dtype(), precision) {
        (true, DType::F64, _) => kernel!(f64),
        (true, DType::F32, Precision::Full) => kernel!(f32),
        (true, DType::F32, Precision::Bf16) => kernel!(Bf16),
        (true, DType::F32, Precision::Rounded) => kernel!(Rounded),
        _ => composed::attention_after(qkv, past, heads),
    }
}

/// Probabilities of [`attention`] added up over groups of keys, `[n_heads, T, G]`: of rotated query rows `queries`
/// `[T, n_heads * head_dim]`, which are the last of the `K` positions whose keys are in `keys_values` `[K, 2 * n_kv_heads *
/// head_dim]`, rows `[k … | v …]`. A row's sums add up to 1.
///
/// # Errors
/// The groups are not those of `K` keys, there are more queries than keys, or a tensor operation failed.
pub fn attention_by_group(
    queries: &Tensor,
    keys_values: &Tensor,
    heads: HeadLayout,
    groups: KeyGroups<'_>,
    precision: Precision,
) -> Result<Vec<f64>> {
    let (n_rows, n_keys) = (queries.dim(0)?, keys_values.dim(0)?);
    groups.check(n_keys)?;
    let Some(before) = n_keys.checked_sub(n_rows) else {
        candle_core::bail!("{n_rows} queries over {n_keys} keys: their own are not among them");
    };
    macro_rules! kernel {
        ($element:ty) => {{
            let (qs, ks) = (Host::new(queries)?, Host::new(keys_values)?);
            let look = groups::Look {
                queries: qs.slice()?,
                query_width: heads.n_heads * heads.head_dim,
                keys: ks.slice()?,
                key_width: heads.past_width(),
                n_heads: heads.n_heads,
                per_key_head: heads.group(),
                head_dim: heads.head_dim,
                scale: WithDType::from_f64(1.0 / (heads.head_dim as f64).sqrt()),
                bias: None,
            };
            Ok(groups::by_group::<$element>(&look, |row| heads.visible(before + row), groups))
        }};
    }
    match (has_kernels(queries), queries.dtype(), precision) {
        (true, DType::F64, _) => kernel!(f64),
        (true, DType::F32, Precision::Full) => kernel!(f32),
        (true, DType::F32, Precision::Bf16) => kernel!(Bf16),
        (true, DType::F32, Precision::Rounded) => kernel!(Rounded),
        _ => groups::to_host(&composed::attention_by_group(queries, keys_values, heads, groups)?),
    }
}

/// The mean over rows `[S, H]`, added up in f64 on the host; H values.
pub fn mean_of_rows(x: &Tensor) -> Result<Vec<f64>> {
    x.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.mean(0)?.to_vec1()
}

/// Gradient of [`attention`] with respect to its rows: `d_out` `[B, s, n_heads * head_dim]` to `[B, s, W]`. With `angles`, the
/// cosines and sines of [`rope`], it is that with respect to the rows before their rotation.
pub fn attention_vjp(
    qkv: &Tensor,
    forward: &Attention,
    heads: HeadLayout,
    d_out: &Tensor,
    angles: Option<[&Tensor; 2]>,
) -> Result<Tensor> {
    let s = d_out.dim(1)?;
    macro_rules! kernel {
        ($kept:expr) => {{
            let (xs, os, ds) = (Host::new(qkv)?, Host::new(&forward.out)?, Host::new(d_out)?);
            let angles = match angles {
                Some([cos, sin]) => Some([Host::new(cos)?, Host::new(sin)?]),
                None => None,
            };
            let angles = match &angles {
                Some([cos, sin]) => Some([cos.slice()?, sin.slice()?]),
                None => None,
            };
            let d_qkv = attention::attention_vjp(xs.slice()?, os.slice()?, $kept, heads, ds.slice()?, s, angles);
            on_cpu(d_qkv, d_out, heads.width())
        }};
    }
    match &forward.kept {
        None => candle_core::bail!("attention was run without keeping what its gradient needs"),
        Some(Kept::F32(kept)) => kernel!(kept),
        Some(Kept::F64(kept)) => kernel!(kept),
        Some(Kept::Bf16(kept)) => kernel!(kept),
        Some(Kept::Rounded(kept)) => kernel!(kept),
        Some(Kept::Probabilities(p)) => {
            let d_qkv = composed::attention_vjp(qkv, p, &forward.out, heads, d_out)?;
            angles.map_or(Ok(d_qkv.clone()), |[cos, sin]| rope_vjp(&d_qkv, cos, sin, heads))
        }
    }
}

/// Shape of [`biased_attention`]: heads side by side, as many for keys as for queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BiasedShape {
    /// Heads.
    pub n_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Whether row `i` sees the keys up to `i` only, as many as there are queries; else every row sees every key.
    pub causal: bool,
}

impl BiasedShape {
    /// `W`, the width of a row of queries; one of keys and values `[k … | v …]` is twice as wide.
    pub fn width(self) -> usize {
        self.n_heads * self.head_dim
    }

    /// Of `n_keys` keys, how many the first `n` query rows see.
    fn visible(self, n: usize, n_keys: usize) -> usize {
        if self.causal { n.min(n_keys) } else { n_keys }
    }
}

/// Attention without scaling of queries `q` `[Q, W]` over keys and values `kv` `[K, 2W]`, which may come from elsewhere;
/// `bias` `[heads, Q + K - 1]` is added to the scores by distance: its element `k - q + Q - 1` to key `k` of query `q`. `keep`
/// keeps what [`biased_attention_vjp`] needs.
pub fn biased_attention(
    q: &Tensor,
    kv: &Tensor,
    bias: Option<&Tensor>,
    shape: BiasedShape,
    keep: bool,
    precision: Precision,
) -> Result<Attention> {
    macro_rules! kernel {
        ($element:ty, $kept:path) => {{
            let (qs, ks) = (Host::new(q)?, Host::new(kv)?);
            let bias = bias.map(Host::new).transpose()?;
            let bias = bias.as_ref().map(Host::slice).transpose()?;
            let (out, kept) = biased::attention::<$element>(qs.slice()?, ks.slice()?, bias, shape, keep);
            Ok(Attention { out: on_cpu(out, q, shape.width())?, kept: kept.map($kept) })
        }};
    }
    match (q.device(), q.dtype(), precision) {
        (Device::Cpu, DType::F64, _) => kernel!(f64, Kept::F64),
        (Device::Cpu, DType::F32, Precision::Full) => kernel!(f32, Kept::F32),
        (Device::Cpu, DType::F32, Precision::Bf16) => kernel!(Bf16, Kept::Bf16),
        (Device::Cpu, DType::F32, Precision::Rounded) => kernel!(Rounded, Kept::Rounded),
        _ => {
            let (out, probabilities) = biased::attention_composed(q, kv, bias, shape, keep)?;
            Ok(Attention { out, kept: probabilities.map(Kept::Probabilities) })
        }
    }
}

/// Probabilities of [`biased_attention`] added up over groups of keys, `[n_heads, Q, G]`. A row's sums add up to 1.
///
/// # Errors
/// The groups are not those of `K` keys, or a tensor operation failed.
pub fn biased_attention_by_group(
    q: &Tensor,
    kv: &Tensor,
    bias: Option<&Tensor>,
    shape: BiasedShape,
    groups: KeyGroups<'_>,
    precision: Precision,
) -> Result<Vec<f64>> {
    let n_keys = kv.dim(0)?;
    groups.check(n_keys)?;
    macro_rules! kernel {
        ($element:ty) => {{
            let (qs, ks) = (Host::new(q)?, Host::new(kv)?);
            let bias = bias.map(Host::new).transpose()?;
            let look = groups::Look {
                queries: qs.slice()?,
                query_width: shape.width(),
                keys: ks.slice()?,
                key_width: 2 * shape.width(),
                n_heads: shape.n_heads,
                per_key_head: 1,
                head_dim: shape.head_dim,
                scale: WithDType::from_f64(1.0),
                bias: bias.as_ref().map(Host::slice).transpose()?,
            };
            Ok(groups::by_group::<$element>(&look, |row| 0..shape.visible(row + 1, n_keys), groups))
        }};
    }
    match (has_kernels(q), q.dtype(), precision) {
        (true, DType::F64, _) => kernel!(f64),
        (true, DType::F32, Precision::Full) => kernel!(f32),
        (true, DType::F32, Precision::Bf16) => kernel!(Bf16),
        (true, DType::F32, Precision::Rounded) => kernel!(Rounded),
        _ => {
            let k = kv.narrow(1, 0, shape.width())?;
            let p = biased::probabilities_composed(q, &k, bias, shape)?;
            let membership = groups.membership(DType::F32, q.device())?;
            groups::to_host(&groups::of_probabilities(&p, &membership)?)
        }
    }
}

/// Gradients of [`biased_attention`] with respect to `q` and `kv`, for `d_out` `[B, s, W]`: `[B, s, W]`, and `[B, s, 2W]`
/// under a mask or `[B, K, 2W]` without.
pub fn biased_attention_vjp(
    q: &Tensor,
    kv: &Tensor,
    forward: &Attention,
    shape: BiasedShape,
    d_out: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let (b, s, width) = d_out.dims3()?;
    macro_rules! kernel {
        ($kept:expr) => {{
            let (qs, ks, os, ds) = (Host::new(q)?, Host::new(kv)?, Host::new(&forward.out)?, Host::new(d_out)?);
            let (qs, ks, os, ds) = (qs.slice()?, ks.slice()?, os.slice()?, ds.slice()?);
            let (d_q, d_kv) = biased::attention_vjp(qs, ks, os, $kept, shape, ds, s);
            let d_kv = Tensor::from_vec(d_kv, (b, shape.visible(s, kv.dim(0)?), 2 * width), &Device::Cpu)?;
            Ok((on_cpu(d_q, d_out, width)?, d_kv))
        }};
    }
    match &forward.kept {
        None => candle_core::bail!("attention was run without keeping what its gradient needs"),
        Some(Kept::F32(kept)) => kernel!(kept),
        Some(Kept::F64(kept)) => kernel!(kept),
        Some(Kept::Bf16(kept)) => kernel!(kept),
        Some(Kept::Rounded(kept)) => kernel!(kept),
        Some(Kept::Probabilities(p)) => biased::attention_vjp_composed(q, kv, p, &forward.out, shape, d_out),
    }
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
