//! The same operations as compositions of candle's, for GPUs and for half precision. Norms, the softmax and its
//! gradient are worked out in f32, as the reference implementations do.

use candle_core::{D, DType, Result, Tensor};

use super::{Gate, HeadLayout};

pub(super) fn linear(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    let y = flat_matmul(x, &w.t()?)?;
    b.map_or(Ok(y.clone()), |b| y.broadcast_add(b))
}

pub(super) fn linear_vjp(dy: &Tensor, w: &Tensor) -> Result<Tensor> {
    flat_matmul(dy, w)
}

/// `[.., K] @ [K, N]` as one product over all leading rows.
fn flat_matmul(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let mut dims = x.dims().to_vec();
    let y = x.flatten_to(D::Minus2)?.matmul(w)?;
    *dims.last_mut().expect("a row has a last dimension") = w.dim(1)?;
    y.reshape(dims)
}

pub(super) fn rms_norm(x: &Tensor, w: &Tensor, eps: f64) -> Result<Tensor> {
    let xf = x.to_dtype(DType::F32)?;
    let inv = inverse_rms(&xf, eps)?;
    xf.broadcast_mul(&inv)?.to_dtype(x.dtype())?.broadcast_mul(w)
}

fn inverse_rms(x: &Tensor, eps: f64) -> Result<Tensor> {
    (x.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?.recip()
}

pub(super) fn rms_norm_vjp(x: &Tensor, w: &Tensor, eps: f64, dy: &Tensor) -> Result<Tensor> {
    let (xf, wf) = (x.to_dtype(DType::F32)?, w.to_dtype(DType::F32)?);
    let g = dy.to_dtype(DType::F32)?.broadcast_mul(&wf)?;
    let inv = inverse_rms(&xf, eps)?;
    let n = x.dim(D::Minus1)? as f64;
    let mean = (g.broadcast_mul(&xf)?.sum_keepdim(D::Minus1)? / n)?;
    let c = mean.broadcast_mul(&inv.powf(3.0)?)?;
    (g.broadcast_mul(&inv)? - c.broadcast_mul(&xf)?)?.to_dtype(dy.dtype())
}

fn halves(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let n = x.dim(D::Minus1)? / 2;
    Ok((x.narrow(D::Minus1, 0, n)?, x.narrow(D::Minus1, n, n)?))
}

/// `σ(a(gate))`, and `a'(gate)`, in f32.
fn gate_sigmoid(act: Gate, gate: &Tensor) -> Result<(Tensor, Tensor)> {
    let (c, d) = act.coefficients();
    let square = gate.sqr()?;
    let argument = (gate * square.affine(c * d, c)?)?;
    Ok(((argument.neg()?.exp()? + 1.0)?.recip()?, square.affine(3.0 * c * d, c)?))
}

pub(super) fn gated(act: Gate, gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    let g = gate.to_dtype(DType::F32)?;
    let sigmoid = gate_sigmoid(act, &g)?.0;
    (g * sigmoid)?.to_dtype(gate.dtype())? * up
}

pub(super) fn gated_jacobian(act: Gate, gate: &Tensor, up: &Tensor) -> Result<(Tensor, Tensor)> {
    let dtype = gate.dtype();
    let (gate, up) = (gate.to_dtype(DType::F32)?, up.to_dtype(DType::F32)?);
    let (sigmoid, slope) = gate_sigmoid(act, &gate)?;
    let d_up = (&gate * &sigmoid)?;
    // up · σ · (1 + g a'(1 - σ)), with g·σ already at hand
    let d_gate = (up * (&sigmoid + (slope * (&d_up - (&d_up * &sigmoid)?)?)?)?)?;
    Ok((d_gate.to_dtype(dtype)?, d_up.to_dtype(dtype)?))
}

/// The rotated columns as `[.., s, n, head_dim]`, and the value columns as they are.
fn split_rotated(qkv: &Tensor, heads: HeadLayout) -> Result<(Tensor, Tensor)> {
    let n = heads.n_rotated() * heads.head_dim;
    let mut dims = qkv.dims().to_vec();
    dims.pop();
    dims.extend([heads.n_rotated(), heads.head_dim]);
    let rotated = qkv.narrow(D::Minus1, 0, n)?.contiguous()?.reshape(dims)?;
    Ok((rotated, qkv.narrow(D::Minus1, n, heads.width() - n)?))
}

fn join_rotated(rotated: &Tensor, values: &Tensor) -> Result<Tensor> {
    Tensor::cat(&[&rotated.flatten_from(D::Minus2)?, values], D::Minus1)
}

pub(super) fn rope(qkv: &Tensor, cos: &Tensor, sin: &Tensor, heads: HeadLayout, inverse: bool) -> Result<Tensor> {
    let (x, values) = split_rotated(qkv, heads)?;
    let (a, b) = halves(&x)?;
    let cos = cos.unsqueeze(1)?;
    let sin = if inverse { sin.neg()? } else { sin.clone() }.unsqueeze(1)?;
    let ya = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
    let yb = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
    join_rotated(&Tensor::cat(&[ya, yb], D::Minus1)?, &values)
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
    join_rotated(&rms_norm_vjp(&x, &head_weights(wq, wk, heads)?, eps, &dy)?, &d_values)
}

/// Queries, keys and values as `[.., n_heads, s, head_dim]`, keys and values repeated for their groups.
fn split_heads(qkv: &Tensor, heads: HeadLayout) -> Result<(Tensor, Tensor, Tensor)> {
    let d = heads.head_dim;
    let group = heads.n_heads / heads.n_kv_heads;
    let part = |start: usize, n: usize, repeat: usize| {
        let x = qkv.narrow(1, start * d, n * d)?.reshape((qkv.dim(0)?, n, d))?.transpose(0, 1)?;
        let (n, s, d) = x.dims3()?;
        x.unsqueeze(1)?.expand((n, repeat, s, d))?.contiguous()?.reshape((n * repeat, s, d))
    };
    let (nh, nkv) = (heads.n_heads, heads.n_kv_heads);
    Ok((part(0, nh, 1)?, part(nh, nkv, group)?, part(nh + nkv, nkv, group)?))
}

pub(super) fn attention(qkv: &Tensor, heads: HeadLayout, keep: bool) -> Result<(Tensor, Option<Tensor>)> {
    let s = qkv.dim(0)?;
    let (q, k, v) = split_heads(qkv, heads)?;
    let scale = 1.0 / (heads.head_dim as f64).sqrt();
    let scores = (q.matmul(&k.transpose(1, 2)?.contiguous()?)?.to_dtype(DType::F32)? * scale)?;
    let mask = Tensor::tril2(s, DType::F32, qkv.device())?;
    // exactly zero where masked: the mask is added as a large negative number before the maximum is taken
    let scores = scores.broadcast_add(&((mask - 1.0)? * 1e30)?)?;
    let scores = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
    let p = scores.broadcast_div(&scores.sum_keepdim(D::Minus1)?)?.to_dtype(qkv.dtype())?;
    let out = p.matmul(&v)?.transpose(0, 1)?.contiguous()?.flatten_from(1)?;
    Ok((out, keep.then_some(p)))
}

pub(super) fn attention_vjp(
    qkv: &Tensor,
    probabilities: &Tensor,
    out: &Tensor,
    heads: HeadLayout,
    d_out: &Tensor,
) -> Result<Tensor> {
    let (b, s, _) = d_out.dims3()?;
    let (nh, nkv, d) = (heads.n_heads, heads.n_kv_heads, heads.head_dim);
    let scale = 1.0 / (d as f64).sqrt();
    let (q, k, v) = split_heads(&qkv.narrow(0, 0, s)?, heads)?;
    let p = probabilities.narrow(1, 0, s)?.narrow(2, 0, s)?.contiguous()?;
    let by_head = |x: &Tensor| x.reshape((b, s, nh, d))?.permute((2, 0, 1, 3))?.contiguous(); // [nh, B, s, d]
    let d_o = by_head(d_out)?;

    // rowsum(dO ∘ O), once per query row
    let o = out.narrow(0, 0, s)?.reshape((s, nh, d))?.transpose(0, 1)?.unsqueeze(1)?.to_dtype(DType::F32)?;
    let mean = d_o.to_dtype(DType::F32)?.broadcast_mul(&o)?.sum_keepdim(D::Minus1)?;

    let rows = d_o.reshape((nh, b * s, d))?;
    let dp = rows.matmul(&v.transpose(1, 2)?.contiguous()?)?.reshape((nh, b, s, s))?.to_dtype(DType::F32)?;
    let ds = dp.broadcast_sub(&mean)?.broadcast_mul(&p.unsqueeze(1)?.to_dtype(DType::F32)?)?;
    let ds = (ds * scale)?.to_dtype(qkv.dtype())?; // [nh, B, s, s]

    let dq = ds.reshape((nh, b * s, s))?.matmul(&k)?.reshape((nh, b, s, d))?;
    let over_targets = |x: &Tensor| x.unsqueeze(1)?.expand((nh, b, s, x.dim(2)?))?.contiguous();
    let dk = ds.transpose(2, 3)?.contiguous()?.matmul(&over_targets(&q)?)?;
    let dv = over_targets(&p.transpose(1, 2)?.contiguous()?)?.matmul(&d_o)?;

    let rows_first = |x: &Tensor, n: usize| x.permute((1, 2, 0, 3))?.contiguous()?.reshape((b, s, n * d));
    let per_group = |x: &Tensor| x.reshape((nkv, nh / nkv, b, s, d))?.sum(1);
    Tensor::cat(&[rows_first(&dq, nh)?, rows_first(&per_group(&dk)?, nkv)?, rows_first(&per_group(&dv)?, nkv)?], 2)
}

pub(super) fn input_x_gradient(x: &Tensor, g: &Tensor) -> Result<Vec<[f64; 2]>> {
    let product = g.to_dtype(DType::F32)?.broadcast_mul(&x.to_dtype(DType::F32)?)?;
    let l2 = product.sqr()?.sum(D::Minus1)?.sqrt()?.flatten_all()?.to_vec1::<f32>()?;
    let dot = product.sum(D::Minus1)?.flatten_all()?.to_vec1::<f32>()?;
    Ok(l2.into_iter().zip(dot).map(|(a, b)| [f64::from(a), f64::from(b)]).collect())
}
