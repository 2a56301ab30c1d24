//! Kernels of our own for CUDA devices (`fused.cu`): the passes over the targets' gradients that candle's operations would
//! make in several, each reading and writing all of `[B, s, ..]`.
//!
//! The source is compiled by NVRTC when a device is first used, and every kernel is compared with the composition that it
//! stands for before it is used: where one cannot be compiled or differs, a warning says so and the compositions are used.

use std::{
    collections::HashMap,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use candle_core::{
    CpuStorage, CudaDevice, CudaStorage, CustomOp1, D, DType, Device, Layout, Result, Shape, Storage, Tensor,
    backend::BackendStorage,
    cuda_backend::{
        CudaDType, WrapErr,
        cudarc::{
            driver::{CudaView, DeviceRepr, LaunchConfig, PushKernelArg},
            nvrtc,
        },
    },
};

use super::composed;

const SOURCE: &str = include_str!("fused.cu");
const MODULE: &str = "veridiff_fused";

static ENABLED: AtomicBool = AtomicBool::new(true);

/// See [`super::use_fused_kernels`].
pub(super) fn enable(on: bool) {
    ENABLED.store(on, Ordering::Relaxed);
}

/// What was found when the kernels were compared on a device, by its number: nothing, or why they are not used there.
static CHECKED: Mutex<Option<HashMap<usize, Option<String>>>> = Mutex::new(None);

/// See [`super::fused_kernels_problem`].
pub(super) fn problem() -> Option<String> {
    let checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    checked.as_ref()?.values().find_map(Clone::clone)
}

/// The kernels for tensors like `x`; none on other devices, for other dtypes, or where they did not pass their check.
pub(super) fn kernels(x: &Tensor) -> Result<Option<Kernels>> {
    let Device::Cuda(device) = x.device() else { return Ok(None) };
    if !matches!(x.dtype(), DType::F32 | DType::BF16 | DType::F16) || !ENABLED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let ordinal = device.cuda_stream().context().ordinal();
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    let problem = checked.get_or_insert_default().entry(ordinal).or_insert_with(|| {
        let problem = check(x.device()).err()?;
        let problem = format!("cuda:{ordinal}: {problem}; slower operations are used instead of fused kernels");
        tracing::warn!("{problem}");
        Some(problem)
    });
    Ok(problem.is_none().then_some(Kernels))
}

/// The source as PTX, compiled once.
fn ptx() -> Result<&'static str> {
    static PTX: OnceLock<std::result::Result<String, String>> = OnceLock::new();
    let compile = || {
        let options = nvrtc::CompileOptions { name: Some("fused.cu".to_owned()), ..Default::default() };
        let ptx = nvrtc::compile_ptx_with_opts(SOURCE, options).map_err(|e| format!("{e:?}"))?;
        Ok(ptx.to_src())
    };
    match PTX.get_or_init(compile) {
        Ok(ptx) => Ok(ptx),
        Err(problem) => candle_core::bail!("the fused kernels cannot be compiled: {problem}"),
    }
}

#[derive(Clone, Copy)]
enum Scalar {
    U32(u32),
    F32(f32),
}

fn count(n: usize) -> Result<Scalar> {
    match u32::try_from(n) {
        Ok(n) => Ok(Scalar::U32(n)),
        Err(_) => candle_core::bail!("{n} rows or columns are more than a kernel can count"),
    }
}

/// One launch: a block for each row of the result. The kernel's arguments are the inputs, the result, then the scalars.
struct Launch<'a> {
    name: &'static str,
    /// The inputs after the first, which is the tensor the operation is applied to.
    others: &'a [&'a Tensor],
    scalars: &'a [Scalar],
    /// Columns of a row, from which follows the number of threads.
    columns: usize,
    shape: Shape,
}

impl Launch<'_> {
    fn run<T: CudaDType + DeviceRepr>(&self, first: &CudaStorage, layout: &Layout, dtype: &str) -> Result<CudaStorage> {
        fn view<'a, T: CudaDType>(storage: &'a CudaStorage, layout: &Layout) -> Result<CudaView<'a, T>> {
            match layout.contiguous_offsets() {
                Some((start, end)) => Ok(storage.as_cuda_slice::<T>()?.slice(start..end)),
                None => candle_core::bail!("a kernel was given a tensor that is not contiguous: {layout:?}"),
            }
        }
        let device: CudaDevice = first.device().clone();
        let function = device.get_or_load_custom_func(&format!("{}_{dtype}", self.name), MODULE, ptx()?)?;
        let guards: Vec<_> = self.others.iter().map(|t| t.storage_and_layout()).collect();
        let mut views = vec![view::<T>(first, layout)?];
        for (storage, layout) in &guards {
            match &**storage {
                Storage::Cuda(storage) => views.push(view::<T>(storage, layout)?),
                _ => candle_core::bail!("a CUDA kernel was given a tensor of another device"),
            }
        }
        let elements = self.shape.elem_count();
        let Scalar::U32(rows) = count(elements / self.shape.dims().last().copied().unwrap_or(1).max(1))? else {
            candle_core::bail!("a count is an integer")
        };
        // eight columns a thread, in whole warps
        let threads = self.columns.div_ceil(8).next_multiple_of(32).clamp(32, 512) as u32;
        let config = LaunchConfig { grid_dim: (rows, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the kernel writes every element of every row
        let mut out = unsafe { device.alloc::<T>(elements)? };
        let mut launch = function.builder();
        for view in &views {
            launch.arg(view);
        }
        launch.arg(&mut out);
        for scalar in self.scalars {
            match scalar {
                Scalar::U32(v) => launch.arg(v),
                Scalar::F32(v) => launch.arg(v),
            };
        }
        // SAFETY: the arguments are those of the kernel `name` in fused.cu, and each method of `Kernels` checks the shapes
        unsafe { launch.launch(config) }.w()?;
        Ok(CudaStorage::wrap_cuda_slice(out, device))
    }
}

