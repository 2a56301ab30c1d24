//! The comparison of the kernels of our own (`fused`) with the compositions that they stand for (`composed`).

use candle_core::{DType, Device, Result, Tensor};

use super::{
    composed,
    fused::{self, Kernels},
};

/// Compares them on a CUDA device. Where they agree they are used from then on; where not, a warning says what is wrong.
pub(super) fn check(device: &Device) {
    let Device::Cuda(cuda) = device else { return };
    let ordinal = cuda.cuda_stream().context().ordinal();
    let problem = compare(device).err().map(|problem| {
        let problem = format!("cuda:{ordinal}: {problem}; slower operations are used instead of fused kernels");
        tracing::warn!("{problem}");
        problem
    });
    fused::note_check(ordinal, problem);
}

/// Compares every kernel with its composition on random rows, in every dtype.
fn compare(device: &Device) -> Result<()> {
    let (b, n, s, d, eps, scale) = (3, 2, 75, 24, 0.1, 0.3);
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let noise = |shape: &[usize]| Tensor::randn(0f32, 1.0, shape, &Device::Cpu)?.to_device(device)?.to_dtype(dtype);
        // widths that fill 16 bytes and widths that do not
        for width in [72, 37] {
            let (x, w, dy, residual) =
                (noise(&[s, width])?, noise(&[width])?, noise(&[b, s, width])?, noise(&[b, s, width])?);
            for residual in [None, Some(&residual)] {
                let got = Kernels.rms_norm_vjp(&x, &w, eps, &dy, residual)?;
                agree("rms_norm_vjp", &got, &composed::plain_rms_norm_vjp(&x, &w, eps, &dy, residual)?)?;
            }
            let own = dy.get(0)?;
            let got = Kernels.rms_norm_vjp(&x, &w, eps, &own, None)?;
            agree("rms_norm_vjp of rows", &got, &composed::plain_rms_norm_vjp(&x, &w, eps, &own, None)?)?;
            agree("rows_mul", &Kernels.rows_mul(&x, &dy)?, &dy.broadcast_mul(&x)?)?;
        }
        let (x, w, dy) = (noise(&[s, n, d])?, noise(&[n, d])?, noise(&[b, s, n, d])?);
        let got = Kernels.rms_norm_vjp(&x, &w, eps, &dy, None)?;
        agree("rms_norm_vjp of heads", &got, &composed::plain_rms_norm_vjp(&x, &w, eps, &dy, None)?)?;

        let behind = noise(&[n, s - 30, s])?;
        let want = composed::plain_causal_softmax(&behind, scale, None)?;
        agree("causal_softmax behind a past", &Kernels.causal_softmax(&behind, scale)?, &want)?;
        let scores = noise(&[n, s, s])?;
        let p = composed::plain_causal_softmax(&scores, scale, None)?;
        agree("causal_softmax", &Kernels.causal_softmax(&scores, scale)?, &p)?;
        let (v, d_o) = (noise(&[n, s, d])?, noise(&[b, n, s, d])?);
        let values = v.transpose(1, 2)?.unsqueeze(0)?.expand((b, n, d, s))?.contiguous()?;
        let (o, d_p) = (p.matmul(&v)?, d_o.matmul(&values)?);
        let got = Kernels.softmax_vjp(&d_p, &p, scale)?;
        agree("softmax_vjp", &got, &composed::plain_softmax_vjp(&d_p, &p, &d_o, &o, scale)?)?;
    }
    Ok(())
}

/// Every entry within a bound of the largest: sums of tens of terms in f32, and in half precision inputs, sums and results
/// that are each rounded by up to 2^-9.
fn agree(what: &str, got: &Tensor, want: &Tensor) -> Result<()> {
    let bound = if got.dtype() == DType::F32 { 1e-5 } else { 3e-2 };
    let values = |t: &Tensor| t.to_dtype(DType::F32)?.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<f32>();
    let (got_values, want_values) = (values(got)?, values(want)?);
    let largest = want_values.iter().fold(f32::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let worst = got_values.iter().zip(&want_values).map(|(g, w)| (g - w).abs() / largest);
    match worst.enumerate().find(|(_, error)| error.is_nan() || *error > bound) {
        None => Ok(()),
        Some((i, error)) => candle_core::bail!(
            "the kernel `{what}` in {:?} is off by {error:e} of the largest entry (bound {bound:e}) at {i}: got {}, \
             expected {}",
            got.dtype(),
            got_values[i],
            want_values[i]
        ),
    }
}
