//! The same operations as compositions of candle's, for GPUs and for half precision. Norms, the softmax and its
//! gradient are worked out in f32 (f64 for f64), as the reference implementations do; matrix products are in the tensors'
//! own dtype, and cuBLAS and gemm accumulate them in f32.
//!
//! What depends on the targets (`[B, ..]`) is passed over as few times as the operations allow: a factor that all targets
//! share is worked out once on `[s, ..]`, and attention goes one key head at a time, so that no more than
//! `[B, group, s, s]` is ever held and keys and values are not repeated for their groups. On CUDA devices the passes that
//! remain are single kernels (`fused`).

use candle_core::{D, DType, Result, Tensor};

#[cfg(feature = "cuda")]
use super::fused;
use super::{
    Gate, HeadLayout,
    groups::{KeyGroups, of_probabilities},
};

/// What norms and the softmax of tensors of `dtype` are worked out in.
fn wide(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

pub(super) fn linear(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let y = flat_matmul(x, &w.t()?)?;
    match b {
        Some(b) => y.broadcast_add(b),
        None => Ok(y),
    }
}

pub(super) fn linear_vjp(dy: &Tensor, w: &Tensor) -> Result<Tensor> {
    flat_matmul(dy, w)
}

/// `[.., K] @ [K, N]` as one product over all leading rows.
fn flat_matmul(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let mut dims = x.dims().to_vec();
    let y = x.flatten_to(D::Minus2)?.matmul(w)?;
    if let Some(last) = dims.last_mut() {
        *last = w.dim(1)?;
    }
    y.reshape(dims)
}

/// `w` is `[H]`, or `[n, H]` for rows `[.., n, H]`.
pub(super) fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    if x.dtype() != DType::F64 && w.rank() == 1 {
        return candle_nn::ops::rms_norm(&x.contiguous()?, w, eps as f32);
    }
    let dtype = wide(x.dtype());
    let x_wide = x.to_dtype(dtype)?;
    let y = x_wide.broadcast_mul(&inverse_rms(&x_wide, eps)?)?.broadcast_mul(&w.to_dtype(dtype)?)?;
    y.to_dtype(x.dtype())
}