impl CustomOp1 for Launch<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        candle_core::bail!("`{}` is a CUDA kernel", self.name)
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let out = match storage.dtype() {
            DType::F32 => self.run::<f32>(storage, layout, "f32"),
            DType::BF16 => self.run::<half::bf16>(storage, layout, "bf16"),
            DType::F16 => self.run::<half::f16>(storage, layout, "f16"),
            other => candle_core::bail!("`{}` has no kernel for {other:?}", self.name),
        };
        Ok((out?, self.shape.clone()))
    }
}

fn expect(what: &'static str, got: &Tensor, want: &[usize]) -> Result<()> {
    if got.dims() == want {
        return Ok(());
    }
    candle_core::bail!("{what} has shape {:?}, expected {want:?}", got.dims())
}

/// Leave to launch: the kernels of a device passed their check.
pub(super) struct Kernels;

impl Kernels {
    /// As [`composed::plain_rms_norm_vjp`].
    pub(super) fn rms_norm_vjp(
        &self,
        x: &Tensor,
        w: &Tensor,
        eps: f64,
        dy: &Tensor,
        residual: Option<&Tensor>,
    ) -> Result<Tensor> {
        let width = x.dim(D::Minus1)?;
        let rows = x.elem_count() / width.max(1);
        let w_rows = w.elem_count() / width.max(1);
        expect("the shared input of a norm", x, &dy.dims()[1..])?;
        expect("the residual of a norm", residual.unwrap_or(dy), dy.dims())?;
        if w.dims() != &x.dims()[x.rank() - w.rank()..] {
            candle_core::bail!("a norm's weight has shape {:?} for an input of {:?}", w.dims(), x.dims());
        }
        let (x, w, dy) = (x.contiguous()?, w.contiguous()?, dy.contiguous()?);
        let added = match residual {
            Some(residual) => residual.contiguous()?,
            None => dy.clone(),
        };
        let scalars = [
            count(rows)?,
            count(width)?,
            count(w_rows)?,
            Scalar::F32(eps as f32),
            Scalar::U32(residual.is_some().into()),
        ];
        let launch = Launch {
            name: "rms_norm_vjp",
            others: &[&w, &dy, &added],
            scalars: &scalars,
            columns: width,
            shape: dy.shape().clone(),
        };
        x.apply_op1_no_bwd(&launch)
    }

    /// As [`composed::rows_mul`].
    pub(super) fn rows_mul(&self, shared: &Tensor, rows: &Tensor) -> Result<Tensor> {
        let (_, s, width) = rows.dims3()?;
        expect("what all targets' rows are multiplied by", shared, &[s, width])?;
        let launch = Launch {
            name: "rows_mul",
            others: &[&rows.contiguous()?],
            scalars: &[count(s)?, count(width)?],
            columns: width,
            shape: rows.shape().clone(),
        };
        shared.contiguous()?.apply_op1_no_bwd(&launch)
    }

    /// As [`composed::plain_causal_softmax`].
    pub(super) fn causal_softmax(&self, scores: &Tensor, scale: f64) -> Result<Tensor> {
        let (_, s, n) = scores.dims3()?;
        if s > n {
            candle_core::bail!("attention scores have shape {:?}: more queries than keys", scores.dims());
        }
        let launch = Launch {
            name: "causal_softmax",
            others: &[],
            scalars: &[count(s)?, count(n)?, Scalar::F32(scale as f32)],
            columns: n,
            shape: scores.shape().clone(),
        };
        scores.contiguous()?.apply_op1_no_bwd(&launch)
    }

    /// As [`composed::plain_softmax_vjp`], which takes the row sums from the outputs.
    pub(super) fn softmax_vjp(&self, d_p: &Tensor, p: &Tensor, scale: f64) -> Result<Tensor> {
        let (_, n, s, _) = d_p.dims4()?;
        expect("attention probabilities", p, &[n, s, s])?;
        expect("their gradient", d_p, &[d_p.dim(0)?, n, s, s])?;
        let launch = Launch {
            name: "softmax_vjp",
            others: &[&p.contiguous()?],
            scalars: &[count(s)?, count(n)?, Scalar::F32(scale as f32)],
            columns: s,
            shape: d_p.shape().clone(),
        };
        d_p.contiguous()?.apply_op1_no_bwd(&launch)
    }
}

/// Compares every kernel with its composition on random rows, in every dtype.
fn check(device: &Device) -> Result<()> {
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