fn inverse_rms(x: &Tensor, eps: f64) -> Result<Tensor> {
    (x.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?.recip()
}

/// `x` `[s, .., H]`, shared by the targets of `dy` and `residual` `[B, s, .., H]`; `w` as for [`rms_norm`].
pub(super) fn rms_norm_vjp(x: &Tensor, w: &Tensor, eps: f64, dy: &Tensor, residual: Option<&Tensor>) -> Result<Tensor> {
    #[cfg(feature = "cuda")]
    if let Some(kernels) = fused::kernels(x)? {
        return kernels.rms_norm_vjp(x, w, eps, dy, residual);
    }
    plain_rms_norm_vjp(x, w, eps, dy, residual)
}

pub(super) fn plain_rms_norm_vjp(
    x: &Tensor,
    w: &Tensor,
    eps: f64,
    dy: &Tensor,
    residual: Option<&Tensor>,
) -> Result<Tensor> {
    let dtype = wide(x.dtype());
    let (x, w) = (x.to_dtype(dtype)?, w.to_dtype(dtype)?);
    // dx = r w∘dy - x r³/H <w∘x, dy> with r = 1/rms(x): everything but dy is shared
    let inv = inverse_rms(&x, eps)?;
    let direct = inv.broadcast_mul(&w)?;
    let pull = x.broadcast_mul(&w)?;
    let back = (x.broadcast_mul(&inv.powf(3.0)?)? / x.dim(D::Minus1)? as f64)?;
    let dy_wide = dy.to_dtype(dtype)?;
    let along = dy_wide.broadcast_mul(&pull)?.sum_keepdim(D::Minus1)?;
    let dx = (dy_wide.broadcast_mul(&direct)? - along.broadcast_mul(&back)?)?;
    let dx = match residual {
        Some(residual) => (dx + residual.to_dtype(dtype)?)?,
        None => dx,
    };
    dx.to_dtype(dy.dtype())
}

/// `σ(a(gate))`, and `a'(gate)`, of a gate in a wide dtype.
fn gate_sigmoid(act: Gate, gate: &Tensor) -> Result<(Tensor, Tensor)> {
    let (c, d) = act.coefficients();
    let square = gate.sqr()?;
    let argument = (gate * square.affine(c * d, c)?)?;
    Ok(((argument.neg()?.exp()? + 1.0)?.recip()?, square.affine(3.0 * c * d, c)?))
}

pub(super) fn gated(act: Gate, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    let g = gate.to_dtype(wide(gate.dtype()))?;
    let sigmoid = gate_sigmoid(act, &g)?.0;
    (g * sigmoid)?.to_dtype(gate.dtype())? * up
}

pub(super) fn gated_jacobian(act: Gate, gate: &Tensor, up: &Tensor) -> Result<(Tensor, Tensor)> {
    let dtype = gate.dtype();
    let (gate, up) = (gate.to_dtype(wide(dtype))?, up.to_dtype(wide(dtype))?);
    let (sigmoid, slope) = gate_sigmoid(act, &gate)?;
    let d_up = (&gate * &sigmoid)?;
    // up · σ · (1 + g a'(1 - σ)), with g·σ already at hand
    let d_gate = (up * (&sigmoid + (slope * (&d_up - (&d_up * &sigmoid)?)?)?)?)?;
    Ok((d_gate.to_dtype(dtype)?, d_up.to_dtype(dtype)?))
}

/// `shared` `[s, F]` times each target's `rows` `[B, s, F]`, element by element.
pub(super) fn rows_mul(shared: &Tensor, rows: &Tensor) -> Result<Tensor> {
    #[cfg(feature = "cuda")]
    if let Some(kernels) = fused::kernels(shared)? {
        return kernels.rows_mul(shared, rows);
    }
    rows.broadcast_mul(shared)
}

/// The rotated columns as `[.., s, n, head_dim]`, and the value columns as they are.
fn split_rotated(qkv: &Tensor, heads: HeadLayout) -> Result<(Tensor, Tensor)> {
    let n = heads.n_rotated() * heads.head_dim;
    let mut dims = qkv.dims().to_vec();
    dims.pop();
    dims.extend([heads.n_rotated(), heads.head_dim]);
    let rotated = qkv.narrow(D::Minus1, 0, n)?.contiguous()?.reshape(dims)?;
    Ok((rotated, qkv.narrow(D::Minus1, n, heads.width() - n)?.contiguous()?))
}

fn join_rotated(rotated: &Tensor, values: &Tensor) -> Result<Tensor> {
    Tensor::cat(&[&rotated.flatten_from(D::Minus2)?, values], D::Minus1)
}

pub(super) fn rope(qkv: &Tensor, cos: &Tensor, sin: &Tensor, heads: HeadLayout, inverse: bool) -> Result<Tensor> {
    let (x, values) = split_rotated(qkv, heads)?;
    let shape = x.shape().clone();
    let s = qkv.dim(D::Minus2)?;
    let x = x.reshape(((), s, heads.n_rotated(), heads.head_dim))?;
    let sin = if inverse { sin.neg()? } else { sin.contiguous()? };
    // candle's kernel has no gradient of its own; the inverse rotation is it
    let y = candle_nn::rotary_emb::rope_thd(&x, &cos.contiguous()?, &sin)?;
    join_rotated(&y.reshape(shape)?, &values)
}

/// `[n_heads + n_kv_heads, head_dim]`: the query weight for query heads, the key weight for key heads.
fn head_weights(wq: &Tensor, wk: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    let repeat = |w: &Tensor, n: usize| w.unsqueeze(0)?.repeat((n, 1));
    Tensor::cat(&[repeat(wq, heads.n_heads)?, repeat(wk, heads.n_kv_heads)?], 0)
}

pub(super) fn head_norm(qkv: &Tensor, wq: &Tensor, wk: &Tensor, eps: f64, heads: HeadLayout) -> Result<Tensor> {
    let (x, values) = split_rotated(qkv, heads)?;
    join_rotated(&rms_norm(&x, &head_weights(wq, wk, heads)?, eps)?, &values)
}

pub(super) fn head_norm_vjp(
    qkv: &Tensor,
    wq: &Tensor,
    wk: &Tensor,
    eps: f64,
    heads: HeadLayout,
    dy: &Tensor,
) -> Result<Tensor> {
    let (x, _) = split_rotated(qkv, heads)?;
    let (dy, d_values) = split_rotated(dy, heads)?;
    join_rotated(&rms_norm_vjp(&x, &head_weights(wq, wk, heads)?, eps, &dy, None)?, &d_values)
}

/// The query heads that share one key head, and that key head: queries `[group * s, d]`, keys and values `[n, d]`.
struct Group {
    q: Tensor,
    k: Tensor,
    v: Tensor,
}

impl Group {
    /// Number `j`: its queries from rows `qkv` `[s, W]`, its key head from `keys_values` `[n, 2 * n_kv_heads * d]`.
    fn new(qkv: &Tensor, keys_values: &Tensor, heads: HeadLayout, j: usize) -> Result<Self> {
        let (d, group) = (heads.head_dim, heads.group());
        let head = |i: usize| keys_values.narrow(1, i * d, d)?.contiguous();
        let q = by_head(&qkv.unsqueeze(0)?, j * group, group, d)?;
        Ok(Group { q: q.reshape((group * qkv.dim(0)?, d))?, k: head(j)?, v: head(heads.n_kv_heads + j)? })
    }
}

/// The columns of keys and values.
fn keys_values(qkv: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    qkv.narrow(1, heads.n_heads * heads.head_dim, heads.past_width())
}

/// Heads `first..first + n` of rows `[B, s, ..]`, contiguous: `[B, n, s, d]`.
fn by_head(rows: &Tensor, first: usize, n: usize, d: usize) -> Result<Tensor> {
    let (b, s, _) = rows.dims3()?;
    rows.narrow(2, first * d, n * d)?.reshape((b, s, n, d))?.transpose(1, 2)?.contiguous()
}

/// The inverse of [`by_head`]: `[B, n, s, d]` to `[B, s, n * d]`.
fn rows_of(heads: &Tensor) -> Result<Tensor> {
    heads.transpose(1, 2)?.contiguous()?.flatten_from(2)
}

/// The heads' outputs, and with `keep` the probabilities `[n_heads, s, s]`.
pub(super) fn attention(qkv: &Tensor, heads: HeadLayout, keep: bool) -> Result<(Tensor, Option<Tensor>)> {
    attention_to(qkv, &keys_values(qkv, heads)?, heads, keep)
}

pub(super) fn attention_after(qkv: &Tensor, past: &Tensor, heads: HeadLayout) -> Result<Tensor> {
    let keys_values = Tensor::cat(&[past, &keys_values(qkv, heads)?], 0)?;
    Ok(attention_to(qkv, &keys_values, heads, false)?.0)
}

/// Attention of rows `[s, W]` to the rows of `keys_values`, of which the last `s` are their own.
fn attention_to(qkv: &Tensor, keys_values: &Tensor, heads: HeadLayout, keep: bool) -> Result<(Tensor, Option<Tensor>)> {
    let (s, n) = (qkv.dim(0)?, keys_values.dim(0)?);
    let (d, group) = (heads.head_dim, heads.group());
    let (mut out, mut kept) = (Vec::new(), Vec::new());
    for j in 0..heads.n_kv_heads {
        let Group { q, k, v } = Group::new(qkv, keys_values, heads, j)?;
        let scores = q.matmul(&k.t()?)?.reshape((group, s, n))?;
        let p = causal_softmax(&scores, (d as f64).sqrt().recip(), heads)?;
        let o = p.reshape((group * s, n))?.matmul(&v)?.reshape((1, group, s, d))?;
        out.push(rows_of(&o)?.squeeze(0)?);
        if keep {
            kept.push(p);
        }
    }
    let probabilities = if keep { Some(Tensor::cat(&kept, 0)?) } else { None };
    Ok((Tensor::cat(&out, 1)?, probabilities))
}

/// See [`super::attention_by_group`]; `[n_heads, T, G]`, one key head's probabilities at a time.
pub(super) fn attention_by_group(
    queries: &Tensor,
    keys_values: &Tensor,
    heads: HeadLayout,
    groups: KeyGroups<'_>,
) -> Result<Tensor> {
    let (s, n) = (queries.dim(0)?, keys_values.dim(0)?);
    let membership = groups.membership(wide(queries.dtype()), queries.device())?;
    let of_key_head = |j: usize| {
        let Group { q, k, .. } = Group::new(queries, keys_values, heads, j)?;
        let scores = q.matmul(&k.t()?)?.reshape((heads.group(), s, n))?;
        of_probabilities(&causal_softmax(&scores, (heads.head_dim as f64).sqrt().recip(), heads)?, &membership)
    };
    Tensor::cat(&(0..heads.n_kv_heads).map(of_key_head).collect::<Result<Vec<_>>>()?, 0)
}

/// Softmax of `scale * scores` `[heads, s, n]`, `s <= n`: row `i` over those of the first `n - s + i + 1` columns that are in
/// the window, zero elsewhere.
fn causal_softmax(scores: &Tensor, scale: f64, layout: HeadLayout) -> Result<Tensor> {
    // the kernel knows no window
    #[cfg(feature = "cuda")]
    if let (None, Some(kernels)) = (layout.window, fused::kernels(scores)?) {
        return kernels.causal_softmax(scores, scale);
    }
    plain_causal_softmax(scores, scale, layout.window)
}

pub(super) fn plain_causal_softmax(scores: &Tensor, scale: f64, window: Option<usize>) -> Result<Tensor> {
    let (_, s, n) = scores.dims3()?;
    let dtype = wide(scores.dtype());
    let mut seen = Tensor::tril2(n, dtype, scores.device())?.narrow(0, n - s, s)?;
    if let Some(window) = window.filter(|&window| window < n) {
        // what a query that is `window` positions earlier sees is out of sight
        let earlier = Tensor::tril2(n, dtype, scores.device())?.narrow(0, 0, n - window)?;
        let none = Tensor::zeros((window, n), dtype, scores.device())?;
        seen = (seen - Tensor::cat(&[&none, &earlier], 0)?.narrow(0, n - s, s)?)?;
    }
    // exactly zero where masked: the mask is added as a large negative number before the maximum is taken
    let mask = ((seen - 1.0)? * 1e30)?;
    let masked = (scores.to_dtype(dtype)? * scale)?.broadcast_add(&mask)?;
    let p = if dtype == DType::F64 {
        let e = masked.broadcast_sub(&masked.max_keepdim(D::Minus1)?)?.exp()?;
        e.broadcast_div(&e.sum_keepdim(D::Minus1)?)?
    } else {
        candle_nn::ops::softmax_last_dim(&masked)?
    };
    p.to_dtype(scores.dtype())
}

pub(super) fn attention_vjp(
    qkv: &Tensor,
    probabilities: &Tensor,
    out: &Tensor,
    heads: HeadLayout,
    d_out: &Tensor,
) -> Result<Tensor> {
    let (b, s, _) = d_out.dims3()?;
    let (d, group) = (heads.head_dim, heads.group());
    let scale = (d as f64).sqrt().recip();
    let qkv = qkv.narrow(0, 0, s)?;
    let keys_values = keys_values(&qkv, heads)?;
    let out = out.narrow(0, 0, s)?.unsqueeze(0)?;
    let (mut d_q, mut d_k, mut d_v) = (Vec::new(), Vec::new(), Vec::new());
    for j in 0..heads.n_kv_heads {
        let Group { q, k, v } = Group::new(&qkv, &keys_values, heads, j)?;
        let p = probabilities.narrow(0, j * group, group)?;
        let p = p.narrow(1, 0, s)?.narrow(2, 0, s)?.contiguous()?; // [group, s, s]
        let d_o = by_head(d_out, j * group, group, d)?; // [B, group, s, d]
        let o = by_head(&out, j * group, group, d)?.squeeze(0)?;

        let d_p = d_o.reshape((b * group * s, d))?.matmul(&v.t()?)?.reshape((b, group, s, s))?;
        let d_s = softmax_vjp(&d_p, &p, &d_o, &o, scale)?;
        drop(d_p);

        let dq = d_s.reshape((b * group * s, s))?.matmul(&k)?.reshape((b, group, s, d))?;
        d_q.push(rows_of(&dq)?);
        // the sums over a group's query heads are sums over the rows of one product; the queries are copied for each
        // target, because candle's CPU product takes shared right-hand sides for those of a row-major left-hand side
        let queries = q.unsqueeze(0)?.expand((b, group * s, d))?.contiguous()?;
        d_k.push(d_s.reshape((b, group * s, s))?.transpose(1, 2)?.matmul(&queries)?);
        let p = p.reshape((group * s, s))?.t()?.unsqueeze(0)?.expand((b, s, group * s))?;
        d_v.push(p.matmul(&d_o.reshape((b, group * s, d))?)?);
    }
    d_q.append(&mut d_k);
    d_q.append(&mut d_v);
    Tensor::cat(&d_q, 2)
}

/// Gradient of a row of scores from that of its probabilities: `scale * p ∘ (d_p - <p, d_p>)`, for `d_p` `[B, n, s, s]`
/// and `p` `[n, s, s]`. `<p, d_p>` is `<o, d_o>` for the outputs `o` `[n, s, d]` and their gradients `[B, n, s, d]`, the
/// shorter sum.
fn softmax_vjp(d_p: &Tensor, p: &Tensor, d_o: &Tensor, o: &Tensor, scale: f64) -> Result<Tensor> {
    #[cfg(feature = "cuda")]
    if let Some(kernels) = fused::kernels(p)? {
        return kernels.softmax_vjp(d_p, p, scale);
    }
    plain_softmax_vjp(d_p, p, d_o, o, scale)
}

pub(super) fn plain_softmax_vjp(d_p: &Tensor, p: &Tensor, d_o: &Tensor, o: &Tensor, scale: f64) -> Result<Tensor> {
    let dtype = wide(d_p.dtype());
    let mean = d_o.to_dtype(dtype)?.broadcast_mul(&o.to_dtype(dtype)?)?.sum_keepdim(D::Minus1)?;
    let weights = (p.to_dtype(dtype)? * scale)?;
    d_p.to_dtype(dtype)?.broadcast_sub(&mean)?.broadcast_mul(&weights)?.to_dtype(d_p.dtype())
}

pub(super) fn input_x_gradient(x: &Tensor, g: &Tensor) -> Result<Vec<[f64; 2]>> {
    let dtype = wide(x.dtype());
    let product = g.to_dtype(dtype)?.broadcast_mul(&x.to_dtype(dtype)?)?;
    let host = |t: Tensor| t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
    let l2 = host(product.sqr()?.sum(D::Minus1)?.sqrt()?)?;
    let dot = host(product.sum(D::Minus1)?)?;
    Ok(l2.into_iter().zip(dot).map(|(l2, dot)| [l2, dot]).collect())
}
